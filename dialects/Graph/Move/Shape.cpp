// SPDX-License-Identifier: Apache-2.0
//
// ONNX's ops that speak about shapes and make tensors of nothing: constants, Shape, ConstantOfShape.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/GraphOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildConstant(OnnxNode &node) {
  for (StringRef name : {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
                         "value_strings", "sparse_value"})
    if (node.hasAttr(name)) {
      Value value = node.getTensor(name);
      return value ? node.finish(value) : node.refuse("attribute '" + name + "' is no tensor that hewn has");
    }
  return node.refuse("has no value");
}

LogicalResult buildShape(OnnxNode &node) {
  Dims dims = getDims(node.input(0));
  int64_t rank = dims.size();
  auto bound = [&](StringRef name, int64_t otherwise) {
    int64_t value = node.getInt(name, otherwise);
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return node.finish(node.make<DimValueOp>({}, node.attr("values", ArrayRef<DimExpr>(dims).slice(start, end - start))));
}

LogicalResult buildSize(OnnxNode &node) {
  Dims count = {numElements(getDims(node.input(0)))};
  Value value = node.make<DimValueOp>({}, node.attr("values", ArrayRef<DimExpr>(count)));
  return node.finish(Composer(node).reshape(value, {}));
}

LogicalResult buildConstantOfShape(OnnxNode &node) {
  std::optional<Dims> shape = node.contentsOrRead(node.input(0));
  if (!shape)
    return failure();
  Composer c(node);
  Value value = node.hasAttr("value") ? c.reshape(node.getTensor("value"), {})
                                      : makeSplat(node.b, node.loc, node.b.getF32Type(), 0);
  return value ? node.finish(c.expand(value, *shape)) : node.refuse("its value is no tensor of one element");
}

} // namespace hewn::graph
