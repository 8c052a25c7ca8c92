// SPDX-License-Identifier: Apache-2.0
//
// Decision trees: the op graph.forest, a runtime call that evaluates them, and the scores and
// labels that ONNX's ops compute from its result.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/OnnxML/Forest.h"
#include "dialects/Graph/OnnxML/OnnxMLOps.h"
#include "dialects/Graph/OnnxML/Scores.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult ForestOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(getX());
  Type type = graph::getElementType(getX());
  auto isList = [&](Value v, Type element, int64_t rank) {
    return graph::getElementType(v) == element && int64_t(dimsOf(v).size()) == rank;
  };
  Type i32 = IntegerType::get(getContext(), 32);
  if (x.size() != 2 || !(type.isF32() || type.isF64()))
    return emitOpError("requires rows of f32 or f64");
  if (!isList(getNodes(), i32, 2) || !isList(getTrees(), i32, 2) || !dimsOf(getTrees())[1].is(2) ||
      !dimsOf(getNodes())[1].is(type.isF32() ? 4 : 6))
    return emitOpError("needs nodes [n, ") << (type.isF32() ? 4 : 6) << "] and trees [n, 2] of i32";
  ValueRange votes = getVotes();
  if (!votes.empty() &&
      (votes.size() != 3 || !isList(votes[0], i32, 1) || !isList(votes[1], i32, 1) || !isList(votes[2], type, 1)))
    return emitOpError("requires three 1-D tensors as votes, or none");
  int64_t aggregate = getAggregate(), most = getMaxFeature(), targets = getNumTargets();
  if (aggregate < 0 || aggregate > 2 || targets < 1 || (votes.empty() && targets != 1) || most < 0)
    return emitOpError("requires an aggregate of 0, 1 or 2, and votes if there are several targets");
  if (std::optional<int64_t> features = x[1].constant(); features && most >= *features)
    return emitOpError("uses feature ") << most << " of rows with " << *features << " features";
  results.push_back({{x[0], DimExpr(targets)}, type});
  return success();
}

void ForestOp::requireDims(Requirements &requirements) {
  requirements.atMost(DimExpr(getMaxFeature() + 1), getDims(getX())[1]);
}

namespace {

/// Values of parameter `aggregate` of the runtime function that evaluates trees. For an average,
/// the function computes the sum, and a separate op divides it.
enum Aggregate : int64_t { Sum = 0, Least = 1, Most = 2 };

/// Returns a bit mask of the results of comparing a feature with the split (less, equal, greater,
/// unordered) for which the node takes the true branch.
int32_t outcomesOf(const TreeNode &node) {
  constexpr int32_t less = 1, equal = 2, greater = 4, unordered = 8;
  int32_t missing = node.missingIsTrue ? unordered : 0;
  switch (node.branch) {
  case Branch::LessOrEqual:
    return less | equal | missing;
  case Branch::Less:
    return less | missing;
  case Branch::GreaterOrEqual:
    return greater | equal | missing;
  case Branch::Greater:
    return greater | missing;
  case Branch::Equal:
    return equal | missing;
  case Branch::NotEqual:
    return less | greater | unordered; // NaN differs from every split, as IEEE 754's != compares
  case Branch::Always:
    return less | equal | greater | unordered;
  default: // a leaf: both of its children are the leaf itself, so any mask is correct
    return less | equal;
  }
}

template <typename T> std::vector<char> bytesOf(ArrayRef<T> values) {
  const char *from = reinterpret_cast<const char *>(values.data());
  return std::vector<char>(from, from + values.size() * sizeof(T));
}

class ForestBuilder {
public:
  ForestBuilder(OnnxNode &node, Forest forest) : node(node), forest(std::move(forest)) {}

  /// Emits the runtime call that evaluates the trees: it adds up (or takes the minimum or maximum
  /// of) the votes for each row of x [rows, features]. The result has the float type of x. Returns
  /// null after an error.
  Value build(Value x, int64_t aggregate) {
    if (!check() || !forest.sort(node))
      return {};
    Composer c(node);
    bool wide = getElementType(x).isF64();
    Type type = wide ? Type(node.b.getF64Type()) : Type(node.b.getF32Type());
    bool single = forest.numTargets == 1 && llvm::all_of(forest.nodes, [](const TreeNode &n) {
                    return n.branch != Branch::Leaf || n.votes.size() == 1;
                  });
    if (!single)
      listVotes();
    SmallVector<Value> operands = {c.cast(x, type), records(wide, single), trees()};
    if (!single)
      llvm::append_range(operands, votes(wide));
    bool plain = llvm::all_of(forest.nodes, [](const TreeNode &n) {
      return outcomesOf(n) == 3; // mask of a comparison by <=: 1 (less) + 2 (equal)
    });
    int64_t most = 0;
    for (const TreeNode &n : forest.nodes)
      most = std::max(most, n.feature);
    return node.make<ForestOp>(operands,
                               {node.attr("aggregate", aggregate), node.attr("plain", node.b.getBoolAttr(plain)),
                                node.attr("maxFeature", most), node.attr("numTargets", forest.numTargets)});
  }

private:
  bool check() {
    if (forest.roots.empty()) {
      (void)node.refuse("has no trees");
      return false;
    }
    if (forest.numTargets < 1 || forest.numTargets > 1 << 20) {
      (void)node.refuse("has " + Twine(forest.numTargets) + " targets");
      return false;
    }
    for (const TreeNode &n : forest.nodes) {
      if (n.branch != Branch::Leaf && (n.feature < 0 || n.feature > INT32_MAX)) {
        (void)node.refuse("feature index " + Twine(n.feature) + " is out of range");
        return false;
      }
      for (auto [target, weight] : n.votes)
        if (target < 0 || target >= forest.numTargets) {
          (void)node.refuse("a leaf has target " + Twine(target) + ", but there are " + Twine(forest.numTargets) +
                            " targets");
          return false;
        }
    }
    return true;
  }

  /// Numbers the lists of votes and stores in each leaf (`split`) the number of its list. Leaves
  /// with equal lists share one list.
  void listVotes() {
    // weights of votes are compared by their bits, because NaN has no order
    using Votes = SmallVector<std::pair<int64_t, uint64_t>, 1>;
    std::map<Votes, int64_t> known;
    for (TreeNode &n : forest.nodes) {
      if (n.branch != Branch::Leaf)
        continue;
      Votes votes;
      for (auto [target, weight] : n.votes)
        votes.push_back({target, llvm::bit_cast<uint64_t>(weight)});
      auto [found, fresh] = known.try_emplace(votes, int64_t(known.size()));
      n.split = double(found->second);
      if (!fresh)
        continue;
      starts.push_back(int32_t(targets.size()));
      for (auto [target, weight] : n.votes) {
        targets.push_back(int32_t(target));
        weights.push_back(weight);
      }
    }
    starts.push_back(int32_t(targets.size()));
  }

  /// Returns the tree nodes as a tensor of bytes, in the record format of runtime/ops/forest.c.
  Value records(bool wide, bool single) {
    std::vector<char> bytes;
    auto append = [&](auto value) {
      const char *from = reinterpret_cast<const char *>(&value);
      bytes.insert(bytes.end(), from, from + sizeof(value));
    };
    for (const TreeNode &n : forest.nodes) {
      bool isLeaf = n.branch == Branch::Leaf;
      double split = isLeaf && single ? n.votes.front().second : n.split;
      if (isLeaf && !single)
        // in a leaf, this is the number of its list of votes
        wide ? append(int64_t(split)) : append(int32_t(split));
      else
        wide ? append(split) : append(float(split));
      append(int32_t(n.feature));
      append(int32_t(std::max<int64_t>(n.whenTrue, 0)));
      append(outcomesOf(n));
      if (wide)
        append(int32_t(0));
    }
    return node.makeBytes(RankedTensorType::get({int64_t(forest.nodes.size()), wide ? 6 : 4}, node.b.getI32Type()),
                          std::move(bytes));
  }

  Value trees() {
    SmallVector<int32_t> pairs;
    for (const Tree &tree : forest.trees) {
      pairs.push_back(int32_t(tree.root));
      pairs.push_back(int32_t(tree.levels));
    }
    return node.makeBytes(RankedTensorType::get({int64_t(forest.trees.size()), 2}, node.b.getI32Type()),
                          bytesOf(ArrayRef(pairs)));
  }

  SmallVector<Value> votes(bool wide) {
    auto list = [&](size_t count, Type type, std::vector<char> bytes) {
      return node.makeBytes(RankedTensorType::get({int64_t(count)}, type), std::move(bytes));
    };
    SmallVector<float> narrow(weights.begin(), weights.end());
    return {list(starts.size(), node.b.getI32Type(), bytesOf(ArrayRef(starts))),
            list(targets.size(), node.b.getI32Type(), bytesOf(ArrayRef(targets))),
            wide ? list(weights.size(), node.b.getF64Type(), bytesOf(ArrayRef(weights)))
                 : list(weights.size(), node.b.getF32Type(), bytesOf(ArrayRef(narrow)))};
  }

  OnnxNode &node;
  Forest forest;
  SmallVector<int32_t> starts, targets;
  SmallVector<double> weights;
};

/// Casts the rows to the type in which the trees are evaluated: f64 if the rows or the trees are
/// f64, else f32. Returns null after a call of `refuse`.
Value asRows(OnnxNode &node, Value x, bool isDouble) {
  if (!x || getRank(x) != 2) {
    (void)node.refuse("requires an input of rows of features");
    return {};
  }
  return Composer(node).cast(x, isDouble || getElementType(x).isF64() ? Type(node.b.getF64Type())
                                                                      : Type(node.b.getF32Type()));
}

/// Emits the evaluation of the trees, adds the base values, and applies the node's post_transform
/// to the scores. Returns null after an error.
Value aggregated(OnnxNode &node, Forest forest, Value x, StringRef how, StringRef transform, ArrayRef<double> base) {
  int64_t aggregate = how == "MIN" ? Least : how == "MAX" ? Most : Sum;
  if (how != "MIN" && how != "MAX" && how != "SUM" && how != "AVERAGE") {
    (void)node.refuse("aggregate_function '" + how + "' is not supported");
    return {};
  }
  if (!base.empty() && int64_t(base.size()) != forest.numTargets) {
    (void)node.refuse("has " + Twine(base.size()) + " base_values for " + Twine(forest.numTargets) + " targets");
    return {};
  }
  Composer c(node);
  double numTrees = double(forest.roots.size());
  Value y = ForestBuilder(node, std::move(forest)).build(x, aggregate);
  if (y && how == "AVERAGE")
    y = c.op<DivOp>({y, c.scalarLike(y, numTrees)});
  if (y && !base.empty()) {
    auto type = RankedTensorType::get({int64_t(base.size())}, node.b.getF64Type());
    Value row = makeConstant(node.b, node.loc, DenseElementsAttr::get(type, base));
    y = c.op<AddOp>({y, c.cast(row, getElementType(y))});
  }
  return y ? transformScores(node, y, transform) : y;
}

/// Returns the base values of the scores from attribute base_values or base_values_as_tensor.
SmallVector<double> baseValues(OnnxNode &node) {
  StringRef name = node.hasAttr("base_values_as_tensor") ? "base_values_as_tensor" : "base_values";
  return node.getNumbers(name).value_or(SmallVector<double>());
}

} // namespace

LogicalResult buildTreeEnsemble(OnnxNode &node) {
  static const StringRef aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static const StringRef transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  int64_t how = node.getInt("aggregate_function", 1), transform = node.getInt("post_transform", 0);
  Value x = node.input(0), rows = asRows(node, x, false);
  std::optional<Forest> forest = rows ? readForest(node) : std::nullopt;
  if (!forest)
    return failure();
  if (how < 0 || how > 3 || transform < 0 || transform > 4)
    return node.refuse("aggregate_function " + Twine(how) + " or post_transform " + Twine(transform) +
                       " is not supported");
  Value y = aggregated(node, std::move(*forest), rows, aggregates[how], transforms[transform], {});
  return node.finish(Composer(node).cast(y, getElementType(x)));
}

LogicalResult buildTreeEnsembleRegressor(OnnxNode &node) {
  std::optional<Forest> forest = readForest(node, "target", node.getInt("n_targets", 1));
  Value x = forest ? asRows(node, node.input(0), forest->isDouble) : Value();
  if (!x)
    return failure();
  Value y = aggregated(node, std::move(*forest), x, node.getString("aggregate_function", "SUM"), postTransform(node),
                       baseValues(node));
  return node.finish(Composer(node).cast(y, node.b.getF32Type()));
}

//===------------------------------------------------------------------------------------------===//
// TreeEnsembleClassifier
//===------------------------------------------------------------------------------------------===//

/// Returns the number of the class that all votes are for, or nullopt if there are votes for
/// several classes.
static std::optional<int64_t> onlyClass(const Forest &forest) {
  std::optional<int64_t> only;
  for (const TreeNode &n : forest.nodes)
    for (auto [target, weight] : n.votes)
      if (std::exchange(only, target).value_or(target) != target)
        return std::nullopt;
  return only;
}

/// Imports a classifier of two classes whose trees only vote for the second class. Returns the
/// scores and, for each row, whether it is in the second class. If no vote is negative, the sum of
/// votes is the probability of the second class.
static std::pair<Value, Value> twoClasses(OnnxNode &node, Forest forest, Value x) {
  Composer c(node);
  SmallVector<double> base = baseValues(node);
  bool arePositive = llvm::all_of(forest.nodes, [](const TreeNode &n) {
    return llvm::all_of(n.votes, [](auto vote) { return vote.second >= 0; });
  });
  for (TreeNode &n : forest.nodes)
    for (auto &vote : n.votes)
      vote.first = 0;
  forest.numTargets = 1;
  // If a classifier of two classes has two base values, only that of the second class is used,
  // because all votes are for this class.
  if (base.size() == 2)
    base = {base[1]};
  std::string transform = postTransform(node);
  Value y = aggregated(node, std::move(forest), x, "SUM", "NONE", base);
  if (!y)
    return {};
  Value positive = c.op<LessOp>({c.scalarLike(y, arePositive ? 0.5 : 0), y});
  if (transform == "PROBIT") // applied to a single score
    return {transformScores(node, y, transform), positive};
  if (arePositive)
    return {c.concat({c.op<SubOp>({c.scalarLike(y, 1), y}), y}, 1), positive};
  return {transformScores(node, c.concat({c.op<NegOp>(y), y}, 1), transform), positive};
}

LogicalResult buildTreeEnsembleClassifier(OnnxNode &node) {
  std::optional<Labels> labels = readLabels(node, "classlabels_int64s", "classlabels_strings");
  std::optional<Forest> forest = labels ? readForest(node, "class", int64_t(labels->size())) : std::nullopt;
  Value x = forest ? asRows(node, node.input(0), forest->isDouble) : Value();
  if (!x)
    return failure();
  Composer c(node);
  Value scores, classes;
  if (labels->size() == 2 && onlyClass(*forest)) {
    Value positive;
    std::tie(scores, positive) = twoClasses(node, std::move(*forest), x);
    classes = asClass(node, positive);
  } else {
    scores = aggregated(node, std::move(*forest), x, "SUM", "NONE", baseValues(node));
    classes = bestClass(node, scores);
    scores = scores ? transformScores(node, scores, postTransform(node)) : scores;
  }
  Value label = labelsOf(node, *labels, classes);
  if (!label || !scores)
    return failure();
  node.setOutput(0, label);
  node.setOutput(1, c.cast(scores, node.b.getF32Type()));
  return success();
}

} // namespace hewn::graph
