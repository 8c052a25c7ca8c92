// SPDX-License-Identifier: Apache-2.0
//
// Emits the loops over the tiles of a contraction's result. Separate code is emitted for full
// panels and a last panel with fewer columns, for full tiles and tiles with fewer rows, and for
// windows that reach into the zero padding and windows inside of the input.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_TILELOOPS_H
#define HEWN_LIB_CODEGEN_CONTRACT_TILELOOPS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Calls `body` with the columns and the first column of panel `panel`. `body` emits code once for
/// full panels and once for a last panel with fewer columns.
void withPanel(const ContractKernel &c, graph::Index panel,
               llvm::function_ref<void(const Panel &, graph::Index firstColumn)> body);

class TileLoops {
public:
  explicit TileLoops(const ContractKernel &c) : c(c), e(c.e), variants(rowVariants()) {
    if (c.form.clipsWhenRun() && !c.form.roles.columnInLeft)
      zeros = c.lineOfZeros();
  }

  /// Emits all tiles of the contraction's result, as the kernel's tasks.
  void run();
  /// Emits the loops over all tiles of a panel.
  void overAllRows(graph::Index panel);

private:
  /// A range of tiles with the same code: the tiles [first, last] along the tiled row dim. Each
  /// tile has `rows` rows. `inside[w][r]` is true if row r is inside of the input at offset w of
  /// the window; `inside` is empty if all rows are inside at all offsets.
  struct Variant {
    int64_t first = 0, last = 0, rows = 1;
    llvm::SmallVector<llvm::SmallVector<bool>> inside;
    bool sameCode(const Variant &other) const { return rows == other.rows && inside == other.inside; }
  };

  /// Returns the code variants of tiles along the tiled row dim, in order. Returns an empty list if
  /// the bounds of the folded padding are dynamic.
  llvm::SmallVector<Variant> rowVariants() const;
  /// Returns, for a tile of `rows` rows that begins at row `firstRow`, which rows are inside of the
  /// input at each window offset (Variant::inside).
  llvm::SmallVector<llvm::SmallVector<bool>> insideOf(int64_t firstRow, int64_t rows) const;

  /// Emits row tile number `tile` of panel `panel`. `at` has the indices of the dims that are not
  /// tiled.
  void overPanel(const Point &at, graph::Index panel, graph::Index tile);
  void overRows(const Tile &in, graph::Index tile);
  /// Emits a tile on the matrix unit. The last tile begins early enough to be full, and does not
  /// store the rows that the tile before it has computed. If the number of rows is dynamic and less
  /// than that of a tile at run time, vector code runs instead.
  void overMatrixRows(const Tile &in, graph::Index tile);
  /// Emits code for a tile with a dynamic number of valid rows, `rest`, which is at most `maxRows`.
  /// There are variants for a full tile, for a single row (most models run with a batch of one),
  /// and for other numbers, which repeat the last row up to half a tile or a full tile.
  void unknownRows(const Tile &in, graph::Index first, graph::Index rest, int64_t maxRows);
  /// Emits code for a tile with `rest` valid rows if the rows inside of the input are known only at
  /// run time. All tiles share this code.
  void clippedRows(const Tile &in, graph::Index first, graph::Index rest);
  /// Emits a chain of branches that selects the variant that contains `tile`. The variant with the
  /// most tiles is last, which needs no comparison.
  void choose(llvm::ArrayRef<Variant> variants, const Tile &in, graph::Index tile);
  /// Emits a tile of `variant.rows` rows starting at `firstRow`. If `rest` is given, only so many
  /// of the rows are valid.
  void emitTile(Tile tile, const Variant &variant, graph::Index firstRow, std::optional<graph::Index> rest);

  const ContractKernel &c;
  ElementEmitter &e;
  llvm::SmallVector<Variant> variants;
  mlir::Value zeros;
};

} // namespace hewn::codegen

#endif
