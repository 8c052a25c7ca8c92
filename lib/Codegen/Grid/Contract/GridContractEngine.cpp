// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Contract/GridContractEngine.h"
#include "lib/Codegen/Grid/Grid.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace hewn::codegen {

LogicalResult emitGridContraction(KernelFunction &k, OpBuilder &b, plan::GridContractAttr schedule) {
  Found<GridTiles> tiles = gridTiles(k);
  if (!tiles)
    return refuse(k, schedule) << ", and is no contraction that is followed by elementwise ops alone: " << tiles.why();
  if (tiles->parts != schedule.getSplits())
    return refuse(k, schedule) << ", and a sum in " << tiles->parts << " splits";
  switch (schedule.getForm()) {
  case plan::GridForm::Matrix:
    return emitGridMatrix(k, b, *tiles, schedule);
  case plan::GridForm::Tiles:
    return emitGridTiles(k, b, *tiles, schedule);
  case plan::GridForm::FewRows:
  case plan::GridForm::FewColumns:
    if (failed(verifyGridFew(k, *tiles, schedule)))
      return failure();
    emitGridFew(k, b, *tiles, schedule);
    return success();
  }
  llvm_unreachable("no form");
}

void emitKept(KernelFunction &k, OpBuilder &b, plan::GridContractAttr schedule) {
  auto argument = k.kernel->getAttrOfType<IntegerAttr>(plan::kKeepsAttr);
  bool isFew = schedule.getForm() == plan::GridForm::FewRows || schedule.getForm() == plan::GridForm::FewColumns;
  if (!argument || !isFew)
    return;
  Found<GridTiles> tiles = gridTiles(k);
  if (!tiles)
    return;
  std::optional<int64_t> bytes = bytesKeptByFew(*tiles, schedule);
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
    Found<GridTiles> own = gridTiles(other);
    Value kept = memref::GetGlobalOp::create(b, k.loc(), type, memory);
    if (suffix == plan::kKeptSuffix) {
      emitGridFewKept(other, b, *own, schedule, kept);
      continue;
    }
    emitGridFewKeep(other, b, *own, schedule, kept);
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

} // namespace hewn::codegen
