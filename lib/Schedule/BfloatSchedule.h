// SPDX-License-Identifier: Apache-2.0
//
// Cost model of bfloat16 for float32 contractions on vectors.
#ifndef HEWN_LIB_SCHEDULE_BFLOATSCHEDULE_H
#define HEWN_LIB_SCHEDULE_BFLOATSCHEDULE_H

#include "lib/Schedule/Schedule.h"

namespace hewn::plan {

/// Expected times of a float32 contraction on vectors by three methods, in units of one vector FMA.
/// Each time is the larger one of the time of the multiply-adds and the time to read the right
/// operand.
struct BfloatTimes {
  /// Time of the contraction with float32 FMAs and float32 operands.
  double floats = 0;
  /// Time of the contraction with bfloat16 dot-product instructions and operands converted to
  /// bfloat16.
  double dots = 0;
  /// Time of the contraction with float32 FMAs and a right operand that is stored in bfloat16 and
  /// extended in the kernel.
  double extended = 0;
};

/// Returns the expected times of the contraction `op`. `dot`: dot-product instruction for bfloat16.
/// `constantBytes`: size in float32 of all constant right operands of the function; it decides
/// which cache still holds the right operand of `op` from the previous run of the model. Dynamic
/// dims count as 128.
BfloatTimes bfloatTimes(graph::ContractOpInterface op, DotProductAttr dot, int64_t constantBytes);

/// Returns true if the bfloat16 dot-product instruction `dot` is at least as fast as float32 FMAs,
/// for a contraction whose right operand is stored in bfloat16 in both cases.
bool beatsExtension(graph::ContractOpInterface op, DotProductAttr dot);

} // namespace hewn::plan

#endif
