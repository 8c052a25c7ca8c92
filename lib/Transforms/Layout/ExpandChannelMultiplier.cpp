// SPDX-License-Identifier: Apache-2.0
//
// Repeats the channels of depthwise convolutions with a channel multiplier, so that vector lanes
// are channels (see Passes.td).
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/PointwiseConvCost.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Layout/Passes.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_EXPANDCHANNELMULTIPLIERPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

struct ExpandChannelMultiplierPass : impl::ExpandChannelMultiplierPassBase<ExpandChannelMultiplierPass> {
  void runOnOperation() override {
    if (!plan::targetOf(getOperation()) || !plan::supports(getOperation(), plan::KernelFeature::ChannelMultiplier))
      return;
    SmallVector<graph::ContractOpInterface> found;
    getOperation().walk([&](graph::ContractOpInterface op) {
      if (plan::wantsChannelEach(op))
        found.push_back(op);
    });
    for (graph::ContractOpInterface op : found) {
      OpBuilder b(op);
      graph::Composer compose(b, op.getLoc());
      if (Value sums = graph::expandChannelMultiplier(compose, op)) {
        op->getResult(0).replaceAllUsesWith(sums);
        op->erase();
      }
    }
  }
};

} // namespace
} // namespace hewn
