// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Kernel/KernelAnalysis.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/ScheduleModel.h"

using namespace mlir;

namespace hewn::codegen {

static OrReason<graph::FusedAttention> attentionOf(plan::KernelOp kernel, ArrayRef<Operation *> ops) {
  OrReason<graph::FusedAttention> attention =
      graph::matchAttention(ops, /*narrow=*/plan::supports(kernel, plan::KernelFeature::NarrowAttention));
  if (!attention)
    return attention;
  SmallVector<Value> results(kernel.getBody().front().getTerminator()->getOperands());
  auto *scratch = llvm::find_if(results, [](Value result) { return result.getDefiningOp<graph::ScratchOp>(); });
  if (scratch != results.end())
    results.erase(scratch);
  bool isOfTail =
      llvm::all_of(results, [&](Value result) { return llvm::is_contained(attention->tail, result.getDefiningOp()); });
  return isOfTail ? attention
                  : Eligibility::no("a result of the kernel is not computed from the second contraction's result");
}

KernelAnalysis::KernelAnalysis(plan::KernelOp kernel)
    : ops(llvm::map_to_vector(kernel.getBody().front().without_terminator(), [](Operation &op) { return &op; })),
      contractions(kernel.getBody().getOps<graph::ContractOpInterface>()),
      contraction(graph::onlyContraction(kernel.getBody().front())), attention(attentionOf(kernel, ops)),
      space(spaceMap(ops)) {}

std::optional<graph::SpaceMap> spaceMap(ArrayRef<Operation *> ops, Value held) {
  std::optional<graph::SpaceMap> map = graph::SpaceMap::spaceOf(ops);
  for (Operation *op : ops) {
    if (!map || !map->add(op))
      return std::nullopt;
    if (held && held.getDefiningOp() == op)
      map->hold(held);
  }
  return map;
}

} // namespace hewn::codegen
