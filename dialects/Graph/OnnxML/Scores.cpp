// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/OnnxML/Scores.h"

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/Text/Text.h"

using namespace mlir;

namespace hewn::graph {

std::string postTransform(OnnxNode &node) { return node.getString("post_transform", "NONE"); }

static Value softmax(Composer &c, Value x, Value kept) {
  Value most = c.reduce<ReduceMaxOp>(x, {1}, true);
  Value each = c.op<ExpOp>(c.op<SubOp>({x, most}));
  if (kept) // SOFTMAX_ZERO: scores of zero remain zero
    each = c.op<WhereOp>({kept, each, c.op<MulOp>({x, c.op<ExpOp>(c.op<NegOp>(most))})});
  return c.op<DivOp>({each, c.reduce<ReduceSumOp>(each, {1}, true)});
}

/// Returns the PROBIT transform sqrt(2) * erfinv(2x - 1), by S. Winitzki's approximation, which
/// other implementations of ai.onnx.ml also use.
static Value probit(Composer &c, Value x) {
  auto number = [&](double value) { return c.scalarLike(x, value); };
  Value t = c.op<SubOp>({c.op<MulOp>({x, number(2)}), number(1)});
  Value log = c.op<LogOp>(c.op<MulOp>({c.op<SubOp>({number(1), t}), c.op<AddOp>({number(1), t})}));
  Value v = c.op<AddOp>({number(2 / (M_PI * 0.147)), c.op<MulOp>({number(0.5), log})});
  Value inside = c.op<SubOp>({c.op<MulOp>({v, v}), c.op<MulOp>({number(1 / 0.147), log})});
  Value size = c.op<SqrtOp>(c.op<SubOp>({c.op<SqrtOp>(inside), v}));
  Value sign = c.op<WhereOp>({c.op<LessOp>({t, number(0)}), number(-1), number(1)});
  return c.op<MulOp>({number(1.41421356), c.op<MulOp>({sign, size})});
}

Value transformScores(OnnxNode &node, Value scores, StringRef transform) {
  Composer c(node);
  if (transform == "NONE")
    return scores;
  if (transform == "LOGISTIC")
    return c.op<SigmoidOp>(scores);
  if (transform == "SOFTMAX")
    return softmax(c, scores, {});
  if (transform == "SOFTMAX_ZERO")
    return softmax(c, scores, c.op<LessOp>({c.scalarLike(scores, 1e-7), c.op<AbsOp>(scores)}));
  if (transform == "PROBIT")
    return probit(c, scores);
  (void)node.refuse("post_transform '" + transform + "' is not supported");
  return {};
}

std::optional<Labels> readLabels(OnnxNode &node, StringRef ints, StringRef strings) {
  Labels labels{node.getInts(ints, OnnxNode::Range::Any).value_or(SmallVector<int64_t>()),
                node.getStrings(strings).value_or(SmallVector<std::string>())};
  if (labels.size())
    return labels;
  (void)node.refuse("has no labels");
  return std::nullopt;
}

Value labelsOf(OnnxNode &node, const Labels &labels, Value classes) {
  if (!classes)
    return {};
  if (!labels.strings.empty()) {
    Value names = makeText(node, labels.strings, {int64_t(labels.strings.size())});
    return names ? node.make<GatherOp>({names, classes}, node.attr("axis", int64_t(0))) : names;
  }
  auto type = RankedTensorType::get({int64_t(labels.ints.size())}, node.b.getI64Type());
  Value table = makeConstant(node.b, node.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(labels.ints)));
  return node.make<GatherOp>({table, classes}, node.attr("axis", int64_t(0)));
}

Value bestClass(OnnxNode &node, Value scores) {
  return scores ? Composer(node).reduce<ArgMaxOp>(scores, {1}, false) : scores;
}

Value asClass(OnnxNode &node, Value positive) {
  if (!positive)
    return {};
  Composer c(node);
  return c.cast(c.reshape(positive, {getDims(positive)[0]}), node.b.getI64Type());
}

} // namespace hewn::graph
