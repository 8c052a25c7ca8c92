// SPDX-License-Identifier: Apache-2.0
//
// What one matrix by the channels of pictures takes, with lanes along features and with lanes along pixels.
#ifndef HEWN_LIB_SCHEDULE_PIXELSCHEDULE_H
#define HEWN_LIB_SCHEDULE_PIXELSCHEDULE_H

#include "dialects/Graph/Contract/ContractRoles.h"

namespace hewn::plan {

/// Cycles as #plan.contract counts them, one product of a vector each, of a contraction that is such a product.
struct PixelCosts {
  /// Pictures with their channels last: features are columns, pixels rows.
  double channelsLast = 0;
  /// Pictures as ONNX has them: pixels are columns, features rows.
  double channelsFirst = 0;
};

/// nullopt where sizes are known only when run, or where other units than vectors of the sums' type multiply: they want what is summed to lie
/// together.
std::optional<PixelCosts> pixelCosts(graph::ContractOpInterface op, const graph::PixelProduct &product);

/// In the same cycles, what it takes to write a tensor of so many elements in another order.
double relayoutCost(mlir::Operation *op, int64_t elements);

} // namespace hewn::plan

#endif
