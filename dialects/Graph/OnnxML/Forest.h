// SPDX-License-Identifier: Apache-2.0
//
// Ensembles of decision trees: a common list of nodes, into which the three ONNX ops for trees are
// read.
#ifndef HEWN_DIALECTS_GRAPH_ONNXML_FOREST_H
#define HEWN_DIALECTS_GRAPH_ONNXML_FOREST_H

#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// How a tree node compares its feature with its split value. The numbers are those of
/// TreeEnsemble's nodes_modes. `Always` is not in ONNX files; a node with it takes the true branch.
enum class Branch : uint8_t { LessOrEqual, Less, GreaterOrEqual, Greater, Equal, NotEqual, Member, Leaf, Always };

struct TreeNode {
  Branch branch = Branch::Leaf;
  int64_t feature = 0;
  double split = 0;
  /// True if the tree node takes the true branch for a feature that is NaN.
  bool missingIsTrue = false;
  /// The numbers of the two child nodes of a tree node.
  int64_t whenTrue = -1, whenFalse = -1;
  /// The votes of a leaf: pairs of a target and the amount that the leaf adds to it.
  llvm::SmallVector<std::pair<int64_t, double>, 1> votes;
};

/// A tree: its root node, and the number of steps of every walk through the tree. A walk that
/// reaches a leaf earlier stays at this leaf.
struct Tree {
  int64_t root, levels;
};

struct Forest {
  std::vector<TreeNode> nodes;
  llvm::SmallVector<int64_t> roots;
  int64_t numTargets = 1;
  /// True if the split values and votes of the forest are float64.
  bool isDouble = false;
  llvm::SmallVector<Tree> trees;

  /// Orders the nodes of the forest for a walk without conditional jumps, and fills `trees`. The
  /// two children of a node become adjacent, `whenTrue` first. A leaf above the last level of its
  /// tree leads to itself. Nodes may have several parents, which happens when a set test has been
  /// replaced. Calls `refuse` and returns false if a walk might not end.
  bool sort(OnnxNode &node);
};

/// Read the trees of a TreeEnsemble node, or of a TreeEnsembleRegressor or TreeEnsembleClassifier
/// node, where the names of the vote lists start with `prefix` ("target" or "class"). Return
/// nullopt after a call of `refuse`.
std::optional<Forest> readForest(OnnxNode &node);
std::optional<Forest> readForest(OnnxNode &node, llvm::StringRef prefix, int64_t numTargets);

} // namespace hewn::graph

#endif
