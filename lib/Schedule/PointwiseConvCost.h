// SPDX-License-Identifier: Apache-2.0
//
// Cost models of 1x1 convolutions in NCHW and NHWC, and of grouped convolutions with one channel
// per group.
#ifndef HEWN_LIB_SCHEDULE_POINTWISECONVCOST_H
#define HEWN_LIB_SCHEDULE_POINTWISECONVCOST_H

#include "dialects/Graph/Contract/ContractRoles.h"

namespace hewn::plan {

/// Expected times of a 1x1 convolution in the layouts NHWC and NCHW, in units of one vector FMA.
struct PixelCosts {
  /// Time of the convolution in NHWC: the output channels are columns of the GEMM, the pixels are
  /// rows.
  double channelsLast = 0;
  /// Time of the convolution in NCHW, the layout of ONNX: the pixels are columns of the GEMM, the
  /// output channels are rows.
  double channelsFirst = 0;
};

/// Returns the costs of a 1x1 convolution in the layouts NHWC and NCHW. Returns nullopt if a dim is
/// dynamic, or if the contraction does not use vector FMAs of the accumulator type: dot-product
/// instructions and matrix units need operands that are contiguous along K.
std::optional<PixelCosts> pixelCosts(graph::ContractOpInterface op, const graph::PixelProduct &product);

/// Returns true if it is faster to repeat each channel of the input before a grouped convolution.
/// The contraction has one channel per group and fewer columns per group than a vector has lanes.
/// With repeated channels, lanes run over the columns of all groups instead of one group. The cost
/// of writing the repeated channels is included.
bool wantsChannelEach(graph::ContractOpInterface op);

/// Returns the cycles to convert a tensor of `elements` elements to another memory layout.
double relayoutCost(mlir::Operation *op, int64_t elements);
/// Returns the cycles to write a tensor of `elements` elements with single-element stores.
double scatterCost(mlir::Operation *op, int64_t elements);

} // namespace hewn::plan

#endif
