// SPDX-License-Identifier: Apache-2.0
//
// Instructions of a matrix unit (`#plan.matrix`), as calls of the intrinsics that the target names.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXUNIT_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXUNIT_H

#include "dialects/Graph/Builders/Element.h"
#include "dialects/Plan/Plan.h"

namespace hewn::codegen {

class MatrixUnit {
public:
  MatrixUnit(mlir::OpBuilder &b, mlir::Location loc, plan::MatrixAttr unit) : b(b), loc(loc), unit(unit) {}

  /// Whether tiles are of the size that the engine walks in: a vector of columns, rows of all operands equally long.
  static bool fits(plan::MatrixAttr unit, int64_t lanes);

  /// A tile of sums, all zero, of so many rows.
  mlir::Value zero(int64_t rows);
  /// A tile of `rows` rows, the first at element `at` of a buffer, the others `stride` elements apart each.
  mlir::Value load(int64_t rows, mlir::Value memref, graph::Index at, graph::Index stride);
  void store(mlir::Value tile, int64_t rows, mlir::Value memref, graph::Index at, graph::Index stride);
  /// sums + left x right, of so many rows of sums.
  mlir::Value product(int64_t rows, mlir::Value sums, mlir::Value left, mlir::Value right);

private:
  mlir::Value i16(int64_t value);
  mlir::Value bytes(mlir::Value memref, graph::Index elements);
  mlir::Value address(mlir::Value memref, graph::Index at);

  mlir::OpBuilder &b;
  mlir::Location loc;
  plan::MatrixAttr unit;
};

} // namespace hewn::codegen

#endif
