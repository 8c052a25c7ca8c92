// SPDX-License-Identifier: Apache-2.0
//
// Import of elementwise ONNX nodes that do not map directly to one op.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "dialects/Graph/Text/Text.h"
#include "dialects/Handle/Handle.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Broadcasting before opset 7, variadic ops
//===------------------------------------------------------------------------------------------===//

/// Appends dims of 1 to `value`, so that its first dim is aligned with dim `axis` of a tensor with
/// `rank` dims.
static Value alignAt(OnnxNode &node, Value value, int64_t axis, int64_t rank) {
  Dims dims = getDims(value);
  int64_t behind = rank - axis - int64_t(dims.size());
  if (behind == 0)
    return value;
  if (behind < 0) {
    (void)node.refuse("shape mismatch of the second input at axis " + Twine(axis));
    return {};
  }
  dims.append(behind, DimExpr(1));
  return node.make<ReshapeOp>(value, node.attr("shape", ArrayRef<DimExpr>(dims)));
}

LogicalResult buildOldBroadcast(OnnxNode &node) {
  Value a = node.input(0), b = node.input(1);
  if (!a || !b)
    return node.refuse("needs two inputs");
  if (node.getInt("broadcast", 0) && node.hasAttr("axis")) {
    std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(a));
    if (!axis)
      return failure();
    b = alignAt(node, b, *axis, getRank(a));
  }
  return node.finish(makeNamed(node.b, node.loc, node.recordedOp(), {a, b}));
}

LogicalResult buildOldPRelu(OnnxNode &node) {
  Value x = node.input(0), slope = node.input(1);
  if (!x || !slope)
    return node.refuse("needs two inputs");
  // PRelu has one slope per channel (dim 1), or a single slope, which broadcasts without alignment.
  if (getRank(slope) == 1 && getRank(x) > 1 && !getDims(slope)[0].is(1))
    slope = alignAt(node, slope, 1, getRank(x));
  return node.finish(node.make<PReluOp>({x, slope}));
}

LogicalResult buildVariadic(OnnxNode &node) {
  // The ONNX nodes Sum and Mean have any number of inputs; they are decomposed into additions of
  // two.
  StringRef name = node.recordedOp().empty() ? AddOp::getOperationName() : node.recordedOp();
  Value result = node.input(0);
  if (!result)
    return node.refuse("needs an input");
  for (unsigned i = 1; i < node.numInputs(); ++i) {
    result = makeNamed(node.b, node.loc, name, {result, node.input(i)});
    node.setOutput(0, result); // `setOutput` replaces long expressions in the dims by symbols
  }
  if (result && node.opType() == "Mean" && node.numInputs() > 1)
    result = node.make<DivOp>({result, makeSplat(node.b, node.loc, getElementType(result), node.numInputs())});
  return node.finish(result);
}

LogicalResult buildPow(OnnxNode &node) {
  Value x = node.input(0), exponent = node.input(1);
  if (!x || !exponent)
    return node.refuse("needs two inputs");
  // Pow with a small constant exponent becomes multiplications: exporters write squares and cubes
  // as Pow.
  std::optional<SmallVector<double>> known;
  if (isa<FloatType>(getElementType(exponent)))
    known = node.floatContents(exponent);
  else if (std::optional<Dims> whole = node.contents(exponent);
           whole && whole->size() == 1 && whole->front().constant())
    known = {double(*whole->front().constant())};
  if (known && known->size() == 1 && isa<FloatType>(getElementType(x)) && getRank(exponent) <= getRank(x)) {
    double power = known->front();
    if (power == 1)
      return node.finish(x);
    if (power == 2 || power == 3) {
      Value square = node.make<MulOp>({x, x});
      return node.finish(power == 2 ? square : node.make<MulOp>({square, x}));
    }
    // NumPy, and therefore ONNX's reference, computes a power with one exponent of 0.5 as a square
    // root: (-infinity)^0.5 is NaN. C's pow, which applies to any other exponent, returns infinity.
    if (power == 0.5)
      return node.finish(node.make<SqrtOp>({x}));
  }
  return node.finish(node.make<PowOp>({x, exponent}));
}

LogicalResult buildErf(OnnxNode &node) {
  Value x = node.input(0);
  Composer c(node);
  if (!x || isa<FloatType>(getElementType(x)))
    return x ? node.finish(c.op<ErfOp>({x})) : node.refuse("needs an input");
  // From opset 9 to 12, ONNX allowed integer tensors for Erf. The importer computes erf(x) as a
  // float, which rounds to 1 for x >= 4, and truncates it to the integer type.
  Value wide = c.op<ErfOp>({c.cast(x, node.b.getF64Type())});
  return node.finish(c.cast(c.cast(wide, node.b.getF32Type()), getElementType(x)));
}

LogicalResult buildClip(OnnxNode &node) {
  Value x = node.input(0), low = node.input(1), high = node.input(2);
  if (!x)
    return node.refuse("needs an input");
  auto bound = [&](StringRef name) {
    return node.hasAttr(name) ? makeSplat(node.b, node.loc, getElementType(x), node.getFloat(name, 0)) : Value();
  };
  if (node.opset() < 11) {
    low = bound("min");
    high = bound("max");
  }
  if (low)
    x = node.make<MaximumOp>({x, low});
  if (high)
    x = node.make<MinimumOp>({x, high});
  return node.finish(x);
}

//===------------------------------------------------------------------------------------------===//
// Conversion, identity
//===------------------------------------------------------------------------------------------===//

static LogicalResult finishCast(OnnxNode &node, Type to) {
  if (!node.input(0))
    return node.refuse("needs an input");
  Type from = getElementType(node.input(0));
  if (from == to)
    return node.finish(node.input(0));
  if (handle::isString(from))
    return node.finish(parseText(node, node.input(0), to));
  if (handle::isString(to))
    return node.finish(formatText(node, node.input(0)));
  std::string roundMode = node.getString("round_mode", "up");
  if (!llvm::is_contained({"up", "down", "nearest"}, roundMode))
    return node.refuse("round_mode '" + roundMode + "' is not supported");
  return node.finish(
      node.make<CastOp>(node.input(0), {node.attr("to", TypeAttr::get(to)),
                                        node.attr("saturate", node.b.getBoolAttr(node.getInt("saturate", 1))),
                                        node.attr("roundMode", node.b.getStringAttr(roundMode))}));
}

LogicalResult buildCast(OnnxNode &node) {
  int64_t code = node.getInt("to", 0);
  if (node.opset() < 6) {
    // Up to opset 5, attribute `to` of a Cast node is the name of a type instead of a number.
    static const llvm::StringMap<int64_t> codes = {{"FLOAT", 1},    {"UINT8", 2},   {"INT8", 3},    {"UINT16", 4},
                                                   {"INT16", 5},    {"INT32", 6},   {"INT64", 7},   {"BOOL", 9},
                                                   {"FLOAT16", 10}, {"DOUBLE", 11}, {"UINT32", 12}, {"UINT64", 13}};
    code = codes.lookup(StringRef(node.getString("to", "")).upper());
  }
  Type to = node.elementTypeOf(code);
  if (!to)
    return node.refuse("casting to data type " + Twine(code) + " is not supported");
  return finishCast(node, to);
}

LogicalResult buildCastLike(OnnxNode &node) {
  Type like = node.inputElementType(1);
  if (!like)
    return node.refuse("needs a second input");
  return finishCast(node, like);
}

LogicalResult buildIdentity(OnnxNode &node) {
  if (!node.input(0))
    return node.refuse("needs an input");
  return node.finish(node.input(0));
}

/// Checks that the ratio of a Dropout in training mode is in [0, 1). A ratio that is not known at
/// compile time is checked at run time, if `training` (null: always) is true.
static LogicalResult checkRatio(OnnxNode &node, Value ratio, Value training) {
  Composer c(node);
  if (std::optional<SmallVector<double>> known = node.floatContents(ratio); known && known->size() == 1) {
    if (known->front() >= 0 && known->front() < 1)
      return success();
    if (!training)
      return node.refuse("ratio is outside of [0, 1)");
  }
  ratio = c.reshape(ratio, {});
  Value isValid = c.op<AndOp>(
      {c.op<LessOrEqualOp>({c.scalarLike(ratio, 0), ratio}), c.op<LessOp>({ratio, c.scalarLike(ratio, 1)})});
  if (training && isValid)
    isValid = c.op<OrOp>({isValid, c.op<NotOp>(c.reshape(training, {}))});
  if (!isValid)
    return failure();
  RequireOp::create(node.b, node.loc, isValid);
  return success();
}

/// Emits a Dropout in training mode: it sets each element of x to zero with probability `ratio`,
/// and scales the others. `training` is a bool tensor that enables this mode. If it is null, the
/// mode is always enabled.
static LogicalResult dropElements(OnnxNode &node, Value x, Value ratio, Value training) {
  Composer c(node);
  Type type = getElementType(x), work = type.isF64() ? type : Type(node.b.getF32Type());
  if (ratio && failed(checkRatio(node, ratio, training)))
    return failure();
  ratio = ratio ? c.reshape(c.cast(ratio, work), {}) : makeSplat(node.b, node.loc, work, 0.5);
  Value drawn = makeUniform(node, getDims(x), work);
  if (!drawn)
    return failure();
  Value kept = c.op<LessOrEqualOp>({c.cast(ratio, getElementType(drawn)), drawn});
  Value scaled = c.op<DivOp>({c.cast(x, work), c.op<SubOp>({c.scalarLike(ratio, 1), ratio})});
  Value y = c.cast(c.op<WhereOp>({kept, scaled, c.scalarLike(ratio, 0)}), type);
  if (training) {
    training = c.reshape(training, {});
    y = c.op<WhereOp>({training, y, x});
    kept = c.op<OrOp>({c.op<NotOp>(training), kept});
  }
  if (!y || !kept)
    return failure();
  node.setOutput(0, y);
  node.setOutput(1, node.opset() < 10 ? c.cast(kept, type) : kept);
  return success();
}

LogicalResult buildDropout(OnnxNode &node) {
  Value x = node.input(0);
  if (!x)
    return node.refuse("needs an input");
  // The training mode of a Dropout node is an attribute before opset 7 and an input since opset 12.
  // Opsets 7 to 11 have no training mode.
  if (node.opset() < 7 && !node.getInt("is_test", 0) && node.getFloat("ratio", 0.5) != 0)
    return dropElements(node, x, makeSplat(node.b, node.loc, node.b.getF32Type(), node.getFloat("ratio", 0.5)), {});
  if (Value training = node.opset() >= 12 ? node.input(2) : Value()) {
    std::optional<Dims> known = node.contents(training);
    bool isKnown = known && known->size() == 1 && known->front().constant();
    std::optional<SmallVector<double>> ratio = node.input(1) ? node.floatContents(node.input(1)) : std::nullopt;
    bool off = (isKnown && known->front().is(0)) || (ratio && ratio->size() == 1 && ratio->front() == 0);
    if (!off)
      return dropElements(node, x, node.input(1), isKnown ? Value() : training);
  }
  node.setOutput(0, x);
  if (!node.wantsOutput(1))
    return success();
  // Up to opset 9, the mask output of a Dropout node has the element type of the data.
  Type type = node.opset() < 10 ? getElementType(x) : Type(node.b.getI1Type());
  Value mask = Composer(node).filled(getDims(x), type, 1);
  node.setOutput(1, mask);
  return success(mask != nullptr);
}

//===------------------------------------------------------------------------------------------===//
// Activations
//===------------------------------------------------------------------------------------------===//

LogicalResult buildOldSelu(OnnxNode &node) {
  auto parameter = [&](StringRef name, double otherwise) {
    return node.attr(name, node.b.getF32FloatAttr(float(node.getFloat(name, otherwise))));
  };
  return node.finish(node.make<SeluOp>(node.input(0), {parameter("alpha", 1.6732), parameter("gamma", 1.0507)}));
}

LogicalResult buildQuickGelu(OnnxNode &node) {
  auto alpha = node.b.getF32FloatAttr(float(node.getFloat("alpha", 1.702)));
  return node.finish(node.make<SwishOp>(node.input(0), node.attr("alpha", alpha)));
}

LogicalResult buildBiasGelu(OnnxNode &node) {
  Value x = node.input(0);
  if (node.input(1))
    x = node.make<AddOp>({x, node.input(1)});
  StringRef form = node.opType() == "FastGelu" ? "tanh" : "none";
  return node.finish(node.make<GeluOp>(x, node.attr("approximate", node.b.getStringAttr(form))));
}

LogicalResult buildSwiGlu(OnnxNode &node) {
  auto alpha = node.b.getF32FloatAttr(float(node.getFloat("alpha", 1.0)));
  Value gate = node.make<SwishOp>(node.input(0), node.attr("alpha", alpha));
  return node.finish(node.make<MulOp>({gate, node.input(1)}));
}

} // namespace hewn::graph
