// SPDX-License-Identifier: Apache-2.0
//
// The ops for random numbers, and the import of their ONNX nodes.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Indexing/Scatter.h"
#include "dialects/Graph/RuntimeCall/RandomOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace hewn::graph {

static bool isRandomType(Type type) { return isa<FloatType>(type) && isOrdered(type); }

static LogicalResult inferFilled(Operation *op, Attribute shape, Type type, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(shape);
  if (!dims || !isRandomType(type))
    return op->emitOpError("needs a shape, and a float type of 16 bits or more");
  results.push_back({*dims, type});
  return success();
}

LogicalResult RandomNormalOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferFilled(*this, getShape(), getElementType(), results);
}

LogicalResult RandomUniformOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferFilled(*this, getShape(), getElementType(), results);
}

LogicalResult MersenneOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferFilled(*this, getShape(), Float64Type::get(getContext()), results);
}

LogicalResult BernoulliOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isRandomType(graph::getElementType(getX())) || !isOrdered(getElementType()))
    return emitOpError("needs probabilities of a float type, and a result of numbers of a byte or more");
  results.push_back({dimsOf(getX()), getElementType()});
  return success();
}

LogicalResult MultinomialOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  Type type = getElementType();
  if (dims.size() != 2 || !isRandomType(graph::getElementType(getX())) || int64_t(getSamples()) < 0 ||
      !(type.isSignlessInteger(32) || type.isSignlessInteger(64)))
    return emitOpError("needs [batch, classes] of floats, a number of samples, and i32 or i64 as result");
  results.push_back({{dims[0], DimExpr(int64_t(getSamples()))}, type});
  return success();
}

void RandomNormalOp::requireDims(Requirements &) {}
void RandomUniformOp::requireDims(Requirements &) {}
void MersenneOp::requireDims(Requirements &) {}
void BernoulliOp::requireDims(Requirements &) {}
/// The op Multinomial states no requirement: the runtime function checks that there is at least one
/// class.
void MultinomialOp::requireDims(Requirements &) {}

//===------------------------------------------------------------------------------------------===//
// Import
//===------------------------------------------------------------------------------------------===//

static int64_t seedOf(OnnxNode &node) { return floatBits(llvm::APFloat(float(node.getFloat("seed", 0)))); }

/// Appends the seed attribute of an op that generates random numbers: the node's seed, or a number
/// that is unique in the model.
static void addSeed(OnnxNode &node, SmallVectorImpl<NamedAttribute> &attributes) {
  bool seeded = node.hasAttr("seed");
  int64_t seed = seeded ? seedOf(node) : int64_t(llvm::xxh3_64bits(node.freshDim().str()) >> 1);
  attributes.push_back(node.attr("hasSeed", node.b.getBoolAttr(seeded)));
  attributes.push_back(node.attr("seed", seed));
}

Value makeUniform(OnnxNode &node, ArrayRef<DimExpr> shape, Type elementType) {
  // Dropout is the only node with an integer seed. With a seed, its random numbers are those of
  // ONNX's reference implementation.
  if (node.hasAttr("seed")) {
    NamedAttribute seed = node.attr("seed", node.getInt("seed", 0, OnnxNode::Range::Any));
    return node.make<MersenneOp>(ValueRange(), {node.attr("shape", shape), seed});
  }
  SmallVector<NamedAttribute> attributes = {
      node.attr("shape", shape), node.attr("elementType", TypeAttr::get(elementType)),
      node.attr("low", node.b.getF32FloatAttr(0)), node.attr("high", node.b.getF32FloatAttr(1))};
  addSeed(node, attributes);
  Operation *op = makePart(node, RandomUniformOp::getOperationName(), {}, attributes, 1);
  return op ? op->getResult(0) : Value();
}

/// Returns the element type that attribute `dtype` of the node states, or `otherwise` if it is
/// absent. Returns null after a call of `refuse`.
static Type resultType(OnnxNode &node, Type otherwise) {
  if (!node.hasAttr("dtype"))
    return otherwise;
  Type type = node.elementTypeOf(node.getInt("dtype", 0));
  if (!type)
    (void)node.refuse("data type " + Twine(node.getInt("dtype", 0)) + " is not supported");
  return type;
}

LogicalResult buildRandom(OnnxNode &node) {
  StringRef name = node.opType();
  bool like = name.consume_back("Like"), normal = name == "RandomNormal";
  Dims shape;
  if (like) {
    shape = getDims(node.input(0));
  } else {
    std::optional<SmallVector<int64_t>> written = node.getInts("shape");
    if (!written)
      return node.refuse("needs a shape");
    shape = Dims(written->begin(), written->end());
  }
  Type type = resultType(node, like ? getElementType(node.input(0)) : node.b.getF32Type());
  if (!type)
    return failure();
  SmallVector<NamedAttribute> attributes = {node.attr("shape", ArrayRef<DimExpr>(shape)),
                                            node.attr("elementType", TypeAttr::get(type))};
  addSeed(node, attributes);
  auto number = [&](StringRef attribute, StringRef onnx, double otherwise) {
    attributes.push_back(node.attr(attribute, node.b.getF32FloatAttr(float(node.getFloat(onnx, otherwise)))));
  };
  number(normal ? "mean" : "low", normal ? "mean" : "low", 0);
  number(normal ? "scale" : "high", normal ? "scale" : "high", 1);
  StringRef op = normal ? RandomNormalOp::getOperationName() : RandomUniformOp::getOperationName();
  return setOutputs(node, makePart(node, op, {}, attributes, 1));
}

LogicalResult buildBernoulli(OnnxNode &node) {
  Type type = resultType(node, getElementType(node.input(0)));
  if (!type)
    return failure();
  SmallVector<NamedAttribute> attributes = {node.attr("elementType", TypeAttr::get(type))};
  addSeed(node, attributes);
  return setOutputs(node, makePart(node, BernoulliOp::getOperationName(), node.input(0), attributes, 1));
}

LogicalResult buildMultinomial(OnnxNode &node) {
  Type type = resultType(node, node.b.getI32Type());
  if (!type)
    return failure();
  SmallVector<NamedAttribute> attributes = {node.attr("elementType", TypeAttr::get(type)),
                                            node.attr("samples", node.getInt("sample_size", 1))};
  addSeed(node, attributes);
  return setOutputs(node, makePart(node, MultinomialOp::getOperationName(), node.input(0), attributes, 1));
}

} // namespace hewn::graph
