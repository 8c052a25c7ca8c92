// SPDX-License-Identifier: Apache-2.0
//
// Running sums on a grid: a state that runs along a line, one step an element. Steps can be made in parts, since the states of neighbouring
// parts join (CumulateOpInterface): a block takes a line, some elements of each thread at a time.
//
//     state = initial
//     for chunk of the line:
//       own = the state of this thread's elements
//       before = the states of the threads in front of it, joined: in its warp by shuffles, of other warps in shared memory
//       the elements once more, from join(state, before) on: results
//       state = that of all
//
// Or a line is a thread's, as the schedule says.
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Loops/GridLoops.h"
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

class GridCumulateEmitter {
public:
  GridCumulateEmitter(KernelFunction &k, OpBuilder &b, graph::CumulateOpInterface op, plan::GridCumulateAttr schedule)
      : k(k), b(b), op(op), schedule(schedule), operand(op->getOperand(0)), each(schedule.getElements()),
        e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), dim(op.getCumulatedDim()),
        length(graph::getDims(operand)[dim]), at(graph::getDims(operand).size(), e.constant(0)),
        outerDims(linesOf(op).outer), outer(dimsOf(operand, outerDims)) {}

  void run() {
    Grid made(k, e, schedule.getThreads());
    grid = &made;
    if (schedule.getLineThreads() == 1)
      return grid->overThreads(outer, [&](ArrayRef<Index> indices) {
        setOuter(indices);
        sweep();
      });
    for (Value state : initial())
      exchange.push_back(grid->shared(grid->threads / grid->warp, state.getType()));
    grid->overBlocks(graph::numElements(outer), [&](Index item) {
      setOuter(e.unravel(item, outer));
      sweepTogether();
    });
  }

private:
  KernelFunction &k;
  OpBuilder &b;
  graph::CumulateOpInterface op;
  const plan::GridCumulateAttr schedule;
  Value operand;
  const int64_t each; // elements of a thread at a time
  KernelElements e;
  Grid *grid = nullptr;
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

  /// The element that is number `step` of the line's, as the state runs.
  void moveTo(Index step) {
    at[dim] = op.runsBackward() ? e.sub(e.sub(e.expression(length), e.constant(1)), step) : step;
  }

  /// The line, by this thread.
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

  /// The line, by the block.
  void sweepTogether() {
    e.forget();
    Index end = e.expression(length), zero = e.constant(0);
    auto loop = scf::ForOp::create(b, loc(), zero.base, end.base, e.constant(grid->threads * each).base, initial());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      e.forget();
      Index first = e.add({loop.getInductionVar()}, e.mul({grid->thread}, e.constant(each)));
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

  /// The state before this thread's elements, where `own` is theirs and `carried` that before the chunk, which becomes the one behind.
  SmallVector<Value> before(ArrayRef<Value> own, SmallVector<Value> &carried) {
    Index size = e.constant(grid->warp), lane = e.mod({grid->thread}, size), warp = e.floorDiv({grid->thread}, size);
    // Of twice as many lanes each time: the states of those before this lane, and of all.
    SmallVector<Value> inFront = initial(), all(own);
    for (int64_t distance = 1; distance < grid->warp; distance *= 2) {
      SmallVector<Value> other = llvm::map_to_vector(all, [&](Value v) { return grid->shuffle(v, distance); });
      Index bit = e.mod(e.floorDiv(lane, e.constant(distance)), e.constant(2));
      Value isBehind = e.compare(arith::CmpIPredicate::eq, bit, e.constant(1));
      inFront = select(isBehind, op.join(b, loc(), other, inFront), inFront);
      all = select(isBehind, op.join(b, loc(), other, all), op.join(b, loc(), all, other));
    }
    int64_t warps = grid->threads / grid->warp;
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
        grid->storeShared(value, memory, warp.base);
    }
    grid->barrier();
    SmallVector<Value> state(carried);
    for (int64_t w = 0; w < warps; ++w) {
      SmallVector<Value> given;
      for (auto [value, memory] : llvm::zip(all, exchange))
        given.push_back(grid->loadShared(value.getType(), memory, e.constant(w).base));
      Value isBehind = e.compare(arith::CmpIPredicate::sgt, warp, e.constant(w));
      carried = op.join(b, loc(), carried, given);
      state = select(isBehind, carried, state);
    }
    grid->barrier(); // before the next chunk's come
    return op.join(b, loc(), state, inFront);
  }
};

} // namespace

GridLineDims linesOf(graph::CumulateOpInterface op) {
  GridLineDims lines;
  int64_t dim = op.getCumulatedDim();
  Dims dims = graph::getDims(op->getOperand(0));
  for (int64_t d : memoryOrder(op->getResult(0))) {
    lines.areContiguous = d == dim || (lines.areContiguous && dims[d].is(1));
    if (d != dim && !dims[d].is(1))
      lines.outer.push_back(d);
  }
  return lines;
}

LogicalResult emitGridCumulate(KernelFunction &k, OpBuilder &b, plan::GridCumulateAttr schedule) {
  graph::CumulateOpInterface op = onlyCumulates(k);
  if (!op)
    return refuse(k, schedule) << ", and is not all that an op cumulates";
  GridCumulateEmitter(k, b, op, schedule).run();
  return success();
}

} // namespace hewn::codegen
