// SPDX-License-Identifier: Apache-2.0
//
// Packs a result into panels in which two or four adjacent elements along one dim share a 32-bit
// word, as dot-product instructions (which add up two or four products) read them.
//
//     [k, n] as [n / block][k / 2][n % block][k % 2]
//     for each pair of k: load vectors along n for both, and interleave them by shuffles
//
// Vectors are loaded along the panel's columns or along the grouped dim, whichever is innermost in
// the operands. Shuffles form the words, so that full vectors are stored. Storing element by
// element would scatter the elements instead.
#ifndef HEWN_LIB_CODEGEN_LOOPS_PACKGROUPS_H
#define HEWN_LIB_CODEGEN_LOOPS_PACKGROUPS_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// How a kernel's only result is packed.
struct GroupPacking {
  unsigned column;  ///< the dim that is split into panels; adjacent columns are a word apart
  unsigned grouped; ///< the dim whose adjacent elements share a word
  int64_t group;    ///< elements of a word
  bool alongGroups; ///< true if vectors are loaded along `grouped`, false if along `column`
};

/// Returns how the kernel's result is packed. Returns nullopt if the result has no panels with
/// groups, if these do not consist of full vectors, or if the unrolled code would be too long.
std::optional<GroupPacking> planGroups(KernelContext &k, int64_t lanes);
void emitGroups(KernelContext &k, mlir::OpBuilder &b, const GroupPacking &packing, int64_t lanes);

} // namespace hewn::codegen

#endif
