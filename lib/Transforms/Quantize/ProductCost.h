// SPDX-License-Identifier: Apache-2.0
//
// What a contraction is expected to take on floats and on integers.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_PRODUCTCOST_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_PRODUCTCOST_H

#include "lib/Transforms/Quantize/IntegerForm.h"

namespace hewn {

/// Cycles as #plan.contract counts them: one product of a vector each.
struct ProductCosts {
  double floats = 0, integers = 0;
  /// By the model; what the two are is known to some tenths.
  bool integersLose() const { return integers > floats; }
};

/// Of a contraction of float32, by constants: with the machine's own choice for it (register tiles, minimal filtering), and on integers of 8 bits,
/// whose operand is rounded, shared by `readers` contractions, unless it `comesQuantized`, and whose sums are scaled; or by what a run makes, quantized as
/// the left operand is. nullopt where sizes of constants' products are known only when run, the module names no machine, or the machine is a grid.
std::optional<ProductCosts> productCosts(graph::ContractOpInterface op, const IntegerForm &form, bool comesQuantized,
                                         int64_t readers);

} // namespace hewn

#endif
