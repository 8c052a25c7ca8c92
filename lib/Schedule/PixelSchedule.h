// SPDX-License-Identifier: Apache-2.0
//
// What products of pictures take with lanes along one dim or another: one matrix by the channels, and groups of one channel.
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

/// Whether a contraction in groups of one channel and of fewer columns than a vector has lanes is faster where each column has a channel of its own, of
/// which lanes are all groups', than with lanes along one group's columns; channels are written anew for that.
bool wantsChannelEach(graph::ContractOpInterface op);

/// In the same cycles, what it takes to write a tensor of so many elements in another order.
double relayoutCost(mlir::Operation *op, int64_t elements);
/// The same where each element is stored by itself.
double scatterCost(mlir::Operation *op, int64_t elements);

} // namespace hewn::plan

#endif
