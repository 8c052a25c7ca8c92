// SPDX-License-Identifier: Apache-2.0
//
// Ensembles of decision trees: what ONNX's three ops say of them in their own ways, as one list of nodes.
#ifndef HEWN_DIALECTS_GRAPH_CLASSIC_FOREST_H
#define HEWN_DIALECTS_GRAPH_CLASSIC_FOREST_H

#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// How a node compares its feature with its split; the numbers are those of TreeEnsemble's nodes_modes. Always, which no file has,
/// takes the true branch.
enum class Branch : uint8_t { LessOrEqual, Less, GreaterOrEqual, Greater, Equal, NotEqual, Member, Leaf, Always };

struct TreeNode {
  Branch branch = Branch::Leaf;
  int64_t feature = 0;
  double split = 0;
  /// Whether a feature that is NaN takes the true branch.
  bool missingIsTrue = false;
  /// Numbers of nodes.
  int64_t whenTrue = -1, whenFalse = -1;
  /// Of a leaf: what it adds to which target.
  llvm::SmallVector<std::pair<int64_t, double>, 1> votes;
};

/// Where a tree begins, and how many steps lead from there to its leaves: from one that is reached by fewer the walk goes on to it.
struct Tree {
  int64_t root, levels;
};

struct Forest {
  std::vector<TreeNode> nodes;
  llvm::SmallVector<int64_t> roots;
  int64_t numTargets = 1;
  /// Whether splits and votes are float64s.
  bool isDouble = false;
  llvm::SmallVector<Tree> trees;

  /// Fills `trees`, and puts the nodes in an order for a walk without branches: two children stand beside each other, the true one
  /// (`whenTrue`) first, and leaves above a tree's last level lead to themselves. Several nodes may lead to one, as those that ask
  /// for an element of a set do. False, after `refuse`, where a walk might not end.
  bool sort(OnnxNode &node);
};

/// The trees of TreeEnsemble, or of TreeEnsembleRegressor and TreeEnsembleClassifier, whose lists of votes begin with `prefix`
/// ("target", "class"); nullopt after `refuse`.
std::optional<Forest> readForest(OnnxNode &node);
std::optional<Forest> readForest(OnnxNode &node, llvm::StringRef prefix, int64_t numTargets);

} // namespace hewn::graph

#endif
