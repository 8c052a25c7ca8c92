// SPDX-License-Identifier: Apache-2.0
//
// Estimates the time of a contraction in float32 and in 8-bit integers.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_PRODUCTCOST_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_PRODUCTCOST_H

#include "lib/Transforms/Quantize/IntegerForm.h"

namespace hewn {

/// Estimated times of a contraction in float32 and in 8-bit integers, in cycles as `#plan.contract`
/// counts them: a cycle is the time of one vector FMA.
struct ProductCosts {
  double floats = 0, integers = 0;
  /// Returns true if integers are estimated to be slower. The error of the estimates is some tens
  /// of percent.
  bool integersLose() const { return integers > floats; }
};

/// Estimates the costs of a contraction. The float costs are those of the schedule that the target
/// would choose (register tiles, Winograd). The integer costs include scaling the accumulators and
/// quantizing the left operand, shared by `readers` contractions, unless it `comesQuantized`. With
/// a computed right operand, both operands are dequantized tensors. Returns nothing if a constant
/// right operand has dynamic dims, the module has no target, or the target is a GPU.
std::optional<ProductCosts> productCosts(graph::ContractOpInterface op, const IntegerForm &form, bool comesQuantized,
                                         int64_t readers);

} // namespace hewn

#endif
