// SPDX-License-Identifier: Apache-2.0
//
// The table of x86 targets. Each row gives the code generator's CPU, the target description for
// passes (plan.target) and the instruction sets that the runtime checks for.
#ifndef HEWN_LIB_TARGET_X86_X86ROWS_H
#define HEWN_LIB_TARGET_X86_X86ROWS_H

#include "dialects/Plan/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::x86 {

/// Cache sizes of a CPU: the L1 data cache and the L2 cache of a core, and the share of the L3
/// cache that one core can use.
struct Caches {
  int64_t l1Bytes, l1Ways, l2Bytes, l3Bytes;
};

/// Instruction rates of a CPU family, which do not follow from the instruction sets of the CPU.
struct Rates {
  /// Number of VDPBF16PS and of VPDPBUSD instructions that a core executes in the time of 100 FMAs
  /// on vectors of the same width.
  int64_t bfloatDots, byteDots;
  /// Time to extend a vector of 16-bit floats to float32 (VCVTPH2PS, or VPMOVZXWD and VPSLLD), in
  /// hundredths of the time of an FMA.
  int64_t extension;
};

/// A row of the table of x86 targets: a value of --target.
struct Row {
  llvm::StringRef name;
  /// LLVM's CPU, for the scheduling model.
  llvm::StringRef cpu;
  /// Instruction sets of the target (HEWN_CPU_*).
  uint64_t bits;
  Caches caches;
  Rates rates;
  /// True if the CPU issues 256-bit vector instructions at twice the rate of 512-bit ones.
  bool doubleRateHalfVectors = false;
};
llvm::ArrayRef<Row> rows();
/// Returns the row of the x86-64 baseline.
const Row &baseRow();
/// Returns the row of the target table whose LLVM CPU name is `cpu`, or the baseline if there is
/// none.
const Row &rowOf(llvm::StringRef cpu);

/// Properties of the longest vectors that a combination of instruction sets provides.
struct Vectors {
  /// Instruction sets (HEWN_CPU_*) that these vectors require.
  uint64_t needs;
  int64_t bytes, registers;
  bool fusedProducts, hasHalfConversions;
  /// LLVM intrinsic that scales floats by powers of two.
  llvm::StringRef scaling;
  /// Number of rows in a register tile of fused attention.
  int64_t attentionRows;
  /// LLVM intrinsics for these vectors: they permute floats, add pairs of int16 products
  /// (VPMADDWD), add pairs of int8 products (VPMADDUBSW), and permute bytes.
  llvm::StringRef permutation, pairs, bytePairs, bytePermutation;
};
const Vectors &vectorsOf(uint64_t bits);

/// Returns the description for passes (plan.target) of the x86 target `row` with the instruction
/// sets `bits`.
plan::TargetAttr targetOf(mlir::MLIRContext *context, const Row &row, uint64_t bits);

} // namespace hewn::x86

#endif
