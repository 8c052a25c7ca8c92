// SPDX-License-Identifier: Apache-2.0
//
// Replaces the division of a quantization by multiplications with identical results (see
// Passes.td).
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Fuse/Passes.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_QUANTIZEBYRECIPROCALPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

bool inOneGroup(Operation *op, Operation *other) {
  return op->getBlock() == other->getBlock() && op->getAttr(kGroupAttr) == other->getAttr(kGroupAttr);
}

void joinGroup(Operation *op, Operation *made) {
  for (StringRef name : {kGroupAttr, kWhyAttr})
    if (Attribute attribute = op->getAttr(name))
      made->setAttr(name, attribute);
}

struct QuantizeByReciprocalPass : impl::QuantizeByReciprocalPassBase<QuantizeByReciprocalPass> {
  void runOnOperation() override {
    plan::TargetAttr target = plan::targetOf(getOperation());
    if (!target || !target.getHasFma() || !plan::supports(getOperation(), plan::KernelFeature::ReciprocalQuantize))
      return;
    SmallVector<Operation *> ops;
    getOperation().walk([&](graph::ElementwiseOpInterface op) { ops.push_back(op); });
    // Replace the last quantization of the list first, because a replacement erases the op and
    // possibly ops that come later in the list.
    for (Operation *op : llvm::reverse(ops))
      graph::quantizeByReciprocal(op, {inOneGroup, joinGroup});
  }
};

} // namespace
} // namespace hewn
