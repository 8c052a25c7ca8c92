// SPDX-License-Identifier: Apache-2.0
//
// S += Σ x xᵀ over rows x of data: BLAS's symmetric rank-k update, for what compiles look at.
#ifndef HEWN_LIB_SUPPORT_RANKUPDATE_H
#define HEWN_LIB_SUPPORT_RANKUPDATE_H

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace hewn {

/// Some rows of `size` floats, of which there are `count`, each with zeros behind it up to where the longest vectors of a tile end.
struct RowPanel {
  /// Rows that are added before sums go back to memory.
  static constexpr size_t kRows = 64;
  static constexpr size_t kPadding = 32;
  explicit RowPanel(size_t size)
      : size(size), width((size + kPadding - 1) / kPadding * kPadding), elements(kRows * width) {}
  float *row(size_t r) { return &elements[r * width]; }
  const float *row(size_t r) const { return &elements[r * width]; }

  size_t count = 0, size, width;
  std::vector<float> elements;
};

/// Adds to the lower half of `sums`, [size, size], and to what lies beside it in a tile.
using RankUpdate = void(const RowPanel &panel, float *sums);

/// Sums in registers: rows of them, by vectors.
inline constexpr size_t kUpdateRows = 4, kUpdateVectors = 2;

/// Sums i to i + kUpdateRows by j to j + kUpdateVectors vectors'. Each is added to in the order of the rows, and by a product and a sum, so that vectors of any length give
/// the same.
template <size_t lanes>
[[gnu::always_inline]] inline void updateTile(const RowPanel &panel, size_t i, size_t j, float *sums) {
#pragma clang fp contract(off)
  using Lanes = float __attribute__((vector_size(lanes * sizeof(float))));
  constexpr size_t tileRows = kUpdateRows, tileVectors = kUpdateVectors, tileColumns = tileVectors * lanes;
  static_assert(RowPanel::kPadding % tileColumns == 0);
  Lanes tile[tileRows][tileVectors] = {};
  float lines[tileRows][tileColumns] = {};
  size_t rows = std::min(tileRows, panel.size - i), columns = std::min(tileColumns, panel.size - j);
  for (size_t a = 0; a < rows; ++a)
    std::copy_n(sums + (i + a) * panel.size + j, columns, lines[a]);
  std::memcpy(tile, lines, sizeof(tile));
  for (size_t r = 0; r < panel.count; ++r) {
    const float *x = panel.row(r);
    Lanes columnsOfX[tileVectors];
    std::memcpy(columnsOfX, x + j, sizeof(columnsOfX));
    for (size_t a = 0; a < tileRows; ++a)
      for (size_t b = 0; b < tileVectors; ++b)
        tile[a][b] += x[i + a] * columnsOfX[b];
  }
  std::memcpy(lines, tile, sizeof(tile));
  for (size_t a = 0; a < rows; ++a)
    std::copy_n(lines[a], columns, sums + (i + a) * panel.size + j);
}

/// The whole of it by vectors of `lanes` floats, which the function that this is inlined in may have instructions for.
template <size_t lanes> [[gnu::always_inline]] inline void updateByVectors(const RowPanel &panel, float *sums) {
  for (size_t i = 0; i < panel.size; i += kUpdateRows)
    for (size_t j = 0; j < std::min(i + kUpdateRows, panel.size); j += kUpdateVectors * lanes)
      updateTile<lanes>(panel, i, j, sums);
}

} // namespace hewn

#endif
