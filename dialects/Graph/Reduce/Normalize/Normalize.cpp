// SPDX-License-Identifier: Apache-2.0
//
// Verifiers and decompositions of softmax and of the normalizations.
#include "dialects/Graph/Reduce/Normalize/Normalize.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/Normalize/NormalizeOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

using Composed = FailureOr<SmallVector<Value>>;

/// Finishes the decomposition of a normalization: casts `result` to the element type of x, and
/// slices it to the dims of x. The slice does not change the value, because scales and biases must
/// broadcast to x. Fails if `result` is null.
static Composed finish(Composer &c, Value result, Value x) {
  result = c.cast(result, getElementType(x));
  if (!result)
    return failure();
  for (auto [d, dim] : llvm::enumerate(getDims(x)))
    if (getDims(result)[d] != dim)
      result = c.slice(result, int64_t(d), DimExpr(0), dim);
  if (!result)
    return failure();
  return SmallVector<Value>{result};
}

Type normalizeType(Value x) { return computeType(getElementType(x)); }

SmallVector<int64_t> dimsFrom(Value x, int64_t from) { return llvm::to_vector(llvm::seq<int64_t>(from, getRank(x))); }

//===------------------------------------------------------------------------------------------===//
// Verification
//===------------------------------------------------------------------------------------------===//

static LogicalResult checkFloats(Operation *op) {
  for (Value operand : op->getOperands())
    if (!isa<FloatType>(getElementType(operand)))
      return op->emitOpError() << "takes floats, not " << getElementType(operand);
  return success();
}

LogicalResult verifyAxis(Operation *op, int64_t axis) {
  int64_t rank = getRank(op->getOperand(0));
  if (axis < 0 || axis >= rank)
    return op->emitOpError() << "axis " << axis << " is outside of rank " << rank;
  // Scale and bias of a normalization must broadcast to the dims of x.
  Dims dims = getDims(op->getOperand(0));
  for (Value other : op->getOperands().drop_front()) {
    std::optional<Dims> both = broadcastDims({dims, getDims(other)});
    if (!both || both->size() != dims.size())
      return op->emitOpError("scale or bias does not broadcast to the operand");
  }
  return checkFloats(op);
}

/// Emits the requirement that scale and bias of a normalization broadcast to the dims of x, for
/// dims that are dynamic.
static void requireNoLarger(OpBuilder &b, Operation *op) {
  Dims dims = getDims(op->getOperand(0));
  for (Value other : op->getOperands().drop_front()) {
    Dims own = getDims(other);
    for (size_t i = 1; i <= own.size(); ++i)
      require(b, op->getLoc(), Relation::Broadcast, own[own.size() - i], dims[dims.size() - i]);
  }
}

static DimExpr channelsOf(ArrayRef<DimExpr> dims) { return dims.size() > 1 ? dims[1] : DimExpr(1); }

/// Requires that each operand of a batch normalization but x has one value per channel. ONNX does
/// not allow a single value that broadcasts.
static void requireChannels(OpBuilder &b, Operation *op) {
  for (Value other : op->getOperands().drop_front())
    require(b, op->getLoc(), Relation::Equal, getDims(other)[0], channelsOf(getDims(op->getOperand(0))));
}

LogicalResult verifyChannels(Operation *op) {
  Dims dims = getDims(op->getOperand(0));
  if (dims.empty())
    return op->emitOpError("needs an operand of rank 1 or more");
  DimExpr channels = channelsOf(dims);
  for (Value other : op->getOperands().drop_front()) {
    Dims more = getDims(other);
    if (more.empty() || (more[0].constant() && channels.constant() && more[0] != channels))
      return op->emitOpError() << "needs one value for each of " << channels.str() << " channels";
  }
  return checkFloats(op);
}

LogicalResult verifyGroups(Operation *op, int64_t groups) {
  Dims dims = getDims(op->getOperand(0));
  if (dims.size() < 2)
    return op->emitOpError("needs an operand of rank 2 or more");
  if (groups < 0 || (groups && dims[1].constant() && *dims[1].constant() % groups))
    return op->emitOpError() << dims[1].str() << " channels are not divisible by " << groups << " groups";
  return verifyChannels(op);
}

LogicalResult verifyLRN(Operation *op, int64_t size) {
  if (size < 1 || getRank(op->getOperand(0)) < 2)
    return op->emitOpError("requires a positive size and a channel dim");
  return checkFloats(op);
}

//===------------------------------------------------------------------------------------------===//
// Softmax
//===------------------------------------------------------------------------------------------===//

Value maximumOfLogits(Composer &c, Value x, int64_t axis) {
  Value most = c.reduce<ReduceMaxOp>(x, axis, true);
  if (auto reduce = most ? most.getDefiningOp<ReduceMaxOp>() : ReduceMaxOp())
    reduce.setNnan(true);
  return most;
}

/// Emits two parts of a softmax: x - max(x) and e^(x - max(x)), with the maximum along `axis`.
static std::pair<Value, Value> shiftedExp(Composer &c, Value x, int64_t axis) {
  Value shifted = c.op<SubOp>({x, maximumOfLogits(c, x, axis)});
  return {shifted, c.op<ExpOp>(shifted)};
}

Composed SoftmaxOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  int64_t axis = getAxis();
  Value powers = shiftedExp(c, c.cast(getX(), normalizeType(getX())), axis).second;
  // The softmax multiplies by the reciprocal of the sum, which takes one division per row instead
  // of one per element.
  Value inverse = c.op<ReciprocalOp>(c.reduce<ReduceSumOp>(powers, axis, true));
  return finish(c, c.op<MulOp>({powers, inverse}), getX());
}

Composed LogSoftmaxOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  int64_t axis = getAxis();
  auto [shifted, powers] = shiftedExp(c, c.cast(getX(), normalizeType(getX())), axis);
  Value log = c.op<LogOp>(c.reduce<ReduceSumOp>(powers, axis, true));
  return finish(c, c.op<SubOp>({shifted, log}), getX());
}

//===------------------------------------------------------------------------------------------===//
// Normalization by mean and variance
//===------------------------------------------------------------------------------------------===//

Moments composeMoments(Composer &c, Value x, ArrayRef<int64_t> dims, double epsilon, bool center) {
  Moments m;
  m.centered = x;
  if (center) {
    m.mean = c.reduce<ReduceMeanOp>(x, dims, true);
    m.centered = c.op<SubOp>({x, m.mean});
  }
  Value variance = c.reduce<ReduceMeanOp>(c.op<MulOp>({m.centered, m.centered}), dims, true);
  Value deviation = c.op<SqrtOp>(c.op<AddOp>({variance, c.scalarLike(x, epsilon)}));
  m.inverse = c.op<ReciprocalOp>(deviation);
  return m;
}

Composed LayerNormOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  requireNoLarger(b, *this);
  Type type = normalizeType(getX());
  Moments m = composeMoments(c, c.cast(getX(), type), dimsFrom(getX(), getAxis()), getEpsilon().convertToDouble());
  Value y = c.op<MulOp>({m.centered, m.inverse});
  y = c.op<MulOp>({y, c.cast(getScale(), type)});
  if (getBias())
    y = c.op<AddOp>({y, c.cast(getBias(), type)});
  return finish(c, y, getX());
}

Composed RMSNormOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  requireNoLarger(b, *this);
  Type type = normalizeType(getX());
  Value x = c.cast(getX(), type);
  Moments m = composeMoments(c, x, dimsFrom(x, getAxis()), getEpsilon().convertToDouble(), /*center=*/false);
  Value y = c.op<MulOp>({x, m.inverse});
  return finish(c, c.op<MulOp>({y, c.cast(getScale(), type)}), getX());
}

/// Reshapes `value` [C, d..] so that it broadcasts to a tensor with `rank` dims whose dim 1 is C.
static Value alongChannels(Composer &c, Value value, Type type, int64_t rank) {
  Dims dims = getDims(value);
  while (int64_t(dims.size()) < rank - 1)
    dims.push_back(DimExpr(1));
  return c.cast(c.reshape(value, dims), type);
}

Composed BatchNormOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  requireChannels(b, *this);
  // Mean and variance of a batch normalization may have an element type with more bits than the
  // data.
  Type type = normalizeType(getX());
  for (Value value : {getScale(), getMean()})
    if (getElementType(value).isF64())
      type = b.getF64Type();
  Value scale = c.cast(getScale(), type), bias = c.cast(getBias(), type), mean = c.cast(getMean(), type);
  Value variance = c.cast(getVariance(), type);
  Value deviation = c.op<SqrtOp>(c.op<AddOp>({variance, c.scalarLike(variance, getEpsilon().convertToDouble())}));
  Value factor = c.op<DivOp>({scale, deviation});
  Value shift = c.op<SubOp>({bias, c.op<MulOp>({mean, factor})});
  if (!shift)
    return failure();
  int64_t rank = getRank(getX());
  Value y = c.op<MulOp>({c.cast(getX(), type), alongChannels(c, factor, type, rank)});
  return finish(c, c.op<AddOp>({y, alongChannels(c, shift, type, rank)}), getX());
}

Composed GroupNormOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  requireChannels(b, *this);
  Type type = normalizeType(getX());
  Dims dims = graph::getDims(getX()), grouped = dims;
  if (int64_t groups = getGroups()) {
    grouped[1] = dims[1].floorDiv(DimExpr(groups));
    grouped.insert(grouped.begin() + 1, DimExpr(groups));
  }
  Value x = c.reshape(c.cast(getX(), type), grouped);
  if (!x)
    return failure();
  // Normalizes each group. In a group with a single element, the deviation from the mean is 0, so
  // the element is normalized to 0.
  Moments m = composeMoments(c, x, dimsFrom(x, 2), getEpsilon().convertToDouble());
  Value y = c.reshape(c.op<MulOp>({m.centered, m.inverse}), dims);
  y = c.op<MulOp>({y, alongChannels(c, getScale(), type, dims.size())});
  return finish(c, c.op<AddOp>({y, alongChannels(c, getBias(), type, dims.size())}), getX());
}

/// Emits base^exponent for a base that is not negative. The common exponents 0.25, 0.5 and 0.75
/// become square roots.
static Value powerOf(Composer &c, Value base, double exponent) {
  if (exponent != 0.25 && exponent != 0.5 && exponent != 0.75)
    return c.op<PowOp>({base, c.scalarLike(base, exponent)});
  Value half = c.op<SqrtOp>({base});
  if (exponent == 0.5)
    return half;
  Value quarter = c.op<SqrtOp>({half});
  return exponent == 0.25 ? quarter : c.op<MulOp>({half, quarter});
}

/// Maximum length of LRN's window over the channels if their number is dynamic. The window then is
/// as long as `size`, which could take much time.
constexpr int64_t kMaxUnknownChannels = 4096;

Composed LRNOp::compose(OpBuilder &b) {
  Composer c(b, getLoc());
  Value x = c.cast(getX(), normalizeType(getX()));
  Dims dims = graph::getDims(x);
  // LRN's window over the channels has size 1 along the dims after the channels, so x need not be
  // transposed.
  size_t n = dims.size() - 1;
  SmallVector<int64_t> ones(n, 1), kernel(n, 1), low(n, 0);
  // Elements of LRN's window before the first and after the last channel add 0 to the sum.
  int64_t before = (int64_t(getSize()) - 1) / 2, behind = int64_t(getSize()) - 1 - before;
  int64_t most = dims[1].constant().value_or(kMaxUnknownChannels);
  if (!dims[1].constant() && behind >= most)
    return emitOpError() << "normalizes over " << getSize() << " channels with a dynamic channel count; at most "
                         << kMaxUnknownChannels << " are supported";
  low[0] = std::min(before, std::max<int64_t>(most - 1, 0));
  kernel[0] = low[0] + 1 + std::min(behind, std::max<int64_t>(most - 1, 0));
  Value squares = c.op<MulOp>({x, x});
  Value window = make<WindowOp>(b, getLoc(), squares,
                                {b.getNamedAttr("kernel", b.getDenseI64ArrayAttr(kernel)),
                                 b.getNamedAttr("strides", b.getDenseI64ArrayAttr(ones)),
                                 b.getNamedAttr("dilations", b.getDenseI64ArrayAttr(ones)),
                                 b.getNamedAttr("low", b.getDenseI64ArrayAttr(low)),
                                 b.getNamedAttr("sizes", dimsAttr(b.getContext(), ArrayRef(dims).drop_front())),
                                 b.getNamedAttr("fill", b.getF64FloatAttr(0))});
  if (!window)
    return failure();
  Value sum = c.reduce<ReduceSumOp>(window, dimsFrom(window, dims.size()), false);
  auto scalar = [&](double value) { return c.scalarLike(x, value); };
  Value scaled = c.op<MulOp>({sum, scalar(getAlpha().convertToDouble() / double(getSize()))});
  Value base = c.op<AddOp>({scaled, scalar(getBias().convertToDouble())});
  return finish(c, c.op<DivOp>({x, powerOf(c, base, getBeta().convertToDouble())}), getX());
}

} // namespace hewn::graph
