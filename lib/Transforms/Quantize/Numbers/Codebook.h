// SPDX-License-Identifier: Apache-2.0
//
// Quantizes weights to indices into a lookup table (codebook), times a scale. In Kim et al.,
// "SqueezeLLM: Dense-and-Sparse Quantization", 2023, each column has its own table. Here all
// columns of a matrix share one table, so that a register holds it, and each group of weights has a
// scale.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_CODEBOOK_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_CODEBOOK_H

#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// Restricts table entries to multiples of 1 / `units`, from `lowest` / `units` to `highest` /
/// `units`. Entries are unrestricted if `units` is 0.
struct TableSteps {
  double units = 0, lowest = 0, highest = 0;
};

/// Quantizes weights to indices into a lookup table, and returns the table of 2^how.bits ascending
/// entries, a scale for each group of a column (or one for all weights), and the index of the
/// nearest entry for each weight. A scale initially is the group's element with the largest
/// magnitude, including its sign; refitting may change the sign. Scales depend on the weights and,
/// if `steps` restricts the entries, on the table.
///
/// A non-empty `table` is used as the lookup table. Otherwise the table is fitted by Lloyd's
/// algorithm to a local minimum of Σ importance * error², and is rounded to `steps` if that adds
/// little noise. `importance` has one factor per position along K; if it is empty, all weights are
/// equally important.
RoundedWeights lookUpWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                             llvm::ArrayRef<double> importance, llvm::ArrayRef<double> table, const TableSteps &steps,
                             mlir::MLIRContext *context);

} // namespace hewn::quantize

#endif
