// SPDX-License-Identifier: Apache-2.0
//
// A factor of a chain's product (q, k or v of attention), some lines at a time in shared memory: a line is a row of scores (q) or a
// column (k, v), in it is what is summed (q, k) or what the result has (v). Lines are padded so that the lanes of a warp, which
// read eight lines by four elements or four lines by eight, meet different banks. Narrow floats that are factors as they are lie there as
// they are, and are read as matrices of eight lines of eight.
#ifndef HEWN_LIB_CODEGEN_GRID_CHAIN_GRIDLINES_H
#define HEWN_LIB_CODEGEN_GRID_CHAIN_GRIDLINES_H

#include "dialects/Graph/Contract/Chain.h"
#include "lib/Codegen/Grid/Grid.h"
#include "mlir/IR/AffineMap.h"

namespace hewn::codegen {

/// A product of a chain: rows of the left factor times columns of the right one, in batches.
struct ChainProduct {
  explicit ChainProduct(graph::ContractOpInterface op);

  graph::ContractOpInterface op;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  unsigned summed; // iteration dim

  /// The extents of the sum and of the result's last dim.
  const graph::DimExpr &depth() const { return extents[summed]; }
  /// Where operand `operand` is read for a place of the result and of the sum.
  llvm::SmallVector<graph::Index> place(KernelElements &e, unsigned operand, llvm::ArrayRef<graph::Index> result,
                                        graph::Index inSum) const;
};

class GridLines {
public:
  /// What a line is: a row of the left factor, or of the right one a column or a place of the sum.
  enum class Line { Row, Column, Summed };
  /// `extent`: elements of a line; `room`: lines in shared memory, a multiple of 16; `factors`: float32, or a narrow float.
  GridLines(KernelFunction &k, KernelElements &e, Grid &grid, const ChainProduct &product, Line line,
            const graph::DimExpr &lines, int64_t extent, int64_t room, mlir::Type factors);

  /// Sends `room` lines from `first` on, a multiple of `room`, of batch `batch`, on their way; zeros beyond the ends. Returns what is not copied but
  /// loaded or computed, for `put`, which may come later.
  llvm::SmallVector<mlir::Value> bring(llvm::ArrayRef<graph::Index> batch, graph::Index first);
  void put(llvm::ArrayRef<mlir::Value> values);
  /// An element as float32, of float32s.
  mlir::Value at(graph::Index line, graph::Index inner);
  /// Four matrices of eight lines by eight elements, of narrow floats, spread over a warp, `turned` or not (Grid::ldmatrix): two by two
  /// from `line` + `further` and `inner` on; the second one has the next lines, or is next along them.
  enum class Order { LinesFirst, AlongFirst };
  llvm::SmallVector<mlir::Value> matrices(graph::Index line, int64_t further, int64_t inner, Order order,
                                          bool turned = false);
  /// Whether elements have no more bits than a factor of the matrix instruction.
  bool isWhole() const;

private:
  KernelFunction &k;
  KernelElements &e;
  Grid &grid;
  const ChainProduct &product;
  Line kind;
  graph::DimExpr lines;
  int64_t extent, room, padded;
  mlir::Type factors;
  /// Elements that a thread brings at once: by copies, or, of narrower floats, by loads; else one, which is computed.
  int64_t each = 1;
  enum class How { Copied, Loaded, Computed } how = How::Computed;
  /// Whether neighbouring threads bring neighbouring lines.
  bool linesFirst = false;
  unsigned innerDim = 0; // of the operand, where it is loaded
  mlir::Value memory;

  bool isNarrow() const { return !factors.isF32(); }
  int64_t elementBytes() const { return isNarrow() ? 2 : 4; }
  int64_t step() const { return padded + 16 / elementBytes(); }
  mlir::Value operand() const;
  llvm::SmallVector<graph::Index> placeOf(llvm::ArrayRef<graph::Index> batch, graph::Index line, graph::Index inner);
  void chooseHow();

  /// What a thread brings: where it is, where it goes, whether the operand has it, whether the thread does (null: it does).
  struct Chunk {
    graph::Index line, inner, to;
    mlir::Value inside, has;
  };
  int64_t chunks() const { return room * (padded / each); }
  Chunk chunkAt(int64_t part, graph::Index first);
  /// Whether there is line `first` + `inRoom`; `fixed` of `inRoom` is known now, the rest is the thread's.
  mlir::Value hasLine(graph::Index first, graph::Index inRoom, int64_t fixed);
  void where(mlir::Value has, llvm::function_ref<void()> body);
  mlir::Value load(const Chunk &chunk, llvm::ArrayRef<graph::Index> from);
};

} // namespace hewn::codegen

#endif
