// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Reduce/CumulateOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildCumulate(OnnxNode &node) {
  bool absent;
  Value x = node.input(0);
  std::optional<Dims> axes = axesOrRead(node, "axis", 1, getRank(x), absent, 1);
  if (!axes)
    return absent ? node.refuse("needs an axis") : failure();
  if (axes->size() != 1)
    return node.refuse("axis must be a scalar");
  // If the axis of a prefix scan is only known at run time, the tensor is reshaped to three dims:
  // before the axis, the axis, and after it. The scan then runs over the second dim.
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
