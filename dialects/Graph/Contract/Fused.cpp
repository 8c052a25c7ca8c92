// SPDX-License-Identifier: Apache-2.0
//
// Decomposes the fused contractions of com.microsoft, which are in models that ONNX Runtime has
// optimized and saved. hewn then decides itself which ops to fuse, for its target.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

using namespace mlir;

namespace hewn::graph {

/// Transposes an operand of FusedMatMul. `batchInside`: makes dim 0 the last dim but one. `swap`:
/// after that, swaps the last two dims.
static Value turned(Composer &c, Value x, bool swap, bool batchInside) {
  int64_t rank = getRank(x);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (rank < 2)
    return x;
  if (batchInside)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (swap)
    std::swap(order[rank - 2], order[rank - 1]);
  return c.transpose(x, order);
}

LogicalResult buildFusedMatMul(OnnxNode &node) {
  Composer c(node);
  Value a = node.input(0), b = node.input(1);
  if (!a || !b || getRank(a) == 0 || getRank(b) == 0)
    return node.refuse("a scalar operand is not allowed");
  Value product = composeMatMul(c, turned(c, a, node.getInt("transA", 0), node.getInt("transBatchA", 0)),
                                turned(c, b, node.getInt("transB", 0), node.getInt("transBatchB", 0)));
  double alpha = node.getFloat("alpha", 1);
  if (product && alpha != 1)
    product = c.op<MulOp>({product, c.scalarLike(product, alpha)});
  return node.finish(product);
}

/// Applies the activation function that the node's attribute `activation` names to x, with the
/// given parameters. Returns x if the node has no such attribute.
static Value activated(OnnxNode &node, Value x, ArrayRef<float> parameters) {
  std::string name = node.getString("activation", "");
  if (!x || name.empty())
    return x;
  Composer c(node);
  auto parameter = [&](StringRef attribute, size_t i, double otherwise) {
    return node.attr(attribute, node.b.getF32FloatAttr(i < parameters.size() ? parameters[i] : float(otherwise)));
  };
  if (name == "Relu")
    return c.op<ReluOp>(x);
  if (name == "Tanh")
    return c.op<TanhOp>(x);
  if (name == "Sigmoid")
    return c.op<SigmoidOp>(x);
  if (name == "LeakyRelu")
    return node.make<LeakyReluOp>(x, parameter("alpha", 0, 0.01));
  if (name == "HardSigmoid")
    return node.make<HardSigmoidOp>(x, {parameter("alpha", 0, 0.2), parameter("beta", 1, 0.5)});
  if (name == "Clip" && parameters.size() == 2) {
    Value low = c.op<MaximumOp>({x, c.scalarLike(x, parameters[0])});
    return c.op<MinimumOp>({low, c.scalarLike(x, parameters[1])});
  }
  (void)node.refuse("activation '" + name + "' with " + Twine(parameters.size()) + " parameters is not supported");
  return {};
}

LogicalResult buildFusedGemm(OnnxNode &node) {
  SmallVector<float> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (node.hasAttr(name))
      parameters.push_back(float(node.getFloat(name, 0)));
  return node.finish(activated(node, importGemm(node), parameters));
}

LogicalResult buildFusedConv(OnnxNode &node) {
  Value y = importConv(node), addend = node.input(3);
  if (y && addend)
    y = Composer(node).op<AddOp>({y, addend});
  return node.finish(activated(node, y, node.getFloats("activation_params").value_or(SmallVector<float>())));
}

} // namespace hewn::graph
