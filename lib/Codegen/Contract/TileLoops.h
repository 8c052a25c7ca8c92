// SPDX-License-Identifier: Apache-2.0
//
// Which tiles a contraction's result is made of, and which code each of them gets: whole panels and a shorter last one, full tiles and
// those with fewer rows, those of a window at a border and those inside.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_TILELOOPS_H
#define HEWN_LIB_CODEGEN_CONTRACT_TILELOOPS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// `body` gets the columns of a panel and the first of them: once for whole panels, and once for a last one that is shorter.
void withPanel(const ContractKernel &c, graph::Index panel,
               llvm::function_ref<void(const Panel &, graph::Index firstColumn)> body);

class TileLoops {
public:
  explicit TileLoops(const ContractKernel &c) : c(c), e(c.e), variants(rowVariants()) {
    if (c.form.clipsWhenRun() && !c.form.roles.columnInLeft)
      zeros = c.lineOfZeros();
  }

  /// All tiles, as the kernel's tasks.
  void run();
  /// Those of a panel, in loops.
  void overAllRows(graph::Index panel);

private:
  /// Tiles [first, last] along the tiled row that are the same code: `rows` of them, and for each place in the clipped window the
  /// rows that are inside the source (empty: all, everywhere).
  struct Variant {
    int64_t first = 0, last = 0, rows = 1;
    llvm::SmallVector<llvm::SmallVector<bool>> inside;
    bool sameCode(const Variant &other) const { return rows == other.rows && inside == other.inside; }
  };

  /// The kinds of tile along the tiled row, in order; empty where a run tells them.
  llvm::SmallVector<Variant> rowVariants() const;
  /// For each place in the tile's window the rows inside of the source; empty: all.
  llvm::SmallVector<llvm::SmallVector<bool>> insideOf(int64_t firstRow, int64_t rows) const;

  /// Tile number `tile` of a panel; `at`: the dims that are no tile's.
  void overPanel(const Point &at, graph::Index panel, graph::Index tile);
  void overRows(const Tile &in, graph::Index tile);
  /// Whole tiles of a matrix unit: the last one starts early enough to be whole, and stores what is new. Where there are not
  /// enough rows for one, which is known only when run, vectors do it.
  void overMatrixRows(const Tile &in, graph::Index tile);
  /// As many rows as there are, up to `maxRows`: a full tile, one row (a batch of one is what most models run on), or half a
  /// tile or a whole one that repeats its last row.
  void unknownRows(const Tile &in, graph::Index first, graph::Index rest, int64_t maxRows);
  /// The same where a run tells which of them are inside of the source: one code for all tiles.
  void clippedRows(const Tile &in, graph::Index first, graph::Index rest);
  /// The code of the variant that `tile` falls into: the longest run last, without a test of its own.
  void choose(llvm::ArrayRef<Variant> variants, const Tile &in, graph::Index tile);
  /// `variant.rows` rows from `firstRow` on; `rest`, where given, is how many of them exist.
  void emitTile(Tile tile, const Variant &variant, graph::Index firstRow, std::optional<graph::Index> rest);

  const ContractKernel &c;
  KernelElements &e;
  llvm::SmallVector<Variant> variants;
  mlir::Value zeros;
};

} // namespace hewn::codegen

#endif
