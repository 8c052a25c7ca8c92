// SPDX-License-Identifier: Apache-2.0
//
// Short forms for emitting ops, which builders of ONNX nodes and decompositions (`compose`) use.
// Each function returns null if an argument is null or if the op cannot be built, so that callers
// can nest calls and check only the final result. Where an op would be the identity, the function
// returns its operand.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_COMPOSE_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_COMPOSE_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

class OnnxNode;

/// Emits ops through one builder, at one location.
class Composer {
public:
  Composer(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  explicit Composer(OnnxNode &node);

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<DimExpr> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> order);
  /// Emits x[offset + i * step] for i < size along `dim`, and all elements along the other dims.
  mlir::Value slice(mlir::Value x, int64_t dim, DimExpr offset, DimExpr size, int64_t step = 1);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<DimExpr> shape);
  /// Pads x with the scalar `value` (rank 0), or with zeros if `value` is null.
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<DimExpr> low, llvm::ArrayRef<DimExpr> high,
                  llvm::StringRef mode = "constant", mlir::Value value = {});
  mlir::Value concat(mlir::ValueRange values, int64_t axis);
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  /// Emits graph.term: component `index` of x's split into `count` bf16 components, whose sum is x.
  mlir::Value term(mlir::Value x, int64_t index, int64_t count);
  /// Emits an op with one result and no attributes.
  template <typename OpTy> mlir::Value op(mlir::ValueRange operands) { return make<OpTy>(b, loc, operands); }
  /// Emits an op that is given by its name, for callers with a table from ONNX ops to graph ops.
  mlir::Value opNamed(llvm::StringRef name, mlir::ValueRange operands) { return makeNamed(b, loc, name, operands); }
  /// Emit elementwise ops on two operands, for passes, which do not name ops. The operands are a
  /// braced list, so that C++ evaluates nested calls from left to right.
  mlir::Value add(mlir::ValueRange operands);
  mlir::Value sub(mlir::ValueRange operands);
  mlir::Value mul(mlir::ValueRange operands);
  /// Emits a matmul of two operands, whose leading dims are broadcast.
  mlir::Value product(mlir::ValueRange matrices);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keep);
  /// Emits a scalar constant with the element type of x.
  mlir::Value scalarLike(mlir::Value x, double value);
  /// Emits an i64 scalar with the value of a dim.
  mlir::Value number(const DimExpr &value);
  /// Emits the 1-D tensor [start, start + step, ...] of `count` elements; without `start` and
  /// `step`, emits [0, 1, ...] in i64.
  mlir::Value range(mlir::Value start, mlir::Value step, const DimExpr &count);
  mlir::Value range(const DimExpr &count);
  /// Emits a tensor with these dims in which every element is `value`.
  mlir::Value filled(llvm::ArrayRef<DimExpr> dims, mlir::Type elementType, double value);
  /// Emits a reduction over `dims`. `reduceNamed` takes the name of the reduction op, for callers
  /// that look it up in a table.
  template <typename OpTy> mlir::Value reduce(mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keep) {
    return reduceNamed(OpTy::getOperationName(), x, dims, keep);
  }
  mlir::Value reduceNamed(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keep);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Concatenates any number of operands. If many operands have a dynamic length, concatenates groups
/// of operands first, recursively. Otherwise, one kernel would have an argument for each operand
/// and each length, and its compile time grows faster than linearly in the number of arguments.
mlir::Value concatInGroups(OnnxNode &node, mlir::ValueRange values, int64_t axis);

/// Returns true if the expression is proven to be at least 0 for all values of its symbols. Symbols
/// that are read from tensors may be negative.
bool isNonNegative(const DimExpr &expr);
/// Returns the dim expression max(expr, 0).
DimExpr clampToZero(const DimExpr &expr);

/// Returns the integers of the node's attribute `name`, or else the elements of its input `i`, as
/// dim expressions. Elements that are only known at run time become symbols. If there is neither
/// the attribute nor the input, returns nullopt and sets `absent`. If the integers are invalid,
/// calls `refuse` and returns nullopt.
std::optional<Dims> intsOrRead(OnnxNode &node, llvm::StringRef name, unsigned i, bool &absent);

} // namespace hewn::graph

#endif
