// SPDX-License-Identifier: Apache-2.0
//
// Products of one row after another by the same matrix become one product of all rows.
//
//     %a = graph.slice %x [0, 0]                                    %p = graph.matmul %x, %w : tensor<100x1024xf32>
//     %p = graph.matmul %a, %w : tensor<1x1024xf32>            →    %a = graph.slice %p [0, 0]
//     %b = graph.slice %x [1, 0]                                    %b = graph.slice %p [1, 0]
//     %q = graph.matmul %b, %w : tensor<1x1024xf32> ...
//
// Recurrences that a tracer has unrolled do so for the input of each step. A product of a few rows takes as long as its matrix needs to be read; one
// of all rows reads it once. Slices of a run of memory, and reshapes of these, are followed to what they are taken of.
#include "dialects/Graph/Analysis/Cuts.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Move/MemoryRun.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Transforms/Batch/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_JOINROWSPASS
#include "lib/Transforms/Batch/Passes.h.inc"

namespace {

/// Rows of a product that take no longer than its matrix needs to be read; of more there is little to gain.
constexpr int64_t kMostRows = 8;

/// So many rows at once read the matrix seldom enough, whatever its size.
constexpr int64_t kEnoughRows = 64;

/// A product, and from which element on its rows lie in a tensor.
struct Rows {
  int64_t first;
  graph::ContractOpInterface op;
};

/// What products must have in common: the tensor that their rows are of, their types, the matrix, and what they do.
using Kind = std::tuple<Value, Type, Type, Value, StringRef, Attribute>;

/// The elements of the value, where that is known.
std::optional<int64_t> countOf(Value value) { return graph::numElements(graph::getDims(value)).constant(); }

/// Whether operand 0's first dim is the result's, and no other operand has it. Sums of terms are not looked at.
bool isByRows(graph::ContractOpInterface op) {
  bool isSingle = op->getNumOperands() == 2 && graph::getRank(op->getResult(0)) >= 2;
  std::optional<graph::CutForm> form;
  if (isSingle)
    form = graph::cutForm(op, graph::Cut{0}, graph::getDims(op->getResult(0))[0]);
  return form && form->operands[0] == graph::Cut{0} && !form->operands[1];
}

bool hasFewRows(graph::ContractOpInterface op) {
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  return roles && !roles->columnInLeft &&
         plan::contractShape(op, *roles).rows.constant().value_or(kMostRows + 1) <= kMostRows;
}

/// Whether the result is only put beside others, as it is or reshaped: a product is made in its place there, and a slice would be one more operand of the kernel
/// that puts all of them together.
bool isPutTogether(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<graph::ConcatOpInterface>(user) || (graph::isViewKind(user) && isPutTogether(user->getResult(0)));
  });
}

/// How many products become one at most: as many rows as the matrix has, so that all results take no more memory than it does.
size_t mostAtOnce(graph::ContractOpInterface op) {
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  DimExpr depth(1);
  for (unsigned d : roles.summed)
    depth = depth * extents[d];
  int64_t rows = std::max<int64_t>(plan::contractShape(op, roles).rows.constant().value_or(1), 1);
  return size_t(std::max(kEnoughRows, depth.constant().value_or(0)) / rows);
}

/// One product in place of those whose rows lie one behind the other.
void join(ArrayRef<Rows> list, Value whole) {
  graph::ContractOpInterface earliest = list.front().op;
  for (const Rows &rows : list)
    if (rows.op->isBeforeInBlock(earliest))
      earliest = rows.op;
  OpBuilder b(earliest);
  graph::Composer c(b, earliest.getLoc());
  Dims left = graph::getDims(earliest->getOperand(0)), result = graph::getDims(earliest->getResult(0));
  DimExpr count(int64_t(list.size())), all = graph::numElements(left) * count;
  Value flat = c.reshape(whole, {graph::numElements(graph::getDims(whole))});
  left[0] = left[0] * count;
  Value rows = c.reshape(c.slice(flat, 0, DimExpr(list.front().first), all), left);
  Value products = graph::makeNamed(b, earliest.getLoc(), earliest->getName().getStringRef(),
                                    {rows, earliest->getOperand(1)}, graph::ownAttributes(earliest));
  Dims items = result;
  items.insert(items.begin(), count);
  products = c.reshape(products, items);
  for (auto [i, old] : llvm::enumerate(list)) {
    Operation *op = old.op;
    b.setInsertionPoint(op);
    graph::Composer here(b, op->getLoc());
    op->replaceAllUsesWith(ValueRange{here.reshape(here.slice(products, 0, DimExpr(int64_t(i)), DimExpr(1)), result)});
    // Slices that only this product has read go with it, a chain of them from its end on.
    Value read = op->getOperand(0);
    op->erase();
    while (read != whole && read.use_empty()) {
      Operation *move = read.getDefiningOp();
      read = move->getOperand(0);
      move->erase();
    }
  }
}

struct JoinRowsPass : impl::JoinRowsPassBase<JoinRowsPass> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) { joinIn(*block); });
  }

  static void joinIn(Block &block) {
    llvm::MapVector<Kind, SmallVector<Rows>> found;
    graph::MemoryRuns runs;
    for (auto op : block.getOps<graph::ContractOpInterface>()) {
      graph::MemoryRun run = runs.of(op->getOperand(0));
      std::optional<int64_t> first = run.first.constant();
      if (run.whole == op->getOperand(0) || !first || countOf(op->getOperand(0)).value_or(0) == 0 || !hasFewRows(op) ||
          !isByRows(op) || isPutTogether(op->getResult(0)))
        continue;
      Attribute does = DictionaryAttr::get(op.getContext(), graph::ownAttributes(op));
      found[{run.whole, op->getOperand(0).getType(), op->getResult(0).getType(), op->getOperand(1),
             op->getName().getStringRef(), does}]
          .push_back({*first, op});
    }
    for (auto &[kind, list] : found) {
      llvm::stable_sort(list, [](const Rows &a, const Rows &b) { return a.first < b.first; });
      int64_t length = *countOf(list.front().op->getOperand(0));
      size_t most = mostAtOnce(list.front().op);
      for (ArrayRef<Rows> rest = list; !rest.empty();) {
        size_t count = 1;
        while (count < std::min(rest.size(), most) && rest[count].first == rest[count - 1].first + length)
          ++count;
        if (count > 1)
          join(rest.take_front(count), std::get<0>(kind));
        rest = rest.drop_front(count);
      }
    }
  }
};

} // namespace
} // namespace hewn
