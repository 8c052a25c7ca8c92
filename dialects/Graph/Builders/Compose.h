// SPDX-License-Identifier: Apache-2.0
//
// Short forms for writing ops in others: by builders of ONNX nodes and by `compose`. Each gives null where a value
// given is null or the op can't be built, so that calls nest and one check at the end is enough. Those that would
// change nothing give the value itself.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_COMPOSE_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_COMPOSE_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

class OnnxNode;

/// Writes ops at one place.
class Composer {
public:
  Composer(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  explicit Composer(OnnxNode &node);

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<DimExpr> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> order);
  /// x[offset + i * step] for i < size along `dim`, the other dims whole.
  mlir::Value slice(mlir::Value x, int64_t dim, DimExpr offset, DimExpr size, int64_t step = 1);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<DimExpr> shape);
  /// `value` (rank 0) may be null: zero.
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<DimExpr> low, llvm::ArrayRef<DimExpr> high,
                  llvm::StringRef mode = "constant", mlir::Value value = {});
  mlir::Value concat(mlir::ValueRange values, int64_t axis);
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  /// Term `index` of the `count` ones of bfloat16 that sum to x (graph.term).
  mlir::Value term(mlir::Value x, int64_t index, int64_t count);
  /// An op of one result without attributes.
  template <typename OpTy> mlir::Value op(mlir::ValueRange operands) { return make<OpTy>(b, loc, operands); }
  /// The same by the op's name, as tables have it that say which op of ours stands for a name of ONNX's.
  mlir::Value opNamed(llvm::StringRef name, mlir::ValueRange operands) { return makeNamed(b, loc, name, operands); }
  /// For passes, which know no ops. Of two operands; a list, whose elements are made in order.
  mlir::Value add(mlir::ValueRange operands);
  mlir::Value sub(mlir::ValueRange operands);
  mlir::Value mul(mlir::ValueRange operands);
  /// Of matrices, whose leading dims are broadcast.
  mlir::Value product(mlir::ValueRange matrices);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keep);
  /// A scalar of x's element type.
  mlir::Value scalarLike(mlir::Value x, double value);
  /// An i64 scalar.
  mlir::Value number(const DimExpr &value);
  /// start + i * step for i < count; without them i, as i64.
  mlir::Value range(mlir::Value start, mlir::Value step, const DimExpr &count);
  mlir::Value range(const DimExpr &count);
  /// The whole of these dims holds `value`.
  mlir::Value filled(llvm::ArrayRef<DimExpr> dims, mlir::Type elementType, double value);
  /// A reduction over `dims`; by the op's name for tables.
  template <typename OpTy> mlir::Value reduce(mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keep) {
    return reduceNamed(OpTy::getOperationName(), x, dims, keep);
  }
  mlir::Value reduceNamed(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keep);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Composer::concat of any number of operands. Where many have a length that only a run tells, groups of them are put together first, and
/// so on: a kernel has an argument for each operand and each length, and takes more than its share of them to compile.
mlir::Value concatInGroups(OnnxNode &node, mlir::ValueRange values, int64_t axis);

/// Whether the expression is 0 or more whatever its symbols; symbols that are
/// read from tensors may be negative.
bool isNonNegative(const DimExpr &expr);
/// max(expr, 0).
DimExpr clampToZero(const DimExpr &expr);

/// Integers as expressions, which may hold symbols that are read when the model runs: attribute `name`, or input `i` where the
/// attribute is absent. Absent both: nullopt with `absent` set; nullopt otherwise after `refuse`.
std::optional<Dims> intsOrRead(OnnxNode &node, llvm::StringRef name, unsigned i, bool &absent);

} // namespace hewn::graph

#endif
