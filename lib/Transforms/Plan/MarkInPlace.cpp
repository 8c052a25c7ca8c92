// SPDX-License-Identifier: Apache-2.0
//
// Says which launches may write over an input.
//
//     plan.kernel @add(%a: tensor<8xf32>, %b: tensor<1xf32>) { graph.add %a, %b }
//     %1 = plan.launch @add(%0, %w) ...    →    %1 = plan.launch @add(%0, %w) ... {plan.may_overwrite = array<i64: 0>}
//
// An input of the result's size of which element i is read for element i of the result alone (SpaceMap), and before that is written:
// where between the input and the result there are elementwise ops only. That is so in kernels that are all elementwise, and
// for what the epilogue of one contraction reads (the other side of a residual connection): the contraction reads its
// operands for many elements, but no other input. Engines keep to it: an element of the result is computed once, and tiles
// do not overlap. Whether the input is needed afterwards is for PlanMemory to see.
//
// Kernels with reductions, running sums or two contractions are left alone, as are those of several results: what they read, and
// when, is the engine's affair.
#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/Passes.h"

namespace hewn {
#define GEN_PASS_DEF_MARKINPLACEPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// Inputs that a kernel may write over, and where there are none, why.
struct Overwritable {
  SmallVector<int64_t> inputs;
  StringRef whyNone;
};

Overwritable overwritable(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != 1)
    return {{}, "a kernel of several results reads its inputs when its engine likes"};
  Value result = yield->getOperand(0);
  unsigned contractions = 0;
  for (Operation &op : body.without_terminator()) {
    contractions += isa<graph::ContractOpInterface>(op);
    if (!isa<graph::ElementwiseOpInterface, graph::ContractOpInterface, graph::MoveOpInterface, graph::ConstantOp>(op))
      return {{}, "a kernel with reductions or running sums reads its inputs more than once"};
  }
  if (contractions > 1)
    return {{}, "a kernel of two contractions reads its inputs more than once"};
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> inputs;
  llvm::DenseSet<Value> own = graph::readAtOwnIndex(body, graph::getDims(result));
  for (BlockArgument argument : body.getArguments()) {
    auto input = dyn_cast<RankedTensorType>(argument.getType());
    bool alike = input && input.getEncoding() == type.getEncoding() &&
                 input.getElementTypeBitWidth() == type.getElementTypeBitWidth() && own.contains(argument);
    if (alike)
      inputs.push_back(argument.getArgNumber());
  }
  return {inputs, "no input has the result's size and layout and is read at the result's own index alone"};
}

struct MarkInPlace : public hewn::impl::MarkInPlacePassBase<MarkInPlace> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    DenseMap<Operation *, Overwritable> found;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = table.lookup<KernelOp>(launch.getKernel());
      if (!kernel)
        return;
      auto [entry, isNew] = found.try_emplace(kernel);
      if (isNew)
        entry->second = overwritable(kernel);
      if (!entry->second.inputs.empty())
        launch->setAttr(kMayOverwriteAttr, DenseI64ArrayAttr::get(&getContext(), entry->second.inputs));
      else
        missed(launch, getArgument(), "NotInPlace", entry->second.whyNone);
    });
  }
};

} // namespace
