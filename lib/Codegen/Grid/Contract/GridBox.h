// SPDX-License-Identifier: Apache-2.0
//
// Operands of contractions of which whole boxes can be fetched (Grid::fetch): tensors of two or three dims whose innermost one is
// contiguous. The machine then finds the elements itself, and no thread computes an address.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDBOX_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDBOX_H

#include "lib/Codegen/Grid/Contract/GridTiles.h"

namespace hewn::codegen {

/// Operand `operand` of a contraction as such a tensor: what lies innermost, the other of sum and places, batches if there are any.
/// Or, where its places are in blocks: places of a block, the sum, blocks.
struct GridBox {
  /// Of the kernel's function, the argument that is its memory.
  unsigned argument;
  /// Elements along each dim, and from one to the next.
  graph::Dims extents, strides;
  /// Places of a block; 0: there are none.
  int64_t block = 0;
};

/// Or why there is none: the operand is computed, has a border, is not made of `staged` elements, or its dims do not follow each other as
/// those of two or three do.
Found<GridBox> gridBox(KernelFunction &k, const GridTiles &tiles, unsigned operand, mlir::Type staged);

/// Both operands of a contraction by matrix instructions as such tensors, or why one is none.
Found<std::pair<GridBox, GridBox>> gridBoxes(KernelFunction &k, const GridTiles &tiles);

/// A new argument of the kernel, for boxes of `sizes` elements of `bytes`; `rounds`: float32s come as factors of products.
mlir::Value addBox(KernelFunction &k, const GridBox &box, int64_t bytes, bool rounds, llvm::ArrayRef<int64_t> sizes);

} // namespace hewn::codegen

#endif
