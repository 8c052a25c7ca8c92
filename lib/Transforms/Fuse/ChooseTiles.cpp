// SPDX-License-Identifier: Apache-2.0
//
// Writes on each kernel of a grid that multiplies matrices by which tiles it does, and how often it splits the sum (split-K).
//
//     plan.kernel @matmul(...)   →   plan.kernel @matmul(...) attributes {schedule = #plan.grid_tile<m = 64, n = 64, splits = 4>}
//
// The model is in lib/Schedule/GridSchedule.h. Sums are split where the tiles alone would leave processors without work; of
// kernels that have other contractions, reductions or sizes known only when run they are not. A schedule that is there stays.
// lib/Codegen/DecideKernels.cpp makes the schedule of it, when it is known where operands lie.
#include "lib/Schedule/GridSchedule.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Fuse/SplitK.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_CHOOSETILESPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

struct ChooseTilesPass : impl::ChooseTilesPassBase<ChooseTilesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<plan::KernelOp>()) {
      if (kernel.getScheduleAttr())
        continue;
      SmallVector<graph::ContractOpInterface> found(kernel.getBody().getOps<graph::ContractOpInterface>());
      if (found.size() != 1 || !plan::multipliesMatrices(found[0]))
        continue;
      Found<graph::ContractOpInterface> maySplit = splitKContraction(kernel);
      kernel.setScheduleAttr(plan::chooseTile(found[0], bool(maySplit)));
      if (!maySplit && wantsRemarks(kernel) && plan::chooseTile(found[0], /*maySplit=*/true).getSplits() > 1)
        missed(found[0], getArgument(), "NotSplit", maySplit.why());
    }
  }
};

} // namespace
} // namespace hewn
