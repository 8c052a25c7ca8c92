// SPDX-License-Identifier: Apache-2.0
//
// What the forms of a contraction on a grid share: indices of its four lists of dims, and what becomes of a finished sum.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDCONTRACTION_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDCONTRACTION_H

#include "lib/Codegen/Grid/Contract/GridTiles.h"
#include "lib/Codegen/Grid/Grid.h"

namespace hewn::codegen {

class GridContraction {
public:
  GridContraction(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles, int64_t threads);

  mlir::Location loc() { return k.loc(); }
  /// Sets the iteration dims of `list` to the place `linear`, counted over them as one.
  void set(llvm::ArrayRef<unsigned> list, graph::Index linear);
  /// An operand's element at the current iteration, by `elements` (which may run over lanes).
  mlir::Value readOperand(KernelElements &elements, unsigned operand);
  /// All that the kernel makes of `sum`, or where it is a part of one that part, where row and column exist.
  void store(mlir::Value sum, graph::Index row, graph::Index column);
  /// Whether two neighbouring columns, the first an even one, are neighbours in all that the kernel writes and, at a multiple of
  /// their size, in all that it reads for that.
  bool storesPairs();
  /// The same for a vector of such a pair.
  void storePair(mlir::Value sums, graph::Index row, graph::Index column);

  KernelFunction &k;
  mlir::OpBuilder &b;
  const GridTiles &tiles;
  graph::ContractOpInterface op;
  KernelElements e;
  Grid grid;
  llvm::SmallVector<graph::Index> iteration;
  /// Of `tiles.parts`, the one that is made.
  graph::Index part;
  graph::DimExpr rows, columns, depth, batch;

private:
  void storeBy(KernelElements &elements, mlir::Value sum, graph::Index row, graph::Index column);
};

} // namespace hewn::codegen

#endif
