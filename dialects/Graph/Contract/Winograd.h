// SPDX-License-Identifier: Apache-2.0
//
// Winograd's minimal filtering of windows of 3 x 3 (Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks"):
// Y = A' [(G g G') . (B' d B)] A makes a tile of results from a tile of the operand with one product an element of the
// operand's tile, where the sum of products takes nine a result: F(2 x 2, 3 x 3) 2.25 times fewer, F(4 x 4, 3 x 3) 4 times.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_WINOGRAD_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_WINOGRAD_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// The matrices of F(tile, 3), row-major. `size` = tile + 2 elements of the operand make `tile` results.
struct Winograd {
  int64_t tile, size;
  llvm::ArrayRef<double> input;  // B': size x size
  llvm::ArrayRef<double> filter; // G: size x 3
  llvm::ArrayRef<double> output; // A': tile x size
  static constexpr int64_t window = 3;
};

/// Those for tiles of 2 or 4; null for others.
const Winograd *winograd(int64_t tile);

/// The dims of a contraction that slides a 3 x 3 window, step by step, over two dims of its left operand.
struct WinogradDims {
  /// Of the iteration: result rows, window places. Of the operands: where both meet in the left, the window's in the right.
  unsigned rows[2], places[2], left[2], right[2];
  /// The summed channels.
  unsigned channels;
};

/// The dims where the contraction of float32, or of float32 with weights of float16, is one that minimal filtering can do: one group, a window of
/// 3 x 3 without steps or gaps, channels summed; nullopt otherwise.
std::optional<WinogradDims> winogradDims(ContractOpInterface op);

/// The tile for which this type's layout has transformed a window; 0 where it has not.
int64_t winogradTile(mlir::Type type);

} // namespace hewn::graph

#endif
