// SPDX-License-Identifier: Apache-2.0
//
// State that the emitters of a contraction kernel share.
//
//   TileLoops.h             loops over tiles, and the code variant of each tile
//   Sums/VectorSums.h       accumulators of a tile, in vector registers
//   Sums/MatrixSums.h       accumulators of a tile, on a matrix unit
//   Sums/DequantizingMma.h  float FMA with low-bit weights dequantized in the kernel
//   Sums/Int8SliceMma.h     integer multiply-add with low-bit weights
//   TileEpilogue.h          epilogue on the accumulators, stores
//
// The emitters pass a Tile and its accumulators to each other. None keeps state between tiles.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTKERNEL_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTKERNEL_H

#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/Contract/ContractForm.h"
#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// A point of the contraction's iteration space: one index per dim.
using Point = llvm::SmallVector<graph::Index>;

/// The columns of a tile: the number of column vectors, and the mask of valid lanes of each vector
/// (null if all lanes are valid).
struct Panel {
  int64_t vectors = 1;
  llvm::SmallVector<mlir::Value> masks;
};

/// A tile of a contraction's result: some rows by the columns of a panel, with one accumulator per
/// row and column vector.
struct Tile {
  Panel panel;
  /// The iteration point of the tile's first row and column. The indices of reduction dims are 0.
  Point at;
  /// Distance of each row of the tile from its first row. If the tile extends past the end of the
  /// result, the rows past the end repeat the last row, and their results are not stored.
  llvm::SmallVector<graph::Index> rows;
  /// `inside[w][r]` is true if row r is inside of the input at offset w of the window along the
  /// tiled row dim. Empty if all rows are inside at all offsets.
  llvm::SmallVector<llvm::SmallVector<bool>> inside;
  /// Number of valid rows, if it may be less than the size of `rows`.
  std::optional<graph::Index> rest;
  /// A row of zeros in memory (ContractKernel::lineOfZeros). If the code determines at run time
  /// which rows are inside of the input, rows outside of it read this row. Null if rows outside are
  /// skipped.
  mlir::Value zeros;
};

/// A loop over a reduction dim: the number of iterations, and the distance in elements between
/// consecutive iterations in the left and the right operand.
struct SumLoop {
  graph::DimExpr extent, left, right;
};

struct ContractKernel {
  KernelContext &k;
  mlir::OpBuilder &b;
  ElementEmitter &e;
  ContractForm form;
  plan::ContractAttr schedule;
  graph::ContractOpInterface op;
  graph::DimExpr columns;

  ContractKernel(KernelContext &k, mlir::OpBuilder &b, ElementEmitter &e, ContractForm given,
                 plan::ContractAttr schedule)
      : k(k), b(b), e(e), form(std::move(given)), schedule(schedule), op(form.op),
        columns(form.extents[form.roles.column]) {}

  mlir::Location loc() const { return k.loc(); }
  int64_t tileRows() const { return schedule.getM(); }
  int64_t tileColumns() const { return schedule.getN(); }
  /// Returns the type of a contraction's accumulator.
  mlir::VectorType sumType() const;
  /// Returns the summation of `count` accumulators.
  BlockedSum blockedSum(size_t count) const;
  graph::Dims extentsOf(llvm::ArrayRef<unsigned> dims) const;
  /// Returns the iteration point with all indices 0.
  Point origin() const { return Point(form.extents.size(), e.constant(0)); }
  /// Returns the index of the tile's first row, given its iteration point `at`. Returns 0 if no row
  /// dim is tiled.
  graph::Index firstRow(llvm::ArrayRef<graph::Index> at) const { return form.tiled ? at[*form.tiled] : e.constant(0); }

  /// Returns true if the right operand is packed in panels.
  bool packed() const { return form.rhs.blockDim >= 0; }
  /// Returns the distance in `buffer` from the tile's first column to the tile's column vector `j`.
  /// `buffer` is the right operand, or has the same panels. A tile's vectors may be in several
  /// panels.
  graph::Index rightDistance(const Buffer &buffer, int64_t j) const;
  graph::Index rightDistance(int64_t j) const { return rightDistance(form.rhs, j); }
  /// Returns the offset in `buffer` of the element that the iteration `at` accesses.
  graph::Index offset(const Buffer &buffer, mlir::AffineMap map, llvm::ArrayRef<graph::Index> at,
                      llvm::ArrayRef<graph::Clip> clips = {}) const;
  /// Returns a view of `memref` that begins at offset `start`. Inner loops then add one index to a
  /// loop-invariant pointer.
  mlir::Value from(const Buffer &buffer, mlir::Value memref, graph::Index start) const;
  mlir::Value from(const Buffer &buffer, graph::Index start) const { return from(buffer, buffer.memref, start); }
  /// Returns, for each of the tile's rows, its distance in the left operand from row `base`.
  llvm::SmallVector<graph::Index> rowDistances(llvm::ArrayRef<graph::Index> rows, int64_t base) const;
  /// Returns the loops over the reduction dims without folded padding, outermost first, in the
  /// memory order of the right operand. Adjacent dims that are contiguous in both operands are
  /// collapsed. An iteration along the grouped dim (ContractForm::grouped) advances by `step`
  /// elements.
  llvm::SmallVector<SumLoop> sumLoops(int64_t step) const;

  /// Broadcasts an element of the left operand, or a group of elements for dot-product
  /// instructions, to all lanes.
  mlir::Value splatScalar(mlir::Value left, graph::Index position, mlir::VectorType type) const;
  /// Returns sum + x * y for each lane, by an FMA or by the dot-product instruction `form.dot`.
  mlir::Value product(mlir::Value x, mlir::Value y, mlir::Value sum) const;
  /// Emits a software prefetch of the cache line at index `place` of `memref`. The prefetch states
  /// that the line is read soon and only once.
  void prefetch(mlir::Value memref, graph::Index place) const;
  /// Allocates a row of zeros on the stack, which is read in place of rows outside of the input.
  /// The row is as long as the range of the left operand that the reduction loops without folded
  /// padding read.
  mlir::Value lineOfZeros() const;
  /// Emits the allocation of stack memory for `count` accumulator elements.
  mlir::Value stackFor(int64_t count) const;
};

} // namespace hewn::codegen

#endif
