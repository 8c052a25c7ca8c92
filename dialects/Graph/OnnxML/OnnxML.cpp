// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

/// Casts the input of an ai.onnx.ml node to f32, because the nodes of this file return f32 for all
/// input types.
static Value asFloat(OnnxNode &node, Value x) {
  if (!x) {
    (void)node.refuse("lacks an input");
    return x;
  }
  return Composer(node).cast(x, node.b.getF32Type());
}

static Value floats(OnnxNode &node, ArrayRef<float> values, ArrayRef<int64_t> shape) {
  return makeConstant(node.b, node.loc,
                      DenseElementsAttr::get(RankedTensorType::get(shape, node.b.getF32Type()), values));
}

/// Returns attribute `name` of an ai.onnx.ml node as a constant: a row with one number per feature,
/// or one number for all features.
static Value row(OnnxNode &node, StringRef name, float otherwise) {
  SmallVector<float> values = node.getFloats(name).value_or(SmallVector<float>{otherwise});
  return floats(node, values, {int64_t(values.size())});
}

LogicalResult buildArrayFeatureExtractor(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0), indices = node.input(1);
  if (!x || !indices || getRank(x) == 0)
    return node.refuse("lacks an input");
  Dims dims = getDims(x);
  DimExpr count = numElements(getDims(indices));
  if (failed(checkIndices(node, indices, dims.back(), IndexRange::Position)))
    return failure();
  Value chosen = node.make<GatherOp>({x, c.reshape(indices, Dims{count})}, node.attr("axis", int64_t(dims.size()) - 1));
  return node.finish(dims.size() == 1 ? c.reshape(chosen, Dims{DimExpr(1), count}) : chosen);
}

LogicalResult buildBinarizer(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  if (!x)
    return node.refuse("lacks an input");
  return node.finish(c.cast(c.op<LessOp>({c.scalarLike(x, node.getFloat("threshold", 0)), x}), getElementType(x)));
}

LogicalResult buildScaler(OnnxNode &node) {
  Composer c(node);
  Value x = asFloat(node, node.input(0));
  return node.finish(c.op<MulOp>({c.op<SubOp>({x, row(node, "offset", 0)}), row(node, "scale", 1)}));
}

LogicalResult buildNormalizer(OnnxNode &node) {
  Composer c(node);
  Value x = asFloat(node, node.input(0));
  if (!x || getRank(x) == 0)
    return failure();
  SmallVector<int64_t> last = {getRank(x) - 1};
  std::string norm = node.getString("norm", "MAX");
  Value size;
  // ONNX defines the divisors max(X) and sum(X). onnxruntime and ONNX's reference sum absolute
  // values for L1. For MAX, only the reference takes the largest absolute value.
  if (norm == "MAX")
    size = c.reduce<ReduceMaxOp>(x, last, true);
  else if (norm == "L1")
    size = c.reduce<ReduceSumOp>(c.op<AbsOp>(x), last, true);
  else if (norm == "L2")
    size = c.op<SqrtOp>(c.reduce<ReduceSumOp>(c.op<MulOp>({x, x}), last, true));
  else
    return node.refuse("norm '" + norm + "' is not supported");
  // The ONNX specification of Normalizer has "If the divisor is zero, Y == X". A zero divisor is
  // replaced by 1; x is then zero or NaN.
  Value isZero = c.op<EqualOp>({size, c.scalarLike(size, 0)});
  return node.finish(c.op<DivOp>({x, c.op<WhereOp>({isZero, c.scalarLike(size, 1), size})}));
}

} // namespace hewn::graph
