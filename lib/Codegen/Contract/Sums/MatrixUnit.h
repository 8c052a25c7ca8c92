// SPDX-License-Identifier: Apache-2.0
//
// Emits instructions of a matrix unit (`#plan.matrix_unit`) as calls of the intrinsics that the
// target description names.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXUNIT_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXUNIT_H

#include "dialects/Graph/Builders/Element.h"
#include "dialects/Plan/Plan.h"

namespace hewn::codegen {

class MatrixUnit {
public:
  MatrixUnit(mlir::OpBuilder &b, mlir::Location loc, plan::MatrixUnitAttr unit) : b(b), loc(loc), unit(unit) {}

  /// Returns true if the generator supports the unit's tile shape: a row of accumulators is one
  /// vector, and tile rows of all operands have the same number of bytes.
  static bool fits(plan::MatrixUnitAttr unit, int64_t lanes);

  /// Returns an accumulator tile of `rows` rows, initialized to zero.
  mlir::Value zero(int64_t rows);
  /// Loads a tile of `rows` rows. The first row is at element `at` of the buffer; rows are `stride`
  /// elements apart.
  mlir::Value load(int64_t rows, mlir::Value memref, graph::Index at, graph::Index stride);
  void store(mlir::Value tile, int64_t rows, mlir::Value memref, graph::Index at, graph::Index stride);
  /// Returns sums + left x right, for `rows` rows of accumulators.
  mlir::Value product(int64_t rows, mlir::Value sums, mlir::Value left, mlir::Value right);

private:
  mlir::Value i16(int64_t value);
  mlir::Value bytes(mlir::Value memref, graph::Index elements);
  mlir::Value address(mlir::Value memref, graph::Index at);

  mlir::OpBuilder &b;
  mlir::Location loc;
  plan::MatrixUnitAttr unit;
};

} // namespace hewn::codegen

#endif
