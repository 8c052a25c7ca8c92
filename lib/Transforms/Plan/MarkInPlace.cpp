// SPDX-License-Identifier: Apache-2.0
//
// Says which launches may write over an input.
//
//     plan.kernel @add(%a: tensor<8xf32>, %b: tensor<1xf32>) { graph.add %a, %b }
//     %1 = plan.launch @add(%0, %w) ...    →    %1 = plan.launch @add(%0, %w) ... {plan.may_overwrite = array<i64: 0>}
//
// A kernel whose ops are all elementwise reads element i of an input of the result's size for element i of the result
// alone, and reads it before that is written. Whether the input is needed afterwards is for PlanMemory to see.
//
// Kernels with reductions, contractions or moves are left alone, as are those of several results: what they read, and
// when, is the engine's affair.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Transforms/Plan/Passes.h"

namespace hewn {
#define GEN_PASS_DEF_MARKINPLACEPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

SmallVector<int64_t> overwritable(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != 1)
    return {};
  for (Operation &op : body.without_terminator())
    if (!isa<graph::ElementwiseOpInterface, graph::ConstantOp>(op))
      return {};
  Value result = yield->getOperand(0);
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> inputs;
  for (BlockArgument argument : body.getArguments()) {
    auto input = dyn_cast<RankedTensorType>(argument.getType());
    if (input && input.getEncoding() == type.getEncoding() &&
        input.getElementTypeBitWidth() == type.getElementTypeBitWidth() &&
        graph::getDims(argument) == graph::getDims(result))
      inputs.push_back(argument.getArgNumber());
  }
  return inputs;
}

struct MarkInPlace : public hewn::impl::MarkInPlacePassBase<MarkInPlace> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    DenseMap<Operation *, SmallVector<int64_t>> found;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = table.lookup<KernelOp>(launch.getKernel());
      if (!kernel)
        return;
      auto [entry, isNew] = found.try_emplace(kernel);
      if (isNew)
        entry->second = overwritable(kernel);
      if (!entry->second.empty())
        launch->setAttr(kMayOverwriteAttr, DenseI64ArrayAttr::get(&getContext(), entry->second));
    });
  }
};

} // namespace
