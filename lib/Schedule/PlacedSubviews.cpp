// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/PlacedSubviews.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Schedule/Schedule.h"

using namespace mlir;

namespace hewn::plan {

bool mayBeReadApart(RankedTensorType subview, Value whole, const graph::Assembly &assembly) {
  auto type = cast<RankedTensorType>(whole.getType());
  TargetAttr target = targetOf(whole.getDefiningOp());
  std::optional<int64_t> elements = graph::storedElements(type, graph::getDims(whole)).constant();
  return subviewType(subview, type, assembly) == subview ||
         (target && elements && *elements * graph::elementBytes(whole) <= target.getL2Bytes() / 2);
}

/// Whether the value has to be in memory for its readers: not where one alone takes it element by element.
static bool isReadWhole(Value value) {
  if (!value.hasOneUse())
    return true;
  Operation *reader = *value.user_begin();
  if (graph::isView(reader))
    return isReadWhole(reader->getResult(0));
  if (auto border = dyn_cast<graph::MoveOpInterface>(reader); border && border->hasOneUse())
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(*border->user_begin()))
      if (contraction->getOperand(0) == border->getResult(0) && plan::leavesOutBorder(contraction, border))
        return true;
  return !isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ReduceOpInterface,
              graph::CumulateOpInterface>(reader);
}

/// Whether few contractions are between the first operand's maker and the op: the whole is live from there on, and its memory is
/// wanted by what is done meanwhile.
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

bool isPutTogether(graph::MoveOpInterface op) {
  std::optional<graph::Assembly> assembly = graph::assemblyOf(op);
  return assembly && (assembly->isInterleaved() || isReadWhole(op->getResult(0)));
}

Verdict placesSubviews(graph::MoveOpInterface op, llvm::function_ref<bool(Value)> isMadeElsewhere) {
  std::optional<graph::Assembly> assembly = graph::assemblyOf(op);
  if (gridOf(op))
    return Verdict::no("kernels of a grid of threads read and write whole lines, and subviews may have gaps");
  if (!isMadeAtOnce(op))
    return Verdict::no("the memory of the whole would be taken while many contractions are computed");
  auto whole = cast<RankedTensorType>(op->getResult(0).getType());
  if (!knowsDims(whole, *assembly))
    return Verdict::no("where a subview lies in the whole is known only when run");
  auto length = [&](Type type) {
    return assembly->isInterleaved() ? 1 : cast<RankedTensorType>(type).getDimSize(assembly->dim);
  };
  int64_t placed = 0, all = assembly->isInterleaved() ? assembly->numInterleaved() : length(whole);
  for (auto [number, value] : llvm::enumerate(op->getOperands())) {
    Value operand = value;
    Operation *maker = operand.getDefiningOp();
    auto type = cast<RankedTensorType>(operand.getType());
    bool computed = isa_and_nonnull<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::ContractOpInterface,
                                    graph::MoveOpInterface>(maker) &&
                    !graph::isViewKind(maker) && maker->getBlock() == op->getBlock();
    auto putsTogether = [](OpOperand &use) {
      auto move = dyn_cast<graph::MoveOpInterface>(use.getOwner());
      return graph::assemblyOf(move).has_value();
    };
    auto staysInKernels = [](Operation *user) {
      return isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::CumulateOpInterface,
                 graph::ContractOpInterface, graph::MoveOpInterface>(user) &&
             !graph::isViewKind(user);
    };
    if (computed && isMadeElsewhere(operand) && liesAsIn(type, whole, *assembly, int64_t(number)) &&
        llvm::count_if(operand.getUses(), putsTogether) == 1 &&
        (subviewType(type, whole, *assembly) == type || llvm::all_of(operand.getUsers(), staysInKernels)) &&
        (operand.hasOneUse() || mayBeReadApart(type, op->getResult(0), *assembly)))
      placed += length(type);
  }
  // Of what is interleaved the others are copied, as all would be; subviews with gaps take longer to read.
  bool areMost = assembly->isInterleaved() ? 4 * placed >= all : 3 * placed >= 2 * all && placed > 0;
  return areMost ? Verdict::yes()
                 : Verdict::no("most of the whole lies otherwise than its operands, which are inputs or constants, are "
                               "read by others, "
                               "or lie in another order");
}

} // namespace hewn::plan
