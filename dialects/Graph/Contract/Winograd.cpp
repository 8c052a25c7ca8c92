// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Graph/Contract/ContractRoles.h"

using namespace mlir;

namespace hewn::graph {

// Transform matrices of Winograd's F(2, 3), by the Cook-Toom algorithm with the points 0, 1, -1 and
// infinity.
static constexpr double kInput2[] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
static constexpr double kFilter2[] = {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1};
static constexpr double kOutput2[] = {1, 1, 1, 0, 0, 1, -1, -1};

// Transform matrices of Winograd's F(4, 3), by the Cook-Toom algorithm with the points 0, 1, -1, 2,
// -2 and infinity.
static constexpr double kInput4[] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                                     0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
static constexpr double kFilter4[] = {1. / 4,  0,       0,      -1. / 6, -1. / 6,  -1. / 6, -1. / 6, 1. / 6, -1. / 6,
                                      1. / 24, 1. / 12, 1. / 6, 1. / 24, -1. / 12, 1. / 6,  0,       0,      1};
static constexpr double kOutput4[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};

const Winograd *winograd(int64_t tile) {
  static const Winograd two = {2, 4, kInput2, kFilter2, kOutput2}, four = {4, 6, kInput4, kFilter4, kOutput4};
  return tile == 2 ? &two : tile == 4 ? &four : nullptr;
}

std::optional<WinogradDims> winogradDims(ContractOpInterface op) {
  std::optional<ContractRoles> roles = contractRoles(op);
  if (!roles || roles->columnInLeft)
    return std::nullopt;
  bool isFloat = getElementType(op->getOperand(0)).isF32() && getElementType(op->getResult(0)).isF32();
  Type weights = getElementType(op->getOperand(1));
  // Rejects bfloat16 weights: bfloat16 has too few significand bits for Winograd-transformed
  // weights.
  if (!isFloat || !(weights.isF32() || weights.isF16()))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  Dims extents = op.getIterationDims(getDims);
  if (llvm::any_of(roles->batch, [&](unsigned d) { return !extents[d].is(1); }))
    return std::nullopt;
  std::optional<unsigned> channels = plainSummedDim(op, *roles);
  if (!channels)
    return std::nullopt;
  WinogradDims dims;
  dims.channels = *channels;
  unsigned found = 0;
  for (unsigned place : roles->summed) {
    std::optional<unsigned> left = resultWith(maps[0], place), right = resultWith(maps[1], place);
    if (!left || !right || !isa<AffineDimExpr>(maps[1].getResult(*right)))
      return std::nullopt;
    if (place == *channels || extents[place].is(1))
      continue;
    AffineExpr sum = maps[0].getResult(*left);
    const unsigned *row =
        llvm::find_if(roles->rows, [&](unsigned d) { return sum.isFunctionOfDim(d) && maps[2].isFunctionOfDim(d); });
    if (found == 2 || row == roles->rows.end() || factorOf(sum, place) != 1 || factorOf(sum, *row) != 1 ||
        !extents[place].is(Winograd::window))
      return std::nullopt;
    dims.rows[found] = *row;
    dims.places[found] = place;
    dims.left[found] = *left;
    dims.right[found++] = *right;
  }
  return found == 2 ? std::optional(dims) : std::nullopt;
}

int64_t winogradTile(Type type) {
  auto layout = dyn_cast_or_null<LayoutAttr>(cast<RankedTensorType>(type).getEncoding());
  return layout ? layout.getTile() : 0;
}

} // namespace hewn::graph
