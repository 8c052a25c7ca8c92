// SPDX-License-Identifier: Apache-2.0
//
// A factor of a chain's product (q, k or v of attention), some lines at a time in shared memory: a line is a row of scores (q) or a
// column (k, v), in it is what is summed (q, k) or what the result has (v). Lines are padded so that the lanes of a warp, which
// read eight lines by four elements or four lines by eight, meet different banks.
#ifndef HEWN_LIB_CODEGEN_GRID_GRIDLINES_H
#define HEWN_LIB_CODEGEN_GRID_GRIDLINES_H

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
  /// `extent`: elements of a line; `room`: lines in shared memory.
  GridLines(KernelFunction &k, KernelElements &e, Grid &grid, const ChainProduct &product, Line line,
            const graph::DimExpr &lines, int64_t extent, int64_t room);

  /// Sends `room` lines from `first` on, of batch `batch`, on their way; zeros beyond the ends.
  void bring(llvm::ArrayRef<graph::Index> batch, graph::Index first);
  mlir::Value at(graph::Index line, graph::Index inner);

private:
  KernelFunction &k;
  KernelElements &e;
  Grid &grid;
  const ChainProduct &product;
  Line kind;
  graph::DimExpr lines;
  int64_t extent, room, padded;
  /// Elements that are copied at once; 0: they are computed. Whether neighbouring threads bring neighbouring lines.
  int64_t each = 0;
  bool linesFirst = false;
  mlir::Value memory;

  int64_t step() const { return padded + 4; }
  mlir::Value operand() const;
  llvm::SmallVector<graph::Index> placeOf(llvm::ArrayRef<graph::Index> batch, graph::Index line, graph::Index inner);
  void chooseCopies();
};

} // namespace hewn::codegen

#endif
