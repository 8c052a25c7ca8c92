// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/Persistent/PersistentEmitter.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Transforms/Plan/Join/PersistentCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::plan::Handover;

namespace hewn::codegen {

static MemRefType memrefOf(Type element) { return MemRefType::get({ShapedType::kDynamic}, element); }

PersistentEmitter::PersistentEmitter(const PersistentKernel &persistent)
    : persistent(persistent), needs(persistent.ops), b(persistent.ops.front()->getContext()),
      loc(persistent.ops.front()->getLoc()) {
  for (Operation *op : persistent.ops)
    op->walk([&](plan::LaunchOp launch) {
      threads = std::max(threads, plan::gpuLaunchOf(plan::entryOf(launch)).getThreads());
    });
}

Value PersistentEmitter::constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value PersistentEmitter::number(int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }

Value PersistentEmitter::expression(const DimExpr &expr) {
  return expr.materialize(b, loc, [&](StringRef name) { return symbols.lookup(name); });
}

//===----------------------------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------------------------===//

void PersistentEmitter::begin() {
  MLIRContext *context = b.getContext();
  Type bytes = memrefOf(b.getI8Type());
  SmallVector<Type> types = {LLVM::LLVMPointerType::get(context)};
  types.append(persistent.inputs.size() + persistent.outputs.size(), bytes);
  types.append(persistent.symbols.size(), b.getIndexType());
  types.append(2, bytes); // the arena and the counters
  SmallVector<Attribute> names =
      llvm::map_to_vector(persistent.symbols, [&](StringRef name) -> Attribute { return b.getStringAttr(name); });
  b.setInsertionPoint(persistent.ops.front()->getParentOfType<func::FuncOp>());
  auto signature = b.getFunctionType(
      TypeRange(persistent.inputs),
      TypeRange(ValueRange(SmallVector<Value>(persistent.outputs.begin(), persistent.outputs.end()))));
  kernel =
      plan::KernelOp::create(b, loc, b.getStringAttr(persistent.name), TypeAttr::get(signature), b.getArrayAttr(names),
                             Attribute(), StringAttr(), StringAttr(), ArrayAttr(), ArrayAttr());
  b.createBlock(&kernel.getBody());
  function = func::FuncOp::create(b, loc, persistent.name, b.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  b.setInsertionPoint(func::ReturnOp::create(b, loc));
  unsigned next = 1;
  for (Value input : persistent.inputs)
    pointers[input] = entry->getArgument(next++);
  for (OpResult output : persistent.outputs)
    pointers[output] = entry->getArgument(next++);
  for (const std::string &symbol : persistent.symbols)
    symbols[symbol] = entry->getArgument(next++);
  arena = entry->getArgument(next++);
  counters = entry->getArgument(next);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counters);
  counter = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
  thread = simt::ThreadIdOp::create(b, loc, b.getI32Type());
  block = simt::BlockIdOp::create(b, loc, b.getI32Type());
  blocks = simt::NumBlocksOp::create(b, loc, b.getI32Type());
  int64_t most = 1; // counter 0 is the one of grid-wide barriers
  for (Operation *op : persistent.ops)
    op->walk(
        [&](plan::LaunchOp launch) { most = std::max(most, plan::gpuLaunchOf(plan::entryOf(launch)).getCounters()); });
  plan::changeGpuLaunch(function, [&](plan::GpuLaunch &launch) {
    launch.threads = threads;
    launch.symbols = b.getArrayAttr(names);
    launch.meets = true;
    launch.counters = most;
  });
}

func::FuncOp PersistentEmitter::emit() {
  begin();
  choosePrefetches();
  if (succeeded(emitOps(persistent.ops)) && succeeded(layOutShared()))
    return function;
  kernel.erase();
  return nullptr;
}

/// In the barrier of all blocks, each block adds 1 to a counter, except that block 0 adds
/// 2^31 - (blocks - 1). The additions sum up to 2^31, so the counter's sign flips when all blocks
/// have arrived, whatever its value was. Therefore the counter needs no reset, and the next launch
/// may have another number of blocks. A block compares the counter's sign with that of an earlier
/// value. It loads this value while its threads wait for each other, before its own addition: the
/// sign cannot flip before the block arrives. No thread then waits for the result of an addition.
func::FuncOp PersistentEmitter::emitMeeting(bool prefetches) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  SmallVector<Type> types(prefetches ? 3 : 1, b.getI64Type());
  func::FuncOp meeting = func::FuncOp::create(b, loc, persistent.name + (prefetches ? "_meet_prefetching" : "_meet"),
                                              b.getFunctionType(types, {}));
  meeting.setPrivate();
  b.setInsertionPointToEnd(meeting.addEntryBlock());
  Value at = meeting.getArgument(0), isFirst;
  auto barrier = [&] { simt::BarrierOp::create(b, loc, IntegerAttr()); };
  auto equal = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); };
  Value before = simt::CounterReadOp::create(b, loc, b.getI32Type(), at, /*relaxed=*/true);
  barrier();
  isFirst = equal(simt::ThreadIdOp::create(b, loc, b.getI32Type()), number(0));
  {
    auto first = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(first.thenBlock()->getTerminator());
    Value others = arith::SubIOp::create(b, loc, simt::NumBlocksOp::create(b, loc, b.getI32Type()), number(1));
    Value turns = arith::SubIOp::create(b, loc, number(INT32_MIN), others);
    Value more = arith::SelectOp::create(b, loc, equal(simt::BlockIdOp::create(b, loc, b.getI32Type()), number(0)),
                                         turns, number(1));
    simt::CounterAddOp::create(b, loc, b.getI32Type(), at, more);
  }
  if (prefetches)
    prefetch(meeting.getArgument(1), meeting.getArgument(2));
  {
    auto first = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(first.thenBlock()->getTerminator());
    auto loop = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
    b.createBlock(&loop.getBefore());
    Value now = simt::CounterReadOp::create(b, loc, b.getI32Type(), at, /*relaxed=*/false);
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

/// Emits the prefetch of the addresses [first, end) by all threads. Consecutive threads prefetch
/// consecutive sectors, because the cache may load just a sector instead of a full line.
void PersistentEmitter::prefetch(Value first, Value end) {
  int64_t partOfLine = plan::gpuOf(function).getCosts().getSectorBytes();
  auto wide = [&](Value number) -> Value { return arith::ExtUIOp::create(b, loc, b.getI64Type(), number); };
  auto bytes = [&](int64_t count) -> Value { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(count)); };
  auto times = [&](Value x, Value y) -> Value { return arith::MulIOp::create(b, loc, x, y); };
  Value ofBlock = bytes(threads * partOfLine), own = wide(simt::ThreadIdOp::create(b, loc, b.getI32Type()));
  Value before = times(wide(simt::BlockIdOp::create(b, loc, b.getI32Type())), ofBlock);
  Value from = arith::AddIOp::create(b, loc, before, times(own, bytes(partOfLine)));
  Value step = times(wide(simt::NumBlocksOp::create(b, loc, b.getI32Type())), ofBlock);
  auto loop = scf::ForOp::create(b, loc, arith::AddIOp::create(b, loc, first, from), end, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  simt::PrefetchOp::create(b, loc, loop.getInductionVar());
}

/// Chooses the constant that is prefetched at each grid-wide barrier: the next one that has not
/// been prefetched, among the phases up to the barrier after the next one. Data for a short phase
/// then arrives during the phase before. The size is limited to what memory delivers during a
/// barrier; anything more would arrive later than by a direct load. Small constants are not
/// prefetched. Constants that a loop reads are not prefetched either, because all steps but the
/// first find them in the cache.
void PersistentEmitter::choosePrefetches() {
  constexpr int64_t few = 16 << 10;
  plan::GpuAttr gpu = plan::gpuOf(persistent.ops.front());
  if (!gpu)
    return;
  int64_t most = gpu.getCosts().getMemoryBytesPerCycle() * gpu.getCosts().getGridBarrierCycles();
  llvm::SmallPtrSet<Value, 16> asked;
  auto next = [&](size_t first) {
    Value found;
    int meetings = 0;
    for (Operation *op : ArrayRef(persistent.ops).drop_front(first)) {
      meetings += needs.hasBarrierBefore({op, PersistentPhase::Launch});
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (found || meetings > 2 || (!launch && !graph::isViewKind(op))) // a loop has barriers of its own
        break;
      for (Value input : launch ? ValueRange(launch.getInputs()) : ValueRange())
        if (Value source = plan::behindViews(input); isa_and_nonnull<graph::ConstantOp>(source.getDefiningOp()))
          if (!found && plan::bufferBytes(source).constant().value_or(0) >= few && asked.insert(source).second)
            found = source;
    }
    return found;
  };
  for (auto [i, op] : llvm::enumerate(persistent.ops))
    if (most >= few && needs.hasBarrierBefore({op, PersistentPhase::Launch}))
      if (Value source = next(i))
        prefetches[op] = {source, std::min(*plan::bufferBytes(source).constant(), most)};
}

void PersistentEmitter::separate(PersistentPhase part) {
  // a block-wide barrier is needed, because phases share the shared memory
  if (!needs.hasBarrierBefore(part)) {
    simt::BarrierOp::create(b, loc, IntegerAttr());
    return;
  }
  blocksBefore = 0;
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

//===----------------------------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------------------------===//

Value PersistentEmitter::at(Value base, Value byte, const DimExpr &bytes) {
  return memref::ViewOp::create(b, loc, memrefOf(b.getI8Type()), base, byte, expression(bytes));
}

Value PersistentEmitter::pointer(Value value) { return pointers.lookup(plan::behindViews(value)); }

Value PersistentEmitter::placeFor(OpResult result) {
  if (Value given = pointers.lookup(result)) // an output, or a value from outside of the kernel
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
  plan::BufferAttr place = plan::placeOf(result);
  if (place && place.getKind() == plan::BufferKind::Slice && step != steps.end())
    return step->second.slices.lookup(place.getOffset()->constant().value_or(-1));
  return nullptr;
}

void PersistentEmitter::copy(Value to, Value from, const DimExpr &bytes) {
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

//===----------------------------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------------------------===//

LogicalResult PersistentEmitter::emitOps(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    LogicalResult done = success();
    if (auto launch = dyn_cast<plan::LaunchOp>(op))
      done = emitLaunch(launch);
    else if (graph::ControlOpInterface loop = graph::countedLoopOf(op))
      done = emitLoop(loop);
    else if (!graph::isViewKind(op) && !isa<graph::YieldOp>(op))
      done = op->emitOpError("cannot be a phase of a persistent kernel");
    if (failed(done))
      return failure();
  }
  return success();
}

void PersistentEmitter::copyReferenced(func::FuncOp copy, func::FuncOp original) {
  SmallVector<Operation *> reached = {copy};
  while (!reached.empty()) {
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(reached.pop_back_val());
    if (!uses)
      continue;
    for (const SymbolTable::SymbolUse &use : *uses) {
      StringAttr name = use.getSymbolRef().getRootReference();
      Operation *other = SymbolTable::lookupSymbolIn(original->getParentOp(), name);
      if (!other || kernel.lookupSymbol(name))
        continue;
      reached.push_back(other->clone());
      kernel.getBody().front().getOperations().insert(Block::iterator(copy), reached.back());
    }
  }
}

func::FuncOp PersistentEmitter::partOf(func::FuncOp original) {
  func::FuncOp &part = parts[original.getName()];
  if (part)
    return part;
  part = original.clone();
  part.setName(persistent.name + "_" + original.getName().str());
  part.setPrivate();
  kernel.getBody().front().getOperations().insert(Block::iterator(function), part);
  copyReferenced(part, original);
  turnBlocks(part);
  int64_t own = plan::gpuLaunchOf(original).getThreads();
  if (own == threads)
    return part;
  // The phase uses only some of the block's threads, so its barriers must wait for just these
  // threads.
  part.walk([&](simt::BarrierOp barrier) { barrier.setThreads(uint32_t(own)); });
  return part;
}

/// Adds an argument to a phase's function: the number of the block that gets block index 0 in this
/// phase. The indices of the following blocks count up from 0 and wrap around.
void PersistentEmitter::turnBlocks(func::FuncOp part) {
  SmallVector<simt::BlockIdOp> ids;
  part.walk([&](simt::BlockIdOp id) { ids.push_back(id); });
  unsigned number = part.getNumArguments();
  if (failed(part.insertArgument(number, b.getI32Type(), DictionaryAttr(), loc)))
    return; // adding an argument cannot fail, because this pass has created the function
  Value first = part.getArgument(number);
  OpBuilder::InsertionGuard guard(b);
  for (simt::BlockIdOp id : ids) {
    b.setInsertionPointAfter(id);
    Value all = simt::NumBlocksOp::create(b, loc, b.getI32Type());
    Value before = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, id, first);
    Value behind = arith::SubIOp::create(b, loc, id, first);
    Value turned = arith::SelectOp::create(b, loc, before, arith::AddIOp::create(b, loc, behind, all), behind);
    id.getResult().replaceUsesWithIf(turned, [&](OpOperand &use) {
      return use.getOwner() != before.getDefiningOp() && use.getOwner() != behind.getDefiningOp();
    });
  }
}

/// Returns the block that gets index 0 in a phase. If the phases between two barriers have few
/// blocks each, a phase starts after the blocks of the previous one, so that the phases run
/// concurrently. In loops, all phases start at block 0, because blocks may have resident weights.
Value PersistentEmitter::firstBlock(plan::LaunchOp launch) {
  if (graph::countedLoopOf(launch->getParentOp()))
    return number(0);
  plan::GpuLaunchAttr info = plan::gpuLaunchOf(plan::entryOf(launch));
  std::optional<DimExpr> wanted = plan::atLaunch(info.getBlocks().value_or(DimExpr(1)), info.getSymbols(), launch);
  int64_t before = blocksBefore, own = wanted ? wanted->constant().value_or(0) : 0;
  blocksBefore = before + own <= INT32_MAX ? before + own : 0;
  mostSideBySide = std::max(mostSideBySide, blocksBefore);
  return before == 0 ? number(0) : arith::RemUIOp::create(b, loc, number(int32_t(before)), blocks).getResult();
}

LogicalResult PersistentEmitter::emitLaunch(plan::LaunchOp launch) {
  separate({launch, PersistentPhase::Launch});
  Value first = firstBlock(launch);
  func::FuncOp part = partOf(plan::entryOf(launch, keeping.contains(launch) ? plan::kKeptSuffix : ""));
  SmallVector<Value> arguments = {function.getArgument(0)};
  auto pass = [&](Value value, Value memory) {
    if (!memory)
      return false;
    arguments.push_back(viewOf(value, memory, part.getArgumentTypes()[arguments.size()]));
    return true;
  };
  for (Value input : launch.getInputs())
    if (!pass(input, pointer(input)))
      return launch.emitOpError("reads a value whose buffer is not available in the persistent kernel");
  for (OpResult result : launch->getResults()) {
    Value memory = placeFor(result);
    if (!pass(result, memory))
      return launch.emitOpError("has a result whose buffer is not available in the persistent kernel");
    pointers[result] = memory;
  }
  if (failed(passSymbols(launch, arguments)))
    return failure();
  if (plan::gpuLaunchOf(part).getCounters() > 0)
    arguments.push_back(counters);
  arguments.push_back(first);
  callPart(part, arguments);
  return success();
}

Value PersistentEmitter::viewOf(Value value, Value memory, Type argument) {
  auto type = cast<MemRefType>(argument);
  int64_t width = int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  Value count = expression(plan::bufferBytes(value).floorDiv(DimExpr(width)));
  return memref::ViewOp::create(b, loc, type, memory, constant(0), count);
}

LogicalResult PersistentEmitter::passSymbols(plan::LaunchOp launch, SmallVector<Value> &arguments) {
  for (Attribute attr : launch.getSymbols()) {
    arguments.push_back(expression(*DimExpr::fromAttr(attr)));
  }
  return success();
}

void PersistentEmitter::callPart(func::FuncOp part, ValueRange arguments) {
  int64_t own = plan::gpuLaunchOf(part).getThreads();
  OpBuilder::InsertionGuard guard(b);
  if (own < threads) {
    Value takesPart = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread, number(int32_t(own)));
    auto branch = scf::IfOp::create(b, loc, takesPart, /*withElseRegion=*/false);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  func::CallOp::create(b, loc, part, arguments);
}

LogicalResult PersistentEmitter::handOver(graph::ControlOpInterface loop, ArrayRef<Value> homes) {
  SmallVector<graph::CarriedValue> states = loop.getCarriedValues();
  SmallVector<unsigned> copied;
  for (unsigned i = 0; i < homes.size(); ++i)
    if (plan::handover(loop, i) == Handover::Copy)
      copied.push_back(i);
  if (copied.empty())
    return success();
  separate({loop, PersistentPhase::Hand});
  // A loop-carried value is copied to a staging buffer and from there to its own buffer. No barrier
  // is needed between these two copies: bytes are distributed over threads in the same way in both,
  // so a thread reads from the staging buffer only bytes that it wrote itself.
  SmallVector<Value> sources;
  for (unsigned i : copied) {
    DimExpr bytes = plan::bufferBytes(states[i].result);
    Value source = pointer(states[i].next);
    if (!source)
      return loop.emitOpError("yields a value whose buffer is not available in the persistent kernel");
    if (plan::BufferAttr place = plan::stagingOf(loop, i)) {
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

LogicalResult PersistentEmitter::emitLoop(graph::ControlOpInterface op) {
  SmallVector<graph::CarriedValue> states = op.getCarriedValues();
  auto bytesOf = [&](unsigned i) { return plan::bufferBytes(states[i].result); };
  // `homes` has the buffer of each loop-carried value. `carried` has the initial address of each
  // value, followed by the two buffers of each double-buffered value.
  SmallVector<Value> homes, carried;
  SmallVector<Handover> how;
  bool entered = false;
  for (unsigned i = 0; i < states.size(); ++i) {
    how.push_back(plan::handover(op, i).value_or(Handover::Forward));
    homes.push_back(placeFor(states[i].result));
    Value initial = pointer(states[i].initial);
    if (!homes[i] || !initial)
      return op.emitOpError("has a loop-carried value whose buffer is not available in the persistent kernel");
    if (beginsAsCopy(op, i)) {
      if (!std::exchange(entered, true))
        separate({op, PersistentPhase::Enter});
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
      return op.emitOpError("has an output whose buffer is not available in the persistent kernel");
    pointers[output.result] = place;
  }

  if (failed(markResidentWeights(op)))
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
    if (!endsAsCopy(op, i, persistent.ops))
      continue;
    if (!std::exchange(left, true))
      separate({op, PersistentPhase::Leave});
    copy(homes[i], loop.getResult(i), bytesOf(i));
    pointers[states[i].result] = homes[i]; // later phases may overwrite the previous buffer
  }
  return success();
}

LogicalResult PersistentEmitter::enterSlices(graph::ControlOpInterface op, Value index, Value length) {
  Value fromEnd = arith::SubIOp::create(b, loc, arith::SubIOp::create(b, loc, length, constant(1)), index);
  auto slice = [&](bool backward, Value base, const DimExpr &bytes) {
    return at(base, arith::MulIOp::create(b, loc, backward ? fromEnd : index, expression(bytes)), bytes);
  };
  for (const graph::SlicedValue &sliced : op.getSlicedValues()) {
    Value base = pointer(sliced.sequence);
    if (!base)
      return op.emitOpError("slices a sequence whose buffer is not available in the persistent kernel");
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
