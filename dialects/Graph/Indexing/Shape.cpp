// SPDX-License-Identifier: Apache-2.0
//
// Import of Constant, ConstantOfShape, Shape and Size.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Indexing/Axes.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildConstant(OnnxNode &node) {
  for (StringRef name : {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
                         "value_strings", "sparse_value"})
    if (node.hasAttr(name)) {
      Value value = node.getTensor(name);
      return value ? node.finish(value) : failure();
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
  std::optional<int64_t> length = lengthBySizes(node, node.input(0));
  std::optional<Dims> shape = length ? node.contentsOrRead(node.input(0), length) : std::nullopt;
  if (!shape)
    return failure();
  Composer c(node);
  if (!node.hasAttr("value"))
    return node.finish(c.expand(makeSplat(node.b, node.loc, node.b.getF32Type(), 0), *shape));
  Value value = node.getTensor("value");
  if (!value)
    return failure();
  if (DimExpr count = numElements(getDims(value)); !count.is(1))
    return node.refuse("its value has " + count.str() + " elements and must have one");
  return node.finish(c.expand(c.reshape(value, {}), *shape));
}

} // namespace hewn::graph
