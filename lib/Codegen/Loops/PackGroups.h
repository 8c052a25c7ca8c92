// SPDX-License-Identifier: Apache-2.0
//
// Results whose neighbours along one dim lie in groups of a word, as what instructions multiply that sum products of pairs or fours.
//
//     [k, n] as [n / block][k / 2][n % block][k % 2]: for each pair of k, vectors along n of both, shuffled into each other
//
// Elements are read in vectors along the panel's columns or along the groups' dim, whichever lies innermost in the operands, and shuffles put words
// together, so that whole vectors are stored. Written one element a lane they would be scattered.
#ifndef HEWN_LIB_CODEGEN_LOOPS_PACKGROUPS_H
#define HEWN_LIB_CODEGEN_LOOPS_PACKGROUPS_H

#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// How a kernel's only result is packed.
struct GroupPacking {
  unsigned column;  ///< the dim that panels divide, whose neighbours are a word apart
  unsigned grouped; ///< the dim whose neighbours are in a word
  int64_t group;    ///< elements of a word
  bool alongGroups; ///< vectors are read along `grouped`, else along `column`
};

/// Nullopt where results are no such panels, or vectors would not be whole.
std::optional<GroupPacking> planGroups(KernelFunction &k, int64_t lanes);
void emitGroups(KernelFunction &k, mlir::OpBuilder &b, const GroupPacking &packing, int64_t lanes);

} // namespace hewn::codegen

#endif
