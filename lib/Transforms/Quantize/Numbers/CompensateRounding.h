// SPDX-License-Identifier: Apache-2.0
//
// Integers for weights that make up for each other's rounding, as far as data tell: the numbers. (Frantar et al., "GPTQ: Accurate Post-Training
// Quantization for Generative Pre-trained Transformers", 2022.)
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_COMPENSATEROUNDING_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_COMPENSATEROUNDING_H

#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// The integers of weights [depth, columns] on the grids that `roundWeights` fits to them, in the weights' order. Rows are rounded one
/// after another, those of the largest activations first; what one loses the later ones take over, by the inverse of Σ x xᵀ with a hundredth
/// of its mean diagonal added. The rows x are divided by `factors`, one a channel, where there are any. Empty where that has no inverse.
std::vector<int8_t> compensateRounding(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                                       SecondMoments moments, llvm::ArrayRef<double> factors,
                                       mlir::MLIRContext *context);

} // namespace hewn::quantize

#endif
