// SPDX-License-Identifier: Apache-2.0
//
// What hewn knows of x86 machines, a row each: the code generator's machine, what passes may know (#plan.target) and what the runtime asks
// the processor for all come from it.
#ifndef HEWN_LIB_TARGET_X86_X86ROWS_H
#define HEWN_LIB_TARGET_X86_X86ROWS_H

#include "dialects/Plan/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::x86 {

/// Of a core: its first two caches, and what of the third it can count on.
struct Caches {
  int64_t l1Bytes, l1Ways, l2Bytes, l3Bytes;
};

/// A name that users may write, the processor of LLVM's whose scheduling model it means, and its instructions (HEWN_CPU_*).
struct Row {
  llvm::StringRef name, cpu;
  uint64_t bits;
  Caches caches;
  /// Vectors of half the bytes are issued twice as often.
  bool doubleRateHalfVectors = false;
};
llvm::ArrayRef<Row> rows();
/// What every x86-64 has.
const Row &baseRow();
/// The row of a processor of LLVM's; that of every x86-64 where there is none.
const Row &rowOf(llvm::StringRef cpu);

/// What the widest vectors bring that a set of instructions has.
struct Vectors {
  /// HEWN_CPU_*.
  uint64_t needs;
  int64_t bytes, registers;
  bool fusedProducts, hasHalfConversions;
  /// LLVM's intrinsic: floats by powers of two.
  llvm::StringRef scaling;
  /// Rows of a tile that two contractions share.
  int64_t chainRows;
  /// LLVM's intrinsics: a vector of floats by places, sums of two products of 16 bits and of bytes, and bytes by places.
  llvm::StringRef permutation, pairs, bytePairs, bytePermutation;
};
const Vectors &vectorsOf(uint64_t bits);

/// What passes may know of a machine of the row that has these instructions.
plan::TargetAttr targetOf(mlir::MLIRContext *context, const Row &row, uint64_t bits);

} // namespace hewn::x86

#endif
