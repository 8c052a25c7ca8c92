// SPDX-License-Identifier: Apache-2.0
//
// Rounds weights with error compensation by calibration statistics. (Frantar et al., "GPTQ:
// Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022.)
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_COMPENSATEROUNDING_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_COMPENSATEROUNDING_H

#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// Returns the integers of weights [depth, columns], with the scales and zero points that
/// `roundWeights` fits, in the order of the weights. Weight rows are rounded in descending order of
/// the second moments of their activations. The rounding error of a row is distributed over later
/// rows by the inverse of Σ x xᵀ, damped by a hundredth of its mean diagonal, where x are the
/// observed rows of activations. If `factors` (one per channel) are given, the rows x are divided
/// by them. Returns an empty vector if the matrix is not invertible.
std::vector<int8_t> compensateRounding(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                                       SecondMoments moments, llvm::ArrayRef<double> factors,
                                       mlir::MLIRContext *context);

} // namespace hewn::quantize

#endif
