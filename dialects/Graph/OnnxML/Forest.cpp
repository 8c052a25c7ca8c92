// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/OnnxML/Forest.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace hewn::graph {

/// Maximum number of tree nodes in a model. Larger numbers are regarded as errors in the model:
/// such trees would exhaust memory.
static constexpr size_t kMaxNodes = size_t(1) << 26;

namespace {
using Ints = SmallVector<int64_t>;
using Numbers = SmallVector<double>;

std::nullopt_t refused(OnnxNode &node, const Twine &why) {
  (void)node.refuse(why);
  return std::nullopt;
}

/// Returns attribute `name`, a list with one entry for each of `count` nodes. If the attribute is
/// absent, each entry is `otherwise`. Returns nullopt after a call of `refuse`.
std::optional<Ints> list(OnnxNode &node, StringRef name, size_t count, std::optional<int64_t> otherwise = {}) {
  std::optional<Ints> written = node.getInts(name);
  if ((!written || written->empty()) && otherwise)
    return Ints(count, *otherwise);
  if (!written && count == 0)
    return Ints();
  if (!written || written->size() != count)
    return refused(node, name + " has " + Twine(written ? written->size() : 0) + " entries instead of " + Twine(count));
  return written;
}

std::optional<Numbers> numbers(OnnxNode &node, StringRef name, size_t count) {
  std::optional<Numbers> written = node.getNumbers(name);
  if (!written && count == 0)
    return Numbers();
  if (!written || written->size() != count)
    return refused(node, name + " has " + Twine(written ? written->size() : 0) + " entries instead of " + Twine(count));
  return written;
}

/// Returns the floats in attribute `name` of a TreeEnsemble node, or in its tensor attribute
/// `name`_as_tensor, which may be float64. Returns nullopt after a call of `refuse`.
std::optional<Numbers> floatsOrTensor(OnnxNode &node, StringRef name, size_t count, bool &isDouble) {
  std::string tensor = (name + "_as_tensor").str();
  if (!node.hasAttr(tensor))
    return numbers(node, name, count);
  isDouble = true;
  return numbers(node, tensor, count);
}

bool isInside(int64_t index, size_t count) { return index >= 0 && index < int64_t(count); }

/// Replaces a node that tests whether a feature is in a set by several nodes, which do a binary
/// search in the set. `set` is sorted and has no duplicates. All leaves of the search lead to the
/// two children of the node. The search is faster than one node per element, because the walk
/// through a tree takes as many steps as its longest path.
void spreadMember(Forest &forest, int64_t at, ArrayRef<double> set) {
  TreeNode &node = forest.nodes[at];
  if (set.size() <= 1) {
    node.branch = Branch::Equal;
    // an empty set contains no feature: the test compares with NaN, which equals no feature
    node.split = set.empty() ? std::numeric_limits<double>::quiet_NaN() : set.front();
    return;
  }
  size_t middle = set.size() / 2;
  TreeNode half = node;
  int64_t below = int64_t(forest.nodes.size());
  node.branch = Branch::Less;
  node.split = set[middle];
  node.whenTrue = below;
  node.whenFalse = below + 1;
  forest.nodes.insert(forest.nodes.end(), 2, half);
  spreadMember(forest, below, set.take_front(middle));
  spreadMember(forest, below + 1, set.drop_front(middle));
}
} // namespace

//===------------------------------------------------------------------------------------------===//
// TreeEnsemble
//===------------------------------------------------------------------------------------------===//

/// Replaces tree nodes with mode Member (tests whether a feature is in a set) by comparisons. In
/// the attribute, each set ends with a NaN.
static LogicalResult spreadMembers(OnnxNode &node, Forest &forest, size_t inner) {
  Numbers values = node.getNumbers("membership_values").value_or(Numbers());
  size_t next = 0;
  for (size_t i = 0; i < inner; ++i) {
    if (forest.nodes[i].branch != Branch::Member)
      continue;
    Numbers set;
    while (next < values.size() && !std::isnan(values[next]))
      set.push_back(values[next++]);
    if (next == values.size())
      return node.refuse("membership_values has fewer sets than there are nodes of mode BRANCH_MEMBER");
    ++next;
    llvm::sort(set);
    set.erase(llvm::unique(set), set.end());
    spreadMember(forest, int64_t(i), set);
  }
  return success();
}

std::optional<Forest> readForest(OnnxNode &node) {
  Forest forest;
  forest.numTargets = node.getInt("n_targets", 1);
  forest.roots = node.getInts("tree_roots").value_or(Ints());
  size_t inner = node.getInts("nodes_featureids").value_or(Ints()).size();
  size_t leaves = node.getInts("leaf_targetids").value_or(Ints()).size();
  auto features = list(node, "nodes_featureids", inner), trues = list(node, "nodes_truenodeids", inner),
       falses = list(node, "nodes_falsenodeids", inner), trueLeafs = list(node, "nodes_trueleafs", inner),
       falseLeafs = list(node, "nodes_falseleafs", inner),
       missing = list(node, "nodes_missing_value_tracks_true", inner, 0),
       targets = list(node, "leaf_targetids", leaves);
  auto modes = numbers(node, "nodes_modes", inner), splits = numbers(node, "nodes_splits", inner),
       weights = numbers(node, "leaf_weights", leaves);
  if (!features || !trues || !falses || !trueLeafs || !falseLeafs || !missing || !targets || !modes || !splits ||
      !weights)
    return std::nullopt;
  if (inner + leaves > kMaxNodes)
    return refused(node, "has " + Twine(inner + leaves) + " nodes");
  forest.nodes.resize(inner + leaves);
  for (size_t i = 0; i < inner; ++i) {
    int64_t whenTrue = (*trues)[i], whenFalse = (*falses)[i];
    if (!isInside(whenTrue, (*trueLeafs)[i] ? leaves : inner) ||
        !isInside(whenFalse, (*falseLeafs)[i] ? leaves : inner))
      return refused(node, "node " + Twine(i) + " has a branch to a node that does not exist");
    if (!((*modes)[i] >= 0 && (*modes)[i] <= 6))
      return refused(node, "node " + Twine(i) + " has an invalid mode");
    forest.nodes[i] = {Branch(int((*modes)[i])),
                       (*features)[i],
                       (*splits)[i],
                       (*missing)[i] != 0,
                       whenTrue + ((*trueLeafs)[i] ? int64_t(inner) : 0),
                       whenFalse + ((*falseLeafs)[i] ? int64_t(inner) : 0),
                       {}};
  }
  for (size_t i = 0; i < leaves; ++i)
    forest.nodes[inner + i].votes.push_back({(*targets)[i], (*weights)[i]});
  if (failed(spreadMembers(node, forest, inner)))
    return std::nullopt;
  return forest;
}

//===------------------------------------------------------------------------------------------===//
// TreeEnsembleRegressor, TreeEnsembleClassifier
//===------------------------------------------------------------------------------------------===//

static Branch branchNamed(StringRef name) {
  return llvm::StringSwitch<Branch>(name)
      .Case("BRANCH_LEQ", Branch::LessOrEqual)
      .Case("BRANCH_LT", Branch::Less)
      .Case("BRANCH_GTE", Branch::GreaterOrEqual)
      .Case("BRANCH_GT", Branch::Greater)
      .Case("BRANCH_EQ", Branch::Equal)
      .Case("BRANCH_NEQ", Branch::NotEqual)
      .Case("LEAF", Branch::Leaf)
      .Default(Branch::Member); // a mode that these ops do not have
}

namespace {
/// Indices of tree nodes in `Forest::nodes`, by tree number and node number.
using Places = llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t>;
} // namespace

/// Reads the votes of the leaves of all trees. They are in separate lists, which refer to a leaf by
/// tree and node number.
static LogicalResult readVotes(OnnxNode &node, StringRef prefix, const Places &places, Forest &forest) {
  std::string ids = (prefix + "_ids").str();
  size_t count = node.getInts(ids).value_or(Ints()).size();
  auto targets = list(node, ids, count), trees = list(node, (prefix + "_treeids").str(), count),
       owners = list(node, (prefix + "_nodeids").str(), count);
  auto weights = floatsOrTensor(node, (prefix + "_weights").str(), count, forest.isDouble);
  if (!targets || !trees || !owners || !weights)
    return failure();
  for (size_t i = 0; i < count; ++i) {
    auto place = places.find({(*trees)[i], (*owners)[i]});
    if (place == places.end())
      return node.refuse(ids + " has a weight of node " + Twine((*owners)[i]) + " of tree " + Twine((*trees)[i]) +
                         ", which there is not");
    if (forest.nodes[place->second].branch == Branch::Leaf)
      forest.nodes[place->second].votes.push_back({(*targets)[i], (*weights)[i]});
  }
  return success();
}

std::optional<Forest> readForest(OnnxNode &node, StringRef prefix, int64_t numTargets) {
  Forest forest;
  forest.numTargets = numTargets;
  SmallVector<std::string> modes = node.getStrings("nodes_modes").value_or(SmallVector<std::string>());
  size_t count = modes.size();
  if (count > kMaxNodes)
    return refused(node, "has " + Twine(count) + " nodes");
  auto trees = list(node, "nodes_treeids", count), own = list(node, "nodes_nodeids", count),
       features = list(node, "nodes_featureids", count), trues = list(node, "nodes_truenodeids", count),
       falses = list(node, "nodes_falsenodeids", count),
       missing = list(node, "nodes_missing_value_tracks_true", count, 0);
  auto splits = floatsOrTensor(node, "nodes_values", count, forest.isDouble);
  if (!trees || !own || !features || !trues || !falses || !missing || !splits)
    return std::nullopt;
  Places places;
  llvm::DenseSet<int64_t> known;
  for (size_t i = 0; i < count; ++i) {
    if (!places.try_emplace({(*trees)[i], (*own)[i]}, int64_t(i)).second)
      return refused(node, "node " + Twine((*own)[i]) + " of tree " + Twine((*trees)[i]) + " is defined twice");
    if (known.insert((*trees)[i]).second) // the first node of a tree in the list is its root
      forest.roots.push_back(int64_t(i));
  }
  for (size_t i = 0; i < count; ++i) {
    TreeNode next{branchNamed(modes[i]), (*features)[i], (*splits)[i], (*missing)[i] != 0, -1, -1, {}};
    if (next.branch == Branch::Member)
      return refused(node, "node mode '" + modes[i] + "' is not supported");
    if (next.branch != Branch::Leaf) {
      auto whenTrue = places.find({(*trees)[i], (*trues)[i]}), whenFalse = places.find({(*trees)[i], (*falses)[i]});
      if (whenTrue == places.end() || whenFalse == places.end())
        return refused(node, "node " + Twine((*own)[i]) + " of tree " + Twine((*trees)[i]) +
                                 " has a branch to a node that does not exist");
      next.whenTrue = whenTrue->second;
      next.whenFalse = whenFalse->second;
    }
    forest.nodes.push_back(next);
  }
  if (failed(readVotes(node, prefix, places, forest)))
    return std::nullopt;
  return forest;
}

//===------------------------------------------------------------------------------------------===//
// Node order for a walk
//===------------------------------------------------------------------------------------------===//

namespace {
/// Orders the nodes of a forest tree by tree. An inner node with several parents is placed once, as
/// a child of its first parent. Each of its other parents gets a child node that always continues
/// at that place. Leaves with several parents are copied.
class Layout {
public:
  Layout(OnnxNode &node, const Forest &forest)
      : node(node), nodes(forest.nodes), steps(nodes.size(), kUnknown), places(nodes.size(), -1),
        shared(unsigned(nodes.size())) {
    llvm::BitVector led(unsigned(nodes.size()));
    auto lead = [&](int64_t to) {
      if (!isInside(to, nodes.size()) || nodes[to].branch == Branch::Leaf)
        return;
      (led.test(unsigned(to)) ? shared : led).set(unsigned(to));
    };
    llvm::for_each(forest.roots, lead);
    for (const TreeNode &n : nodes) {
      lead(n.whenTrue);
      lead(n.whenFalse);
    }
    shares = shared.any();
  }

  /// Places the tree with this root node. Returns its position and its number of levels, or nullopt
  /// after a call of `refuse`.
  std::optional<Tree> add(int64_t root) {
    if (!isInside(root, nodes.size()))
      return refused(node, "a tree has the root " + Twine(root) + ", which does not exist");
    if (!countSteps(root))
      return std::nullopt;
    if (places[root] >= 0)
      return Tree{places[root], steps[root]};
    Tree tree{int64_t(sorted.size()), steps[root]};
    Level level, next, leaves;
    place(root, level);
    for (int64_t at = 0; !level.empty(); ++at, level = std::exchange(next, {}))
      for (auto [old, place] : level) {
        if (nodes[old].branch != Branch::Leaf)
          addChildren(old, place, next);
        else if (shares || at < tree.levels)
          leaves.push_back({old, place});
        if (sorted.size() > kMaxNodes)
          return refused(node, "has too many nodes");
      }
    // A walk takes as many steps as the tree has levels. Both children of a leaf above the last
    // level are therefore copies of the leaf, which lead to themselves.
    for (auto [old, place] : leaves) {
      TreeNode leaf = sorted[place];
      leaf.whenTrue = sorted[place].whenTrue = int64_t(sorted.size());
      sorted.insert(sorted.end(), 2, leaf);
    }
    return tree;
  }

  std::vector<TreeNode> sorted;

private:
  /// A level of a tree: pairs of a node number and the position at which the node is placed.
  using Level = SmallVector<std::pair<int64_t, int64_t>>;
  enum : int64_t { kUnknown = -1, kOnTheWay = -2 };

  /// Appends a tree node to the new order. If the node has been placed before, appends a node that
  /// always continues at its position.
  void place(int64_t old, Level &level) {
    if (places[old] >= 0) {
      TreeNode onwards;
      onwards.branch = Branch::Always;
      onwards.whenTrue = places[old];
      sorted.push_back(onwards);
      return;
    }
    level.push_back({old, int64_t(sorted.size())});
    sorted.push_back(nodes[old]);
    if (nodes[old].branch == Branch::Leaf)
      sorted.back().feature = 0;
    else
      places[old] = int64_t(sorted.size()) - 1;
  }

  void addChildren(int64_t old, int64_t at, Level &next) {
    sorted[at].whenTrue = int64_t(sorted.size());
    place(nodes[old].whenTrue, next);
    place(nodes[old].whenFalse, next);
  }

  /// Sets `steps` to the maximum number of steps from each tree node below `root` to a leaf.
  /// Reaching a node with several parents may take an additional step. The function uses an
  /// explicit stack, since trees may be deep. It calls `refuse` and returns false if there is a
  /// cycle.
  bool countSteps(int64_t root) {
    SmallVector<int64_t> stack = {root};
    while (!stack.empty()) {
      int64_t at = stack.back();
      if (steps[at] >= 0) {
        stack.pop_back();
        continue;
      }
      bool isLeaf = nodes[at].branch == Branch::Leaf, isSecond = std::exchange(steps[at], kOnTheWay) == kOnTheWay;
      int64_t most = -1;
      for (int64_t child : {nodes[at].whenTrue, nodes[at].whenFalse}) {
        if (isLeaf)
          break;
        if (steps[child] == kOnTheWay) {
          (void)node.refuse("the nodes are not a tree: they contain a cycle");
          return false;
        }
        if (!isSecond && steps[child] == kUnknown)
          stack.push_back(child);
        most = std::max(most, steps[child] + shared.test(unsigned(child)));
      }
      if (isLeaf || isSecond) {
        steps[at] = most + 1;
        stack.pop_back();
      }
    }
    return true;
  }

  OnnxNode &node;
  const std::vector<TreeNode> &nodes;
  /// Two arrays by tree node number: the maximum number of steps from the node to a leaf, and the
  /// new position of the node.
  std::vector<int64_t> steps, places;
  /// The inner tree nodes that have several parents, and whether there are any such nodes.
  llvm::BitVector shared;
  bool shares;
};
} // namespace

bool Forest::sort(OnnxNode &node) {
  Layout layout(node, *this);
  for (int64_t root : roots) {
    std::optional<Tree> tree = layout.add(root);
    if (!tree)
      return false;
    trees.push_back(*tree);
  }
  nodes = std::move(layout.sorted);
  return true;
}

} // namespace hewn::graph
