// SPDX-License-Identifier: Apache-2.0
//
// What the models of ai.onnx.ml do with their scores in the end.
#ifndef HEWN_DIALECTS_GRAPH_CLASSIC_SCORES_H
#define HEWN_DIALECTS_GRAPH_CLASSIC_SCORES_H

#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// `post_transform` as every op but TreeEnsemble names it: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT.
std::string postTransform(OnnxNode &node);
/// Scores [rows, targets] after this; null after `refuse`.
mlir::Value transformScores(OnnxNode &node, mlir::Value scores, llvm::StringRef transform);

/// The labels that a classifier has in `ints` or `strings`.
struct Labels {
  llvm::SmallVector<int64_t> ints;
  llvm::SmallVector<std::string> strings;
  size_t size() const { return strings.empty() ? ints.size() : strings.size(); }
};
/// nullopt after `refuse`: without labels there is nothing to choose from.
std::optional<Labels> readLabels(OnnxNode &node, llvm::StringRef ints, llvm::StringRef strings);
/// The label of each class number in `classes` (i64 [rows]); null where building failed.
mlir::Value labelsOf(OnnxNode &node, const Labels &labels, mlir::Value classes);
/// The class of the largest score of each row, of equal ones the first.
mlir::Value bestClass(OnnxNode &node, mlir::Value scores);
/// `positive` [rows, 1] as class 0 or 1 of each row.
mlir::Value asClass(OnnxNode &node, mlir::Value positive);

} // namespace hewn::graph

#endif
