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

  /// Of which neighbouring columns' elements are loaded and stored as vectors.
  struct Neighbours {
    /// So many, the first one at a multiple of it; 1: none are neighbours.
    int64_t count = 1;
    /// What is read for one of them beside its sum, in bytes.
    int64_t bytesRead = 0;
    /// Whether some of that has as many elements as the result.
    bool readsAsMuch = false;
  };
  /// As many as `most`, or two, a power of two each: these must be neighbours in all that the kernel writes, at a multiple of their size,
  /// and in all that it reads for that. More than two come where elements are narrow: a vector has no more than 16 bytes of a result.
  Neighbours neighbours(int64_t most);
  /// The first of neighbouring columns, in a row.
  struct Place {
    graph::Index row, column;
  };
  /// Whether all rows, all columns of a tile are there.
  struct Whole {
    bool rows, columns;
  };
  /// The same as `store` at each of `places`, of vectors of sums, as `found`: what is read for all of them is under way before `sums` gives
  /// those of a place; if `before` is given, an op of the same block, it is so already there. What does not exist is read where the last
  /// row and column are, and not stored.
  void storeNeighbours(llvm::ArrayRef<Place> places, const Neighbours &found, const Whole &whole,
                       llvm::function_ref<mlir::Value(size_t)> sums, mlir::Operation *before = nullptr);

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
  /// The kernel's values at the current iteration, by `elements`, and where they are written.
  struct Results {
    llvm::SmallVector<graph::Index> at;
    llvm::SmallVector<mlir::Value> values;
  };
  Results results(KernelElements &elements, mlir::Value sum);
  void write(KernelElements &elements, const Results &results);
  /// What elementwise ops read that is no constant.
  llvm::SmallVector<mlir::Value> readBeside();
  /// Says of vectors' loads and stores from `from` on at what multiples they are.
  void align(mlir::Operation *from, int64_t count);
};

} // namespace hewn::codegen

#endif
