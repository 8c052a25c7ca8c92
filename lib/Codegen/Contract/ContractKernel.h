// SPDX-License-Identifier: Apache-2.0
//
// A kernel of one contraction while code is made for it: what the phases of that share.
//
//   TileLoops.h           which tiles there are, and which code each of them gets
//   Sums/VectorSums.h     a tile's sums of products, in vector registers
//   Sums/MatrixSums.h     the same by a matrix unit
//   Sums/CodedSums.h      the same where weights come in few bits and are decoded
//   Sums/LimbSums.h       the same where they are multiplied as the integers that they are
//   TileEpilogue.h        what is done with the sums
//
// Phases hand each other a Tile and its sums. None keeps anything from one tile to the next.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTKERNEL_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTKERNEL_H

#include "lib/Codegen/Contract/ContractForm.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// A point of the contraction's iteration space, an index for each of its dims.
using Point = llvm::SmallVector<graph::Index>;

/// The columns of a panel: vectors, and which lanes of each exist (null: all).
struct Panel {
  int64_t vectors = 1;
  llvm::SmallVector<mlir::Value> masks;
};

/// Some rows of a panel: as many accumulators as these have vectors.
struct Tile {
  Panel panel;
  /// Where its first row and column are; summed dims are 0.
  Point at;
  /// From the first row to each row. Those past the end of the result repeat its last one, and are not stored.
  llvm::SmallVector<graph::Index> rows;
  /// For each place in the clipped window the rows that are inside the source; empty: all, everywhere.
  llvm::SmallVector<llvm::SmallVector<bool>> inside;
  /// How many rows exist, where those may be fewer.
  std::optional<graph::Index> rest;
  /// Where only a run tells which rows are inside: what those that are not read (ContractKernel::lineOfZeros). Null where they read nothing.
  mlir::Value zeros;
};

/// A loop over the sum: its steps, and elements between two of them in the operands.
struct SumLoop {
  graph::DimExpr extent, left, right;
};

struct ContractKernel {
  KernelFunction &k;
  mlir::OpBuilder &b;
  KernelElements &e;
  ContractForm form;
  plan::ContractAttr schedule;
  graph::ContractOpInterface op;
  graph::DimExpr columns;

  ContractKernel(KernelFunction &k, mlir::OpBuilder &b, KernelElements &e, ContractForm given,
                 plan::ContractAttr schedule)
      : k(k), b(b), e(e), form(std::move(given)), schedule(schedule), op(form.op),
        columns(form.extents[form.roles.column]) {}

  mlir::Location loc() const { return k.loc(); }
  int64_t tileRows() const { return schedule.getM(); }
  int64_t tileColumns() const { return schedule.getN(); }
  /// A vector of sums.
  mlir::VectorType sumType() const;
  graph::Dims extentsOf(llvm::ArrayRef<unsigned> dims) const;
  /// The first point of all.
  Point origin() const { return Point(form.extents.size(), e.constant(0)); }
  /// The tile's first row; 0 where rows are none of its dims.
  graph::Index firstRow(llvm::ArrayRef<graph::Index> at) const { return form.tiled ? at[*form.tiled] : e.constant(0); }

  /// Whether the right operand lies in panels.
  bool packed() const { return form.rhs.blockDim >= 0; }
  /// From the tile's first column to vector `j` in the right operand, or what lies as it does: the vectors of a tile may lie in
  /// several panels.
  graph::Index rightDistance(const Buffer &buffer, int64_t j) const;
  graph::Index rightDistance(int64_t j) const { return rightDistance(form.rhs, j); }
  /// The offset in `buffer` at `at`.
  graph::Index offset(const Buffer &buffer, mlir::AffineMap map, llvm::ArrayRef<graph::Index> at,
                      llvm::ArrayRef<graph::Clip> clips = {}) const;
  /// A buffer like `memref` from an offset on, so that inner loops add one index to a fixed pointer.
  mlir::Value from(const Buffer &buffer, mlir::Value memref, graph::Index start) const;
  mlir::Value from(const Buffer &buffer, graph::Index start) const { return from(buffer, buffer.memref, start); }
  /// From row `base` of a tile to each of its rows in the left operand.
  llvm::SmallVector<graph::Index> rowDistances(llvm::ArrayRef<graph::Index> rows, int64_t base) const;
  /// The summed dims that no clip has, outermost first in the right operand's memory; neighbours that lie alike in both
  /// are one. A step along the grouped dim is `step` elements.
  llvm::SmallVector<SumLoop> sumLoops(int64_t step) const;

  /// The left operand's element, or group of them, in every lane.
  mlir::Value splatScalar(mlir::Value left, graph::Index position, mlir::VectorType type) const;
  /// sum + x * y, lane by lane.
  mlir::Value product(mlir::Value x, mlir::Value y, mlir::Value sum) const;
  /// Asks for the line of `memref` at `place`, which is read once and soon.
  void prefetch(mlir::Value memref, graph::Index place) const;
  /// On the stack, what the left operand would have at a row outside of its source: as many zeros as a row's sums reach over.
  mlir::Value lineOfZeros() const;
  /// Memory for so many sums, on the stack.
  mlir::Value stackFor(int64_t count) const;
};

} // namespace hewn::codegen

#endif
