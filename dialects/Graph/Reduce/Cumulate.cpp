// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Compose.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildCumulate(OnnxNode &node) {
  bool absent;
  std::optional<SmallVector<int64_t>> written = constantInts(node, "axis", 1, absent);
  if (!written)
    return absent ? node.refuse("needs an axis") : failure();
  std::optional<int64_t> axis =
      written->size() == 1 ? node.axis(written->front(), getRank(node.input(0))) : std::nullopt;
  if (!axis)
    return failure();
  StringRef name = node.opType() == "CumSum" ? CumSumOp::getOperationName() : CumProdOp::getOperationName();
  return node.finish(
      makeNamed(node.b, node.loc, name, node.input(0),
                {node.attr("dim", *axis), node.attr("exclusive", node.b.getBoolAttr(node.getInt("exclusive", 0))),
                 node.attr("backward", node.b.getBoolAttr(node.getInt("reverse", 0)))}));
}

} // namespace hewn::graph
