// SPDX-License-Identifier: Apache-2.0
//
// Lowers one op to one loop nest, by category:
//
// | category | loops |
// | --- | --- |
// | elementwise | linalg.generic over views of the operands; a broadcast dim has stride 0 |
// | indexing | linalg.generic without inputs; the body loads elements by linalg.index |
// | reduction | linalg.generic over the result; the body loops over the reduced dims |
// | contraction | scf loops over the parallel dims, then over the reduction dims |
// | prefix scan | scf loops over the other dims, then along the scanned dim |
//
// Contractions are not linalg ops: a result dim may be `outer * size + inner` of two iteration
// dims, and linalg cannot infer their extents from that. A prefix scan writes in each step.
#include "lib/Transforms/Lower/GraphToLinalg.h"
#include "dialects/Graph/Contract/ContractRoles.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn {

/// Builds a linalg.generic over `result`. `body` receives the indices and the elements of `inputs`
/// in storage type, and returns the result's element in compute type.
static void genericOver(Value result, ArrayRef<Value> inputs, NaiveElements &e,
                        llvm::function_ref<Value(NaiveElements &, ArrayRef<Index>, ValueRange)> body,
                        const NaiveMemory &memory) {
  Dims dims = graph::getDims(result);
  SmallVector<Value> views = llvm::map_to_vector(inputs, [&](Value v) { return e.view(v, dims); });
  Value out = e.view(result, dims);
  SmallVector<AffineMap> maps(views.size() + 1, e.b.getMultiDimIdentityMap(dims.size()));
  SmallVector<utils::IteratorType> iterators(dims.size(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(e.b, e.loc, views, out, maps, iterators);
  // A builder of its own for the body, inside of the op, because a body may create constants in the
  // module.
  OpBuilder b(e.b.getContext());
  Block *block = b.createBlock(&generic.getRegion());
  for (Value view : llvm::concat<const Value>(views, ArrayRef(out)))
    block->addArgument(cast<MemRefType>(view.getType()).getElementType(), e.loc);
  NaiveElements inner(b, e.loc, memory);
  SmallVector<Index> at;
  for (unsigned d = 0; d < dims.size(); ++d)
    at.push_back({linalg::IndexOp::create(b, e.loc, d)});
  Value element = body(inner, at, block->getArguments().drop_back());
  linalg::YieldOp::create(b, e.loc, inner.toStorage(element, graph::getElementType(result)));
}

static void lowerElementwise(graph::ElementwiseOpInterface op, NaiveElements &e, const NaiveMemory &memory) {
  SmallVector<Value> tensors;
  for (Value operand : op->getOperands())
    if (memory.buffers.contains(operand))
      tensors.push_back(operand);
  auto body = [&](NaiveElements &inner, ArrayRef<Index>, ValueRange stored) {
    SmallVector<Value> in;
    unsigned next = 0;
    for (Value operand : op->getOperands()) {
      bool inMemory = memory.buffers.contains(operand);
      in.push_back(inMemory ? inner.toCompute(stored[next++], graph::getElementType(operand)) : inner.splat(operand));
    }
    return op.emit(inner.b, inner.loc, in);
  };
  genericOver(op->getResult(0), tensors, e, body, memory);
}

static void lowerIndexing(graph::IndexingOpInterface op, NaiveElements &e, const NaiveMemory &memory) {
  genericOver(
      op->getResult(0), {}, e,
      [&](NaiveElements &inner, ArrayRef<Index> at, ValueRange) { return op.emitAt(inner, at); }, memory);
}

/// Returns the state of a reduction after the loops over the dims `reduced`. `from` has the indices
/// of the other dims. The loop over each reduced dim has its own accumulator, because nested short
/// sums have a smaller rounding error than one long sum.
static SmallVector<Value> stateOf(graph::ReduceOpInterface op, NaiveElements &e, ArrayRef<int64_t> reduced,
                                  SmallVectorImpl<Index> &from, Index linear) {
  Value operand = op->getOperand(0);
  if (reduced.empty()) {
    Value position = op.usesPosition() ? e.toElement(linear, e.b.getI64Type()) : Value();
    return op.lift(e.b, e.loc, e.read(operand, from), position);
  }
  DimExpr extent = graph::getDims(operand)[reduced.front()];
  return e.loops({extent}, op.identity(e.b, e.loc, 0), [&](ArrayRef<Index> inner, ValueRange carried) {
    from[reduced.front()] = inner[0];
    Index at = e.add(e.mul(linear, e.expression(extent)), inner[0]);
    return op.merge(e.b, e.loc, carried, stateOf(op, e, reduced.drop_front(), from, at));
  });
}

static Value reduceAt(graph::ReduceOpInterface op, NaiveElements &e, ArrayRef<Index> at) {
  Dims dims = graph::getDims(op->getOperand(0)), extents;
  SmallVector<int64_t> reduced = op.getReducedDims();
  SmallVector<Index> from(dims.size());
  unsigned next = 0;
  for (unsigned d = 0; d < dims.size(); ++d) {
    if (!llvm::is_contained(reduced, int64_t(d)))
      from[d] = at[next++];
    else if (op.keepsDims())
      ++next;
  }
  for (int64_t d : reduced)
    extents.push_back(dims[d]);
  SmallVector<Value> state = stateOf(op, e, reduced, from, e.constant(0));
  Value count = e.toElement(e.expression(graph::numElements(extents)), e.b.getI64Type());
  return op.finish(e.b, e.loc, state, count);
}

static void lowerReduce(graph::ReduceOpInterface op, NaiveElements &e, const NaiveMemory &memory) {
  genericOver(
      op->getResult(0), {}, e,
      [&](NaiveElements &inner, ArrayRef<Index> at, ValueRange) { return reduceAt(op, inner, at); }, memory);
}

/// Evaluates an affine expression, of sums, products and constants, for the dim values `point`.
static Index affineAt(AffineExpr expr, ArrayRef<Index> point, NaiveElements &e) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return e.constant(number.getValue());
  auto pair = cast<AffineBinaryOpExpr>(expr);
  Index l = affineAt(pair.getLHS(), point, e), r = affineAt(pair.getRHS(), point, e);
  return expr.getKind() == AffineExprKind::Add ? e.add(l, r) : e.mul(l, r);
}

static void lowerContract(graph::ContractOpInterface op, NaiveElements &e) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  SmallVector<bool> summed = op.getReductionDims();
  Dims extents = op.getIterationDims(graph::getDims), outer, inner;
  for (auto [d, extent] : llvm::enumerate(extents))
    (summed[d] ? inner : outer).push_back(extent);
  Value result = op->getResult(0);
  SmallVector<Index> point(extents.size());
  auto place = [&](ArrayRef<Index> at, bool intoSummed) {
    for (unsigned d = 0, next = 0; d < point.size(); ++d)
      if (summed[d] == intoSummed)
        point[d] = at[next++];
  };
  auto locate = [&](unsigned map) {
    return llvm::map_to_vector(maps[map].getResults(), [&](AffineExpr expr) { return affineAt(expr, point, e); });
  };
  e.loops(outer, {}, [&](ArrayRef<Index> at, ValueRange) -> SmallVector<Value> {
    place(at, false);
    Value zero = e.constantElement(graph::getElementType(result), 0);
    Value sum = e.loops(inner, zero, [&](ArrayRef<Index> k, ValueRange carried) -> SmallVector<Value> {
      place(k, true);
      SmallVector<Value> factors;
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        factors.push_back(e.read(operand, locate(i % 2)));
      Value sum = carried[0];
      for (auto [left, right] : graph::termPairs(graph::termsOf(op))) {
        Value l = factors[2 * left], r = factors[2 * right + 1];
        if (isa<FloatType>(l.getType()))
          sum = arith::AddFOp::create(e.b, e.loc, sum, arith::MulFOp::create(e.b, e.loc, l, r));
        else
          sum = arith::AddIOp::create(e.b, e.loc, sum, arith::MulIOp::create(e.b, e.loc, l, r));
      }
      return {sum};
    })[0];
    e.write(result, locate(2), sum);
    return {};
  });
}

static void lowerCumulate(graph::PrefixScanOpInterface op, NaiveElements &e) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  Dims dims = graph::getDims(operand), others = dims;
  int64_t along = op.getCumulatedDim();
  others.erase(others.begin() + along);
  e.loops(others, {}, [&](ArrayRef<Index> at, ValueRange) -> SmallVector<Value> {
    SmallVector<Index> from(at);
    from.insert(from.begin() + along, Index());
    e.loops({dims[along]}, op.initial(e.b, e.loc, 0), [&](ArrayRef<Index> step, ValueRange carried) {
      from[along] = op.runsBackward() ? e.sub(e.sub(e.expression(dims[along]), e.constant(1)), step[0]) : step[0];
      SmallVector<Value> state(carried);
      Value out = op.step(e.b, e.loc, state, e.read(operand, from));
      e.write(result, from, out);
      return state;
    });
    return {};
  });
}

LogicalResult lowerOp(Operation *op, OpBuilder &b, const NaiveMemory &memory) {
  NaiveElements e(b, op->getLoc(), memory);
  if (auto elementwise = dyn_cast<graph::ElementwiseOpInterface>(op))
    lowerElementwise(elementwise, e, memory);
  else if (auto move = dyn_cast<graph::IndexingOpInterface>(op))
    lowerIndexing(move, e, memory);
  else if (auto reduction = dyn_cast<graph::ReduceOpInterface>(op))
    lowerReduce(reduction, e, memory);
  else if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
    lowerContract(contraction, e);
  else if (auto sums = dyn_cast<graph::PrefixScanOpInterface>(op))
    lowerCumulate(sums, e);
  else
    return op->emitOpError("cannot be part of a kernel");
  return success();
}

void copyTensor(Value tensor, Value buffer, Location loc, OpBuilder &b, const NaiveMemory &memory) {
  NaiveElements e(b, loc, memory);
  NaiveMemory target = memory;
  target.buffers[tensor] = buffer;
  NaiveElements out(b, loc, target);
  e.loops(graph::getDims(tensor), {}, [&](ArrayRef<Index> at, ValueRange) -> SmallVector<Value> {
    out.write(tensor, at, e.read(tensor, at));
    return {};
  });
}

} // namespace hewn
