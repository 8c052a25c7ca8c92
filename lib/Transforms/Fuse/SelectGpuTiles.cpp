// SPDX-License-Identifier: Apache-2.0
//
// Selects tile shapes and split-K factors of GPU kernels that use matrix instructions (see
// Passes.td).
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Fuse/SplitK.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_SELECTGPUTILESPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

struct SelectGpuTilesPass : impl::SelectGpuTilesPassBase<SelectGpuTilesPass> {
  void runOnOperation() override {
    plan::KernelOp kernel = getOperation();
    if (kernel.isLowered() || kernel.getScheduleAttr())
      return;
    SmallVector<graph::ContractOpInterface> found(kernel.getBody().getOps<graph::ContractOpInterface>());
    if (found.size() != 1 || !plan::ScheduleModel::of(kernel).multipliesMatrices(found[0]))
      return;
    const plan::ScheduleModel &model = plan::ScheduleModel::of(kernel);
    OrReason<graph::ContractOpInterface> maySplit = splitKContraction(kernel);
    kernel.setScheduleAttr(model.blockTile(found[0], bool(maySplit)));
    if (!maySplit && wantsRemarks(kernel) && model.blockTile(found[0], /*maySplit=*/true).getSplits() > 1)
      missed(found[0], getArgument(), "NotSplit", maySplit.why());
  }
};

} // namespace
} // namespace hewn
