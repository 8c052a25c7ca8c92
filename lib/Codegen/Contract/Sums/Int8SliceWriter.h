// SPDX-License-Identifier: Apache-2.0
//
// Splits activations into the int8 slices that Int8SliceMma.h multiplies.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_INT8SLICEWRITER_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_INT8SLICEWRITER_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Emits code that splits activations into int8 slices and stores these.
class Int8SliceWriter {
public:
  Int8SliceWriter(const ContractKernel &c, const plan::Int8Slices &slices);

  /// Stores the int8 slices of `count` rows, starting at the row of `at`, to `memory`.
  void writeRows(llvm::ArrayRef<graph::Index> at, graph::Index count, mlir::Value memory);

private:
  /// How the elements of a segment are scaled. `unit` is the value of the lowest bit of the lowest
  /// slice. `inverse` is 1 / unit in all lanes. `special` is NaN if an element of the segment is
  /// infinite or NaN, else 0.
  struct Unit {
    mlir::Value unit, inverse, special;
  };
  Unit unitOf(mlir::Value left, graph::Index at, const graph::DimExpr &steps);
  /// Stores the slices of one segment, which is `depth` elements of `left` from offset `at` on, to
  /// `memory` at offset `to`.
  void writeSegment(mlir::Value left, graph::Index at, int64_t depth, mlir::Value memory, graph::Index to);
  /// Splits a vector of scaled and rounded elements: stores its slices as step `i` of a segment,
  /// and adds the slices to `sums`.
  void split(mlir::Value rounded, graph::Index i, mlir::Value memory, graph::Index to,
             llvm::SmallVectorImpl<mlir::Value> &sums);
  mlir::Value load(mlir::Value left, graph::Index at, graph::Index i);
  mlir::Value number(mlir::Type type, double value);

  const ContractKernel &c;
  ElementEmitter &e;
  const plan::Int8Slices &slices;
  mlir::VectorType floats, integers;
  /// Order in which a vector's elements are stored in a slice. Unpacking a packed word yields its
  /// weights in this order: a byte of a word holds 8 / bits consecutive weights.
  llvm::SmallVector<int64_t> order;
};

} // namespace hewn::codegen

#endif
