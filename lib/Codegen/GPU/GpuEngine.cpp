// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/GPU/GpuBuilder.h"

using namespace mlir;

namespace hewn::codegen {

LogicalResult finishGrid(KernelContext &k, OpBuilder &b, Attribute schedule) {
  plan::GpuAttr gpu = plan::gpuOf(k.kernel);
  int64_t bytes = gatherShared(k), most = std::max(gpu.getSharedBytes(), gpu.getLimits().getStaticSharedBytes());
  if (bytes > most)
    return refuse(k, schedule) << ", but needs " << bytes << " bytes of shared memory per block; the limit is " << most;
  if (auto contract = dyn_cast<plan::GpuContractAttr>(schedule))
    emitKept(k, b, contract);
  return success();
}

} // namespace hewn::codegen
