// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/AttentionEngine.h"
#include "lib/Codegen/Contract/AttentionSteps.h"
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::FusedAttention;
using hewn::graph::Index;

namespace hewn::codegen {

/// Returns true if the rows of attention scores and weights can be stored in scratch memory, whose
/// elements are float32.
static bool fitsScratchMemory(const FusedAttention &attention) {
  return graph::getElementType(attention.scores).isF32() && graph::getElementType(attention.weights).isF32();
}

Dims attentionScratch(const FusedAttention &attention, plan::AttentionAttr schedule) {
  if (schedule.getSlots() == 0)
    return {};
  return {DimExpr(schedule.getSlots()), DimExpr(attention.inPlace ? 1 : 2), DimExpr(schedule.getRows()),
          plan::rowStride(attention.first, graph::getDims(attention.scores).back(), sizeof(float))};
}

/// Returns an attention schedule for `rows` rows per task, in which the cost model chooses the
/// schedule of each step. If a step's shapes do not match, emits an error and fails.
static FailureOr<plan::AttentionAttr> attentionOf(KernelContext &k, const FusedAttention &attention, int64_t rows,
                                                  int64_t slots) {
  AttentionSteps steps(k, attention, rows);
  SmallVector<Attribute> schedules;
  for (unsigned i = 0; i < AttentionSteps::count; ++i) {
    FailureOr<AttentionStep> step = steps.make(i);
    if (failed(step))
      return failure();
    Attribute schedule = chooseContraction(step->function);
    schedules.push_back(schedule ? schedule : chooseLoops(step->function));
    step->function.kernel.erase();
  }
  return plan::AttentionAttr::get(k.kernel.getContext(), rows, slots, schedules[0], schedules[1], schedules[2]);
}

/// Verifies that the rows of scores and weights fit the memory that the schedule selects: the stack
/// or scratch memory. If they do not fit and `says` is true, emits an error on the kernel.
static LogicalResult verifyStack(KernelContext &k, const FusedAttention &attention, plan::AttentionAttr schedule,
                                 bool says = true) {
  constexpr int64_t mostOfAStack = 256 << 10;
  std::optional<int64_t> columns = graph::getDims(attention.scores).back().constant();
  bool onStack = schedule.getSlots() == 0;
  if (onStack && (!columns || *columns > mostOfAStack / (schedule.getRows() * attention.columnBytes())))
    return says ? refuse(k, schedule) << ", but the rows do not fit the stack buffer" : LogicalResult(failure());
  if (!onStack && !fitsScratchMemory(attention))
    return says ? refuse(k, schedule) << ", but the scores or weights are not float32, as scratch memory requires"
                : LogicalResult(failure());
  return success();
}

LogicalResult verifyAttention(KernelContext &k, const FusedAttention &attention, plan::AttentionAttr schedule) {
  if (failed(verifyStack(k, attention, schedule)))
    return failure();
  AttentionSteps steps(k, attention, schedule.getRows());
  Attribute schedules[AttentionSteps::count] = {schedule.getHead(), schedule.getMiddle(), schedule.getTail()};
  for (unsigned i = 0; i < AttentionSteps::count; ++i) {
    FailureOr<AttentionStep> step = steps.make(i);
    if (failed(step))
      return failure();
    auto contract = dyn_cast<plan::ContractAttr>(schedules[i]);
    LogicalResult fits = contract ? verifyContraction(step->function, contract) : success();
    step->function.kernel.erase();
    if (failed(fits))
      return failure();
  }
  return success();
}

FailureOr<plan::AttentionAttr> chooseAttention(KernelContext &k, const FusedAttention &attention) {
  Dims space = graph::getDims(attention.first->getResult(0));
  std::optional<int64_t> columns = space.back().constant();
  int64_t rows = columns ? plan::attentionRows(k.kernel, *columns, attention.columnBytes()) : 0, slots = 0;
  if (rows == 0) {
    if (!fitsScratchMemory(attention))
      return plan::AttentionAttr();
    rows = plan::attentionRowsInMemory(k.kernel, space[attention.rowDim]);
    slots = plan::kScratchSlots;
  }
  return attentionOf(k, attention, rows, slots);
}

/// Returns the schedules that the schedule search may try for a step of fused attention. The cost
/// model's schedule is first.
static SmallVector<Attribute> candidatesOfStep(KernelContext &k, const FusedAttention &attention, int64_t rows,
                                               unsigned number) {
  AttentionSteps steps(k, attention, rows);
  FailureOr<AttentionStep> step = steps.make(number);
  if (failed(step))
    return {};
  SmallVector<plan::ContractAttr> tiles = contractCandidates(step->function);
  SmallVector<Attribute> all(tiles.begin(), tiles.end());
  step->function.kernel.erase();
  return all;
}

SmallVector<plan::AttentionAttr> attentionCandidates(KernelContext &k, const FusedAttention &attention) {
  FailureOr<plan::AttentionAttr> chosen = chooseAttention(k, attention);
  if (failed(chosen) || !*chosen)
    return {};
  SmallVector<plan::AttentionAttr> all = {*chosen};
  auto add = [&](plan::AttentionAttr other) {
    if (!llvm::is_contained(all, other) && succeeded(verifyStack(k, attention, other, /*says=*/false)))
      all.push_back(other);
  };
  plan::AttentionAttr own = *chosen;
  std::optional<int64_t> most = graph::getDims(attention.scores)[attention.rowDim].constant();
  int64_t tile = plan::costsOf(k.kernel).getAttentionRows();
  for (int64_t tiles : {1, 2, 3, 4, 6, 8})
    if (int64_t rows = tiles * tile; rows != own.getRows() && rows <= most.value_or(rows))
      if (FailureOr<plan::AttentionAttr> other = attentionOf(k, attention, rows, own.getSlots()); succeeded(other))
        add(*other);
  for (Attribute head : candidatesOfStep(k, attention, own.getRows(), 0))
    add(plan::AttentionAttr::get(head.getContext(), own.getRows(), own.getSlots(), head, own.getMiddle(),
                                 own.getTail()));
  for (Attribute tail : candidatesOfStep(k, attention, own.getRows(), AttentionSteps::count - 1))
    add(plan::AttentionAttr::get(tail.getContext(), own.getRows(), own.getSlots(), own.getHead(), own.getMiddle(),
                                 tail));
  return all;
}

namespace {

class AttentionEmitter {
public:
  AttentionEmitter(KernelContext &k, OpBuilder &b, const FusedAttention &attention, plan::AttentionAttr schedule,
                   const std::optional<Buffer> &memory)
      : k(k), b(b), attention(attention), schedule(schedule), steps(k, attention, schedule.getRows()),
        e(b, k.loc(), vectorLanes(k.kernel), k.symbols, k.inputs), memory(memory),
        space(graph::getDims(attention.first->getResult(0))) {}

  LogicalResult run() {
    if (!memory) {
      scores = onStack(steps.scores);
      weights = attention.inPlace ? scores : onStack(steps.weights);
    }
    // The loops over the batch dims are outermost, so that attention's K and V of a batch element
    // stay in the cache while all rows of that batch element are computed.
    Dims counts(ArrayRef(space).take_front(attention.rowDim));
    counts.push_back(space[attention.rowDim].ceilDiv(schedule.getRows()));
    DimExpr work = vectorWork(graph::numElements(space), e.lanes, 128);
    if (memory)
      overSlots(
          k, e, schedule.getSlots(), counts, work, [&](Index slot) { enterSlot(slot); },
          [&](ArrayRef<Index> at) { block(at); });
    else
      overTasks(k, e, counts, work, [&](ArrayRef<Index> at) { block(at); });
    return success(fits);
  }

private:
  KernelContext &k;
  OpBuilder &b;
  const FusedAttention &attention;
  plan::AttentionAttr schedule;
  AttentionSteps steps;
  ElementEmitter e;
  std::optional<Buffer> memory;
  Dims space;
  Buffer scores, weights;
  SmallVector<Index> batch;
  Index firstRow;
  bool fits = true;

  /// Emits the three steps of fused attention for one block of rows.
  void block(ArrayRef<Index> at) {
    batch.assign(at.begin(), at.end() - 1);
    firstRow = e.mul(at.back(), e.constant(schedule.getRows()));
    llvm::StringMap<Value> symbols = k.symbols;
    if (!steps.rows.constant())
      symbols[AttentionSteps::kRows] =
          e.min(e.sub(e.expression(space[attention.rowDim]), firstRow), e.constant(schedule.getRows())).base;
    Attribute schedules[AttentionSteps::count] = {schedule.getHead(), schedule.getMiddle(), schedule.getTail()};
    for (unsigned i = 0; i < AttentionSteps::count; ++i)
      fits = fits && succeeded(step(i, schedules[i], symbols));
    e.forget();
  }

  /// Sets `scores` and `weights` to the buffers of slot `slot` in the scratch memory of an
  /// attention kernel.
  void enterSlot(Index slot) {
    auto bufferAt = [&](const Buffer &form, int64_t number) {
      Buffer buffer = form;
      buffer.memref = memory->memref;
      Index which = e.add(e.mul(slot, e.constant(attention.inPlace ? 1 : 2)), e.constant(number));
      buffer.start = e.mul(which, e.mul(e.constant(schedule.getRows()), e.expression(memory->dims[3]))).base;
      return buffer;
    };
    scores = bufferAt(steps.scores, 0);
    weights = attention.inPlace ? scores : bufferAt(steps.weights, 1);
  }

  /// Allocates stack memory for the attention scores or weights of a task's rows.
  Buffer onStack(Buffer buffer) {
    int64_t elements = schedule.getRows() * *buffer.strides[attention.rowDim].constant();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&k.function.front());
    Value memory =
        memref::AllocaOp::create(b, k.loc(), MemRefType::get({elements}, buffer.elementType), b.getI64IntegerAttr(64));
    buffer.memref =
        memref::CastOp::create(b, k.loc(), MemRefType::get({ShapedType::kDynamic}, buffer.elementType), memory);
    return buffer;
  }

  /// Returns the offset in the buffer `whole` at which the slice of the current task begins.
  Value startOf(const Buffer &whole, ArrayRef<int64_t> along) {
    Index start = e.constant(0);
    for (auto [i, d] : llvm::enumerate(along)) {
      if (d < 0 || whole.dims[i].is(1))
        continue;
      start = e.add(start, e.mul(d == int64_t(attention.rowDim) ? firstRow : batch[d], e.expression(whole.strides[i])));
    }
    return start.base;
  }

  /// Emits step `number` of fused attention for the current task: builds the step as a kernel on
  /// the task's slices, and calls the kernel generator that `schedule` selects.
  LogicalResult step(unsigned number, Attribute schedule, const llvm::StringMap<Value> &symbols) {
    FailureOr<AttentionStep> step = steps.make(number);
    if (failed(step))
      return failure();
    KernelContext &nested = step->function;
    nested.function = k.function;
    for (const auto &symbol : symbols)
      nested.symbols[symbol.getKey()] = symbol.getValue();
    bool last = number + 1 == AttentionSteps::count;
    for (auto [i, buffer] : llvm::enumerate(nested.outputs)) {
      if (last)
        buffer.start = startOf(k.outputs[i], steps.alongOfResults());
      else
        buffer = number == 0 ? scores : weights;
    }
    for (const AttentionStep::Argument &argument : step->arguments) {
      Buffer &buffer = nested.inputs[argument.value];
      if (argument.operand == attention.scores)
        buffer = scores;
      else if (argument.operand == attention.weights)
        buffer = weights;
      else
        buffer.start = startOf(k.inputs.find(argument.operand)->second, argument.along);
    }
    e.forget();
    auto contract = dyn_cast<plan::ContractAttr>(schedule);
    LogicalResult emitted = contract ? emitContraction(nested, b, contract, std::nullopt)
                                     : emitLoops(nested, b, cast<plan::LoopsAttr>(schedule));
    nested.kernel.erase();
    return emitted;
  }
};

} // namespace

LogicalResult emitAttention(KernelContext &k, OpBuilder &b, plan::AttentionAttr schedule,
                            const std::optional<Buffer> &memory) {
  const OrReason<FusedAttention> &attention = k.analysis->attention;
  if (!attention)
    return refuse(k, schedule) << ", but is not fused attention: " << attention.why();
  if (failed(verifyStack(k, *attention, schedule)))
    return failure();
  if (failed(verifyScratch(k, attentionScratch(*attention, schedule), memory)))
    return failure();
  return AttentionEmitter(k, b, *attention, schedule, schedule.getSlots() == 0 ? std::nullopt : memory).run();
}

} // namespace hewn::codegen
