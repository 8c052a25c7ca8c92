// SPDX-License-Identifier: Apache-2.0
//
// What small tensors hold, as far as that can be told when compiling: shapes that a model computes (Shape, Gather,
// Concat, arithmetic) as expressions over its dims, and constants. It knows kinds of op and no op: the bodies that ops
// emit are interpreted on expressions.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTS_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "dialects/Graph/Analysis/Shapes.h"
#include "lib/Support/WeightTable.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn::graph {

/// What one element is: a constant (IntegerAttr or FloatAttr of the compute type), an expression (of an integer), the
/// quotient of an expression and an integer (of a float: sizes times scales), or not known.
struct ElementContent {
  mlir::Attribute constant;
  std::optional<DimExpr> expr;
  int64_t divisor = 1;
  /// Of one that is not known: a condition on dims that would tell more of it.
  std::optional<Condition> question = std::nullopt;

  bool known() const { return constant || expr; }
};

class Contents {
public:
  explicit Contents(const WeightTable &weights) : weights(weights) {}

  /// What comparisons of dims go by. To be set before anything is asked: answers are remembered.
  Facts &facts() { return known; }

  /// Element `i`, in row-major order, of an integer or bool tensor; nullopt where not known.
  std::optional<DimExpr> integer(mlir::Value value, int64_t i);
  /// All elements of such a tensor; nullopt where one is not known.
  std::optional<Dims> integers(mlir::Value value);
  /// Of element `i`, which is not known: the condition on dims that it depends on first, if it does on one.
  std::optional<Condition> question(mlir::Value value, int64_t i);
  /// All elements of a small float tensor of constants.
  std::optional<llvm::SmallVector<double>> floats(mlir::Value value);
  /// Enters what an element is, as its reader has named it.
  void set(mlir::Value value, int64_t i, const DimExpr &expr);
  /// Forgets everything: to be called after ops were erased, since values are remembered by address.
  void clear() { memo.clear(); }

  /// Tensors with more elements are not looked into.
  static constexpr int64_t kMaxElements = 1024;

private:
  using Elements = llvm::SmallVector<ElementContent>;
  class Reader;
  const Elements &elements(mlir::Value value);
  Elements evaluate(mlir::OpResult value);
  Elements constantElements(mlir::RankedTensorType type, mlir::Attribute attr);
  Elements elementwiseElements(mlir::Operation *op);
  Elements moveElements(mlir::Operation *op);
  Elements reduceElements(mlir::Operation *op);

  const WeightTable &weights;
  Facts known;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Elements>> memo;
};

} // namespace hewn::graph

#endif
