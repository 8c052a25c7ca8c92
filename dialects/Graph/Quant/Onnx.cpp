// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's quantization nodes. Scales and zero points are reshaped so that they broadcast
// to the data. Matmuls and convolutions become contractions with i32 accumulators.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Scales and zero points
//===------------------------------------------------------------------------------------------===//

Value alongAxis(Composer &c, Value parameter, int64_t axis, int64_t rank) {
  if (!parameter || getRank(parameter) != 1)
    return parameter;
  Dims dims = getDims(parameter);
  if (dims[0].is(1))
    return c.reshape(parameter, {});
  dims.append(size_t(std::max<int64_t>(rank - axis - 1, 0)), DimExpr(1));
  return c.reshape(parameter, dims);
}

Value alongAxis(Composer &c, Value parameter, int64_t axis, Value data) {
  if (parameter && data && getRank(parameter) == 1 && axis < getRank(data))
    require(c.b, c.loc, Relation::Broadcast, getDims(parameter)[0], getDims(data)[axis]);
  return data ? alongAxis(c, parameter, axis, getRank(data)) : data;
}

/// Emits the quantization or dequantization of `x` by a scale and a zero point (or null), which
/// broadcast to `x`.
using Broadcast = llvm::function_ref<Value(Value x, Value scale, Value zeroPoint)>;

Value alongBlocks(Composer &c, Value parameter, const Dims &data, int64_t axis, int64_t block) {
  if (!parameter || getRank(parameter) == 0)
    return parameter;
  Dims dims = getDims(parameter), split = dims, whole = dims;
  split.insert(split.begin() + axis + 1, DimExpr(1));
  Dims repeated = split;
  repeated[axis + 1] = DimExpr(block);
  whole[axis] = dims[axis] * DimExpr(block);
  return c.slice(c.reshape(c.expand(c.reshape(parameter, split), repeated), whole), axis, DimExpr(0), data[axis]);
}

/// Quantizes or dequantizes x by blockwise scales: calls `make` with one scale and zero point for
/// each block of `block` elements along `axis`. Blocks become a dim of their own. An incomplete
/// last block is processed separately.
static Value makeBlocks(Composer &c, Value x, Value scale, Value zeroPoint, int64_t axis, int64_t block,
                        Broadcast make) {
  Dims dims = getDims(x);
  std::optional<int64_t> length = dims[axis].constant();
  if (!length || *length < block)
    return make(x, alongBlocks(c, scale, dims, axis, block), alongBlocks(c, zeroPoint, dims, axis, block));
  int64_t blocks = *length / block, rest = *length % block;
  auto split = [&](Value value, int64_t each) {
    if (!value || getRank(value) == 0)
      return value;
    Dims to = getDims(value);
    to[axis] = DimExpr(blocks);
    to.insert(to.begin() + axis + 1, DimExpr(each));
    return c.reshape(c.slice(value, axis, DimExpr(0), DimExpr(blocks * each)), to);
  };
  auto last = [&](Value value, int64_t each, int64_t count) {
    bool isShared = !value || getRank(value) == 0;
    return isShared ? value : c.slice(value, axis, DimExpr(blocks * each), DimExpr(count));
  };
  dims[axis] = DimExpr(blocks * block);
  Value whole = c.reshape(make(split(x, block), split(scale, 1), split(zeroPoint, 1)), dims);
  return rest ? c.concat({whole, make(last(x, block, rest), last(scale, 1, 1), last(zeroPoint, 1, 1))}, axis) : whole;
}

/// Calls `make` with input 0 (data), input 1 (scale) and input 2 (zero point), and sets the node's
/// output to the result.
static LogicalResult finishBroadcast(OnnxNode &node, Composer &c, Broadcast make) {
  Value x = node.input(0), scale = node.input(1), zeroPoint = node.input(2);
  if (!x || !scale)
    return node.refuse("needs data and a scale");
  Dims dims = getDims(x);
  // A zero point with one element applies to all scales of the node.
  if (zeroPoint && numElements(getDims(zeroPoint)).is(1))
    zeroPoint = c.reshape(zeroPoint, {});
  if (zeroPoint && getRank(zeroPoint) != 0 && getRank(zeroPoint) != getRank(scale))
    return node.refuse("scale and zero point differ in rank");
  int64_t block = node.getInt("block_size", 0);
  // Makes the ranks of scale and zero point equal: some exporters write a single scale with rank 0
  // and its zero point with rank 1, or vice versa.
  bool single = getRank(scale) == 0 || (getRank(scale) == 1 && !block && getDims(scale)[0].is(1));
  if (zeroPoint && (single ? !numElements(getDims(zeroPoint)).is(1) : getRank(zeroPoint) != getRank(scale)))
    return node.refuse("scale and zero point differ in rank");
  if (single)
    return node.finish(make(x, c.reshape(scale, {}), zeroPoint));
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 1), dims.size());
  if (!axis)
    return failure();
  if (!block) {
    if (getRank(scale) != 1)
      return node.refuse("scale of rank " + Twine(getRank(scale)) + " without block_size");
    return node.finish(make(x, alongAxis(c, scale, *axis, x), alongAxis(c, zeroPoint, *axis, x)));
  }
  if (block < 0 || getRank(scale) != int64_t(dims.size()))
    return node.refuse("block-wise scales require a positive block_size and the rank of the data");
  DimExpr blocks = dims[*axis].ceilDiv(DimExpr(block));
  for (Value parameter : {scale, zeroPoint})
    if (parameter && getRank(parameter) != 0 && blocks.constant() && getDims(parameter)[*axis].constant() &&
        getDims(parameter)[*axis] != blocks)
      return node.refuse("needs " + Twine(*blocks.constant()) + " blocks of scales along axis " + Twine(*axis));
  Dims expected = dims;
  expected[*axis] = blocks;
  for (Value parameter : {scale, zeroPoint})
    if (parameter && getRank(parameter) != 0)
      for (auto [have, want] : llvm::zip(getDims(parameter), expected))
        if (!have.constant() || !want.constant())
          require(node.b, node.loc, Relation::Equal, have, want);
  return node.finish(makeBlocks(c, x, scale, zeroPoint, *axis, block, make));
}

/// Returns the element type that integer attribute `name` of the node states. Returns `otherwise`
/// if the attribute is absent or 0, and null after a call of `refuse`.
static Type typeAttr(OnnxNode &node, StringRef name, Type otherwise) {
  int64_t code = node.getInt(name, 0);
  if (!code)
    return otherwise;
  Type type = node.elementTypeOf(code);
  if (!type)
    (void)node.refuse(name + Twine(" ") + Twine(code) + " is not a supported type");
  return type;
}

LogicalResult buildQuantize(OnnxNode &node) {
  Composer c(node);
  Value scale = node.input(1), zeroPoint = node.input(2);
  if (!scale)
    return node.refuse("needs data and a scale");
  Type to = zeroPoint ? getElementType(zeroPoint)
                      : typeAttr(node, "output_dtype", IntegerType::get(node.b.getContext(), 8, IntegerType::Unsigned));
  Type precision = to ? typeAttr(node, "precision", getElementType(scale)) : Type();
  if (!precision)
    return failure();
  if (!isa<FloatType>(precision))
    precision = node.b.getF32Type();
  return finishBroadcast(node, c, [&](Value x, Value scale, Value zeroPoint) {
    if (precision != getElementType(scale))
      x = c.cast(x, precision);
    // The zero point of a quantization to float8 is always zero and is omitted.
    return composeQuantize(c, x, c.cast(scale, precision), isa<FloatType>(to) ? Value() : zeroPoint, to,
                           /*multiply=*/false, node.getInt("saturate", 1) != 0);
  });
}

LogicalResult buildDequantize(OnnxNode &node) {
  Composer c(node);
  Value scale = node.input(1);
  if (!scale)
    return node.refuse("needs data and a scale");
  Type to = typeAttr(node, "output_dtype", getElementType(scale));
  if (!to)
    return failure();
  return finishBroadcast(node, c, [&](Value x, Value scale, Value zeroPoint) {
    return composeDequantize(c, x, scale, isa<FloatType>(getElementType(x)) ? Value() : zeroPoint, to);
  });
}

DynamicallyQuantized composeDynamicQuantize(Composer &c, Value x) {
  Type ui8 = IntegerType::get(c.b.getContext(), 8, IntegerType::Unsigned);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x)));
  DynamicallyQuantized q;
  Value zero = c.scalarLike(x, 0);
  Value high = c.op<MaximumOp>({c.reduce<ReduceMaxOp>(x, all, false), zero});
  Value low = c.op<MinimumOp>({c.reduce<ReduceMinOp>(x, all, false), zero});
  // If all elements are 0, the computed scale of the dynamic quantization would be 0, so it is
  // replaced by 1. Any scale other than 0 gives correct results.
  Value range = c.op<SubOp>({high, low}), one = c.scalarLike(x, 1);
  q.scale = c.op<WhereOp>({c.op<EqualOp>({range, zero}), one, c.op<DivOp>({range, c.scalarLike(x, 255)})});
  q.zeroPoint = composeQuantize(c, c.op<NegOp>(low), q.scale, {}, ui8);
  q.value = q.zeroPoint ? composeQuantize(c, x, q.scale, q.zeroPoint, ui8) : Value();
  return q;
}

LogicalResult buildDynamicQuantize(OnnxNode &node) {
  Value x = node.input(0);
  if (!x || !isa<FloatType>(getElementType(x)))
    return node.refuse("needs floats");
  Composer c(node);
  DynamicallyQuantized q = composeDynamicQuantize(c, x);
  if (!q.value)
    return failure();
  node.setOutput(0, q.value);
  if (node.wantsOutput(1))
    node.setOutput(1, q.scale);
  if (node.wantsOutput(2))
    node.setOutput(2, q.zeroPoint);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Matmuls and convolutions
//===------------------------------------------------------------------------------------------===//

Value composeCenter(OnnxNode &node, Composer &c, Value x, Value zeroPoint, int64_t axis) {
  if (!x)
    return x;
  SmallVector<Value> operands = {x};
  // A zero point that is known to be zero is not passed to graph.center.
  std::optional<Dims> known = zeroPoint ? node.contents(zeroPoint) : std::nullopt;
  if (zeroPoint && !(known && llvm::all_of(*known, [](const DimExpr &zero) { return zero.is(0); })))
    operands.push_back(alongAxis(c, zeroPoint, axis, x));
  return make<CenterOp>(c.b, c.loc, operands);
}

Value composeIntegerMatMul(OnnxNode &node, Composer &c, Value a, Value aZero, Value b, Value bZero) {
  // The zero points of the left matrix a are per row, those of the right matrix b per column.
  Value left = composeCenter(node, c, a, aZero, std::max<int64_t>(getRank(a) - 2, 0));
  Value right = composeCenter(node, c, b, bZero, getRank(b) - 1);
  return composeMatMul(c, left, right);
}

/// Rejects the node if one of the given inputs is absent or has elements that are not integers.
static LogicalResult integersAt(OnnxNode &node, std::initializer_list<unsigned> inputs) {
  for (unsigned i : inputs)
    if (!node.input(i) || !isa<IntegerType>(getElementType(node.input(i))) || getRank(node.input(i)) == 0)
      return node.refuse("input " + Twine(i) + " must be a tensor of integers");
  return success();
}

LogicalResult buildMatMulInteger(OnnxNode &node) {
  if (failed(integersAt(node, {0, 1})))
    return failure();
  Composer c(node);
  return node.finish(composeIntegerMatMul(node, c, node.input(0), node.input(2), node.input(1), node.input(3)));
}

/// Quantizes an i32 accumulator to the result type: multiplies it by the combined scale a * b /
/// scale and adds the zero point.
static Value requantize(Composer &c, Value sum, Value a, Value b, Value scale, Value zeroPoint, Type to) {
  Type f32 = c.b.getF32Type();
  Value factor = c.op<DivOp>({c.op<MulOp>({c.cast(a, f32), c.cast(b, f32)}), c.cast(scale, f32)});
  return composeQuantize(c, c.cast(sum, f32), factor, zeroPoint, to, /*multiply=*/true);
}

/// Reshapes a scale or zero point with one element to a scalar.
static Value scalarOf(Composer &c, Value parameter) {
  return parameter && getRank(parameter) == 1 ? c.reshape(parameter, {}) : parameter;
}

LogicalResult buildQLinearMatMul(OnnxNode &node) {
  if (failed(integersAt(node, {0, 3})))
    return failure();
  for (unsigned i : {1, 4, 6})
    if (!node.input(i))
      return node.refuse("needs three scales");
  Composer c(node);
  Value a = node.input(0), b = node.input(3), zero = node.input(7);
  Value sum = composeIntegerMatMul(node, c, a, node.input(2), b, node.input(5));
  if (!sum)
    return failure();
  Type to = zero ? getElementType(zero) : getElementType(a);
  Value aScale = alongAxis(c, node.input(1), std::max<int64_t>(getRank(a) - 2, 0), a);
  auto columns = [&](Value parameter) { return alongAxis(c, parameter, getRank(b) - 1, b); };
  return node.finish(requantize(c, sum, aScale, columns(node.input(4)), columns(node.input(6)), columns(zero), to));
}

/// Emits a convolution of quantized x and w with an i32 accumulator. ONNX pads x with its zero
/// point; the emitted convolution pads x with 0 after its zero point has been subtracted, which is
/// the same.
static Value convolve(OnnxNode &node, Composer &c, Value x, Value xZero, Value w, Value wZero) {
  std::optional<Window> window = readConvWindow(node, x, w);
  if (!window)
    return {};
  return composeConv(c, composeCenter(node, c, x, xZero, 1), composeCenter(node, c, w, wZero, 0), *window,
                     node.getInt("group", 1));
}

LogicalResult buildConvInteger(OnnxNode &node) {
  if (failed(integersAt(node, {0, 1})))
    return failure();
  Composer c(node);
  return node.finish(convolve(node, c, node.input(0), node.input(2), node.input(1), node.input(3)));
}

LogicalResult buildQLinearConv(OnnxNode &node) {
  if (failed(integersAt(node, {0, 3})))
    return failure();
  for (unsigned i : {1, 4, 6})
    if (!node.input(i))
      return node.refuse("needs three scales");
  if (node.input(8) && getRank(node.input(8)) != 1)
    return node.refuse("needs a bias of rank 1");
  Composer c(node);
  Value x = node.input(0), zero = node.input(7);
  Value sum = addChannelBias(c, convolve(node, c, x, node.input(2), node.input(3), node.input(5)), node.input(8));
  if (!sum)
    return failure();
  Type to = zero ? getElementType(zero) : getElementType(x);
  return node.finish(requantize(c, sum, scalarOf(c, node.input(1)), alongAxis(c, node.input(4), 1, sum),
                                scalarOf(c, node.input(6)), scalarOf(c, zero), to));
}

} // namespace hewn::graph
