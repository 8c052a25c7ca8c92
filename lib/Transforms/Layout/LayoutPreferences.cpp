// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Layout/LayoutPreferences.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Indexing/Interleave.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/ScheduleModel.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn {

std::optional<int64_t> channelDim(ArrayRef<AffineMap> maps, ArrayRef<bool> summed) {
  std::optional<int64_t> found;
  for (auto [i, expr] : llvm::enumerate(maps[0].getResults())) {
    bool alongRow = false;
    for (unsigned d = 0; d < summed.size(); ++d)
      alongRow |= !summed[d] && expr.isFunctionOfDim(d) && !maps[1].isFunctionOfDim(d);
    if (alongRow)
      continue;
    if (found)
      return std::nullopt;
    found = i;
  }
  return found;
}

namespace {

/// Counts the users of a value that prefer a given layout, minus the users that prefer row-major.
class Readers {
public:
  /// Returns the number of users of `value` that prefer `order`, minus the number that prefer
  /// row-major.
  int count(Value value, ArrayRef<int64_t> order, unsigned depth = 0) {
    constexpr unsigned maxDepth = 16;
    if (depth == maxDepth)
      return 0;
    SmallVector<int64_t> kept = graph::significantOrder(order, cast<RankedTensorType>(value.getType()));
    int sum = 0;
    for (OpOperand &use : value.getUses()) {
      if (++numUses > maxUses)
        break;
      sum += llvm::is_sorted(kept) ? 1 : preference(use, order, kept, depth);
    }
    return sum;
  }

  /// True if one of the value's users that prefer row-major is a reduction.
  bool reductionPrefersOther = false;

private:
  // limit of visited uses, for the compile time of large graphs
  static constexpr unsigned maxUses = 100;
  unsigned numUses = 0;

  int preference(OpOperand &use, ArrayRef<int64_t> order, ArrayRef<int64_t> kept, unsigned depth) {
    Operation *op = use.getOwner();
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
      return ofContraction(contraction, use.getOperandNumber(), kept.back());
    if (auto reduce = dyn_cast<graph::ReduceOpInterface>(op)) {
      bool along = llvm::is_contained(reduce.getReducedDims(), kept.back());
      reductionPrefersOther |= !along;
      return along ? 1 : -1;
    }
    if (op->getNumResults() != 1)
      return -1;
    Value result = op->getResult(0);
    if (isa<graph::ElementwiseOpInterface>(op))
      return graph::getDims(result) == graph::getDims(use.get()) ? count(result, order, depth + 1) : 0;
    auto move = dyn_cast<graph::IndexingOpInterface>(op);
    if (!move)
      return -1;
    if (move.getViewKind() == graph::ViewKind::Transpose)
      return count(result, graph::transposedOrder(order, move.getViewOrder()), depth + 1);
    if (move.getViewKind() == graph::ViewKind::Reshape) {
      Dims from = graph::getDims(use.get()), to = graph::getDims(result);
      return count(result, *graph::reshapedOrder(graph::orderToReshape(order, from, to), from, to), depth + 1);
    }
    bool keeps =
        graph::getRank(result) == int64_t(order.size()) && (use.getOperandNumber() == 0 || graph::assemblyOf(move));
    return keeps ? count(result, order, depth + 1) : -1;
  }

  static int ofContraction(graph::ContractOpInterface op, unsigned operand, int64_t innermost) {
    SmallVector<AffineMap> maps = op.getIndexingMaps();
    operand %= 2; // the further components of a split type have the same layout as the first
    AffineExpr along = maps[operand].getResult(innermost);
    if (graph::hasWindows(op))
      return operand == 0 && channelDim(maps, op.getReductionDims()) == innermost ? 1 : -1;
    std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
    SmallVector<bool> summed = op.getReductionDims();
    bool alongSum = llvm::any_of(llvm::seq<unsigned>(0, summed.size()),
                                 [&](unsigned d) { return summed[d] && along.isFunctionOfDim(d); });
    if (operand == 0)
      return alongSum ? 1 : -1;
    // Vector kernels vectorize along columns, so a GEMM's right operand needs contiguous columns.
    // Threads that access rows and columns at the same cost read contiguous K as fast.
    bool alongColumns = roles && along.isFunctionOfDim(roles->column);
    return alongColumns || (alongSum && !plan::supports(op, plan::KernelFeature::InnermostVectors)) ? 1 : -1;
  }
};

} // namespace

bool readersPrefer(Value value, ArrayRef<int64_t> order) { return Readers().count(value, order) > 0; }

bool reductionsPreferOther(Value value, ArrayRef<int64_t> order) {
  Readers readers;
  return readers.count(value, order) < 0 && readers.reductionPrefersOther;
}

} // namespace hewn
