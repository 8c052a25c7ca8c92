// SPDX-License-Identifier: Apache-2.0
//
// Transforms of scores, and class labels, for the ops of ai.onnx.ml.
#ifndef HEWN_DIALECTS_GRAPH_ONNXML_SCORES_H
#define HEWN_DIALECTS_GRAPH_ONNXML_SCORES_H

#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// Returns attribute `post_transform` of a node (all ops but TreeEnsemble): NONE, SOFTMAX,
/// LOGISTIC, SOFTMAX_ZERO or PROBIT.
std::string postTransform(OnnxNode &node);
/// Applies a post_transform to scores [rows, targets]. Returns null after a call of `refuse`.
mlir::Value transformScores(OnnxNode &node, mlir::Value scores, llvm::StringRef transform);

/// The labels of a classifier's classes: integers or strings.
struct Labels {
  llvm::SmallVector<int64_t> ints;
  llvm::SmallVector<std::string> strings;
  size_t size() const { return strings.empty() ? ints.size() : strings.size(); }
};
/// Reads labels from the attribute named `ints` or `strings`. Calls `refuse` and returns nullopt if
/// the node has neither.
std::optional<Labels> readLabels(OnnxNode &node, llvm::StringRef ints, llvm::StringRef strings);
/// Returns the label of each class number in `classes` (i64 [rows]). Returns null if `classes` is
/// null.
mlir::Value labelsOf(OnnxNode &node, const Labels &labels, mlir::Value classes);
/// Returns the number of the class with the largest score in each row. Of equal scores, the first
/// one wins.
mlir::Value bestClass(OnnxNode &node, mlir::Value scores);
/// Converts bools [rows, 1] to class numbers: 1 for true, 0 for false.
mlir::Value asClass(OnnxNode &node, mlir::Value positive);

} // namespace hewn::graph

#endif
