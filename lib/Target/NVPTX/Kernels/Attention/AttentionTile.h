// SPDX-License-Identifier: Apache-2.0
//
// Stages q, k and v of fused attention in shared memory, a tile of rows at a time.
//
// For q, a row of the tile (`line`) is a row of the scores; for k and v, it is a column of the
// scores. The elements of a row are along the K dimension of the first GEMM (q, k) or along the
// columns of the attention result (v). Rows are padded, so that the lanes of a warp, which read 8
// rows by 4 elements or 4 rows by 8 elements, access different banks. 16-bit floats that the MMA
// multiplies without conversion are copied unchanged and loaded as 8x8 matrices.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_ATTENTIONTILE_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_ATTENTIONTILE_H

#include "dialects/Graph/Contract/FusedAttention.h"
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "mlir/IR/AffineMap.h"

namespace hewn::codegen {

/// One of the two GEMMs of attention, with batch dims, rows (left operand) and columns (right
/// operand).
struct AttentionGemm {
  explicit AttentionGemm(graph::ContractOpInterface op);

  graph::ContractOpInterface op;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  unsigned summed; // number of the reduction dim

  /// Returns the extent of the reduction dim.
  const graph::DimExpr &depth() const { return extents[summed]; }
  /// Returns the index at which operand `operand` is read to compute the result element `result` at
  /// the index `inSum` along K.
  llvm::SmallVector<graph::Index> place(ElementEmitter &e, unsigned operand, llvm::ArrayRef<graph::Index> result,
                                        graph::Index inSum) const;
};

class AttentionTile {
public:
  /// Meaning of a row of the tile: a row of the left operand (Row), a column of the right operand
  /// (Column), or an index along K of the right operand (Summed).
  enum class Line { Row, Column, Summed };
  /// `lines` is the number of rows in total, `extent` the number of elements of a row, `room` the
  /// number of rows in shared memory (a multiple of 16), and `factors` the MMA operand type:
  /// float32 or a 16-bit float.
  AttentionTile(KernelContext &k, ElementEmitter &e, GpuBuilder &gpu, const AttentionGemm &product, Line line,
                const graph::DimExpr &lines, int64_t extent, int64_t room, mlir::Type factors);

  /// Starts the copy of a tile: `room` rows of batch element `batch` from row `first` on, a
  /// multiple of `room`. Elements out of range become zero. Operands that cannot be copied
  /// asynchronously are loaded or computed: their elements are returned, and the caller passes them
  /// to `put`, which stores them to the tile.
  llvm::SmallVector<mlir::Value> bring(llvm::ArrayRef<graph::Index> batch, graph::Index first);
  void put(llvm::ArrayRef<mlir::Value> values);
  /// Returns the float32 element `inner` of row `line` of the tile.
  mlir::Value at(graph::Index line, graph::Index inner);
  /// Loads four 8x8 matrices of 16-bit floats into the registers of a warp, transposed if `turned`
  /// is true (GpuBuilder::ldmatrix). The matrices are a 2x2 arrangement that begins at row `line` +
  /// `further` and element `inner`. `order` selects whether the second matrix has the next rows
  /// (LinesFirst) or the next elements of the same rows (AlongFirst).
  enum class Order { LinesFirst, AlongFirst };
  llvm::SmallVector<mlir::Value> matrices(graph::Index line, int64_t further, int64_t inner, Order order,
                                          bool turned = false);
  /// Returns true if the MMA operand type represents the attention operand's elements exactly.
  bool isWhole() const;

private:
  KernelContext &k;
  ElementEmitter &e;
  GpuBuilder &gpu;
  const AttentionGemm &product;
  Line kind;
  graph::DimExpr lines;
  int64_t extent, room, padded;
  mlir::Type factors;
  /// Number of contiguous elements per asynchronous copy (Copied) or per vector load (Loaded, for
  /// 16-bit floats that are extended to float32). 1 if elements are computed.
  int64_t each = 1;
  enum class How { Copied, Loaded, Computed } how = How::Computed;
  /// True if consecutive threads stage consecutive rows.
  bool linesFirst = false;
  unsigned innerDim = 0; // contiguous dim of the operand
  mlir::Value memory;

  bool isNarrow() const { return !factors.isF32(); }
  int64_t elementBytes() const { return isNarrow() ? 2 : 4; }
  int64_t step() const { return padded + 16 / elementBytes(); }
  mlir::Value operand() const;
  llvm::SmallVector<graph::Index> placeOf(llvm::ArrayRef<graph::Index> batch, graph::Index line, graph::Index inner);
  void chooseHow();

  /// A chunk of `each` elements that a thread stages: its row, its first element and its offset in
  /// shared memory. `inside` is true if the chunk is in range, `has` if this thread has the chunk
  /// (null if every thread has one).
  struct Chunk {
    graph::Index line, inner, to;
    mlir::Value inside, has;
  };
  int64_t chunks() const { return room * (padded / each); }
  Chunk chunkAt(int64_t part, graph::Index first);
  /// Returns a condition that is true if the row `first` + `inRoom` exists. `fixed` is the constant
  /// summand of `inRoom`.
  mlir::Value hasLine(graph::Index first, graph::Index inRoom, int64_t fixed);
  void where(mlir::Value has, llvm::function_ref<void()> body);
  mlir::Value load(const Chunk &chunk, llvm::ArrayRef<graph::Index> from);
};

} // namespace hewn::codegen

#endif
