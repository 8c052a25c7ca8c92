// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Move/Axes.h"
#include "dialects/Graph/Reduce/CumulateOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildCumulate(OnnxNode &node) {
  bool absent;
  Value x = node.input(0);
  std::optional<Dims> axes = axesOrRead(node, "axis", 1, getRank(x), absent);
  if (!axes)
    return absent ? node.refuse("needs an axis") : failure();
  if (axes->size() != 1)
    return node.refuse("axis is no single number");
  // Around an axis that is known only when the model runs, the tensor is one of three dims.
  Composer c(node);
  Dims dims = getDims(x);
  std::optional<int64_t> known = axes->front().constant();
  if (!known)
    x = c.reshape(x, shortened(node, aroundAxis(dims, axes->front())));
  Value sums = makeNamed(node.b, node.loc, node.recordedOp(), x,
                         {node.attr("dim", known.value_or(1)),
                          node.attr("exclusive", node.b.getBoolAttr(node.getInt("exclusive", 0))),
                          node.attr("backward", node.b.getBoolAttr(node.getInt("reverse", 0)))});
  return node.finish(c.reshape(sums, dims));
}

} // namespace hewn::graph
