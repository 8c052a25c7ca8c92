// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the import of contractions and pooling nodes.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACT_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACT_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// A sliding window over the spatial dims, as given by ONNX attributes.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations;
  Dims low, high;    // zero padding before and after each spatial dim
  bool same = false; // true if auto_pad is SAME_UPPER or SAME_LOWER
};

/// Reads the attributes strides, dilations, pads and auto_pad of a node whose input has spatial
/// dims `extents`. Returns nullopt after a call of `refuse`.
std::optional<Window> readWindow(OnnxNode &node, llvm::ArrayRef<DimExpr> extents, llvm::ArrayRef<int64_t> kernel);
/// Reads the window of a convolution, whose kernel size is that of the weights [M, C, k..].
std::optional<Window> readConvWindow(OnnxNode &node, mlir::Value x, mlir::Value w);

/// Emit the ops of a Gemm or Conv node and return their result, or null after a call of `refuse`.
mlir::Value importGemm(OnnxNode &node);
mlir::Value importConv(OnnxNode &node);

/// Emits a matmul of a and b by the rules of NumPy, also for vectors. Returns null if the operands
/// do not match.
mlir::Value composeMatMul(Composer &c, mlir::Value a, mlir::Value b);
/// Emits the convolution of x with the weights w. Emits its padding first, as a separate op that
/// fills with the scalar `padding` or with zeros.
mlir::Value composeConv(Composer &c, mlir::Value x, mlir::Value w, const Window &window, int64_t groups,
                        mlir::Value padding = {});
/// Rewrites a depthwise convolution with a channel multiplier (several output channels per group)
/// to one with a single output channel per group: repeats each channel of the input, before
/// padding, once for each of its output channels. Returns null if `op` is not such a convolution.
mlir::Value expandChannelMultiplier(Composer &c, ContractOpInterface op);
/// Adds `bias` to x along dim 1, the channels. Returns x if `bias` is null.
mlir::Value addChannelBias(Composer &c, mlir::Value x, mlir::Value bias);

} // namespace hewn::graph

#endif
