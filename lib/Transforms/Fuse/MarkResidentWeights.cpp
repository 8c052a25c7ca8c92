// SPDX-License-Identifier: Apache-2.0
//
// Marks weights that a GPU kernel may keep in shared memory across loop steps (see Passes.td).
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {
#define GEN_PASS_DEF_MARKRESIDENTWEIGHTSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

struct MarkResidentWeightsPass : impl::MarkResidentWeightsPassBase<MarkResidentWeightsPass> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    getOperation().walk([&](plan::LaunchOp launch) {
      auto kernel = plan::findGraphKernel(table, launch.getKernel());
      if (!graph::countedLoopOf(launch->getParentOp()) || !kernel ||
          !plan::supports(kernel, plan::KernelFeature::ResidentWeights) || kernel->hasAttr(plan::kResidentWeightsAttr))
        return;
      graph::ContractOpInterface op = graph::onlyContraction(kernel.getBody().front());
      if (!op)
        return;
      OrReason<unsigned> resident = residentArgument(kernel, op);
      if (resident && launch.getInputs()[*resident].getDefiningOp<graph::ConstantOp>())
        kernel->setAttr(plan::kResidentWeightsAttr, Builder(&getContext()).getI64IntegerAttr(*resident));
      else
        missed(op, getArgument(), "NotKept",
               resident
                   ? "weights are not kept in shared memory across loop steps: the larger operand is not a constant"
                   : resident.why());
    });
  }

private:
  /// Returns the number of the kernel argument with weights to keep in shared memory, or the reason
  /// why there is none.
  static OrReason<unsigned> residentArgument(plan::KernelOp kernel, graph::ContractOpInterface op) {
    if (plan::ScheduleModel::of(op).multipliesMatrices(op))
      return Eligibility::no(
          "weights are not kept in shared memory across loop steps: kernels with matrix instructions do "
          "not support it");
    graph::ProductDims product = graph::productDims(op);
    auto count = [&](ArrayRef<unsigned> list) { return product.count(list).constant().value_or(0); };
    int64_t rows = count(product.rows), columns = count(product.columns);
    unsigned larger = rows < columns ? 1 : 0;
    auto argument = dyn_cast<BlockArgument>(op->getOperand(larger));
    auto gpu = cast<plan::GpuAttr>(plan::targetOf(kernel));
    // Each thread block holds its share of the weights in float32: at most as many rows or columns
    // as a warp has threads, over the entire K dimension. kSharedBesideKept is reserved for the
    // kernel's other shared memory.
    int64_t numBlocks = count(product.batch) * ((std::max(rows, columns) + gpu.getWarpSize() - 1) / gpu.getWarpSize());
    int64_t bytes = count(product.summed) * gpu.getWarpSize() * 4;
    if (!argument)
      return Eligibility::no(
          "weights are not kept in shared memory across loop steps: the same kernel computes the larger operand");
    if (numBlocks == 0 || bytes == 0)
      return Eligibility::no("weights are not kept in shared memory across loop steps: the sizes are dynamic");
    if (numBlocks > gpu.getProcessors())
      return Eligibility::no(
          "weights are not kept in shared memory across loop steps: they need more thread blocks than "
          "the GPU has multiprocessors");
    if (bytes > gpu.getSharedBytes() - plan::kSharedBesideKept)
      return Eligibility::no(
          "weights are not kept in shared memory across loop steps: the share of one thread block is too large");
    return argument.getArgNumber();
  }
};

} // namespace
} // namespace hewn
