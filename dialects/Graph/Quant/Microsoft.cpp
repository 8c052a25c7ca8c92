// SPDX-License-Identifier: Apache-2.0
//
// Import of the quantization nodes of com.microsoft, which are frequent in quantized models.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Attention/Onnx.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"
#include "dialects/Graph/Reduce/Normalize/NormalizeOps.h"
#include "dialects/Graph/Reduce/Reduce.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

/// Dequantizes input i (data) of the node by its inputs i + 1 (scale) and i + 2 (zero point,
/// optional).
static Value dequantized(OnnxNode &node, Composer &c, unsigned i) {
  Value x = node.input(i), scale = node.input(i + 1);
  if (!x || !scale) {
    (void)node.refuse("needs data and a scale at input " + Twine(i));
    return {};
  }
  return composeDequantize(c, x, alongAxis(c, scale, 1, x),
                           node.input(i + 2) ? alongAxis(c, node.input(i + 2), 1, x) : Value(), c.b.getF32Type());
}

/// Quantizes `x` by inputs i (scale) and i + 1 (zero point) of the node. The result has the type of
/// the zero point, or of input `like` if there is no zero point.
static Value quantized(OnnxNode &node, Composer &c, Value x, unsigned i, unsigned like) {
  Value scale = node.input(i), zero = node.input(i + 1);
  if (!x || !scale) {
    (void)node.refuse("needs a scale at input " + Twine(i));
    return {};
  }
  Type to = zero ? getElementType(zero) : getElementType(node.input(like));
  return composeQuantize(c, x, alongAxis(c, scale, 1, x), zero ? alongAxis(c, zero, 1, x) : zero, to);
}

LogicalResult buildQLinearBinary(OnnxNode &node) {
  Composer c(node);
  Value a = dequantized(node, c, 0), b = a ? dequantized(node, c, 3) : a;
  if (!b)
    return failure();
  Value y = node.opType() == "QLinearAdd" ? c.op<AddOp>({a, b}) : c.op<MulOp>({a, b});
  return node.finish(quantized(node, c, y, 6, 0));
}

LogicalResult buildQLinearUnary(OnnxNode &node) {
  Composer c(node);
  Value x = dequantized(node, c, 0), y;
  if (!x)
    return failure();
  if (node.opType() == "QLinearSigmoid") {
    y = c.op<SigmoidOp>(x);
  } else if (node.opType() == "QLinearLeakyRelu") {
    y = node.make<LeakyReluOp>(x, node.attr("alpha", node.b.getF32FloatAttr(float(node.getFloat("alpha", 0.01)))));
  } else if (node.opType() == "QLinearSoftmax") {
    std::optional<int64_t> axis = node.axis(node.getInt("axis", -1), getRank(x));
    if (!axis)
      return failure();
    if (node.getInt("opset", 13) < 13 && *axis + 1 != getRank(x))
      return node.refuse("a softmax over several dims is not supported");
    y = node.make<SoftmaxOp>(x, node.attr("axis", *axis));
  } else {
    int64_t rank = getRank(x);
    if (rank < 3)
      return node.refuse("needs an input of rank 3 or more");
    bool channelsLast = node.getInt("channels_last", 0) != 0;
    if (node.opType() == "QLinearAveragePool") {
      SmallVector<int64_t> first = {0, rank - 1}, last = {0};
      first.append(llvm::to_vector(llvm::seq<int64_t>(1, rank - 1)));
      last.append(llvm::to_vector(llvm::seq<int64_t>(2, rank)));
      last.push_back(1);
      y = importAveragePool(node, channelsLast ? c.transpose(x, first) : x);
      return node.finish(quantized(node, c, y && channelsLast ? c.transpose(y, last) : y, 3, 0));
    }
    y = c.reduce<ReduceMeanOp>(
        x, llvm::to_vector(channelsLast ? llvm::seq<int64_t>(1, rank - 1) : llvm::seq<int64_t>(2, rank)), true);
  }
  return node.finish(quantized(node, c, y, 3, 0));
}

LogicalResult buildQLinearConcat(OnnxNode &node) {
  Composer c(node);
  SmallVector<Value> values;
  for (unsigned i = 2; i < node.numInputs(); i += 3)
    values.push_back(dequantized(node, c, i));
  if (values.empty() || llvm::is_contained(values, Value()))
    return values.empty() ? node.refuse("needs an input") : failure();
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(values[0]));
  if (!axis)
    return failure();
  return node.finish(quantized(node, c, c.concat(values, *axis), 0, 2));
}

//===------------------------------------------------------------------------------------------===//
// Matmuls
//===------------------------------------------------------------------------------------------===//

/// Dequantizes an i32 matmul result: returns sum * aScale * bScale + bias in f32.
static Value scaleBack(Composer &c, Value sum, Value aScale, Value bScale, Value bias) {
  Type f32 = c.b.getF32Type();
  Value factor = c.op<MulOp>({aScale, bScale});
  Value y = c.op<MulOp>({c.cast(sum, f32), c.cast(factor, f32)});
  return bias ? c.op<AddOp>({y, c.cast(bias, f32)}) : y;
}

static LogicalResult needsAll(OnnxNode &node, std::initializer_list<unsigned> inputs) {
  for (unsigned i : inputs)
    if (!node.input(i))
      return node.refuse("needs input " + Twine(i));
  return success();
}

LogicalResult buildQGemm(OnnxNode &node) {
  if (failed(needsAll(node, {0, 1, 3, 4})))
    return failure();
  Composer c(node);
  Value a = node.input(0), b = node.input(3), bScale = alongAxis(c, node.input(4), 0, 1);
  if (getRank(a) != 2 || getRank(b) != 2)
    return node.refuse("operands must have rank 2");
  if (node.getInt("transA", 0))
    a = c.transpose(a, {1, 0});
  if (node.getInt("transB", 0))
    b = c.transpose(b, {1, 0});
  Value sum = composeIntegerMatMul(node, c, a, node.input(2), b, node.input(5));
  // Input C of QGemm is quantized with the scale of the accumulator, so it is added to the
  // accumulator as an integer.
  if (sum && node.input(6))
    sum = c.op<AddOp>({sum, node.input(6)});
  Value aScale = alongAxis(c, node.input(1), 0, 1);
  if (double alpha = node.getFloat("alpha", 1); alpha != 1)
    aScale = c.op<MulOp>({aScale, c.scalarLike(aScale, alpha)});
  Value y = scaleBack(c, sum, aScale, bScale, {});
  return node.finish(node.input(7) ? quantized(node, c, y, 7, 0) : y);
}

LogicalResult buildMatMulIntegerToFloat(OnnxNode &node) {
  if (failed(needsAll(node, {0, 1, 2, 3})))
    return failure();
  Composer c(node);
  Value sum = composeIntegerMatMul(node, c, node.input(0), node.input(4), node.input(1), node.input(5));
  return node.finish(
      scaleBack(c, sum, alongAxis(c, node.input(2), 0, 2), alongAxis(c, node.input(3), 0, 1), node.input(6)));
}

LogicalResult buildQAttention(OnnxNode &node) {
  if (failed(needsAll(node, {0, 1, 3, 4})))
    return failure();
  if (getRank(node.input(0)) != 3 || getRank(node.input(1)) != 2)
    return node.refuse("requires an input of rank 3 and weights of rank 2");
  Composer c(node);
  Value sum = composeIntegerMatMul(node, c, node.input(0), node.input(6), node.input(1), node.input(7));
  Value all = scaleBack(c, sum, alongAxis(c, node.input(3), 0, 2), alongAxis(c, node.input(4), 0, 1), node.input(2));
  return finishPackedAttention(node, all, {node.input(5), node.input(8), {}});
}

LogicalResult buildDynamicQuantizeMatMul(OnnxNode &node) {
  if (failed(needsAll(node, {0, 1, 2})))
    return failure();
  Composer c(node);
  DynamicallyQuantized a = composeDynamicQuantize(c, node.input(0));
  if (!a.value)
    return failure();
  Value sum = composeIntegerMatMul(node, c, a.value, a.zeroPoint, node.input(1), node.input(3));
  return node.finish(scaleBack(c, sum, a.scale, alongAxis(c, node.input(2), 0, 1), node.input(4)));
}

//===------------------------------------------------------------------------------------------===//
// Low-bit weights
//===------------------------------------------------------------------------------------------===//

/// Unpacks bytes [.., n] to integers of `bits` bits, [.., n * 8/bits]. The lowest bits of a byte
/// come first.
static Value unpack(Composer &c, Value bytes, int64_t bits) {
  if (bits == 8)
    return bytes;
  Dims dims = getDims(bytes), column = dims;
  column.push_back(DimExpr(1));
  SmallVector<Value> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value part = bytes;
    if (shift)
      part = make<BitShiftOp>(c.b, c.loc, {bytes, c.scalarLike(bytes, double(shift))},
                              c.b.getNamedAttr("direction", c.b.getStringAttr("RIGHT")));
    part = c.op<BitwiseAndOp>({part, c.scalarLike(bytes, double((1 << bits) - 1))});
    parts.push_back(c.reshape(part, column));
  }
  dims.back() = dims.back() * DimExpr(8 / bits);
  return c.reshape(c.concat(parts, int64_t(column.size()) - 1), dims);
}

LogicalResult buildMatMulNBits(OnnxNode &node) {
  if (failed(needsAll(node, {0, 1, 2})) || failed(node.needsDefault("weight_prepacked", 0)))
    return failure();
  Composer c(node);
  int64_t k = node.getInt("K", 0), n = node.getInt("N", 0), bits = node.getInt("bits", 4);
  int64_t block = node.getInt("block_size", 0);
  constexpr int64_t most = int64_t(1) << 32; // maximum of K, N and block_size
  if (k < 1 || n < 1 || block < 1 || k > most || n > most || block > most || (bits != 2 && bits != 4 && bits != 8) ||
      block * bits % 8)
    return node.refuse("K, N, bits or block_size out of range");
  if (node.input(4))
    return node.refuse("g_idx");
  Type ui8 = IntegerType::get(node.b.getContext(), 8, IntegerType::Unsigned);
  if (getElementType(node.input(1)) != ui8)
    return node.refuse("weights must be bytes");
  Type type = getElementType(node.input(0));
  int64_t blocks = (k + block - 1) / block, zeroBytes = (blocks * bits + 7) / 8;
  // Returns true if input i of a MatMulNBits has `perColumn` * N elements. Divides the number of
  // elements, because perColumn * N could overflow.
  auto has = [&](unsigned i, int64_t perColumn) {
    std::optional<int64_t> elements = numElements(getDims(node.input(i))).constant();
    return elements && *elements % perColumn == 0 && *elements / perColumn == n;
  };
  int64_t blockBytes = block * bits / 8;
  if (!has(1, blocks * blockBytes))
    return node.refuse("the weights must be N columns of K numbers in blocks");
  if (!has(2, blocks) || !isa<FloatType>(getElementType(node.input(2))))
    return node.refuse("needs a float scale for each block of each column");
  if (node.input(3) && !has(3, getElementType(node.input(3)) == ui8 ? zeroBytes : blocks))
    return node.refuse("needs a zero point for each block of each column");
  if (!isa<FloatType>(type))
    return node.refuse("requires a float input");
  Dims perBlock = {DimExpr(n), DimExpr(blocks)};
  Value bytes = node.input(1), scale = c.reshape(node.input(2), perBlock), zero = node.input(3);
  if (zero && getElementType(zero) != ui8) // zero points of a float type are not packed
    zero = c.reshape(zero, perBlock);
  else if (zero)
    zero = c.slice(unpack(c, c.reshape(zero, {DimExpr(n), DimExpr(zeroBytes)}), bits), 1, DimExpr(0), DimExpr(blocks));
  constexpr int64_t toInt8 = 4;
  WeightEncoding code{bits, block, node.getInt("accuracy_level", 0) == toInt8};
  bool constant = llvm::all_of(ArrayRef<unsigned>{1, 2, 3}, [&](unsigned i) {
    return !node.input(i) || isa_and_nonnull<ConstantOp>(node.input(i).getDefiningOp());
  });
  Value y;
  if (constant && code.isSound() && k % block == 0) {
    bytes = c.transpose(c.reshape(bytes, {DimExpr(n), DimExpr(k * bits / 8)}), {1, 0});
    zero = zero ? c.transpose(zero, {1, 0}) : zero;
    Value w = composeDecode(c, make<EncodeOp>(c.b, c.loc, bytes), c.transpose(scale, {1, 0}), zero, code);
    y = composeMatMul(c, c.cast(node.input(0), c.b.getF32Type()), w);
    y = y ? c.cast(y, type) : y;
  } else {
    Dims expanded = {DimExpr(n), DimExpr(blocks), DimExpr(1)};
    Value numbers = unpack(c, c.reshape(bytes, {DimExpr(n), DimExpr(blocks), DimExpr(block * bits / 8)}), bits);
    zero = zero ? c.cast(c.reshape(zero, expanded), c.b.getF32Type())
                : makeSplat(c.b, c.loc, c.b.getF32Type(), double(1 << (bits - 1)));
    Value centered = c.op<SubOp>({c.cast(numbers, c.b.getF32Type()), zero});
    Value w = c.cast(c.op<MulOp>({centered, c.cast(c.reshape(scale, expanded), c.b.getF32Type())}), type);
    w = c.slice(c.reshape(w, {DimExpr(n), DimExpr(blocks * block)}), 1, DimExpr(0), DimExpr(k));
    y = composeMatMul(c, node.input(0), c.transpose(w, {1, 0}));
  }
  if (y && node.input(5))
    y = c.op<AddOp>({y, node.input(5)});
  return node.finish(y);
}

LogicalResult buildGatherBlockQuantized(OnnxNode &node) {
  if (failed(needsAll(node, {0, 1, 2})))
    return failure();
  Composer c(node);
  Value data = node.input(0), indices = node.input(1), scale = node.input(2), zero = node.input(3);
  int64_t rank = getRank(data), bits = node.getInt("bits", 4), block = node.getInt("block_size", 128);
  std::optional<int64_t> gathered = node.axis(node.getInt("gather_axis", 0), rank);
  std::optional<int64_t> axis = gathered ? node.axis(node.getInt("quantize_axis", 1), rank) : std::nullopt;
  if (!axis)
    return failure();
  Type ui8 = IntegerType::get(node.b.getContext(), 8, IntegerType::Unsigned);
  bool packed = getElementType(data) == ui8;
  if (*axis == *gathered || block < 1 || (packed && (*axis != rank - 1 || (bits != 2 && bits != 4 && bits != 8))))
    return node.refuse("gather_axis, quantize_axis, block_size or bits does not match the data");
  Dims dims = getDims(data);
  if (packed)
    dims.back() = dims.back() * DimExpr(8 / bits);
  Dims blocks = dims;
  blocks[*axis] = dims[*axis].ceilDiv(DimExpr(block));
  Dims packedBlocks = blocks;
  if (packed)
    packedBlocks.back() = packedBlocks.back().ceilDiv(DimExpr(8 / bits));
  if (getDims(scale) != blocks || (zero && getDims(zero) != packedBlocks))
    return node.refuse("requires a scale, and an optional zero point, for each block along quantize_axis");
  if (failed(checkIndices(node, indices, dims[*gathered])))
    return failure();
  auto rows = [&](Value table) -> Value {
    return table ? node.make<GatherOp>({table, indices}, node.attr("axis", *gathered)) : table;
  };
  // GatherBlockQuantized gathers the packed rows first, so that only the rows that are looked up
  // are unpacked.
  data = rows(data), scale = rows(scale), zero = rows(zero);
  if (*axis > *gathered)
    *axis += getRank(indices) - 1;
  if (!data || !scale)
    return failure();
  if (packed) {
    data = unpack(c, data, bits);
    zero = zero ? c.slice(unpack(c, zero, bits), *axis, DimExpr(0), getDims(scale)[*axis])
                : c.scalarLike(data, double(int64_t(1) << (bits - 1)));
  }
  Dims all = getDims(data);
  return node.finish(composeDequantize(c, data, alongBlocks(c, scale, all, *axis, block),
                                       alongBlocks(c, zero, all, *axis, block), getElementType(scale)));
}

} // namespace hewn::graph
