// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ChainSteps.h"
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

Found<Chain> chainIn(KernelFunction &k) {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(k.kernel.getBody().front().without_terminator(), [](Operation &op) { return &op; });
  Found<Chain> chain = graph::findChain(ops);
  if (chain &&
      !llvm::all_of(k.results, [&](Value result) { return llvm::is_contained(chain->tail, result.getDefiningOp()); }))
    return Verdict::no("a result of its kernel is not made of the second contraction's");
  return chain;
}

/// Whether scratch memory, which is float32's, can hold the rows.
static bool mayLieInMemory(const Chain &chain) {
  return graph::getElementType(chain.scores).isF32() && graph::getElementType(chain.weights).isF32();
}

Dims chainScratch(const Chain &chain, plan::ChainAttr schedule) {
  if (schedule.getSlots() == 0)
    return {};
  return {DimExpr(schedule.getSlots()), DimExpr(chain.inPlace ? 1 : 2), DimExpr(schedule.getRows()),
          plan::rowStride(chain.first, graph::getDims(chain.scores).back(), sizeof(float))};
}

/// The schedule for so many rows, whose steps are the model's. Failure: a step's shapes don't fit, which has been said.
static FailureOr<plan::ChainAttr> chainOf(KernelFunction &k, const Chain &chain, int64_t rows, int64_t slots) {
  ChainSteps steps(k, chain, rows);
  SmallVector<Attribute> schedules;
  for (unsigned i = 0; i < ChainSteps::count; ++i) {
    FailureOr<ChainStep> step = steps.make(i);
    if (failed(step))
      return failure();
    Attribute schedule = chooseContraction(step->function);
    schedules.push_back(schedule ? schedule : chooseLoops(step->function));
    step->function.kernel.erase();
  }
  return plan::ChainAttr::get(k.kernel.getContext(), rows, slots, schedules[0], schedules[1], schedules[2]);
}

/// Whether the rows have room where the schedule puts them; an error on the kernel otherwise, where it `says` so.
static LogicalResult verifyStack(KernelFunction &k, const Chain &chain, plan::ChainAttr schedule, bool says = true) {
  constexpr int64_t mostOfAStack = 256 << 10;
  std::optional<int64_t> columns = graph::getDims(chain.scores).back().constant();
  bool onStack = schedule.getSlots() == 0;
  if (onStack && (!columns || *columns > mostOfAStack / (schedule.getRows() * chain.columnBytes())))
    return says ? refuse(k, schedule) << ", and rows too long for a stack" : LogicalResult(failure());
  if (!onStack && !mayLieInMemory(chain))
    return says ? refuse(k, schedule) << ", and scores or weights that are no float32: scratch memory can't hold them"
                : LogicalResult(failure());
  return success();
}

LogicalResult verifyChain(KernelFunction &k, const Chain &chain, plan::ChainAttr schedule) {
  if (failed(verifyStack(k, chain, schedule)))
    return failure();
  ChainSteps steps(k, chain, schedule.getRows());
  Attribute schedules[ChainSteps::count] = {schedule.getHead(), schedule.getMiddle(), schedule.getTail()};
  for (unsigned i = 0; i < ChainSteps::count; ++i) {
    FailureOr<ChainStep> step = steps.make(i);
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

FailureOr<plan::ChainAttr> chooseChain(KernelFunction &k, const Chain &chain) {
  Dims space = graph::getDims(chain.first->getResult(0));
  std::optional<int64_t> columns = space.back().constant();
  int64_t rows = columns ? plan::chainRows(k.kernel, *columns, chain.columnBytes()) : 0, slots = 0;
  if (rows == 0) {
    if (!mayLieInMemory(chain))
      return plan::ChainAttr();
    rows = plan::chainRowsInMemory(k.kernel, space[chain.rowDim]);
    slots = plan::kScratchSlots;
  }
  return chainOf(k, chain, rows, slots);
}

/// The step's schedules that a search may try: first the model's.
static SmallVector<Attribute> candidatesOfStep(KernelFunction &k, const Chain &chain, int64_t rows, unsigned number) {
  ChainSteps steps(k, chain, rows);
  FailureOr<ChainStep> step = steps.make(number);
  if (failed(step))
    return {};
  SmallVector<plan::ContractAttr> tiles = contractCandidates(step->function);
  SmallVector<Attribute> all(tiles.begin(), tiles.end());
  step->function.kernel.erase();
  return all;
}

SmallVector<plan::ChainAttr> chainCandidates(KernelFunction &k, const Chain &chain) {
  FailureOr<plan::ChainAttr> chosen = chooseChain(k, chain);
  if (failed(chosen) || !*chosen)
    return {};
  SmallVector<plan::ChainAttr> all = {*chosen};
  auto add = [&](plan::ChainAttr other) {
    if (!llvm::is_contained(all, other) && succeeded(verifyStack(k, chain, other, /*says=*/false)))
      all.push_back(other);
  };
  plan::ChainAttr own = *chosen;
  std::optional<int64_t> most = graph::getDims(chain.scores)[chain.rowDim].constant();
  int64_t tile = plan::costsOf(k.kernel).getChainRows();
  for (int64_t tiles : {1, 2, 3, 4, 6, 8})
    if (int64_t rows = tiles * tile; rows != own.getRows() && rows <= most.value_or(rows))
      if (FailureOr<plan::ChainAttr> other = chainOf(k, chain, rows, own.getSlots()); succeeded(other))
        add(*other);
  for (Attribute head : candidatesOfStep(k, chain, own.getRows(), 0))
    add(plan::ChainAttr::get(head.getContext(), own.getRows(), own.getSlots(), head, own.getMiddle(), own.getTail()));
  for (Attribute tail : candidatesOfStep(k, chain, own.getRows(), ChainSteps::count - 1))
    add(plan::ChainAttr::get(tail.getContext(), own.getRows(), own.getSlots(), own.getHead(), own.getMiddle(), tail));
  return all;
}

namespace {

class ChainEmitter {
public:
  ChainEmitter(KernelFunction &k, OpBuilder &b, const Chain &chain, plan::ChainAttr schedule,
               const std::optional<Buffer> &memory)
      : k(k), b(b), chain(chain), schedule(schedule), steps(k, chain, schedule.getRows()),
        e(b, k.loc(), vectorLanes(k.kernel), k.symbols, k.inputs), memory(memory),
        space(graph::getDims(chain.first->getResult(0))) {}

  LogicalResult run() {
    if (!memory) {
      scores = onStack(steps.scores);
      weights = chain.inPlace ? scores : onStack(steps.weights);
    }
    // Batches first: a batch's k and v stay in the cache for all of its rows.
    Dims counts(ArrayRef(space).take_front(chain.rowDim));
    counts.push_back(space[chain.rowDim].ceilDiv(schedule.getRows()));
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
  KernelFunction &k;
  OpBuilder &b;
  const Chain &chain;
  plan::ChainAttr schedule;
  ChainSteps steps;
  KernelElements e;
  std::optional<Buffer> memory;
  Dims space;
  Buffer scores, weights;
  SmallVector<Index> batch;
  Index firstRow;
  bool fits = true;

  /// All steps for one block of rows.
  void block(ArrayRef<Index> at) {
    batch.assign(at.begin(), at.end() - 1);
    firstRow = e.mul(at.back(), e.constant(schedule.getRows()));
    llvm::StringMap<Value> symbols = k.symbols;
    if (!steps.rows.constant())
      symbols[ChainSteps::kRows] =
          e.min(e.sub(e.expression(space[chain.rowDim]), firstRow), e.constant(schedule.getRows())).base;
    Attribute schedules[ChainSteps::count] = {schedule.getHead(), schedule.getMiddle(), schedule.getTail()};
    for (unsigned i = 0; i < ChainSteps::count; ++i)
      fits = fits && succeeded(step(i, schedules[i], symbols));
    e.forget();
  }

  /// The buffers of a slot of the memory given.
  void enterSlot(Index slot) {
    auto bufferAt = [&](const Buffer &form, int64_t number) {
      Buffer buffer = form;
      buffer.memref = memory->memref;
      Index which = e.add(e.mul(slot, e.constant(chain.inPlace ? 1 : 2)), e.constant(number));
      buffer.start = e.mul(which, e.mul(e.constant(schedule.getRows()), e.expression(memory->dims[3]))).base;
      return buffer;
    };
    scores = bufferAt(steps.scores, 0);
    weights = chain.inPlace ? scores : bufferAt(steps.weights, 1);
  }

  /// Room for a task's rows on the stack.
  Buffer onStack(Buffer buffer) {
    int64_t elements = schedule.getRows() * *buffer.strides[chain.rowDim].constant();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&k.function.front());
    Value memory =
        memref::AllocaOp::create(b, k.loc(), MemRefType::get({elements}, buffer.elementType), b.getI64IntegerAttr(64));
    buffer.memref =
        memref::CastOp::create(b, k.loc(), MemRefType::get({ShapedType::kDynamic}, buffer.elementType), memory);
    return buffer;
  }

  /// Where the task's part of a buffer begins.
  Value startOf(const Buffer &whole, ArrayRef<int64_t> along) {
    Index start = e.constant(0);
    for (auto [i, d] : llvm::enumerate(along)) {
      if (d < 0 || whole.dims[i].is(1))
        continue;
      start = e.add(start, e.mul(d == int64_t(chain.rowDim) ? firstRow : batch[d], e.expression(whole.strides[i])));
    }
    return start.base;
  }

  /// One step as a kernel of its own on the task's part of everything, emitted here by the engine for it.
  LogicalResult step(unsigned number, Attribute schedule, const llvm::StringMap<Value> &symbols) {
    FailureOr<ChainStep> step = steps.make(number);
    if (failed(step))
      return failure();
    KernelFunction &nested = step->function;
    nested.function = k.function;
    for (const auto &symbol : symbols)
      nested.symbols[symbol.getKey()] = symbol.getValue();
    bool last = number + 1 == ChainSteps::count;
    for (auto [i, buffer] : llvm::enumerate(nested.outputs)) {
      if (last)
        buffer.start = startOf(k.outputs[i], steps.alongOfResults());
      else
        buffer = number == 0 ? scores : weights;
    }
    for (const ChainStep::Argument &argument : step->arguments) {
      Buffer &buffer = nested.inputs[argument.value];
      if (argument.operand == chain.scores)
        buffer = scores;
      else if (argument.operand == chain.weights)
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

LogicalResult emitChain(KernelFunction &k, OpBuilder &b, plan::ChainAttr schedule,
                        const std::optional<Buffer> &memory) {
  Found<Chain> chain = chainIn(k);
  if (!chain)
    return refuse(k, schedule) << ", and is no chain of two contractions: " << chain.why();
  if (failed(verifyStack(k, *chain, schedule)))
    return failure();
  if (failed(verifyScratch(k, chainScratch(*chain, schedule), memory)))
    return failure();
  return ChainEmitter(k, b, *chain, schedule, schedule.getSlots() == 0 ? std::nullopt : memory).run();
}

} // namespace hewn::codegen
