// SPDX-License-Identifier: Apache-2.0
//
// Merges GEMVs and skinny GEMMs on rows of one tensor with the same matrix into one GEMM (see
// Passes.td).
#include "dialects/Graph/Analysis/Sharding.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Indexing/MemoryRun.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Transforms/Batch/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_MERGEGEMVSPASS
#include "lib/Transforms/Batch/Passes.h.inc"

namespace {

/// Limit of the rows of a GEMM to merge. A GEMM with this many rows or fewer takes as long as
/// reading its matrix; with more rows, merging gains little.
constexpr int64_t kMaxSkinnyRows = 8;

/// Number of rows of a merged GEMM from which the time of reading the matrix is amortized, whatever
/// the size of the matrix.
constexpr int64_t kAmortizedRows = 64;

/// A GEMM and the offset of its rows in the source tensor, in elements.
struct RowGemm {
  int64_t first;
  graph::ContractOpInterface op;
};

/// Key of GEMMs that may be merged into one. GEMMs with equal keys have the same source tensor,
/// operand type, result type, matrix, op name and attributes.
using MergeKey = std::tuple<Value, Type, Type, Value, StringRef, Attribute>;

/// Returns the number of elements of the value, or nothing if it is dynamic.
std::optional<int64_t> numElementsOf(Value value) { return graph::numElements(graph::getDims(value)).constant(); }

/// Returns true if the rows of a contraction are independent: the first dim of operand 0 is the
/// first dim of the result, and the other operand does not depend on it. Contractions with several
/// operand pairs (split types) are not supported.
bool isRowWise(graph::ContractOpInterface op) {
  bool isSingle = op->getNumOperands() == 2 && graph::getRank(op->getResult(0)) >= 2;
  std::optional<graph::ShardingRule> form;
  if (isSingle)
    form = graph::shardingRule(op, graph::DimSharding{0}, graph::getDims(op->getResult(0))[0]);
  return form && form->operands[0] == graph::DimSharding{0} && !form->operands[1];
}

bool hasFewRows(graph::ContractOpInterface op) {
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  return roles && !roles->columnInLeft &&
         plan::contractShape(op, *roles).rows.constant().value_or(kMaxSkinnyRows + 1) <= kMaxSkinnyRows;
}

/// Returns true if a concat uses the GEMM's result, directly or through views. GEMMs with such a
/// result are not merged: each writes its result directly into the concat's result, while a slice
/// of the merged result would have to be copied.
bool isConcatOperand(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<graph::ConcatOpInterface>(user) || (graph::isViewKind(user) && isConcatOperand(user->getResult(0)));
  });
}

/// Returns the largest number of GEMMs to merge into one. Together they have at most as many rows
/// as the matrix, so that the merged result takes no more memory than the matrix. kAmortizedRows
/// rows are allowed in any case.
size_t maxMergedGemms(graph::ContractOpInterface op) {
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  DimExpr depth(1);
  for (unsigned d : roles.summed)
    depth = depth * extents[d];
  int64_t rows = std::max<int64_t>(plan::contractShape(op, roles).rows.constant().value_or(1), 1);
  return size_t(std::max(kAmortizedRows, depth.constant().value_or(0)) / rows);
}

/// Replaces GEMMs on consecutive rows by one GEMM and slices of its result.
void mergeGemms(ArrayRef<RowGemm> list, Value whole) {
  graph::ContractOpInterface earliest = list.front().op;
  for (const RowGemm &rows : list)
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
    // Erase the slices and views of the source tensor that only the merged GEMM used, last one
    // first.
    Value read = op->getOperand(0);
    op->erase();
    while (read != whole && read.use_empty()) {
      Operation *move = read.getDefiningOp();
      read = move->getOperand(0);
      move->erase();
    }
  }
}

struct MergeGemvsPass : impl::MergeGemvsPassBase<MergeGemvsPass> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) { mergeInBlock(*block); });
  }

  static void mergeInBlock(Block &block) {
    llvm::MapVector<MergeKey, SmallVector<RowGemm>> found;
    graph::MemoryRuns runs;
    for (auto op : block.getOps<graph::ContractOpInterface>()) {
      graph::MemoryRun run = runs.of(op->getOperand(0));
      std::optional<int64_t> first = run.first.constant();
      if (run.whole == op->getOperand(0) || !first || numElementsOf(op->getOperand(0)).value_or(0) == 0 ||
          !hasFewRows(op) || !isRowWise(op) || isConcatOperand(op->getResult(0)))
        continue;
      Attribute does = DictionaryAttr::get(op.getContext(), graph::ownAttributes(op));
      found[{run.whole, op->getOperand(0).getType(), op->getResult(0).getType(), op->getOperand(1),
             op->getName().getStringRef(), does}]
          .push_back({*first, op});
    }
    for (auto &[kind, list] : found) {
      llvm::stable_sort(list, [](const RowGemm &a, const RowGemm &b) { return a.first < b.first; });
      int64_t length = *numElementsOf(list.front().op->getOperand(0));
      size_t most = maxMergedGemms(list.front().op);
      for (ArrayRef<RowGemm> rest = list; !rest.empty();) {
        size_t count = 1;
        while (count < std::min(rest.size(), most) && rest[count].first == rest[count - 1].first + length)
          ++count;
        if (count > 1)
          mergeGemms(rest.take_front(count), std::get<0>(kind));
        rest = rest.drop_front(count);
      }
    }
  }
};

} // namespace
} // namespace hewn
