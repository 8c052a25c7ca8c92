// SPDX-License-Identifier: Apache-2.0
//
// GPU prefix scans. The state of a scan is associative (PrefixScanOpInterface). Depending on the
// schedule, a row is scanned by one thread or by a block. A block scans a row in chunks, with some
// elements per thread:
//
//     state = initial
//     for chunk of the row:
//       own = state over this thread's elements
//       before = join of the states of the preceding threads: by shuffles within the warp,
//                through shared memory between warps
//       scan the elements again from join(state, before): results
//       state = join(state, states of all threads)
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/GPU/Loops/GpuLoops.h"
#include "lib/Codegen/Loops/LoopEngine.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

static Dims dimsOf(Value tensor, ArrayRef<int64_t> list) {
  Dims dims = graph::getDims(tensor);
  return llvm::map_to_vector<4>(list, [&](int64_t d) { return dims[d]; });
}

namespace {

class GpuCumulateEmitter {
public:
  GpuCumulateEmitter(KernelContext &k, OpBuilder &b, graph::PrefixScanOpInterface op, plan::GpuCumulateAttr schedule)
      : k(k), b(b), op(op), schedule(schedule), operand(op->getOperand(0)), each(schedule.getElements()),
        e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), dim(op.getCumulatedDim()),
        length(graph::getDims(operand)[dim]), at(graph::getDims(operand).size(), e.constant(0)),
        outerDims(linesOf(op).outer), outer(dimsOf(operand, outerDims)) {}

  void run() {
    GpuBuilder made(k, e, schedule.getThreads());
    gpu = &made;
    if (schedule.getLineThreads() == 1)
      return gpu->overThreads(outer, [&](ArrayRef<Index> indices) {
        setOuter(indices);
        sweep();
      });
    for (Value state : initial())
      exchange.push_back(gpu->shared(gpu->threads / gpu->warp, state.getType()));
    gpu->overBlocks(graph::numElements(outer), [&](Index item) {
      setOuter(e.unravel(item, outer));
      sweepTogether();
    });
  }

private:
  KernelContext &k;
  OpBuilder &b;
  graph::PrefixScanOpInterface op;
  const plan::GpuCumulateAttr schedule;
  Value operand;
  const int64_t each; // elements per thread in a chunk
  ElementEmitter e;
  GpuBuilder *gpu = nullptr;
  const int64_t dim;
  const DimExpr length;
  SmallVector<Index> at;
  const SmallVector<int64_t> outerDims;
  const Dims outer;
  SmallVector<Value> exchange;

  Location loc() { return k.loc(); }
  SmallVector<Value> initial() { return op.initial(b, loc(), /*lanes=*/0); }
  void setOuter(ArrayRef<Index> indices) {
    for (auto [d, index] : llvm::zip(outerDims, indices))
      at[d] = index;
  }

  /// Sets the current index to element number `step` of the row, counted in the direction of the
  /// scan.
  void moveTo(Index step) {
    at[dim] = op.runsBackward() ? e.sub(e.sub(e.expression(length), e.constant(1)), step) : step;
  }

  /// Emits the scan of a row by one thread.
  void sweep() {
    e.loopNest({length}, initial(), 1, [&](ArrayRef<Index> inner, ValueRange carried) {
      moveTo(inner[0]);
      SmallVector<Value> state(carried);
      Value element = e.read(operand, at);
      e.write(k.outputs[0], at, op.step(b, loc(), state, element));
      return state;
    });
  }

  SmallVector<Value> select(Value condition, ValueRange then, ValueRange otherwise) {
    SmallVector<Value> chosen;
    for (auto [x, y] : llvm::zip(then, otherwise))
      chosen.push_back(e.selectElement(condition, x, y));
    return chosen;
  }

  /// Emits the scan of a row by all threads of the block.
  void sweepTogether() {
    e.forget();
    Index end = e.expression(length), zero = e.constant(0);
    auto loop = scf::ForOp::create(b, loc(), zero.base, end.base, e.constant(gpu->threads * each).base, initial());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      e.forget();
      Index first = e.add({loop.getInductionVar()}, e.mul({gpu->thread}, e.constant(each)));
      SmallVector<Value> elements, has, own = initial();
      for (int64_t i = 0; i < each; ++i) {
        Index step = e.add(first, e.constant(i));
        has.push_back(e.compare(arith::CmpIPredicate::slt, step, end));
        moveTo(e.min(step, e.sub(end, e.constant(1))));
        elements.push_back(e.read(operand, at));
        SmallVector<Value> next(own);
        op.step(b, loc(), next, elements.back());
        own = select(has.back(), next, own);
      }
      SmallVector<Value> carried(loop.getRegionIterArgs());
      SmallVector<Value> state = before(own, carried);
      for (int64_t i = 0; i < each; ++i) {
        Value out = op.step(b, loc(), state, elements[size_t(i)]);
        auto branch = scf::IfOp::create(b, loc(), has[size_t(i)], /*withElseRegion=*/false);
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPoint(branch.thenBlock()->getTerminator());
        e.forget();
        moveTo(e.add(first, e.constant(i)));
        e.write(k.outputs[0], at, out);
        e.forget();
      }
      scf::YieldOp::create(b, loc(), carried);
    }
    e.forget();
  }

  /// Returns the state of the scan before this thread's elements. `own` is the state over this
  /// thread's elements only. `carried` is the state before the chunk and is updated to the state
  /// after it.
  SmallVector<Value> before(ArrayRef<Value> own, SmallVector<Value> &carried) {
    Index size = e.constant(gpu->warp), lane = e.mod({gpu->thread}, size), warp = e.floorDiv({gpu->thread}, size);
    // Each iteration doubles the size of the groups of lanes whose states are joined. `all` is the
    // state over this lane's group, `inFront` the state over the lanes of the group before this
    // one.
    SmallVector<Value> inFront = initial(), all(own);
    for (int64_t distance = 1; distance < gpu->warp; distance *= 2) {
      SmallVector<Value> other = llvm::map_to_vector(all, [&](Value v) { return gpu->shuffle(v, distance); });
      Index bit = e.mod(e.floorDiv(lane, e.constant(distance)), e.constant(2));
      Value isBehind = e.compare(arith::CmpIPredicate::eq, bit, e.constant(1));
      inFront = select(isBehind, op.join(b, loc(), other, inFront), inFront);
      all = select(isBehind, op.join(b, loc(), other, all), op.join(b, loc(), all, other));
    }
    int64_t warps = gpu->threads / gpu->warp;
    if (warps == 1) {
      SmallVector<Value> state = op.join(b, loc(), carried, inFront);
      carried = op.join(b, loc(), carried, all);
      return state;
    }
    auto gives = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::eq, lane, e.constant(0)),
                                   /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(gives.thenBlock()->getTerminator());
      for (auto [value, memory] : llvm::zip(all, exchange))
        gpu->storeShared(value, memory, warp.base);
    }
    gpu->barrier();
    SmallVector<Value> state(carried);
    for (int64_t w = 0; w < warps; ++w) {
      SmallVector<Value> given;
      for (auto [value, memory] : llvm::zip(all, exchange))
        given.push_back(gpu->loadShared(value.getType(), memory, e.constant(w).base));
      Value isBehind = e.compare(arith::CmpIPredicate::sgt, warp, e.constant(w));
      carried = op.join(b, loc(), carried, given);
      state = select(isBehind, carried, state);
    }
    gpu->barrier(); // all threads have read the states before the next chunk overwrites them
    return op.join(b, loc(), state, inFront);
  }
};

} // namespace

AttentionTileDims linesOf(graph::PrefixScanOpInterface op) {
  AttentionTileDims lines;
  int64_t dim = op.getCumulatedDim();
  Dims dims = graph::getDims(op->getOperand(0));
  for (int64_t d : memoryOrder(op->getResult(0))) {
    lines.areContiguous = d == dim || (lines.areContiguous && dims[d].is(1));
    if (d != dim && !dims[d].is(1))
      lines.outer.push_back(d);
  }
  return lines;
}

LogicalResult emitGpuCumulate(KernelContext &k, OpBuilder &b, plan::GpuCumulateAttr schedule) {
  graph::PrefixScanOpInterface op = onlyCumulates(k);
  if (!op)
    return refuse(k, schedule) << ", but the kernel is not one prefix scan";
  GpuCumulateEmitter(k, b, op, schedule).run();
  return success();
}

} // namespace hewn::codegen
