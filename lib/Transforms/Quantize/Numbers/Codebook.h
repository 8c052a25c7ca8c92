// SPDX-License-Identifier: Apache-2.0
//
// Weights as places in a table of numbers that is fitted to them, times a scale: the numbers. (Kim et al., "SqueezeLLM: Dense-and-Sparse
// Quantization", 2023, have a table a column; here one is all of a matrix's, so that a register holds it, and scales tell groups apart.)
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_CODEBOOK_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_CODEBOOK_H

#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// What the numbers of a table may be: multiples of 1 / `units`, from `lowest` to `highest` of them; 0: any.
struct TableSteps {
  double units = 0, lowest = 0, highest = 0;
};

/// A table of 2^how.bits ascending numbers, a scale for each group of a column (or one for all), and the nearest number of each weight. Scales
/// have the sign of their group's largest weight, unless a fit to the rounded table turned it, and depend on the weights and, where `steps` are
/// given, on the table. `table`: the one to take; empty: the one that leaves the least Σ importance * error², as far as Lloyd's steps find it,
/// its numbers rounded to those that `steps` allow where that loses little. `importance`: of each place along the depth; empty: all are alike.
RoundedWeights lookUpWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                             llvm::ArrayRef<double> importance, llvm::ArrayRef<double> table, const TableSteps &steps,
                             mlir::MLIRContext *context);

} // namespace hewn::quantize

#endif
