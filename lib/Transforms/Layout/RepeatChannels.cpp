// SPDX-License-Identifier: Apache-2.0
//
// Gives each column of a contraction in groups of one channel a channel of its own.
//
//     %0 = graph.conv %x, %w groups = 64 : tensor<1x64x56x56xf32>, tensor<128x1x3x3xf32>
//     →
//     %a = graph.expand ... %x : tensor<1x64x2x56x56xf32>
//     %b = graph.reshape %a : tensor<1x128x56x56xf32>
//     %0 = graph.conv %b, %w groups = 128
//
// Lanes are all groups' columns then, as in other depthwise windows, where they were one group's: two of a vector. What is written for that are
// as many channels as there are columns, once, which a change of layout would write a part of anyway. Decided by the model of tiles.
//
// Left alone: machines that run a grid of threads; types that other units multiply; sizes that are known only when run.
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/PixelSchedule.h"
#include "lib/Transforms/Layout/Passes.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_REPEATCHANNELSPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

struct RepeatChannelsPass : impl::RepeatChannelsPassBase<RepeatChannelsPass> {
  void runOnOperation() override {
    if (!plan::targetOf(getOperation()) || plan::gridOf(getOperation()))
      return;
    SmallVector<graph::ContractOpInterface> found;
    getOperation().walk([&](graph::ContractOpInterface op) {
      if (plan::wantsChannelEach(op))
        found.push_back(op);
    });
    for (graph::ContractOpInterface op : found) {
      OpBuilder b(op);
      graph::Composer compose(b, op.getLoc());
      if (Value sums = graph::repeatChannels(compose, op)) {
        op->getResult(0).replaceAllUsesWith(sums);
        op->erase();
      }
    }
  }
};

} // namespace
} // namespace hewn
