// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's normalizations: handles axes, definitions of old opsets, and optional outputs.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Graph/Reduce/Normalize/Normalize.h"
#include "dialects/Graph/Reduce/Normalize/NormalizeOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

static NamedAttribute epsilonOf(OnnxNode &node, double otherwise = 1e-5) {
  return node.attr("epsilon", node.b.getF32FloatAttr(float(node.getFloat("epsilon", otherwise))));
}

/// Rejects the node if one of its first `n` inputs is absent.
static LogicalResult needs(OnnxNode &node, unsigned n) {
  for (unsigned i = 0; i < n; ++i)
    if (!node.input(i))
      return node.refuse("needs " + Twine(n) + " inputs");
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Ops along an axis
//===------------------------------------------------------------------------------------------===//

/// Sets the output of a Softmax, LogSoftmax or Hardmax node to `along` of x and the axis. Up to
/// opset 12, these nodes treated all dims from `axis` on as a single dim, so x is flattened first.
static LogicalResult buildAlongAxis(OnnxNode &node, llvm::function_ref<Value(Composer &, Value, int64_t)> along) {
  if (failed(needs(node, 1)))
    return failure();
  Composer c(node);
  Value x = node.input(0);
  Dims dims = getDims(x);
  bool flattens = node.opset() < 13;
  std::optional<int64_t> axis = node.axis(node.getInt("axis", flattens ? 1 : -1), dims.size());
  if (!axis)
    return failure();
  if (!flattens || *axis + 1 == int64_t(dims.size()))
    return node.finish(along(c, x, *axis));
  Dims flat = {numElements(ArrayRef(dims).take_front(*axis)), numElements(ArrayRef(dims).drop_front(*axis))};
  return node.finish(c.reshape(along(c, c.reshape(x, flat), 1), dims));
}

LogicalResult buildSoftmax(OnnxNode &node) {
  return buildAlongAxis(node, [&](Composer &c, Value x, int64_t axis) {
    return makeNamed(c.b, c.loc, node.recordedOp(), x, c.b.getNamedAttr("axis", c.b.getI64IntegerAttr(axis)));
  });
}

LogicalResult buildHardmax(OnnxNode &node) {
  return buildAlongAxis(node, [&](Composer &c, Value x, int64_t axis) -> Value {
    Value largest = c.reduce<ArgMaxOp>(x, axis, false);
    auto type = RankedTensorType::get({2}, getElementType(x));
    auto floats = cast<FloatType>(getElementType(x));
    Attribute offOn[] = {FloatAttr::get(floats, 0), FloatAttr::get(floats, 1)};
    Value values = makeConstant(c.b, c.loc, DenseElementsAttr::get(type, ArrayRef<Attribute>(offOn)));
    return make<OneHotOp>(c.b, c.loc, {largest, values},
                          {node.attr("depth", ArrayRef<DimExpr>{getDims(x)[axis]}), node.attr("axis", axis)});
  });
}

LogicalResult buildLpNormalization(OnnxNode &node) {
  if (failed(needs(node, 1)))
    return failure();
  Composer c(node);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", -1), getRank(node.input(0)));
  if (!axis)
    return failure();
  int64_t p = node.getInt("p", 2);
  if (p != 1 && p != 2)
    return node.refuse("p " + Twine(p) + " is neither 1 nor 2");
  Type type = getElementType(node.input(0));
  Value x = c.cast(node.input(0), normalizeType(node.input(0)));
  Value terms = p == 1 ? c.op<AbsOp>(x) : c.op<MulOp>({x, x});
  Value norm = c.reduce<ReduceSumOp>(terms, *axis, true);
  if (p == 2)
    norm = c.op<SqrtOp>(norm);
  // If all elements along the axis are 0, their norm is 0, and the result of LpNormalization must
  // be 0.
  Value zero = c.scalarLike(x, 0), isZero = c.op<EqualOp>({norm, zero});
  Value divisor = c.op<WhereOp>({isZero, c.scalarLike(x, 1), norm});
  return node.finish(c.cast(c.op<DivOp>({x, divisor}), type));
}

LogicalResult buildMeanVarianceNormalization(OnnxNode &node) {
  if (failed(needs(node, 1)))
    return failure();
  Composer c(node);
  Value x = c.cast(node.input(0), normalizeType(node.input(0)));
  SmallVector<int64_t> dims;
  for (int64_t written : node.getInts("axes").value_or(SmallVector<int64_t>{0, 2, 3})) {
    std::optional<int64_t> dim = node.axis(written, getRank(x));
    if (!dim)
      return failure();
    dims.push_back(*dim);
  }
  llvm::sort(dims);
  dims.erase(llvm::unique(dims), dims.end());
  // In MeanVarianceNormalization, epsilon is added to the standard deviation, not to the variance.
  // It is so small that a rounded mean of equal elements would give quotients up to 1. The mean is
  // therefore clamped to the range of the elements, which makes it exact if they are equal.
  Value mean = c.reduce<ReduceMeanOp>(x, dims, true);
  mean = c.op<MaximumOp>({mean, c.reduce<ReduceMinOp>(x, dims, true)});
  mean = c.op<MinimumOp>({mean, c.reduce<ReduceMaxOp>(x, dims, true)});
  Value centered = c.op<SubOp>({x, mean});
  Value variance = c.reduce<ReduceMeanOp>(c.op<MulOp>({centered, centered}), dims, true);
  Value deviation = c.op<AddOp>({c.op<SqrtOp>(variance), c.scalarLike(x, 1e-9)});
  return node.finish(c.cast(c.op<DivOp>({centered, deviation}), getElementType(node.input(0))));
}

//===------------------------------------------------------------------------------------------===//
// Layer normalization
//===------------------------------------------------------------------------------------------===//

/// Sets the optional outputs of a layer normalization for its statistics: output number `mean` to
/// the mean, and the next one to 1 / standard deviation. If `center` is false, there is no mean,
/// and output number `mean` is 1 / standard deviation.
static LogicalResult setMoments(OnnxNode &node, Composer &c, Value x, int64_t axis, double epsilon, unsigned mean,
                                bool center = true) {
  unsigned inverse = center ? mean + 1 : mean;
  if (!(center && node.wantsOutput(mean)) && !node.wantsOutput(inverse))
    return success();
  Moments m = composeMoments(c, c.cast(x, normalizeType(x)), dimsFrom(x, axis), epsilon, center);
  if (!m.inverse)
    return failure();
  if (center && node.wantsOutput(mean))
    node.setOutput(mean, m.mean);
  if (node.wantsOutput(inverse))
    node.setOutput(inverse, m.inverse);
  return success();
}

LogicalResult buildLayerNorm(OnnxNode &node) {
  if (failed(needs(node, 2)))
    return failure();
  Composer c(node);
  Value x = node.input(0);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", -1), getRank(x));
  if (!axis)
    return failure();
  SmallVector<Value> operands = {x, node.input(1)};
  if (node.input(2))
    operands.push_back(node.input(2));
  if (failed(setMoments(node, c, x, *axis, node.getFloat("epsilon", 1e-5), 1)))
    return failure();
  return node.finish(node.make<LayerNormOp>(operands, {node.attr("axis", *axis), epsilonOf(node)}));
}

LogicalResult buildRMSNorm(OnnxNode &node) {
  if (failed(needs(node, 2)))
    return failure();
  // attribute stash_type has no effect: sums are computed in float32, or in the type of the data if
  // it has more bits
  (void)node.hasAttr("stash_type");
  Composer c(node);
  Value x = node.input(0);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", -1), getRank(x));
  if (!axis || failed(setMoments(node, c, x, *axis, node.getFloat("epsilon", 1e-5), 1, /*center=*/false)))
    return failure();
  return node.finish(node.make<RMSNormOp>({x, node.input(1)}, {node.attr("axis", *axis), epsilonOf(node)}));
}

LogicalResult buildSkipLayerNorm(OnnxNode &node) {
  if (failed(needs(node, 3)))
    return failure();
  Composer c(node);
  bool center = node.opType() == "SkipLayerNormalization";
  Value sum = c.op<AddOp>({node.input(0), node.input(1)});
  if (Value bias = node.input(center ? 4 : 3))
    sum = c.op<AddOp>({sum, bias});
  if (!sum)
    return failure();
  int64_t axis = getRank(sum) - 1;
  if (axis < 0)
    return node.refuse("needs an input of rank 1 or more");
  SmallVector<Value> operands = {sum, node.input(2)};
  if (center && node.input(3))
    operands.push_back(node.input(3));
  double epsilon = node.getFloat("epsilon", 1e-12);
  if (failed(setMoments(node, c, sum, axis, epsilon, center ? 1 : 2, center)))
    return failure();
  if (node.wantsOutput(3))
    node.setOutput(3, sum);
  return node.finish(
      makeNamed(node.b, node.loc, node.recordedOp(), operands, {node.attr("axis", axis), epsilonOf(node, 1e-12)}));
}

//===------------------------------------------------------------------------------------------===//
// Batch, group and instance normalization
//===------------------------------------------------------------------------------------------===//

/// Returns true if a BatchNormalization node computes mean and variance from the batch (training
/// mode).
static bool trains(OnnxNode &node) {
  if (node.opset() >= 14)
    return node.getInt("training_mode", 0) != 0;
  if (node.opset() < 7)
    return node.getInt("is_test", 0) == 0;
  return node.wantsOutput(1) || node.wantsOutput(2) || node.wantsOutput(3) || node.wantsOutput(4);
}

LogicalResult buildBatchNorm(OnnxNode &node) {
  if (failed(needs(node, 5)))
    return failure();
  Composer c(node);
  Value x = node.input(0), mean = node.input(3), variance = node.input(4);
  if (trains(node)) {
    if (getRank(node.input(1)) != 1 || getRank(x) < 2)
      return node.refuse("training mode requires one statistic per channel and an input of rank 2 or more");
    for (Value running : {mean, variance})
      require(node.b, node.loc, Relation::Equal, numElements(getDims(running)), getDims(x)[1]);
    SmallVector<int64_t> dims = {0};
    llvm::append_range(dims, dimsFrom(x, 2));
    Value wide = c.cast(x, normalizeType(x)), kept = c.reduce<ReduceMeanOp>(wide, dims, true);
    Value centered = c.op<SubOp>({wide, kept});
    Value batchMean = c.cast(c.reduce<ReduceMeanOp>(wide, dims, false), getElementType(mean));
    Value batchVariance =
        c.cast(c.reduce<ReduceMeanOp>(c.op<MulOp>({centered, centered}), dims, false), getElementType(mean));
    double momentum = node.getFloat("momentum", 0.9);
    auto running = [&](Value old, Value fresh) {
      return c.op<AddOp>(
          {c.op<MulOp>({old, c.scalarLike(old, momentum)}), c.op<MulOp>({fresh, c.scalarLike(old, 1 - momentum)})});
    };
    Value outputs[] = {running(mean, batchMean), running(variance, batchVariance), batchMean, batchVariance};
    for (unsigned i = 0; i < 4; ++i)
      if (node.wantsOutput(i + 1)) {
        if (!outputs[i])
          return failure();
        node.setOutput(i + 1, outputs[i]);
      }
    mean = batchMean;
    variance = batchVariance;
  }
  return node.finish(node.make<BatchNormOp>({x, node.input(1), node.input(2), mean, variance}, epsilonOf(node)));
}

LogicalResult buildGroupNorm(OnnxNode &node) {
  if (failed(needs(node, 3)))
    return failure();
  Composer c(node);
  Value x = node.input(0), scale = node.input(1), bias = node.input(2);
  int64_t groups = node.getInt("num_groups", 0);
  if (groups < 1 || getRank(x) < 2)
    return node.refuse("needs groups, and an input of rank 2 or more");
  if (node.opset() < 21) {
    // Before opset 21, scale and bias of a GroupNormalization have one value per group, which is
    // repeated for each channel.
    DimExpr channels = getDims(x)[1];
    auto spread = [&](Value value) {
      Value column = c.reshape(value, {DimExpr(groups), DimExpr(1)});
      return c.reshape(c.expand(column, {DimExpr(groups), channels.floorDiv(DimExpr(groups))}), channels);
    };
    scale = spread(scale);
    bias = spread(bias);
  }
  return node.finish(node.make<GroupNormOp>({x, scale, bias}, {node.attr("groups", groups), epsilonOf(node)}));
}

LogicalResult buildInstanceNorm(OnnxNode &node) {
  if (failed(needs(node, 3)))
    return failure();
  return node.finish(node.make<GroupNormOp>({node.input(0), node.input(1), node.input(2)},
                                            {node.attr("groups", int64_t(0)), epsilonOf(node)}));
}

} // namespace hewn::graph
