// SPDX-License-Identifier: Apache-2.0
//
// The elements of small tensors as far as they are known at compile time: constants, and the
// results of shape arithmetic (Shape, Gather, Concat, ...) as expressions over the model's dims.
// The analysis does not name ops. It uses op interfaces and interprets the scalar arith ops that an
// op emits for an element.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTS_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "dialects/Graph/Analysis/Shapes.h"
#include "lib/Support/WeightStore.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn::graph {

/// The compile-time value of one tensor element: a constant (IntegerAttr or FloatAttr of the
/// compute type), an expression over dims (an integer), an expression divided by an integer (a
/// float, such as a size times a scale), or unknown.
struct ElementContent {
  mlir::Attribute constant;
  std::optional<DimExpr> expr;
  int64_t divisor = 1;
  /// For an unknown tensor element: a condition on dims that, if it were decided, would make more
  /// of the element's value known.
  std::optional<Condition> question = std::nullopt;

  bool known() const { return constant || expr; }
};

class Contents {
public:
  explicit Contents(const WeightStore &weights) : weights(weights) {}

  /// The facts about symbols that comparisons of dims use. The caller must set them before its
  /// first query, because results are cached.
  Facts &facts() { return known; }

  /// Returns element `i`, in row-major order, of an integer or bool tensor, or nullopt if it is
  /// unknown.
  std::optional<DimExpr> integer(mlir::Value value, int64_t i);
  /// Returns all elements of an integer or bool tensor, or nullopt if one of them is unknown.
  std::optional<Dims> integers(mlir::Value value);
  /// Returns the first condition on dims that the unknown element `i` depends on, if any.
  std::optional<Condition> question(mlir::Value value, int64_t i);
  /// Returns all elements of a small constant float tensor.
  std::optional<llvm::SmallVector<double>> floats(mlir::Value value);
  /// Sets the content of element `i` of a tensor to `expr`, the symbol that represents the
  /// element's value at run time.
  void set(mlir::Value value, int64_t i, const DimExpr &expr);
  /// Clears the cache of tensor contents. Must be called after ops were erased, because the cache
  /// is indexed by the address of values.
  void clear() { memo.clear(); }

  /// Maximum number of elements of a tensor whose contents are analyzed.
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

  const WeightStore &weights;
  Facts known;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Elements>> memo;
};

} // namespace hewn::graph

#endif
