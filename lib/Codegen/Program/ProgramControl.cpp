// SPDX-License-Identifier: Apache-2.0
//
// Emits branches and loops of a program.
//
// Values of a region can be used inside of it only, and the symbols' values are restored at its
// end. Values that are used after the region (results of a branch, sizes that a loop computes) are
// stored in stack variables.
#include "hewn/runtime.h"
#include "lib/Codegen/Program/ProgramEmitter.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

/// A loop-carried value and where it is stored.
struct ProgramEmitter::Carried : graph::CarriedValue {
  /// Buffer of the loop-carried value, if its size is constant over the loop.
  llvm::Value *memory = nullptr;
  /// If the size of the loop-carried value changes: variables with its current address, with the
  /// allocation to release (null at first), and with its current dims.
  Slot current = nullptr, owned = nullptr;
  SmallVector<Slot> dims;
};

/// A loop output to which each step appends a slice.
struct ProgramEmitter::Appended {
  OpResult result;
  /// Buffer of the loop output, if its size is known before the loop.
  llvm::Value *memory = nullptr;
  /// If the size of the loop output is not known before the loop: variables with the output's
  /// current address, with its capacity in bytes, and with the dims of a slice.
  Slot current = nullptr, capacity = nullptr;
  SmallVector<Slot> dims;
};

llvm::BasicBlock *ProgramEmitter::block(StringRef name) { return llvm::BasicBlock::Create(context, name, run, exit); }

//===----------------------------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------------------------===//

LogicalResult ProgramEmitter::emitBranches(graph::ControlOpInterface op) {
  SmallVector<Slot> memory;
  SmallVector<SmallVector<Slot>> sizes;
  for (OpResult result : op->getResults()) {
    memory.push_back(variable(ptr));
    SmallVector<Slot> &list = sizes.emplace_back();
    for (int64_t d = 0, rank = graph::getRank(result); d < rank; ++d)
      list.push_back(variable(i64));
  }
  llvm::Value *condition =
      b.CreateICmpNE(b.CreateLoad(i8, hostPointer(op.getControlValues().condition->get())), b.getInt8(0));
  llvm::BasicBlock *branches[] = {block("then"), block("else")}, *after = block("after");
  b.CreateCondBr(condition, branches[0], branches[1]);
  for (auto [region, branch] : llvm::zip(op->getRegions(), branches)) {
    b.SetInsertPoint(branch);
    llvm::StringMap<llvm::Value *> outside = symbols;
    if (failed(emitBlock(region.front())))
      return failure();
    for (auto [i, yielded] : llvm::enumerate(region.front().getTerminator()->getOperands())) {
      b.CreateStore(pointer(yielded), memory[i]);
      for (auto [size, slot] : llvm::zip(values(graph::getDims(yielded)), sizes[i]))
        b.CreateStore(size, slot);
    }
    symbols = std::move(outside);
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    pointers[result] = b.CreateLoad(ptr, memory[i]);
    bind(graph::getDims(result),
         llvm::map_to_vector(sizes[i], [&](Slot s) -> llvm::Value * { return b.CreateLoad(i64, s); }));
  }
  return success();
}

//===----------------------------------------------------------------------------------------===//
// Loop-carried values
//===----------------------------------------------------------------------------------------===//

ProgramEmitter::Carried ProgramEmitter::beginCarried(const graph::CarriedValue &value) {
  Carried carried;
  static_cast<graph::CarriedValue &>(carried) = value;
  if (placeOf(value.result).getKind() != plan::BufferKind::Dynamic) {
    carried.memory = place(value.result);
    copy(carried.memory, pointer(value.initial), bytesOf(value.initial));
    return carried;
  }
  // In the first step, the loop reads the initial value of the loop-carried value from the initial
  // value's buffer.
  carried.current = variable(ptr);
  carried.owned = variable(ptr);
  b.CreateStore(pointer(value.initial), carried.current);
  b.CreateStore(llvm::ConstantPointerNull::get(ptr), carried.owned);
  for (llvm::Value *size : values(graph::getDims(value.initial))) {
    carried.dims.push_back(variable(i64));
    b.CreateStore(size, carried.dims.back());
  }
  return carried;
}

void ProgramEmitter::enterCarried(Carried &carried) {
  pointers[carried.argument] = carried.memory ? carried.memory : b.CreateLoad(ptr, carried.current);
  if (!carried.memory)
    bind(graph::getDims(carried.argument),
         llvm::map_to_vector(carried.dims, [&](Slot s) -> llvm::Value * { return b.CreateLoad(i64, s); }));
}

void ProgramEmitter::handOver(Operation *op, MutableArrayRef<Carried> carried) {
  auto staging = op->getAttrOfType<ArrayAttr>(plan::kStagingAttr);
  auto stagedAt = [&](size_t i) { return staging ? dyn_cast<plan::BufferAttr>(staging[i]) : plan::BufferAttr(); };
  // At the end of a loop step, before any old value is overwritten: copy loop-carried values of
  // changing size to new buffers, and copy values that are exchanged with others to staging
  // buffers.
  SmallVector<llvm::Value *> sources;
  for (auto [i, value] : llvm::enumerate(carried)) {
    llvm::Value *source = pointer(value.next);
    if (!value.memory) {
      // The loop owns the allocation of this loop-carried value, so do not register it for release
      // at the end of the step.
      std::vector<SmallVector<Slot>> steps;
      std::swap(steps, stepMemory);
      llvm::Value *fresh = allocate(graph::getDims(value.next), cast<RankedTensorType>(value.next.getType()), device);
      std::swap(steps, stepMemory);
      copy(fresh, source, bytesOf(value.next));
      source = fresh;
    } else if (plan::BufferAttr where = stagedAt(i)) {
      llvm::Value *detour = offset(device ? deviceArena : arena, this->value(*where.getOffset()));
      copy(detour, source, bytesOf(value.next));
      source = detour;
    }
    sources.push_back(source);
  }
  for (auto [value, source] : llvm::zip(carried, sources)) {
    if (value.memory) {
      copy(value.memory, source, bytesOf(value.next));
      continue;
    }
    release(b.CreateLoad(ptr, value.owned), device);
    b.CreateStore(source, value.owned);
    b.CreateStore(source, value.current);
    for (auto [size, slot] : llvm::zip(values(graph::getDims(value.next)), value.dims))
      b.CreateStore(size, slot);
  }
}

void ProgramEmitter::finishCarried(Carried &carried) {
  if (carried.memory) {
    pointers[carried.result] = carried.memory;
    return;
  }
  pointers[carried.result] = b.CreateLoad(ptr, carried.current);
  bind(graph::getDims(carried.result),
       llvm::map_to_vector(carried.dims, [&](Slot s) -> llvm::Value * { return b.CreateLoad(i64, s); }));
  if (!stepMemory.empty()) // the enclosing loop releases the value at the end of its step
    stepMemory.back().push_back(carried.owned);
}

//===----------------------------------------------------------------------------------------===//
// Outputs with dynamic length
//===----------------------------------------------------------------------------------------===//

ProgramEmitter::Appended ProgramEmitter::beginAppended(OpResult result) {
  Appended appended;
  appended.result = result;
  if (placeOf(result).getKind() != plan::BufferKind::Dynamic) {
    appended.memory = place(result);
    return appended;
  }
  appended.current = variable(ptr);
  appended.capacity = variable(i64);
  b.CreateStore(llvm::ConstantPointerNull::get(ptr), appended.current);
  b.CreateStore(b.getInt64(0), appended.capacity);
  for (int64_t d = 1, rank = graph::getRank(result); d < rank; ++d) {
    appended.dims.push_back(variable(i64));
    b.CreateStore(b.getInt64(0), appended.dims.back());
  }
  return appended;
}

void ProgramEmitter::append(Appended &appended, Value slice, llvm::Value *step) {
  llvm::Value *bytes = bytesOf(slice);
  llvm::Value *used = b.CreateMul(step, bytes);
  if (appended.memory) {
    copy(offset(appended.memory, used), pointer(slice), bytes);
    return;
  }
  // Check that the slice has the same dims as the slices before it; otherwise they cannot form a
  // tensor.
  llvm::Value *differs = b.getFalse();
  for (auto [size, slot] : llvm::zip(values(graph::getDims(slice)), appended.dims))
    differs = b.CreateOr(differs, b.CreateICmpNE(size, b.CreateLoad(i64, slot)));
  llvm::BasicBlock *bad = block("bad"), *fits = block("fits");
  b.CreateCondBr(b.CreateAnd(differs, b.CreateICmpNE(step, b.getInt64(0))), bad, fits);
  b.SetInsertPoint(bad);
  auto node = appended.result.getLoc()->findInstanceOf<NameLoc>();
  llvm::Value *name = node ? string(node.getName()) : llvm::ConstantPointerNull::get(ptr);
  llvm::Value *code =
      b.CreateCall(service("hewn_rt_fail", i32, {ptr, i32, ptr, ptr, i64, i64}),
                   {runContext, b.getInt32(HEWN_INVALID_ARGUMENT), name,
                    string("trip {a} appends a value of another shape than the trips before it"), step, b.getInt64(0)});
  exitCode->addIncoming(code, b.GetInsertBlock());
  b.CreateBr(exit);
  b.SetInsertPoint(fits);
  llvm::Value *needed = b.CreateAdd(used, bytes);
  llvm::BasicBlock *grow = block("grow"), *enough = block("enough");
  llvm::Value *isFull = b.CreateOr(b.CreateICmpSGT(needed, b.CreateLoad(i64, appended.capacity)),
                                   b.CreateIsNull(b.CreateLoad(ptr, appended.current)));
  b.CreateCondBr(isFull, grow, enough);
  b.SetInsertPoint(grow);
  llvm::Value *old = b.CreateLoad(ptr, appended.current), *room = b.CreateMul(needed, b.getInt64(2));
  std::vector<SmallVector<Slot>> steps;
  std::swap(steps, stepMemory);
  llvm::Value *fresh = allocateBytes(room, device);
  std::swap(steps, stepMemory);
  copy(fresh, old, used);
  release(old, device);
  b.CreateStore(fresh, appended.current);
  b.CreateStore(room, appended.capacity);
  b.CreateBr(enough);
  b.SetInsertPoint(enough);
  copy(offset(b.CreateLoad(ptr, appended.current), used), pointer(slice), bytes);
  for (auto [size, slot] : llvm::zip(values(graph::getDims(slice)), appended.dims))
    b.CreateStore(size, slot);
}

void ProgramEmitter::finishAppended(Appended &appended, llvm::Value *count) {
  pointers[appended.result] = appended.memory ? appended.memory : b.CreateLoad(ptr, appended.current);
  SmallVector<llvm::Value *> actual = {count};
  for (Slot slot : appended.dims)
    actual.push_back(b.CreateLoad(i64, slot));
  graph::Dims dims = graph::getDims(appended.result);
  bind(ArrayRef<DimExpr>(dims).take_front(actual.size()), actual);
  if (appended.current && !stepMemory.empty())
    stepMemory.back().push_back(appended.current);
}

//===----------------------------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------------------------===//

ProgramEmitter::LoopBlocks ProgramEmitter::beginLoop(llvm::function_ref<llvm::Value *(llvm::Value *)> goesOn) {
  LoopBlocks loop{block("head"), block("after"), variable(i64), nullptr};
  b.CreateStore(b.getInt64(0), loop.step);
  b.CreateBr(loop.head);
  b.SetInsertPoint(loop.head);
  loop.index = b.CreateLoad(i64, loop.step);
  llvm::BasicBlock *body = block("step");
  b.CreateCondBr(goesOn(loop.index), body, loop.after);
  b.SetInsertPoint(body);
  return loop;
}

void ProgramEmitter::endLoop(LoopBlocks &loop) {
  b.CreateStore(b.CreateAdd(loop.index, b.getInt64(1)), loop.step);
  b.CreateBr(loop.head);
  loop.after->moveBefore(exit);
  b.SetInsertPoint(loop.after);
}

/// Emits the code of a loop step: the body, the code that `handOver` emits, and the release of the
/// memory that the step has allocated.
LogicalResult ProgramEmitter::emitStep(Block &body, llvm::function_ref<void()> handOver) {
  llvm::BasicBlock *start = b.GetInsertBlock();
  stepMemory.emplace_back();
  if (failed(emitBlock(body)))
    return failure();
  handOver();
  SmallVector<Slot> allocated = std::move(stepMemory.back());
  stepMemory.pop_back();
  llvm::IRBuilder<> atStart(start, start->getFirstInsertionPt());
  for (Slot slot : allocated) {
    // Initialize each variable of an allocation with null, since the allocation may be in a branch
    // that the step does not take.
    atStart.CreateStore(llvm::ConstantPointerNull::get(ptr), slot);
    release(b.CreateLoad(ptr, slot), device && !hostMemory.contains(slot));
  }
  return success();
}

LogicalResult ProgramEmitter::emitLoop(graph::ControlOpInterface op) {
  graph::ControlValues control = op.getControlValues();
  std::optional<DimExpr> numSteps = op.getNumSteps();
  SmallVector<graph::StackedValue> stacked = op.getStackedValues();
  SmallVector<Carried> carried;
  SmallVector<Appended> appended;
  for (const graph::CarriedValue &value : op.getCarriedValues())
    carried.push_back(beginCarried(value));
  for (const graph::StackedValue &output : stacked) {
    if (numSteps)
      pointers[output.result] = place(output.result);
    else
      appended.push_back(beginAppended(output.result));
  }
  llvm::Value *trips = nullptr;
  if (numSteps)
    trips = value(*numSteps);
  else if (control.tripCount)
    trips = b.CreateLoad(i64, hostPointer(control.tripCount->get()));
  auto scalar = [&](llvm::Type *type) {
    Slot slot = variable(type);
    slot->setAlignment(llvm::Align(64));
    return slot;
  };
  Slot condition = control.condition || control.nextCondition ? scalar(i8) : nullptr;
  Slot trip = control.inductionVariable ? scalar(i64) : nullptr;
  if (control.condition)
    b.CreateStore(b.CreateLoad(i8, hostPointer(control.condition->get())), condition);
  else if (condition)
    b.CreateStore(b.getInt8(1), condition);

  LoopBlocks loop = beginLoop([&](llvm::Value *index) {
    llvm::Value *counts = trips ? b.CreateICmpSLT(index, trips) : nullptr;
    llvm::Value *holds = condition ? b.CreateICmpNE(b.CreateLoad(i8, condition), b.getInt8(0)) : nullptr;
    return counts && holds ? b.CreateAnd(counts, holds) : counts ? counts : holds ? holds : b.getTrue();
  });
  failIfNotOk(b.CreateCall(service("hewn_rt_check_cancel", i32, {ptr}), {runContext}));
  if (trip) {
    b.CreateStore(loop.index, trip);
    pointers[control.inductionVariable] = trip;
  }
  if (control.conditionArgument)
    pointers[control.conditionArgument] = condition;
  llvm::StringMap<llvm::Value *> outside = symbols;
  for (Carried &value : carried)
    enterCarried(value);
  if (numSteps)
    enterSlices(op, loop.index, trips);
  llvm::Value *outerStep = std::exchange(currentStep, loop.index);
  LogicalResult done = emitStep(op.getLoopBody(), [&] {
    for (auto [i, output] : llvm::enumerate(stacked)) {
      if (numSteps)
        copy(slices[op][output.result.getResultNumber()], pointer(output.slice), bytesOf(output.slice));
      else
        append(appended[i], output.slice, loop.index);
    }
    if (control.nextCondition)
      b.CreateStore(b.CreateLoad(i8, hostPointer(control.nextCondition->get())), condition);
    handOver(op, carried);
  });
  currentStep = outerStep;
  symbols = std::move(outside);
  endLoop(loop);
  for (Carried &value : carried)
    finishCarried(value);
  for (Appended &output : appended)
    finishAppended(output, loop.index);
  return done;
}

/// Computes the addresses of the slices that step `index` of a counted loop with `length` steps
/// reads and writes.
void ProgramEmitter::enterSlices(graph::ControlOpInterface op, llvm::Value *index, llvm::Value *length) {
  llvm::Value *fromEnd = b.CreateSub(b.CreateSub(length, b.getInt64(1)), index);
  for (const graph::SlicedValue &sliced : op.getSlicedValues()) {
    bind(graph::getDims(sliced.slice), values(ArrayRef<DimExpr>(graph::getDims(sliced.sequence)).drop_front()));
    llvm::Value *at = b.CreateMul(sliced.backward ? fromEnd : index, bytesOf(sliced.slice));
    pointers[sliced.slice] = offset(pointer(sliced.sequence), at);
  }
  // Take the size of an output's slice from the stacked value, because the yielded value may not
  // have been computed yet.
  SmallVector<llvm::Value *> current(op->getNumResults());
  for (const graph::StackedValue &stacked : op.getStackedValues()) {
    graph::Dims dims = graph::getDims(stacked.result);
    auto type = cast<RankedTensorType>(stacked.result.getType());
    llvm::Value *bytes = value(plan::bufferBytes(type, ArrayRef<DimExpr>(dims).drop_front()));
    current[stacked.result.getResultNumber()] =
        offset(pointers[stacked.result], b.CreateMul(stacked.backward ? fromEnd : index, bytes));
  }
  slices[op] = current;
}

} // namespace hewn::codegen
