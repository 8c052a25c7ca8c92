// SPDX-License-Identifier: Apache-2.0
//
// Decision trees: the op that walks them (a part of the runtime), and the scores and labels that ONNX's ops make of it.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Classic/ClassicOps.h"
#include "dialects/Graph/Classic/Forest.h"
#include "dialects/Graph/Classic/Scores.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Part/Part.h"

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
    return emitOpError("needs rows of f32 or f64");
  if (!isList(getNodes(), i32, 2) || !isList(getTrees(), i32, 2) || !dimsOf(getTrees())[1].is(2) ||
      !dimsOf(getNodes())[1].is(type.isF32() ? 4 : 6))
    return emitOpError("needs nodes [n, ") << (type.isF32() ? 4 : 6) << "] and trees [n, 2] of i32";
  ValueRange votes = getVotes();
  if (!votes.empty() &&
      (votes.size() != 3 || !isList(votes[0], i32, 1) || !isList(votes[1], i32, 1) || !isList(votes[2], type, 1)))
    return emitOpError("needs three lists as votes, or none");
  int64_t aggregate = getAggregate(), most = getMaxFeature(), targets = getNumTargets();
  if (aggregate < 0 || aggregate > 2 || targets < 1 || (votes.empty() && targets != 1) || most < 0)
    return emitOpError("needs an aggregate of 0, 1 or 2, and votes where there are several targets");
  if (std::optional<int64_t> features = x[1].constant(); features && most >= *features)
    return emitOpError("asks for feature ") << most << " of rows of " << *features;
  results.push_back({{x[0], DimExpr(targets)}, type});
  return success();
}

void ForestOp::requireDims(Requirements &requirements) {
  requirements.atMost(DimExpr(getMaxFeature() + 1), getDims(getX())[1]);
}

namespace {

/// What a run adds, as the runtime's `aggregate`; averages are sums that are divided.
enum Aggregate : int64_t { Sum = 0, Least = 1, Most = 2 };

/// The outcomes of a comparison with which a walk takes the true branch, as the part counts them.
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
    return less | greater | missing;
  case Branch::Always:
    return less | equal | greater | unordered;
  default: // from a leaf both ways lead to the same
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

  /// The sums of `x` [rows, features], of its type; null after an error.
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
      return outcomesOf(n) == 3; // less or equal
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
        (void)node.refuse("asks for feature " + Twine(n.feature));
        return false;
      }
      for (auto [target, weight] : n.votes)
        if (target < 0 || target >= forest.numTargets) {
          (void)node.refuse("has a leaf for target " + Twine(target) + " of " + Twine(forest.numTargets));
          return false;
        }
    }
    return true;
  }

  /// Each leaf's votes as a list; leaves that are there several times share theirs.
  void listVotes() {
    using Votes = SmallVector<std::pair<int64_t, uint64_t>, 1>; // weights by their bits: NaN stands in no order
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

  /// The records as runtime/parts/forest.c has them.
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
        wide ? append(int64_t(split)) : append(int32_t(split)); // the list's number
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

/// Rows as the walk takes them: f64 where they or the trees are, f32 otherwise; null after `refuse`.
Value asRows(OnnxNode &node, Value x, bool isDouble) {
  if (!x || getRank(x) != 2) {
    (void)node.refuse("needs rows of features");
    return {};
  }
  return Composer(node).cast(x, isDouble || getElementType(x).isF64() ? Type(node.b.getF64Type())
                                                                      : Type(node.b.getF32Type()));
}

/// Aggregates by name or by TreeEnsemble's number, then base values and the transform; null after an error.
Value aggregated(OnnxNode &node, Forest forest, Value x, StringRef how, StringRef transform, ArrayRef<double> base) {
  int64_t aggregate = how == "MIN" ? Least : how == "MAX" ? Most : Sum;
  if (how != "MIN" && how != "MAX" && how != "SUM" && how != "AVERAGE") {
    (void)node.refuse("aggregate_function is '" + how + "'");
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

/// base_values, or the tensor of that name.
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
    return node.refuse("has aggregate_function " + Twine(how) + " and post_transform " + Twine(transform));
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

//===------------------------------------------------------------------------------------------------------------------===//
// TreeEnsembleClassifier
//===------------------------------------------------------------------------------------------------------------------===//

/// The only class that leaves vote for, where there is one.
static std::optional<int64_t> onlyClass(const Forest &forest) {
  std::optional<int64_t> only;
  for (const TreeNode &n : forest.nodes)
    for (auto [target, weight] : n.votes)
      if (std::exchange(only, target).value_or(target) != target)
        return std::nullopt;
  return only;
}

/// Trees that say how much they are for the second of two classes: scores and the number of the class. Where no weight is negative
/// they are probabilities.
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
  // Of two base values the one of the class that is voted for counts.
  if (base.size() == 2)
    base = {base[1]};
  std::string transform = postTransform(node);
  Value y = aggregated(node, std::move(forest), x, "SUM", "NONE", base);
  if (!y)
    return {};
  Value positive = c.op<LessOp>({c.scalarLike(y, arePositive ? 0.5 : 0), y});
  if (transform == "PROBIT") // of one score
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
