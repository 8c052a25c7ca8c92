// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops whose ONNX form needs more than a row.
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildCast(OnnxNode &node) {
  Type to = node.elementTypeOf(node.getInt("to", 0));
  if (!to)
    return node.refuse("casts to data type " + Twine(node.getInt("to", 0)) + ", which hewn does not have");
  return node.finish(node.make<CastOp>(node.input(0), node.attr("to", TypeAttr::get(to))));
}

} // namespace hewn::graph
