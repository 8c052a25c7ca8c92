// SPDX-License-Identifier: Apache-2.0
//
// Import of com.microsoft's EmbedLayerNormalization, the first layer of language models that ONNX
// Runtime has optimized.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/Normalize/NormalizeOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildEmbedLayerNorm(OnnxNode &node) {
  Composer c(node);
  Value ids = node.input(0), segments = node.input(1), words = node.input(2), positions = node.input(3);
  Value kinds = node.input(4), scale = node.input(5), bias = node.input(6), mask = node.input(7),
        places = node.input(8);
  if (!ids || !words || !positions || !scale || !bias || getRank(ids) != 2)
    return node.refuse("requires input_ids of rank 2, word and position embedding tables, gamma and beta");
  if (bool(segments) != bool(kinds))
    return node.refuse("segment ids and the segment embedding table must be given together");
  for (Value table : {words, positions, kinds})
    if (table && getRank(table) != 2)
      return node.refuse("embedding tables must have rank 2");
  auto rowsOf = [&](Value table, Value at) -> Value {
    if (failed(checkIndices(node, at, getDims(table)[0], IndexRange::Position)))
      return {};
    return node.make<GatherOp>({table, at}, node.attr("axis", int64_t(0)));
  };
  DimExpr length = getDims(ids)[1];
  Value sum = rowsOf(words, ids);
  sum = c.op<AddOp>({sum, places ? rowsOf(positions, places) : c.slice(positions, 0, DimExpr(0), length)});
  if (kinds)
    sum = c.op<AddOp>({sum, rowsOf(kinds, segments)});
  if (!sum)
    return failure();
  // attribute mask_index_type only states whether the model uses output mask_index
  (void)node.hasAttr("mask_index_type");
  if (node.wantsOutput(1)) { // output 1 (mask_index): the number of tokens in each row
    Type i32 = node.b.getI32Type();
    Value counts = mask ? c.cast(c.op<EqualOp>({mask, c.scalarLike(mask, 1)}), i32) : c.filled(getDims(ids), i32, 0);
    Value count = c.reduce<ReduceSumOp>(counts, {1}, false);
    if (!count)
      return failure();
    node.setOutput(1, count);
  }
  if (node.wantsOutput(2))
    node.setOutput(2, sum);
  NamedAttribute epsilon = node.attr("epsilon", node.b.getF32FloatAttr(float(node.getFloat("epsilon", 1e-12))));
  return node.finish(node.make<LayerNormOp>({sum, scale, bias}, {node.attr("axis", int64_t(2)), epsilon}));
}

} // namespace hewn::graph
