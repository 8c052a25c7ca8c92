// SPDX-License-Identifier: Apache-2.0
//
// Sample values of a program's symbols, to compare plans whose quality depends on them.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_SAMPLES_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_SAMPLES_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <vector>

namespace hewn::plan {

/// A value for each symbol of the program's inputs, in order of first appearance.
using Sample = llvm::MapVector<llvm::StringRef, int64_t>;

/// Returns samples with small and large sizes in many combinations, each within the symbol's range.
/// Returns one empty sample if there are no symbols. The names live as long as the context.
std::vector<Sample> samplesOf(mlir::FunctionOpInterface program);

/// Returns the value of the expression. Symbols without a value in `sample` count as 0. The result
/// is undefined if it does not fit 64 bits.
int64_t evaluate(const graph::DimExpr &expr, const Sample &sample);
/// Returns an upper bound of the expression's value and of all intermediate values. If it is below
/// 2^62, `evaluate` is exact.
double boundOf(const graph::DimExpr &expr, const Sample &sample);

} // namespace hewn::plan

#endif
