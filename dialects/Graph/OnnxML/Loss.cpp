// SPDX-License-Identifier: Apache-2.0
//
// Import of the losses NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. The importer does not
// expand them by ONNX's function definitions: these do not check dims and would accept a target
// with wrong dims.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/Normalize/NormalizeOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {
struct Loss {
  Value scores, target, weight; // [batch, classes, more..], [batch, more..], [classes] or null
};
} // namespace

static std::optional<Loss> readLoss(OnnxNode &node) {
  Loss loss{node.input(0), node.input(1), node.input(2)};
  if (!loss.scores || !loss.target) {
    (void)node.refuse("needs scores and a target");
    return std::nullopt;
  }
  Dims scores = getDims(loss.scores), target = getDims(loss.target);
  if (scores.size() < 2 || target.size() + 1 != scores.size() || (loss.weight && getRank(loss.weight) != 1) ||
      !isa<FloatType>(getElementType(loss.scores)) || !isa<IntegerType>(getElementType(loss.target))) {
    (void)node.refuse("requires scores [batch, classes, ...], targets [batch, ...] and optional weights [classes]");
    return std::nullopt;
  }
  for (auto [d, dim] : llvm::enumerate(target))
    require(node.b, node.loc, Relation::Equal, dim, scores[d == 0 ? 0 : d + 1]);
  if (loss.weight)
    require(node.b, node.loc, Relation::Equal, getDims(loss.weight)[0], scores[1]);
  return loss;
}

/// Returns the loss of a NegativeLogLikelihoodLoss for scores that are log-probabilities.
static Value likelihoodLoss(OnnxNode &node, const Loss &loss, Value logs) {
  Composer c(node);
  Value target = loss.target, ignored, weights;
  Dims items = getDims(target), column = items;
  column.insert(column.begin() + 1, DimExpr(1));
  if (node.hasAttr("ignore_index")) {
    ignored = c.op<EqualOp>({target, c.scalarLike(target, double(node.getInt("ignore_index", 0)))});
    target = c.op<WhereOp>({ignored, c.scalarLike(target, 0), target});
  }
  if (!logs || !target || failed(checkIndices(node, target, getDims(logs)[1], IndexRange::Position)))
    return {};
  Value picked = node.make<GatherElementsOp>({logs, c.reshape(target, column)}, node.attr("axis", int64_t(1)));
  Value losses = c.op<NegOp>({c.reshape(picked, items)});
  if (loss.weight)
    weights = node.make<GatherOp>({loss.weight, target}, node.attr("axis", int64_t(0)));
  if (ignored) {
    Value one = c.scalarLike(logs, 1);
    weights = c.op<WhereOp>({ignored, c.scalarLike(logs, 0), weights ? weights : one});
  }
  if (weights)
    losses = c.op<MulOp>({losses, weights});
  std::string reduction = node.getString("reduction", "mean");
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, items.size()));
  if (reduction == "none" || !losses)
    return losses;
  if (reduction == "sum")
    return c.reduce<ReduceSumOp>(losses, all, false);
  if (reduction != "mean")
    return (void)node.refuse("reduction '" + reduction + "' is not supported"), Value();
  if (!weights)
    return c.reduce<ReduceMeanOp>(losses, all, false);
  return c.op<DivOp>(
      {c.reduce<ReduceSumOp>(losses, all, false), c.reduce<ReduceSumOp>(c.expand(weights, items), all, false)});
}

LogicalResult buildNegativeLogLikelihoodLoss(OnnxNode &node) {
  std::optional<Loss> loss = readLoss(node);
  return loss ? node.finish(likelihoodLoss(node, *loss, loss->scores)) : failure();
}

LogicalResult buildSoftmaxCrossEntropyLoss(OnnxNode &node) {
  std::optional<Loss> loss = readLoss(node);
  if (!loss)
    return failure();
  Value logs = node.make<LogSoftmaxOp>(loss->scores, node.attr("axis", int64_t(1)));
  Value result = likelihoodLoss(node, *loss, logs);
  if (result && node.wantsOutput(1))
    node.setOutput(1, logs);
  return node.finish(result);
}

} // namespace hewn::graph
