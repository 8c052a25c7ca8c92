// SPDX-License-Identifier: Apache-2.0
//
// Winograd convolution for 3x3 filters (Lavin and Gray 2015, "Fast Algorithms for Convolutional
// Neural Networks"). Y = A' [(G g G') . (B' d B)] A computes a tile of results from a tile d of the
// input, with one multiplication for each element of d. A direct convolution needs nine
// multiplications for each result. F(2 x 2, 3 x 3) needs fewer by a factor of 2.25, F(4 x 4, 3 x 3)
// by a factor of 4.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_WINOGRAD_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_WINOGRAD_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// The transform matrices of F(tile, 3), row-major. `tile` results are computed from `size` = tile
/// + 2 input elements.
struct Winograd {
  int64_t tile, size;
  llvm::ArrayRef<double> input;  // transform of an input tile, B': size x size
  llvm::ArrayRef<double> filter; // transform of a filter, G: size x 3
  llvm::ArrayRef<double> output; // transform to the results, A': tile x size
  static constexpr int64_t window = 3;
};

/// Returns the Winograd transform matrices for a tile of 2 or 4 results per dim, or null for any
/// other tile.
const Winograd *winograd(int64_t tile);

/// The dims of a contraction with a 3 x 3 window of stride 1 over two dims of its left operand.
struct WinogradDims {
  /// For each of the two window dims of a contraction: the iteration dims of the result row
  /// (`rows`) and of the window offset (`places`), the dim of the left operand that is indexed by
  /// their sum (`left`), and the dim of the right operand that is indexed by the offset (`right`).
  unsigned rows[2], places[2], left[2], right[2];
  /// The iteration dim of the input channels, over which the contraction sums.
  unsigned channels;
};

/// Returns the window and channel dims of a contraction that can be computed by the Winograd
/// algorithm, else nullopt. Conditions: one group, a 3 x 3 window without stride or dilation, a
/// channel dim longer than 1, and float32 data with float32 or float16 weights.
std::optional<WinogradDims> winogradDims(ContractOpInterface op);

/// Returns the tile size of the Winograd transform that the layout of a tensor type states, or 0 if
/// the layout has none.
int64_t winogradTile(mlir::Type type);

} // namespace hewn::graph

#endif
