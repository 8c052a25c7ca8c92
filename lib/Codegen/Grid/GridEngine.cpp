// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Schedule/GridSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/BitVector.h"

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
  if (!emitGridSweep(k, b) && !emitGridTurn(k, b))
    emitGridMap(k, b);
}

/// Beside a kernel that may keep an argument, the functions that do (plan::kKeepsAttr).
static void emitKept(KernelFunction &k, OpBuilder &b) {
  auto argument = k.kernel->getAttrOfType<IntegerAttr>(plan::kKeepsAttr);
  std::optional<GridTiles> tiles = argument && !gridChain(k) ? gridTiles(k) : std::nullopt;
  if (!tiles || plan::multipliesMatrices(tiles->op) || tiles->parts != 1 || !takesFew(*tiles))
    return;
  std::optional<int64_t> bytes = bytesKeptByFew(*tiles, plan::gridOf(k.kernel).getWarp());
  if (!bytes)
    return;
  OpBuilder top(k.function);
  auto type =
      MemRefType::get({*bytes / 4}, b.getF32Type(), MemRefLayoutAttrInterface(), b.getI64IntegerAttr(kSharedSpace));
  std::string memory = (k.function.getName() + plan::kKeptMemorySuffix).str();
  memref::GlobalOp::create(top, k.loc(), memory, b.getStringAttr("private"), type, b.getUnitAttr(), /*constant=*/false,
                           b.getI64IntegerAttr(16));
  for (StringRef suffix : {plan::kKeepSuffix, plan::kKeptSuffix}) {
    KernelFunction other = beginKernelFunction(k.kernel, b);
    other.function.setName((k.function.getName() + suffix).str());
    other.function.setPrivate();
    std::optional<GridTiles> own = gridTiles(other);
    Value kept = memref::GetGlobalOp::create(b, k.loc(), type, memory);
    if (suffix == plan::kKeptSuffix) {
      emitGridFewKept(other, b, *own, kept);
      continue;
    }
    emitGridFewKeep(other, b, *own, kept);
    llvm::BitVector unused(other.function.getNumArguments());
    unsigned values = 1 + unsigned(k.inputs.size() + k.results.size());
    for (unsigned i = 1; i < values; ++i)
      unused[i] = i != 1 + unsigned(argument.getInt());
    if (failed(other.function.eraseArguments(unused)))
      return; // never: nothing else is read
  }
  plan::changeGridLaunch(k.function, [&](plan::GridLaunch &launch) {
    launch.keeps = argument.getInt();
    launch.keptBytes = *bytes;
  });
}

void emitGrid(KernelFunction &k, OpBuilder &b) {
  emitForm(k, b);
  gatherShared(k);
  emitKept(k, b);
}

} // namespace hewn::codegen
