// SPDX-License-Identifier: Apache-2.0
//
// Closes the kernels stage: what computes lies in a kernel, and a kernel holds only ops of the kinds that engines know.
// What may stand outside is what costs nothing or is control: constants, views, symbols, parts, If, Loop, Scan.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Fuse/Passes.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {
struct VerifyKernelsPass : impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    bool bad = false;
    auto refuse = [&](Operation *op, const char *what) {
      op->emitOpError(what);
      bad = true;
    };
    getOperation()->walk([&](Operation *op) {
      bool inKernel = op->getParentOfType<plan::KernelOp>() != nullptr;
      bool kind = isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::ScanOpInterface,
                      graph::ContractOpInterface, graph::MoveOpInterface>(op);
      if (isa<graph::GroupOp, graph::ComposeOpInterface>(op))
        refuse(op, "is left over: groups and composed ops end in kernels");
      else if (kind && !inKernel && !graph::isViewKind(op))
        refuse(op, "computes outside of a kernel");
      else if (inKernel && !kind && !isa<graph::ConstantOp, graph::YieldOp>(op))
        refuse(op, "cannot be part of a kernel");
    });
    if (bad)
      signalPassFailure();
  }
};
} // namespace
} // namespace hewn
