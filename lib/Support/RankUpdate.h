// SPDX-License-Identifier: Apache-2.0
//
// Symmetric rank-k update (BLAS syrk): adds x xᵀ to a matrix for each row x of a panel. Calibration
// uses it for second moments at compile time.
#ifndef HEWN_LIB_SUPPORT_RANKUPDATE_H
#define HEWN_LIB_SUPPORT_RANKUPDATE_H

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace hewn {

/// A panel of `count` matrix rows with `size` floats each, for the rank-k update. Each row is
/// padded with zeros, so that vectors of any supported length cover it.
struct RowPanel {
  /// Number of rows in a full panel. The rank-k update writes its accumulators to memory once per
  /// panel.
  static constexpr size_t kRows = 64;
  static constexpr size_t kPadding = 32;
  explicit RowPanel(size_t size)
      : size(size), width((size + kPadding - 1) / kPadding * kPadding), elements(kRows * width) {}
  float *row(size_t r) { return &elements[r * width]; }
  const float *row(size_t r) const { return &elements[r * width]; }

  size_t count = 0, size, width;
  std::vector<float> elements;
};

/// Adds the rank-k update of the panel to the lower triangle of `sums`, a [size, size] matrix.
/// Elements above the diagonal that are in the same register tile change as well.
using RankUpdate = void(const RowPanel &panel, float *sums);

/// Size of a register tile of accumulators: number of rows, and number of vectors in each row.
inline constexpr size_t kUpdateRows = 4, kUpdateVectors = 2;

/// Updates one register tile: the kUpdateRows rows from i on, and the kUpdateVectors vectors of
/// columns from j on. The panel's rows are added in order, with a separate multiplication and
/// addition instead of an FMA, so that the result does not depend on the vector length.
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

/// Performs the rank-k update with vectors of `lanes` floats. The function is always inlined, so
/// that a caller that enables the instructions for such vectors gets code that uses them.
template <size_t lanes> [[gnu::always_inline]] inline void updateByVectors(const RowPanel &panel, float *sums) {
  for (size_t i = 0; i < panel.size; i += kUpdateRows)
    for (size_t j = 0; j < std::min(i + kUpdateRows, panel.size); j += kUpdateVectors * lanes)
      updateTile<lanes>(panel, i, j, sums);
}

} // namespace hewn

#endif
