// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/PlacedSubviews.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"

using namespace mlir;

namespace hewn::plan {

bool mayBeReadApart(RankedTensorType subview, Value whole, const graph::Assembly &assembly) {
  auto type = cast<RankedTensorType>(whole.getType());
  TargetAttr target = targetOf(whole.getDefiningOp());
  std::optional<int64_t> elements = graph::storedElements(type, graph::getDims(whole)).constant();
  return subviewType(subview, type, assembly) == subview ||
         (target && elements && *elements * graph::elementBytes(whole) <= target.getL2Bytes() / 2);
}

/// Returns true if the users of the value read it from memory. A value whose only user reads it
/// element by element is not stored.
static bool isReadWhole(Value value) {
  if (!value.hasOneUse())
    return true;
  Operation *reader = *value.user_begin();
  if (graph::isView(reader))
    return isReadWhole(reader->getResult(0));
  if (auto border = dyn_cast<graph::IndexingOpInterface>(reader); border && border->hasOneUse())
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(*border->user_begin()))
      if (contraction->getOperand(0) == border->getResult(0) && plan::leavesOutBorder(contraction, border))
        return true;
  return !isa<graph::ElementwiseOpInterface, graph::IndexingOpInterface, graph::ReduceOpInterface,
              graph::PrefixScanOpInterface>(reader);
}

/// Returns true if there are few contractions between the first producer of an operand and the
/// concat. If operands are computed in the result of the concat, that result is live from this
/// producer on, so the contractions in between cannot use its memory.
static bool isMadeAtOnce(Operation *op) {
  constexpr int64_t perOperand = 4;
  Operation *first = op;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp();
        maker && maker->getBlock() == op->getBlock() && maker->isBeforeInBlock(first))
      first = maker;
  int64_t between = 0;
  for (Operation *at = first; at != op; at = at->getNextNode())
    between += isa<graph::ContractOpInterface>(at);
  return between <= perOperand * int64_t(op->getNumOperands());
}

bool isPutTogether(graph::IndexingOpInterface op) {
  std::optional<graph::Assembly> assembly = graph::assemblyOf(op);
  return assembly && (assembly->isInterleaved() || isReadWhole(op->getResult(0)));
}

Eligibility placesSubviews(graph::IndexingOpInterface op, llvm::function_ref<bool(Value)> isMadeElsewhere) {
  std::optional<graph::Assembly> assembly = graph::assemblyOf(op);
  if (!supports(op, KernelFeature::StridedSubviews))
    return Eligibility::no("the target's kernels access contiguous rows, and subviews may be strided");
  if (!isMadeAtOnce(op))
    return Eligibility::no("the result would be live while many contractions are computed");
  auto whole = cast<RankedTensorType>(op->getResult(0).getType());
  if (!knowsDims(whole, *assembly))
    return Eligibility::no("the offset of an operand in the result is dynamic");
  auto length = [&](Type type) {
    return assembly->isInterleaved() ? 1 : cast<RankedTensorType>(type).getDimSize(assembly->dim);
  };
  int64_t placed = 0, all = assembly->isInterleaved() ? assembly->numInterleaved() : length(whole);
  for (auto [number, value] : llvm::enumerate(op->getOperands())) {
    Value operand = value;
    Operation *maker = operand.getDefiningOp();
    auto type = cast<RankedTensorType>(operand.getType());
    bool computed = isa_and_nonnull<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::ContractOpInterface,
                                    graph::IndexingOpInterface>(maker) &&
                    !graph::isViewKind(maker) && maker->getBlock() == op->getBlock();
    auto putsTogether = [](OpOperand &use) {
      auto move = dyn_cast<graph::IndexingOpInterface>(use.getOwner());
      return graph::assemblyOf(move).has_value();
    };
    auto staysInKernels = [](Operation *user) {
      return isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::PrefixScanOpInterface,
                 graph::ContractOpInterface, graph::IndexingOpInterface>(user) &&
             !graph::isViewKind(user);
    };
    if (computed && isMadeElsewhere(operand) && liesAsIn(type, whole, *assembly, int64_t(number)) &&
        llvm::count_if(operand.getUses(), putsTogether) == 1 &&
        (subviewType(type, whole, *assembly) == type || llvm::all_of(operand.getUsers(), staysInKernels)) &&
        (operand.hasOneUse() || mayBeReadApart(type, op->getResult(0), *assembly)))
      placed += length(type);
  }
  // Compares the sizes of the concat operands: those that cannot be computed in the result are
  // copied into it, whereas without subviews all operands would be copied. Strided subviews take
  // longer to access, so interleaved operands have another threshold.
  bool areMost = assembly->isInterleaved() ? 4 * placed >= all : 3 * placed >= 2 * all && placed > 0;
  return areMost ? Eligibility::yes()
                 : Eligibility::no(
                       "most operands cannot be written into the result: they are inputs or constants, have other "
                       "users, or have another layout");
}

} // namespace hewn::plan
