// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Reduce.h"
#include "dialects/Graph/Element.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

Value body::divideByCount(Builder &e, NumberKind kind, Value state, Value count) {
  Type type = state.getType();
  if (kind == NumberKind::Float)
    return e.createOrFold<arith::DivFOp>(state, e.createOrFold<arith::SIToFPOp>(type, count));
  Value divisor = count;
  if (count.getType() != type)
    divisor = e.createOrFold<arith::TruncIOp>(type, count);
  return div(e, kind, state, divisor);
}

Value reduceConstant(body::Builder &e, Type element, int64_t lanes, body::Extreme value) {
  Type type = computeType(element);
  TypedAttr attr;
  if (auto f = dyn_cast<FloatType>(type)) {
    double number = 0;
    switch (value) {
    case body::Extreme::Zero:
      break;
    case body::Extreme::One:
      number = 1;
      break;
    case body::Extreme::Lowest:
      number = -std::numeric_limits<double>::infinity();
      break;
    case body::Extreme::Highest:
      number = std::numeric_limits<double>::infinity();
      break;
    }
    attr = e.getFloatAttr(f, number);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    bool unsignedKind = isUnsigned(element);
    APInt number(width, value == body::Extreme::One ? 1 : 0);
    if (value == body::Extreme::Lowest)
      number = unsignedKind ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
    if (value == body::Extreme::Highest)
      number = unsignedKind ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
    attr = e.getIntegerAttr(type, number);
  }
  if (lanes)
    attr = DenseElementsAttr::get(VectorType::get({lanes}, type), Attribute(attr));
  return arith::ConstantOp::create(e, attr);
}

LogicalResult inferReduce(Operation *op, DimsOf dimsOf, Type elementType, SmallVectorImpl<TensorShape> &results) {
  auto reduce = cast<ReduceOpInterface>(op);
  Dims dims = dimsOf(op->getOperand(0)), kept;
  SmallVector<int64_t> reduced = reduce.getReducedDims();
  for (auto [i, dim] : llvm::enumerate(reduced))
    if (dim < 0 || dim >= int64_t(dims.size()) || (i > 0 && reduced[i - 1] >= dim))
      return op->emitOpError() << "reduced dims must be ascending and within the rank " << dims.size();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(reduced, int64_t(i)))
      kept.push_back(dim);
    else if (reduce.keepsDims())
      kept.push_back(DimExpr(1));
  }
  results.push_back({std::move(kept), elementType});
  return success();
}

/// The axes of a reduction: an attribute before opset 13/18, an input since;
/// absent or empty means all (or none, where asked).
static std::optional<SmallVector<int64_t>> reductionDims(OnnxNode &node, int64_t rank) {
  SmallVector<int64_t> axes;
  if (std::optional<SmallVector<int64_t>> attr = node.getInts("axes")) {
    axes = *attr;
  } else if (node.input(1)) {
    std::optional<Dims> contents = node.contents(node.input(1));
    if (!contents) {
      (void)node.refuse("axes that are computed when the model runs");
      return std::nullopt;
    }
    for (const DimExpr &axis : *contents) {
      if (!axis.constant()) {
        (void)node.refuse("axes that depend on a symbolic dim");
        return std::nullopt;
      }
      axes.push_back(*axis.constant());
    }
  }
  SmallVector<int64_t> dims;
  if (axes.empty() && !node.getInt("noop_with_empty_axes", 0))
    dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t axis : axes) {
    std::optional<int64_t> dim = node.axis(axis, rank);
    if (!dim)
      return std::nullopt;
    if (!llvm::is_contained(dims, *dim))
      dims.push_back(*dim);
  }
  llvm::sort(dims);
  return dims;
}

LogicalResult buildReduce(OnnxNode &node) {
  static const llvm::StringMap<StringRef> names = {{"ReduceSum", ReduceSumOp::getOperationName()},
                                                   {"ReduceProd", ReduceProdOp::getOperationName()},
                                                   {"ReduceMax", ReduceMaxOp::getOperationName()},
                                                   {"ReduceMin", ReduceMinOp::getOperationName()},
                                                   {"ReduceMean", ReduceMeanOp::getOperationName()}};
  Value x = node.input(0);
  std::optional<SmallVector<int64_t>> dims = reductionDims(node, getRank(x));
  if (!dims)
    return failure();
  if (dims->empty())
    return node.finish(x);
  return node.finish(
      makeNamed(node.b, node.loc, names.lookup(node.opType()), x,
                {node.attr("dims", *dims), node.attr("keepdims", node.b.getBoolAttr(node.getInt("keepdims", 1)))}));
}

} // namespace hewn::graph
