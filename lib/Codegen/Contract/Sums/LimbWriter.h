// SPDX-License-Identifier: Apache-2.0
//
// The limbs that LimbSums.h multiplies.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_LIMBWRITER_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_LIMBWRITER_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Splits data into limbs.
class LimbWriter {
public:
  LimbWriter(const ContractKernel &c, const plan::Limbs &limbs);

  /// The limbs of `count` rows from the one at `at` on to `memory`.
  void writeRows(llvm::ArrayRef<graph::Index> at, graph::Index count, mlir::Value memory);

private:
  /// What is known of a segment before it is split: the value of a limb's last place, its inverse in every lane, and 0, or NaN where
  /// an element is no number.
  struct Unit {
    mlir::Value unit, inverse, special;
  };
  Unit unitOf(mlir::Value left, graph::Index at, const graph::DimExpr &steps);
  /// Those of one segment, `depth` elements of `left`, to `memory` from `to` on.
  void writeSegment(mlir::Value left, graph::Index at, int64_t depth, mlir::Value memory, graph::Index to);
  /// Splits some elements, rounded already: stores the limbs of step `i` of a segment, and adds them to `sums`.
  void split(mlir::Value rounded, graph::Index i, mlir::Value memory, graph::Index to,
             llvm::SmallVectorImpl<mlir::Value> &sums);
  mlir::Value load(mlir::Value left, graph::Index at, graph::Index i);
  mlir::Value number(mlir::Type type, double value);

  const ContractKernel &c;
  KernelElements &e;
  const plan::Limbs &limbs;
  mlir::VectorType floats, integers;
  /// In which order a word's bytes give codes: every so many-th element makes a byte of each.
  llvm::SmallVector<int64_t> order;
};

} // namespace hewn::codegen

#endif
