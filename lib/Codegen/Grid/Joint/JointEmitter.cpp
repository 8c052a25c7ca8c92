// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Joint/JointEmitter.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Grid/Grid.h"
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::plan::Handover;

namespace hewn::codegen {

static MemRefType memrefOf(Type element) { return MemRefType::get({ShapedType::kDynamic}, element); }

JointEmitter::JointEmitter(ModuleOp module, const Joint &joint)
    : module(module), joint(joint), needs(joint.ops), b(module.getContext()), loc(joint.ops.front()->getLoc()) {
  for (Operation *op : joint.ops)
    op->walk([&](plan::LaunchOp launch) {
      threads = std::max(threads, plan::gridLaunchOf(plan::functionOf(launch)).getThreads());
    });
}

Value JointEmitter::constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value JointEmitter::number(int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }

Value JointEmitter::expression(const DimExpr &expr) {
  return expr.materialize(b, loc, [&](StringRef name) { return symbols.lookup(name); });
}

//===------------------------------------------------------------------------------------------------------------------===//
// The function
//===------------------------------------------------------------------------------------------------------------------===//

void JointEmitter::begin() {
  MLIRContext *context = module.getContext();
  Type bytes = memrefOf(b.getI8Type());
  SmallVector<Type> types = {LLVM::LLVMPointerType::get(context)};
  types.append(joint.inputs.size() + joint.outputs.size(), bytes);
  types.append(joint.symbols.size(), b.getIndexType());
  types.append(2, bytes); // the arena and the counters
  b.setInsertionPoint(joint.ops.front()->getParentOfType<func::FuncOp>());
  function = func::FuncOp::create(b, loc, joint.name, b.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  b.setInsertionPoint(func::ReturnOp::create(b, loc));
  unsigned next = 1;
  for (Value input : joint.inputs)
    pointers[input] = entry->getArgument(next++);
  for (OpResult output : joint.outputs)
    pointers[output] = entry->getArgument(next++);
  SmallVector<Attribute> names;
  for (const std::string &symbol : joint.symbols) {
    symbols[symbol] = entry->getArgument(next++);
    names.push_back(b.getStringAttr(symbol));
  }
  arena = entry->getArgument(next++);
  counters = entry->getArgument(next);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counters);
  counter = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
  thread = grid::ThreadIdOp::create(b, loc, b.getI32Type());
  block = grid::BlockIdOp::create(b, loc, b.getI32Type());
  blocks = grid::NumBlocksOp::create(b, loc, b.getI32Type());
  int64_t most = 1; // by which blocks meet
  for (Operation *op : joint.ops)
    op->walk([&](plan::LaunchOp launch) {
      most = std::max(most, plan::gridLaunchOf(plan::functionOf(launch)).getCounters());
    });
  plan::changeGridLaunch(function, [&](plan::GridLaunch &launch) {
    launch.threads = threads;
    launch.symbols = b.getArrayAttr(names);
    launch.meets = true;
    launch.counters = most;
  });
}

func::FuncOp JointEmitter::emit() {
  begin();
  choosePrefetches();
  if (succeeded(emitOps(joint.ops)) && succeeded(layOutShared()))
    return function;
  function.erase();
  return nullptr;
}

/// The blocks count themselves. What the first one adds makes the counter's sign change when all have come, whatever it was before:
/// so nobody has to reset it, and the next launch may have another number of blocks. It cannot change before this block has come: so what
/// it was is read while the block's threads wait for each other, and nobody waits for what the addition finds.
func::FuncOp JointEmitter::emitMeeting(bool prefetches) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  SmallVector<Type> types(prefetches ? 3 : 1, b.getI64Type());
  func::FuncOp meeting = func::FuncOp::create(b, loc, joint.name + (prefetches ? "_meet_prefetching" : "_meet"),
                                              b.getFunctionType(types, {}));
  meeting.setPrivate();
  b.setInsertionPointToEnd(meeting.addEntryBlock());
  Value at = meeting.getArgument(0), isFirst;
  auto barrier = [&] { grid::BarrierOp::create(b, loc, IntegerAttr()); };
  auto equal = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); };
  Value before = grid::CounterReadOp::create(b, loc, b.getI32Type(), at, /*relaxed=*/true);
  barrier();
  isFirst = equal(grid::ThreadIdOp::create(b, loc, b.getI32Type()), number(0));
  {
    auto first = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(first.thenBlock()->getTerminator());
    Value others = arith::SubIOp::create(b, loc, grid::NumBlocksOp::create(b, loc, b.getI32Type()), number(1));
    Value turns = arith::SubIOp::create(b, loc, number(INT32_MIN), others);
    Value more = arith::SelectOp::create(b, loc, equal(grid::BlockIdOp::create(b, loc, b.getI32Type()), number(0)),
                                         turns, number(1));
    grid::CounterAddOp::create(b, loc, b.getI32Type(), at, more);
  }
  if (prefetches)
    prefetch(meeting.getArgument(1), meeting.getArgument(2));
  {
    auto first = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(first.thenBlock()->getTerminator());
    auto loop = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
    b.createBlock(&loop.getBefore());
    Value now = grid::CounterReadOp::create(b, loc, b.getI32Type(), at, /*relaxed=*/false);
    Value changed = arith::XOrIOp::create(b, loc, now, before);
    Value waits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, changed, number(0));
    scf::ConditionOp::create(b, loc, waits, ValueRange());
    b.createBlock(&loop.getAfter());
    scf::YieldOp::create(b, loc);
  }
  barrier();
  func::ReturnOp::create(b, loc);
  return meeting;
}

/// The blocks' shares of [first, end), so that neighbouring threads ask for what lies side by side. All of a cache's line may come with a
/// part of it, or that part alone.
void JointEmitter::prefetch(Value first, Value end) {
  int64_t partOfLine = plan::gridOf(function).getCosts().getSectorBytes();
  auto wide = [&](Value number) -> Value { return arith::ExtUIOp::create(b, loc, b.getI64Type(), number); };
  auto bytes = [&](int64_t count) -> Value { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(count)); };
  auto times = [&](Value x, Value y) -> Value { return arith::MulIOp::create(b, loc, x, y); };
  Value ofBlock = bytes(threads * partOfLine), own = wide(grid::ThreadIdOp::create(b, loc, b.getI32Type()));
  Value before = times(wide(grid::BlockIdOp::create(b, loc, b.getI32Type())), ofBlock);
  Value from = arith::AddIOp::create(b, loc, before, times(own, bytes(partOfLine)));
  Value step = times(wide(grid::NumBlocksOp::create(b, loc, b.getI32Type())), ofBlock);
  auto loop = scf::ForOp::create(b, loc, arith::AddIOp::create(b, loc, first, from), end, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  grid::PrefetchOp::create(b, loc, loop.getInductionVar());
}

/// At each meeting the next constant that nobody has asked for yet, of the parts up to the meeting after the next one: what comes before a
/// part of little work is there when that is done. So many bytes as come from memory while blocks meet: more would come later than where it is
/// read. Not what a few loads bring, and nothing of loops, whose later steps find all in the cache.
void JointEmitter::choosePrefetches() {
  constexpr int64_t few = 16 << 10;
  plan::GridAttr grid = plan::gridOf(joint.ops.front());
  if (!grid)
    return;
  int64_t most = grid.getCosts().getMemoryBytesPerCycle() * grid.getCosts().getGridBarrierCycles();
  llvm::SmallPtrSet<Value, 16> asked;
  auto next = [&](size_t first) {
    Value found;
    int meetings = 0;
    for (Operation *op : ArrayRef(joint.ops).drop_front(first)) {
      meetings += needs.hasBarrierBefore({op, JointPart::Launch});
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (found || meetings > 2 || (!launch && !graph::isViewKind(op))) // a loop has meetings of its own
        break;
      for (Value input : launch ? ValueRange(launch.getInputs()) : ValueRange())
        if (Value source = plan::behindViews(input); isa_and_nonnull<graph::ConstantOp>(source.getDefiningOp()))
          if (!found && plan::bufferBytes(source).constant().value_or(0) >= few && asked.insert(source).second)
            found = source;
    }
    return found;
  };
  for (auto [i, op] : llvm::enumerate(joint.ops))
    if (most >= few && needs.hasBarrierBefore({op, JointPart::Launch}))
      if (Value source = next(i))
        prefetches[op] = {source, std::min(*plan::bufferBytes(source).constant(), most)};
}

void JointEmitter::separate(JointPart part) {
  if (!needs.hasBarrierBefore(part)) { // what shares a block's memory is still apart
    grid::BarrierOp::create(b, loc, IntegerAttr());
    return;
  }
  auto meet = [&](bool prefetches, ValueRange arguments) {
    func::FuncOp &meeting = meetings[prefetches];
    if (!meeting)
      meeting = emitMeeting(prefetches);
    func::CallOp::create(b, loc, meeting, arguments);
  };
  auto next = prefetches.find(part.op);
  Value memory = next != prefetches.end() ? pointers.lookup(next->second.first) : Value();
  if (!memory)
    return meet(false, counter);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memory);
  Value first = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
  Value bytes = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(next->second.second));
  meet(true, {counter, first, arith::AddIOp::create(b, loc, first, bytes)});
}

//===------------------------------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------------------------------===//

Value JointEmitter::at(Value base, Value byte, const DimExpr &bytes) {
  return memref::ViewOp::create(b, loc, memrefOf(b.getI8Type()), base, byte, expression(bytes));
}

Value JointEmitter::pointer(Value value) { return pointers.lookup(plan::behindViews(value)); }

Value JointEmitter::placeFor(OpResult result) {
  if (Value given = pointers.lookup(result)) // outputs, and what is outside of the joint kernel otherwise
    if (!plan::arenaOffset(result))
      return given;
  auto step = steps.find(result.getOwner()->getParentOp());
  if (std::optional<DimExpr> offset = plan::arenaOffset(result)) {
    if (step != steps.end())
      for (auto &[place, turn] : step->second.turns)
        if (place == *offset)
          return turn;
    return at(arena, expression(*offset), plan::bufferBytes(result));
  }
  plan::PlaceAttr place = plan::placeOf(result);
  if (place && place.getKind() == plan::PlaceKind::Slice && step != steps.end())
    return step->second.slices.lookup(place.getOffset()->constant().value_or(-1));
  return nullptr;
}

void JointEmitter::copy(Value to, Value from, const DimExpr &bytes) {
  std::optional<int64_t> known = bytes.constant();
  int64_t width = known && *known % 4 == 0 ? 4 : 1;
  auto type = memrefOf(b.getIntegerType(unsigned(width * 8)));
  Value count = expression(bytes.floorDiv(DimExpr(width))), zero = constant(0);
  auto typed = [&](Value memory) -> Value { return memref::ViewOp::create(b, loc, type, memory, zero, count); };
  Value target = typed(to), source = typed(from);
  auto index = [&](Value v) -> Value { return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), v); };
  Value size = constant(threads);
  Value first = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, index(block), size), index(thread));
  auto loop = scf::ForOp::create(b, loc, first, count, arith::MulIOp::create(b, loc, index(blocks), size));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  Value element = memref::LoadOp::create(b, loc, source, loop.getInductionVar());
  memref::StoreOp::create(b, loc, element, target, loop.getInductionVar());
}

//===------------------------------------------------------------------------------------------------------------------===//
// Parts
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult JointEmitter::emitOps(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    LogicalResult done = success();
    if (auto launch = dyn_cast<plan::LaunchOp>(op))
      done = emitLaunch(launch);
    else if (graph::ControlOpInterface loop = graph::countedLoopOf(op))
      done = emitLoop(loop);
    else if (!graph::isViewKind(op) && !isa<graph::YieldOp>(op))
      done = op->emitOpError("can't be a part of a joint kernel");
    if (failed(done))
      return failure();
  }
  return success();
}

func::FuncOp JointEmitter::partOf(func::FuncOp kernel) {
  func::FuncOp &part = parts[kernel.getName()];
  if (part)
    return part;
  part = kernel.clone();
  part.setName(joint.name + "_" + kernel.getName().str());
  part.setPrivate();
  module.insert(function, part);
  int64_t own = plan::gridLaunchOf(kernel).getThreads();
  if (own == threads)
    return part;
  // Its threads are some of the block's: they wait for each other alone.
  part.walk([&](grid::BarrierOp barrier) { barrier.setThreads(uint32_t(own)); });
  return part;
}

LogicalResult JointEmitter::emitLaunch(plan::LaunchOp launch) {
  separate({launch, JointPart::Launch});
  func::FuncOp kernel = plan::functionOf(launch);
  if (keeping.contains(launch))
    kernel = module.lookupSymbol<func::FuncOp>((launch.getKernel() + plan::kKeptSuffix).str());
  func::FuncOp part = partOf(kernel);
  SmallVector<Value> arguments = {function.getArgument(0)};
  auto pass = [&](Value value, Value memory) {
    if (!memory)
      return false;
    arguments.push_back(viewOf(value, memory, part.getArgumentTypes()[arguments.size()]));
    return true;
  };
  for (Value input : launch.getInputs())
    if (!pass(input, pointer(input)))
      return launch.emitOpError("reads what a joint kernel does not have");
  for (OpResult result : launch->getResults()) {
    Value memory = placeFor(result);
    if (!pass(result, memory))
      return launch.emitOpError("has a result at a place that a joint kernel does not have");
    pointers[result] = memory;
  }
  if (failed(passSymbols(launch, arguments)))
    return failure();
  if (plan::gridLaunchOf(part).getCounters() > 0)
    arguments.push_back(counters);
  callPart(part, arguments);
  return success();
}

Value JointEmitter::viewOf(Value value, Value memory, Type argument) {
  auto type = cast<MemRefType>(argument);
  int64_t width = int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  Value count = expression(plan::bufferBytes(value).floorDiv(DimExpr(width)));
  return memref::ViewOp::create(b, loc, type, memory, constant(0), count);
}

LogicalResult JointEmitter::passSymbols(plan::LaunchOp launch, SmallVector<Value> &arguments) {
  for (Attribute attr : launch.getSymbols()) {
    arguments.push_back(expression(*DimExpr::fromAttr(attr)));
  }
  return success();
}

void JointEmitter::callPart(func::FuncOp part, ValueRange arguments) {
  int64_t own = plan::gridLaunchOf(part).getThreads();
  OpBuilder::InsertionGuard guard(b);
  if (own < threads) {
    Value takesPart = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread, number(int32_t(own)));
    auto branch = scf::IfOp::create(b, loc, takesPart, /*withElseRegion=*/false);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  func::CallOp::create(b, loc, part, arguments);
}

LogicalResult JointEmitter::handOver(graph::ControlOpInterface loop, ArrayRef<Value> homes) {
  SmallVector<graph::CarriedValue> states = loop.getCarriedValues();
  SmallVector<unsigned> copied;
  for (unsigned i = 0; i < homes.size(); ++i)
    if (plan::handover(loop, i) == Handover::Copy)
      copied.push_back(i);
  if (copied.empty())
    return success();
  separate({loop, JointPart::Hand});
  // A state's bytes have the same threads wherever they are: a thread sees what it has put aside, and nobody else's.
  SmallVector<Value> sources;
  for (unsigned i : copied) {
    DimExpr bytes = plan::bufferBytes(states[i].result);
    Value source = pointer(states[i].next);
    if (!source)
      return loop.emitOpError("gives on what a joint kernel does not have");
    if (plan::PlaceAttr place = plan::stagingOf(loop, i)) {
      Value aside = at(arena, expression(*place.getOffset()), bytes);
      copy(aside, source, bytes);
      source = aside;
    }
    sources.push_back(source);
  }
  for (auto [i, source] : llvm::zip(copied, sources))
    copy(homes[i], source, plan::bufferBytes(states[i].result));
  return success();
}

LogicalResult JointEmitter::emitLoop(graph::ControlOpInterface op) {
  SmallVector<graph::CarriedValue> states = op.getCarriedValues();
  auto bytesOf = [&](unsigned i) { return plan::bufferBytes(states[i].result); };
  // Where each state is, and where the next steps make those that take turns.
  SmallVector<Value> homes, carried;
  SmallVector<Handover> how;
  bool entered = false;
  for (unsigned i = 0; i < states.size(); ++i) {
    how.push_back(plan::handover(op, i).value_or(Handover::Forward));
    homes.push_back(placeFor(states[i].result));
    Value initial = pointer(states[i].initial);
    if (!homes[i] || !initial)
      return op.emitOpError("has a state that a joint kernel does not have");
    if (beginsAsCopy(op, i)) {
      if (!std::exchange(entered, true))
        separate({op, JointPart::Enter});
      copy(homes[i], initial, bytesOf(i));
      initial = homes[i];
    }
    carried.push_back(initial);
  }
  for (unsigned i = 0; i < states.size(); ++i)
    if (how[i] == Handover::DoubleBuffer) {
      Value made = plan::behindViews(states[i].next);
      carried.push_back(at(arena, expression(*plan::arenaOffset(made)), bytesOf(i)));
      carried.push_back(homes[i]);
    }
  for (const graph::StackedValue &output : op.getStackedValues()) {
    Value place = placeFor(output.result);
    if (!place)
      return op.emitOpError("has an output at a place that a joint kernel does not have");
    pointers[output.result] = place;
  }

  if (failed(keepConstants(op)))
    return failure();
  Value length = expression(*op.getNumSteps());
  auto loop = scf::ForOp::create(b, loc, constant(0), length, constant(1), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange current = loop.getRegionIterArgs();
    for (unsigned i = 0; i < states.size(); ++i)
      pointers[states[i].argument] = current[i];
    if (failed(enterSlices(op, loop.getInductionVar(), length)))
      return failure();
    for (unsigned i = 0, next = unsigned(states.size()); i < states.size(); ++i)
      if (how[i] == Handover::DoubleBuffer) {
        steps[op].turns.push_back({*plan::arenaOffset(plan::behindViews(states[i].next)), current[next]});
        next += 2;
      }
    SmallVector<Operation *> ops;
    for (Operation &inner : op.getLoopBody())
      ops.push_back(&inner);
    if (failed(emitOps(ops)) || failed(handOver(op, homes)))
      return failure();
    SmallVector<Value> next;
    for (unsigned i = 0; i < states.size(); ++i)
      next.push_back(how[i] == Handover::Slice || how[i] == Handover::DoubleBuffer ? pointer(states[i].next)
                                                                                   : current[i]);
    for (size_t i = states.size(); i < current.size(); i += 2) {
      next.push_back(current[i + 1]);
      next.push_back(current[i]);
    }
    scf::YieldOp::create(b, loc, next);
  }
  bool left = false;
  for (unsigned i = 0; i < states.size(); ++i) {
    pointers[states[i].result] = loop.getResult(i);
    if (!endsAsCopy(op, i, joint.ops))
      continue;
    if (!std::exchange(left, true))
      separate({op, JointPart::Leave});
    copy(homes[i], loop.getResult(i), bytesOf(i));
    pointers[states[i].result] = homes[i]; // where it was may be written from here on
  }
  return success();
}

LogicalResult JointEmitter::enterSlices(graph::ControlOpInterface op, Value index, Value length) {
  Value fromEnd = arith::SubIOp::create(b, loc, arith::SubIOp::create(b, loc, length, constant(1)), index);
  auto slice = [&](bool backward, Value base, const DimExpr &bytes) {
    return at(base, arith::MulIOp::create(b, loc, backward ? fromEnd : index, expression(bytes)), bytes);
  };
  for (const graph::SlicedValue &sliced : op.getSlicedValues()) {
    Value base = pointer(sliced.sequence);
    if (!base)
      return op.emitOpError("goes through what a joint kernel does not have");
    pointers[sliced.slice] = slice(sliced.backward, base, plan::bufferBytes(sliced.slice));
  }
  Step step;
  for (const graph::StackedValue &output : op.getStackedValues()) {
    graph::Dims dims = graph::getDims(output.result);
    DimExpr bytes =
        plan::bufferBytes(cast<RankedTensorType>(output.result.getType()), ArrayRef<DimExpr>(dims).drop_front());
    step.slices[int64_t(output.result.getResultNumber())] = slice(output.backward, pointers[output.result], bytes);
  }
  steps[op] = std::move(step);
  return success();
}

} // namespace hewn::codegen
