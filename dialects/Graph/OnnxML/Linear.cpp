// SPDX-License-Identifier: Apache-2.0
//
// Import of linear models and support vector machines. The latter first compute the similarity of
// each row to each support vector.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/OnnxML/OnnxMLOps.h"
#include "dialects/Graph/OnnxML/Scores.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

using Floats = SmallVector<float>;

static Floats floatsOf(OnnxNode &node, StringRef name) { return node.getFloats(name).value_or(Floats()); }

/// Returns input x as f32 rows [n, features]. A 1-D input is a single row. Returns null after a
/// call of `refuse`.
static Value rowsOf(OnnxNode &node, Value x) {
  Composer c(node);
  if (x && getRank(x) == 1)
    x = c.reshape(x, {DimExpr(1), getDims(x)[0]});
  if (x && getRank(x) == 2)
    return c.cast(x, node.b.getF32Type());
  (void)node.refuse("requires an input of rows of features");
  return {};
}

static Value matrix(OnnxNode &node, ArrayRef<float> values, int64_t rows, int64_t columns) {
  const char *from = reinterpret_cast<const char *>(values.data());
  return node.makeBytes(RankedTensorType::get({rows, columns}, node.b.getF32Type()),
                        std::vector<char>(from, from + values.size() * sizeof(float)));
}

/// Returns the scores of a linear model: the matmul of x and the transposed coefficients [outputs,
/// features].
static Value product(OnnxNode &node, Value x, ArrayRef<float> coefficients, int64_t outputs) {
  if (outputs < 1 || coefficients.empty() || int64_t(coefficients.size()) % outputs != 0) {
    (void)node.refuse(Twine(coefficients.size()) + " coefficients do not match " + Twine(outputs) + " outputs");
    return {};
  }
  Composer c(node);
  Value weights = matrix(node, coefficients, outputs, int64_t(coefficients.size()) / outputs);
  return c.op<MatMulOp>({x, c.transpose(weights, {1, 0})});
}

/// Adds `offsets` to the scores of a linear model: one number for each output, or a single number
/// for all outputs.
static Value offset(OnnxNode &node, Value y, ArrayRef<float> offsets) {
  if (!y || offsets.empty())
    return y;
  std::optional<int64_t> outputs = getDims(y)[1].constant();
  if (offsets.size() != 1 && (!outputs || int64_t(offsets.size()) != *outputs)) {
    (void)node.refuse("has " + Twine(offsets.size()) + " intercepts for " + Twine(outputs.value_or(0)) + " outputs");
    return {};
  }
  return Composer(node).op<AddOp>({y, matrix(node, offsets, 1, int64_t(offsets.size()))});
}

//===------------------------------------------------------------------------------------------===//
// Linear
//===------------------------------------------------------------------------------------------===//

LogicalResult buildLinearRegressor(OnnxNode &node) {
  Value x = rowsOf(node, node.input(0));
  if (!x)
    return failure();
  Value y = product(node, x, floatsOf(node, "coefficients"), node.getInt("targets", 1));
  y = offset(node, y, floatsOf(node, "intercepts"));
  return y ? node.finish(transformScores(node, y, postTransform(node))) : failure();
}

LogicalResult buildLinearClassifier(OnnxNode &node) {
  Composer c(node);
  std::optional<Labels> labels = readLabels(node, "classlabels_ints", "classlabels_strings");
  Value x = labels ? rowsOf(node, node.input(0)) : Value();
  if (!x)
    return failure();
  Floats coefficients = floatsOf(node, "coefficients"), intercepts = floatsOf(node, "intercepts");
  std::optional<int64_t> features = getDims(x)[1].constant();
  int64_t outputs = features && *features ? int64_t(coefficients.size()) / *features : int64_t(intercepts.size());
  Value scores = offset(node, product(node, x, coefficients, outputs), intercepts);
  if (!scores)
    return failure();
  std::string transform = postTransform(node);
  Value classes;
  if (outputs == 1 && labels->size() == 2) {
    // A binary LinearClassifier has one score, that of the second class. The first class gets the
    // negated score, as in onnx.reference; other implementations differ.
    classes = asClass(node, c.op<LessOp>({c.scalarLike(scores, 0), scores}));
    // PROBIT is defined for probabilities only, and a negated score is no probability
    if (transform == "PROBIT")
      return node.refuse("post_transform PROBIT of a single score is not supported");
    scores = c.concat({c.op<NegOp>(scores), scores}, 1);
  } else if (outputs == 1) {
    return node.refuse("has one score for " + Twine(labels->size()) + " classes");
  } else if (size_t(outputs) != labels->size()) {
    return node.refuse("has " + Twine(labels->size()) + " labels for " + Twine(outputs) + " classes");
  } else {
    classes = bestClass(node, scores);
  }
  Value label = labelsOf(node, *labels, classes);
  scores = transformScores(node, scores, transform);
  if (!label || !scores)
    return failure();
  node.setOutput(0, label);
  node.setOutput(1, scores);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Support vector machines
//===------------------------------------------------------------------------------------------===//

/// Returns the similarity [rows, count] of each row of x to each of `count` support vectors, by the
/// node's kernel. Returns null after a call of `refuse`.
static Value likeness(OnnxNode &node, Value x, ArrayRef<float> vectors, int64_t count) {
  Composer c(node);
  std::string kernel = node.getString("kernel_type", "LINEAR");
  Floats parameters = floatsOf(node, "kernel_params");
  parameters.resize(3); // gamma, coef0 and degree
  if (count < 1 || vectors.empty() || int64_t(vectors.size()) % count != 0) {
    (void)node.refuse(Twine(vectors.size()) + " numbers do not match " + Twine(count) + " support vectors");
    return {};
  }
  int64_t features = int64_t(vectors.size()) / count;
  auto number = [&](float value) { return c.scalarLike(x, value); };
  if (kernel == "RBF") {
    Dims dims = getDims(x);
    Value row = c.reshape(x, {dims[0], DimExpr(1), dims[1]});
    Value kept = c.reshape(matrix(node, vectors, count, features), {DimExpr(1), DimExpr(count), DimExpr(features)});
    Value apart = c.op<SubOp>({row, kept});
    Value distance = c.reduce<ReduceSumOp>(c.op<MulOp>({apart, apart}), {2}, false);
    return c.op<ExpOp>(c.op<MulOp>({distance, number(-parameters[0])}));
  }
  Value dot = product(node, x, vectors, count);
  if (kernel == "LINEAR")
    return dot;
  Value scaled = c.op<AddOp>({c.op<MulOp>({dot, number(parameters[0])}), number(parameters[1])});
  if (kernel == "SIGMOID")
    return c.op<TanhOp>(scaled);
  if (kernel == "POLY")
    return c.op<PowOp>({scaled, number(std::trunc(parameters[2]))});
  (void)node.refuse("kernel_type '" + kernel + "' is not supported");
  return {};
}

LogicalResult buildSVMRegressor(OnnxNode &node) {
  Composer c(node);
  Value x = rowsOf(node, node.input(0));
  if (!x)
    return failure();
  Floats coefficients = floatsOf(node, "coefficients"), rho = floatsOf(node, "rho");
  int64_t supports = node.getInt("n_supports", 0);
  if (rho.empty() || node.getInt("n_targets", 1) != 1)
    return node.refuse("requires rho and a single target");
  Value y = supports > 0 ? likeness(node, x, floatsOf(node, "support_vectors"), supports) : x;
  y = offset(node, y ? product(node, y, coefficients, 1) : y, rho[0]);
  if (y && node.getInt("one_class", 0))
    y = c.op<WhereOp>({c.op<LessOp>({c.scalarLike(y, 0), y}), c.scalarLike(y, 1), c.scalarLike(y, -1)});
  return y ? node.finish(transformScores(node, y, postTransform(node))) : failure();
}

namespace {
/// The pairs of classes of a support vector classifier. Each pair is separated by the support
/// vectors of its two classes. Support vectors are sorted by class.
struct Pairs {
  SmallVector<int64_t> counts; // number of support vectors of each class
  int64_t total = 0;
  int64_t classes() const { return int64_t(counts.size()); }
  int64_t size() const { return classes() * (classes() - 1) / 2; }

  /// Converts the coefficients of a support vector classifier from the attribute's layout [classes
  /// - 1, vectors] to [pairs, vectors].
  Floats coefficients(ArrayRef<float> written) const {
    Floats all(size() * total, 0.0f);
    int64_t pair = 0, startI = 0;
    for (int64_t i = 0; i < classes(); startI += counts[i++]) {
      int64_t startJ = startI + counts[i];
      for (int64_t j = i + 1; j < classes(); startJ += counts[j++], ++pair) {
        for (int64_t v = startI; v < startI + counts[i]; ++v)
          all[pair * total + v] = written[(j - 1) * total + v];
        for (int64_t v = startJ; v < startJ + counts[j]; ++v)
          all[pair * total + v] = written[i * total + v];
      }
    }
    return all;
  }

  /// Returns a matrix [classes, pairs] with 1 where the class is the first (or `second`) class of
  /// the pair, and 0 elsewhere.
  Floats winners(bool second) const {
    Floats all(size() * classes(), 0.0f);
    int64_t pair = 0;
    for (int64_t i = 0; i < classes(); ++i)
      for (int64_t j = i + 1; j < classes(); ++j, ++pair)
        all[(second ? j : i) * size() + pair] = 1;
    return all;
  }
};
} // namespace

LogicalResult PairwiseProbabilitiesOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  int64_t classes = getNumClasses();
  if (!graph::getElementType(getX()).isF32() || dims.size() != 2 || classes < 2 || classes > INT32_MAX ||
      !dims[1].is(classes * (classes - 1) / 2))
    return emitOpError("requires f32 rows with a probability for each pair of ") << classes << " classes";
  results.push_back({{dims[0], DimExpr(classes)}, graph::getElementType(getX())});
  return success();
}

void PairwiseProbabilitiesOp::requireDims(Requirements &) {}

/// Returns the probabilities [rows, classes] of a support vector classifier, from the scores [rows,
/// pairs]. A sigmoid of each score gives the probability of the first class of the pair.
static Value probabilities(OnnxNode &node, Value scores, ArrayRef<float> a, ArrayRef<float> b, int64_t classes) {
  Composer c(node);
  auto number = [&](float value) { return c.scalarLike(scores, value); };
  auto row = [&](ArrayRef<float> values) { return matrix(node, values, 1, int64_t(values.size())); };
  Value second = c.op<SigmoidOp>(c.op<AddOp>({c.op<MulOp>({scores, row(a)}), row(b)}));
  Value first = c.op<SubOp>({number(1), second});
  // The bounds are those of LIBSVM and of other implementations of the op.
  first = c.op<MinimumOp>({c.op<MaximumOp>({first, number(1e-7f)}), number(1 - 1e-7f)});
  return first ? node.make<PairwiseProbabilitiesOp>(first, node.attr("numClasses", node.b.getI64IntegerAttr(classes)))
               : Value();
}

LogicalResult buildSVMClassifier(OnnxNode &node) {
  Composer c(node);
  std::optional<Labels> labels = readLabels(node, "classlabels_ints", "classlabels_strings");
  Value x = labels ? rowsOf(node, node.input(0)) : Value();
  if (!x)
    return failure();
  Floats coefficients = floatsOf(node, "coefficients"), rho = floatsOf(node, "rho");
  Pairs pairs{node.getInts("vectors_per_class").value_or(SmallVector<int64_t>())};
  for (int64_t count : pairs.counts)
    pairs.total += count < 0 || count > 1 << 30 ? int64_t(1) << 40 : count;
  Floats probA = floatsOf(node, "prob_a"), probB = floatsOf(node, "prob_b");
  if (rho.empty() || (pairs.total > 0 && (pairs.classes() != int64_t(labels->size()) || pairs.classes() < 2 ||
                                          int64_t(coefficients.size()) != (pairs.classes() - 1) * pairs.total ||
                                          int64_t(rho.size()) != pairs.size())))
    return node.refuse("support vectors, coefficients or rho do not match " + Twine(labels->size()) + " classes");
  bool hasProbabilities = !probA.empty() && pairs.total > 0;
  if (hasProbabilities && (int64_t(probA.size()) != pairs.size() || probA.size() != probB.size()))
    return node.refuse("prob_a and prob_b do not match " + Twine(pairs.size()) + " pairs of classes");
  Value scores, classes;
  if (pairs.total > 0) {
    Value like = likeness(node, x, floatsOf(node, "support_vectors"), pairs.total);
    scores = like ? offset(node, product(node, like, pairs.coefficients(coefficients), pairs.size()), rho) : like;
    if (!scores)
      return failure();
    // Counts the votes of a support vector classifier: each pair of classes votes for one of the
    // two.
    Value first = c.cast(c.op<LessOp>({c.scalarLike(scores, 0), scores}), node.b.getF32Type());
    Value second = c.op<SubOp>({c.scalarLike(first, 1), first});
    classes = bestClass(node, c.op<AddOp>({product(node, first, pairs.winners(false), pairs.classes()),
                                           product(node, second, pairs.winners(true), pairs.classes())}));
    if (hasProbabilities)
      scores = probabilities(node, scores, probA, probB, pairs.classes());
    else if (pairs.size() == 1)
      scores = c.concat({c.op<NegOp>(scores), scores}, 1);
  } else {
    if (labels->size() < 2)
      return node.refuse("requires at least two classes");
    scores = offset(node, product(node, x, coefficients, int64_t(labels->size())), rho[0]);
    classes = bestClass(node, scores);
  }
  Value label = labelsOf(node, *labels, classes);
  scores = scores ? transformScores(node, scores, postTransform(node)) : scores;
  if (!label || !scores)
    return failure();
  node.setOutput(0, label);
  node.setOutput(1, scores);
  return success();
}

} // namespace hewn::graph
