// SPDX-License-Identifier: Apache-2.0
//
// Marks the inputs of launches that their result may overwrite (see Passes.td).
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

/// The inputs of a kernel that its result may overwrite, or the reason why there are none.
struct Overwritable {
  SmallVector<int64_t> inputs;
  StringRef whyNone;
};

Overwritable overwritable(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != 1)
    return {{}, "result not written in place: the kernel has several results"};
  Value result = yield->getOperand(0);
  unsigned contractions = 0;
  for (Operation &op : body.without_terminator()) {
    contractions += isa<graph::ContractOpInterface>(op);
    if (!isa<graph::ElementwiseOpInterface, graph::ContractOpInterface, graph::IndexingOpInterface, graph::ConstantOp>(
            op))
      return {{},
              "result not written in place: a kernel with reductions or prefix scans reads its inputs more than once"};
  }
  if (contractions > 1)
    return {{}, "result not written in place: a kernel of two contractions reads its inputs more than once"};
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> inputs;
  llvm::DenseSet<Value> own = graph::readAtOwnIndex(body, graph::getDims(result));
  for (BlockArgument argument : body.getArguments()) {
    auto input = dyn_cast<RankedTensorType>(argument.getType());
    bool sameMemory = input && input.getEncoding() == type.getEncoding() &&
                      input.getElementTypeBitWidth() == type.getElementTypeBitWidth() && own.contains(argument);
    if (sameMemory)
      inputs.push_back(argument.getArgNumber());
  }
  return {
      inputs,
      "result not written in place: no input has the result's size and layout and is read at the result's index only"};
}

struct MarkInPlace : public hewn::impl::MarkInPlacePassBase<MarkInPlace> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    DenseMap<Operation *, Overwritable> found;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = plan::findGraphKernel(table, launch.getKernel());
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
