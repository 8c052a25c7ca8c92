// SPDX-License-Identifier: Apache-2.0
//
// Weights as places in a table of numbers that is fitted to them, times a scale: the numbers. (Kim et al., "SqueezeLLM: Dense-and-Sparse
// Quantization", 2023, have a table a column; here one is all of a matrix's, so that a register holds it, and scales tell groups apart.)
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_CODEBOOK_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_CODEBOOK_H

#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// A table of 2^how.bits ascending numbers, a scale for each group of a column (or one for all), and the nearest number of each weight. Scales
/// have the sign of their group's largest weight and depend on the weights alone; `table`: the one to take; empty: the one that leaves the
/// least Σ importance * error², as far as Lloyd's steps find it. `importance`: of each place along the depth; empty: all are alike.
RoundedWeights lookUpWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                             llvm::ArrayRef<double> importance, llvm::ArrayRef<double> table,
                             mlir::MLIRContext *context);

} // namespace hewn::quantize

#endif
