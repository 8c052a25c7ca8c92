// SPDX-License-Identifier: Apache-2.0
//
// What importing products and pooling share.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACT_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACT_H

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// A sliding window over the spatial dims, as ONNX's attributes say it.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations;
  Dims low, high;    // padding
  bool same = false; // by auto_pad SAME_*
};

/// Reads strides, dilations, pads and auto_pad for spatial dims of these extents; nullopt after `refuse`.
std::optional<Window> readWindow(OnnxNode &node, llvm::ArrayRef<DimExpr> extents, llvm::ArrayRef<int64_t> kernel);
/// The same with the kernel taken from weights [M, C, k..].
std::optional<Window> readConvWindow(OnnxNode &node, mlir::Value x, mlir::Value w);

/// What a Gemm or a Conv node gives; null after `refuse`.
mlir::Value importGemm(OnnxNode &node);
mlir::Value importConv(OnnxNode &node);

/// numpy's matmul, vectors included; null where it can't be.
mlir::Value composeMatMul(Composer &c, mlir::Value a, mlir::Value b);
/// Pads (with `padding`, a scalar, or zero) and convolves.
mlir::Value composeConv(Composer &c, mlir::Value x, mlir::Value w, const Window &window, int64_t groups,
                        mlir::Value padding = {});
/// The same sums as a convolution in groups of one channel and several columns gives, of channels that are repeated before any border, one for
/// each column; null where the contraction is no such convolution.
mlir::Value repeatChannels(Composer &c, ContractOpInterface op);
/// x + bias along dim 1; x where there is no bias.
mlir::Value addChannelBias(Composer &c, mlir::Value x, mlir::Value bias);

} // namespace hewn::graph

#endif
