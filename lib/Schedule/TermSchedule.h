// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of contractions whose operands are sums of narrow terms, on a matrix unit.
#ifndef HEWN_LIB_SCHEDULE_TERMSCHEDULE_H
#define HEWN_LIB_SCHEDULE_TERMSCHEDULE_H

#include "lib/Schedule/Schedule.h"
#include "lib/Support/Precision.h"

namespace hewn::plan {

/// How many terms of bfloat16 sum to an operand of float32, at this precision: 3 lose no digits, 1 is the operand rounded.
unsigned bfloat16Terms(Precision precision);

/// How many times as long vectors of float32 take for the contraction, of float32, as `matrix` for the products of so many
/// terms of either side (graph::termPairs), with the making of the left side's terms; below 1 the vectors win. 0 where the unit can't
/// do it, or where the rows are known only when run and there are no vectors for fewer than fill a tile.
double gainOfTerms(graph::ContractOpInterface op, MatrixAttr matrix, unsigned terms);

} // namespace hewn::plan

#endif
