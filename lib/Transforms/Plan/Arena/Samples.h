// SPDX-License-Identifier: Apache-2.0
//
// Sizes of a program's symbols by which a plan is judged, where what is best depends on them.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_SAMPLES_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_SAMPLES_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <vector>

namespace hewn::plan {

/// A number for each symbol of the inputs, in order of first appearance.
using Sample = llvm::MapVector<llvm::StringRef, int64_t>;

/// Small and large sizes in many combinations, each within the symbol's range; one empty sample where there is no symbol.
/// The names live as long as the context.
std::vector<Sample> samplesOf(mlir::FunctionOpInterface program);

/// The expression's value; what the sample does not name is 0. Without meaning where that does not fit into 64 bits.
int64_t evaluate(const graph::DimExpr &expr, const Sample &sample);
/// A number that neither the value nor what it is computed from exceeds: where it is below 2^62, `evaluate` gives the value.
double boundOf(const graph::DimExpr &expr, const Sample &sample);

} // namespace hewn::plan

#endif
