// SPDX-License-Identifier: Apache-2.0
//
// Cost model of float32 contractions with split-bf16 components on a matrix unit.
#ifndef HEWN_LIB_SCHEDULE_SPLITBF16SCHEDULE_H
#define HEWN_LIB_SCHEDULE_SPLITBF16SCHEDULE_H

#include "lib/Schedule/Schedule.h"
#include "lib/Support/Precision.h"

namespace hewn::plan {

/// Returns the number of bfloat16 components that a float32 operand is split into at the given
/// precision. Three components keep all significand bits. A single component is the operand rounded
/// to bfloat16.
unsigned bfloat16Terms(Precision precision);

/// Returns the speedup of the contraction on the unit `matrix`, compared with float32 vectors. Each
/// operand is split into `terms` bfloat16 components (graph::termPairs lists the multiplied pairs);
/// the time to split the left operand is included. Below 1, vectors are faster. Returns 0 if the
/// unit does not support the contraction, or if the number of rows is dynamic and there is no
/// vector variant for runs with less than a tile of rows.
double gainOfTerms(graph::ContractOpInterface op, MatrixUnitAttr matrix, unsigned terms);

} // namespace hewn::plan

#endif
