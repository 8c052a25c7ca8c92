// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft's EmbedLayerNormalization: how optimized models of language begin.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/MoveOps.h"
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
    return node.refuse("needs ids of rank 2, tables of words and positions, a scale and a bias");
  if (bool(segments) != bool(kinds))
    return node.refuse("segments need ids and a table");
  for (Value table : {words, positions, kinds})
    if (table && getRank(table) != 2)
      return node.refuse("tables need rank 2");
  auto rowsOf = [&](Value table, Value at) -> Value {
    if (failed(checkIndices(node, at, getDims(table)[0])))
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
  (void)node.hasAttr("mask_index_type"); // whether the model has that output
  if (node.wantsOutput(1)) {             // how many tokens of each row count
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
