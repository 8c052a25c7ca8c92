// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/GridEngine.h"
#include "dialects/Plan/GridSchedule.h"
#include "lib/Codegen/Grid/Grid.h"

using namespace mlir;

namespace hewn::codegen {

static void emitForm(KernelFunction &k, OpBuilder &b) {
  if (std::optional<graph::Chain> chain = gridChain(k))
    return emitGridChain(k, b, *chain);
  if (std::optional<GridTiles> tiles = gridTiles(k)) {
    if (plan::multipliesMatrices(tiles->op))
      return emitGridMatrix(k, b, *tiles);
    if (tiles->parts == 1 && takesFew(*tiles))
      return emitGridFew(k, b, *tiles);
    if (tiles->parts == 1 && takesTiles(*tiles))
      return emitGridTiles(k, b, *tiles);
  }
  if (std::optional<RowProgram> rows = planRows(k))
    return emitGridRows(k, b, *rows);
  if (!emitGridTurn(k, b))
    emitGridMap(k, b);
}

void emitGrid(KernelFunction &k, OpBuilder &b) {
  emitForm(k, b);
  gatherShared(k);
}

} // namespace hewn::codegen
