// SPDX-License-Identifier: Apache-2.0
//
// Says which constant a grid's kernel may keep on chip over the steps of a loop.
//
// The problem: each step of a recurrence reads all of its weights, which do not change. Where a step's kernel is a part of a kernel
// that runs all steps, its blocks live as long: each may keep what it reads of the weights in the memory that its threads share.
//
//     plan.kernel @k(%h, %w)   →   plan.kernel @k(%h, %w) attributes {plan.keeps = 1}
//
//     graph.scan { plan.launch @k(%state, %constant) }
//
// Kept is an operand of the kernel's only contraction, of few rows or columns, where a block's share of it fits, and all blocks that
// have one run at once. Nothing is kept where loops are run by the host (lib/Codegen/Grid/Joint decides no more than that). It
// costs shared memory, so that fewer blocks run at once; it gains the time in which the constant comes from memory or the cache.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/GridSchedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {
#define GEN_PASS_DEF_KEEPCONSTANTSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

struct KeepConstantsPass : impl::KeepConstantsPassBase<KeepConstantsPass> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    getOperation().walk([&](plan::LaunchOp launch) {
      auto kernel = table.lookup<plan::KernelOp>(launch.getKernel());
      if (!graph::countedLoopOf(launch->getParentOp()) || !kernel || !plan::gridOf(kernel) ||
          kernel->hasAttr(plan::kKeepsAttr))
        return;
      graph::ContractOpInterface op = graph::onlyContraction(kernel.getBody().front());
      if (!op)
        return;
      Found<unsigned> kept = keptArgument(kernel, op);
      if (kept && launch.getInputs()[*kept].getDefiningOp<graph::ConstantOp>())
        kernel->setAttr(plan::kKeepsAttr, Builder(&getContext()).getI64IntegerAttr(*kept));
      else
        missed(op, getArgument(), "NotKept", kept ? "its larger operand is no constant" : kept.why());
    });
  }

private:
  /// The number of the contraction's argument that would be worth it and fit.
  static Found<unsigned> keptArgument(plan::KernelOp kernel, graph::ContractOpInterface op) {
    if (plan::multipliesMatrices(op))
      return Verdict::no("matrix instructions multiply it, whose kernels keep nothing from launch to launch");
    graph::ProductDims product = graph::productDims(op);
    auto count = [&](ArrayRef<unsigned> list) { return product.count(list).constant().value_or(0); };
    int64_t rows = count(product.rows), columns = count(product.columns);
    unsigned larger = rows < columns ? 1 : 0;
    auto argument = dyn_cast<BlockArgument>(op->getOperand(larger));
    plan::GridAttr grid = plan::gridOf(kernel);
    // At most a warp's places in float32, all along the sum, beside what the kernel's other memory may be.
    int64_t places = count(product.batch) * ((std::max(rows, columns) + grid.getWarpSize() - 1) / grid.getWarpSize());
    int64_t bytes = count(product.summed) * grid.getWarpSize() * 4;
    if (!argument)
      return Verdict::no("its larger operand is computed in its kernel");
    if (places == 0 || bytes == 0)
      return Verdict::no("its sizes are known only when run");
    if (places > grid.getProcessors())
      return Verdict::no("its constant is more than the processors' shared memory holds together");
    if (bytes > grid.getSharedBytes() - plan::kSharedBesideKept)
      return Verdict::no("a block's part of its constant has no room in shared memory");
    return argument.getArgNumber();
  }
};

} // namespace
} // namespace hewn
