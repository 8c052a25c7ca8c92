// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/Contract/GpuContractEngine.h"
#include "lib/Codegen/GPU/GpuBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace hewn::codegen {

void emitKept(KernelContext &k, OpBuilder &b, plan::GpuContractAttr schedule) {
  auto argument = k.kernel->getAttrOfType<IntegerAttr>(plan::kResidentWeightsAttr);
  bool isFew = schedule.getForm() == plan::GpuForm::FewRows || schedule.getForm() == plan::GpuForm::FewColumns;
  if (!argument || !isFew)
    return;
  OrReason<GpuTiles> tiles = gpuTiles(k);
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
    KernelContext other = beginKernelFunction(k.kernel, *k.analysis, b);
    other.function.setName((k.function.getName() + suffix).str());
    other.function.setPrivate();
    OrReason<GpuTiles> own = gpuTiles(other);
    Value kept = memref::GetGlobalOp::create(b, k.loc(), type, memory);
    if (suffix == plan::kKeptSuffix) {
      emitSkinnyGemmKept(other, b, *own, schedule, kept);
      continue;
    }
    emitSkinnyGemmKeep(other, b, *own, schedule, kept);
    llvm::BitVector unused(other.function.getNumArguments());
    unsigned values = 1 + unsigned(k.inputs.size() + k.results.size());
    for (unsigned i = 1; i < values; ++i)
      unused[i] = i != 1 + unsigned(argument.getInt());
    if (failed(other.function.eraseArguments(unused)))
      return; // erasing the arguments cannot fail, because they have no uses
  }
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) {
    launch.keeps = argument.getInt();
    launch.keptBytes = *bytes;
  });
}

} // namespace hewn::codegen
