// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractEngine.h"
#include "dialects/Graph/Analysis/Cost.h"
#include "lib/Codegen/Contract/ContractEmitter.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

void ContractEmitter::run(const std::optional<Buffer> &memory) {
  m = schedule.getM();
  n = schedule.getN();
  columns = form.extents[form.roles.column];
  heavy = llvm::any_of(k.kernel.getBody().front().without_terminator(), graph::isTranscendental);
  variants = rowVariants();
  for (Index &index : iteration)
    index = e.constant(0);

  if (schedule.getLimbs() > 0)
    return runDigits(*memory, *plan::digitsOf(op));
  if (!contractScratch(k, form, schedule).empty())
    return runDecoding(*memory);
  // A panel of columns serves all rows before the next one is taken; where both operands run along the columns there is
  // nothing to keep, and a line is read from end to end.
  SmallVector<unsigned> outer(form.roles.batch);
  if (form.roles.columnInLeft)
    llvm::append_range(outer, form.outerRows);
  size_t panelAt = outer.size();
  Dims counts = extentsOf(outer);
  counts.push_back(columns.ceilDiv(n));
  if (!form.roles.columnInLeft) {
    llvm::append_range(outer, form.outerRows);
    llvm::append_range(counts, extentsOf(form.outerRows));
  }
  counts.push_back(form.rows.ceilDiv(m));
  overTasks(k, e, counts, vectorWork(graph::numElements(form.extents), e.lanes * form.group(), 1),
            [&](ArrayRef<Index> at) {
              unsigned next = 0;
              for (unsigned i = 0; i + 1 < at.size(); ++i)
                if (i != panelAt)
                  iteration[outer[next++]] = at[i];
              overPanels(at[panelAt], at.back());
            });
}

void ContractEmitter::overPanels(Index panel, Index tile) {
  withPanel(panel, [&](const Panel &chosen, Index firstColumn) { overRows(chosen, firstColumn, tile); });
}

void ContractEmitter::withPanel(Index panel, llvm::function_ref<void(const Panel &, Index)> body) {
  Index firstColumn = e.mul(panel, e.constant(n));
  std::optional<int64_t> count = columns.constant();
  int64_t vectors = n / e.lanes;
  auto withColumns = [&](std::optional<int64_t> rest) { // the panel's columns, where they are known
    Panel chosen;
    chosen.vectors = rest ? (*rest + e.lanes - 1) / e.lanes : vectors;
    chosen.masks.resize(chosen.vectors);
    for (int64_t j = 0; j < chosen.vectors; ++j)
      if (!rest || *rest < (j + 1) * e.lanes) {
        Index left = rest ? e.constant(*rest - j * e.lanes)
                          : e.sub(e.expression(columns), e.add(firstColumn, e.constant(j * e.lanes)));
        chosen.masks[j] = vector::CreateMaskOp::create(b, loc(), VectorType::get({e.lanes}, b.getI1Type()), left.base);
      }
    body(chosen, firstColumn);
  };
  if (!count)
    return withColumns(std::nullopt);
  int64_t rest = *count % n, whole = *count / n;
  if (rest == 0)
    return withColumns(n);
  if (whole == 0)
    return withColumns(rest);
  Value isLast = e.compare(arith::CmpIPredicate::eq, panel, e.constant(whole));
  e.branch(isLast, [&] { withColumns(rest); }, [&] { withColumns(n); });
}

SmallVector<RowVariant> ContractEmitter::rowVariants() {
  SmallVector<RowVariant> variants;
  std::optional<int64_t> rows = form.rows.constant();
  if (!rows)
    return variants;
  const Clip *clip = form.tiledClip();
  for (int64_t t = 0; t * m < *rows; ++t) {
    RowVariant variant{t, t, std::min(m, *rows - t * m), {}};
    if (clip) {
      bool all = true;
      int64_t extent = *clip->extent.constant();
      for (int64_t w = 0; w < *form.extents[clip->summed].constant(); ++w) {
        variant.inside.emplace_back();
        for (int64_t r = 0; r < variant.m; ++r) {
          int64_t position = (t * m + r) * clip->stride + w * clip->dilation - clip->low;
          variant.inside.back().push_back(position >= 0 && position < extent);
          all &= variant.inside.back().back();
        }
      }
      if (all)
        variant.inside.clear();
    }
    if (!variants.empty() && variants.back().sameCode(variant))
      variants.back().last = t;
    else
      variants.push_back(std::move(variant));
  }
  return variants;
}

void ContractEmitter::overRows(const Panel &panel, Index firstColumn, Index tile) {
  if (form.matrix)
    return overMatrixRows(panel, firstColumn, tile);
  if (variants.empty()) {
    Index first = e.mul(tile, e.constant(m));
    return unknownRows(panel, firstColumn, first, e.sub(e.expression(form.rows), first), m);
  }
  choose(variants, panel, firstColumn, tile);
}

void ContractEmitter::overMatrixRows(const Panel &panel, Index firstColumn, Index tile) {
  Index rows = e.expression(form.rows), start = e.mul(tile, e.constant(m));
  auto whole = [&] {
    Index first = e.min(start, e.sub(rows, e.constant(m)));
    emitMatrixTile(panel, firstColumn, first, e.sub(start, first));
  };
  if (form.rows.constant())
    return whole();
  int64_t most = schedule.getVectorRows();
  e.branch(e.compare(arith::CmpIPredicate::sge, rows, e.constant(m)), whole, [&] {
    e.forEach(e.constant(0), rows, most,
              [&](Index first) { unknownRows(panel, firstColumn, first, e.sub(rows, first), most); });
  });
}

void ContractEmitter::unknownRows(const Panel &panel, Index firstColumn, Index first, Index rest, int64_t most) {
  auto tile = [&](int64_t rows, bool all) {
    emitTile(panel, RowVariant{0, 0, rows, {}}, firstColumn, first, all ? std::nullopt : std::optional(rest));
  };
  auto atLeast = [&](int64_t rows) { return e.compare(arith::CmpIPredicate::sge, rest, e.constant(rows)); };
  int64_t half = most / 2;
  auto some = [&] {
    if (half < 2)
      return tile(most, false);
    e.branch(atLeast(half + 1), [&] { tile(most, false); }, [&] { tile(half, false); });
  };
  auto notFull = [&] { e.branch(atLeast(2), some, [&] { tile(1, true); }); };
  if (most == 1)
    return tile(1, true);
  e.branch(atLeast(most), [&] { tile(most, true); }, notFull);
}

void ContractEmitter::choose(ArrayRef<RowVariant> variants, const Panel &panel, Index firstColumn, Index tile) {
  if (variants.size() == 1) {
    const RowVariant &only = variants[0];
    Index first = only.first == only.last ? e.constant(only.first * m) : e.mul(tile, e.constant(m));
    return emitTile(panel, only, firstColumn, first, {});
  }
  const RowVariant *test = variants.begin();
  for (const RowVariant &variant : variants)
    if (variant.last - variant.first < test->last - test->first)
      test = &variant;
  SmallVector<RowVariant> others;
  for (const RowVariant &variant : variants)
    if (&variant != test)
      others.push_back(variant);
  Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::sge, tile, e.constant(test->first)),
                              e.compare(arith::CmpIPredicate::sle, tile, e.constant(test->last)));
  if (test->first == test->last)
    inside = e.compare(arith::CmpIPredicate::eq, tile, e.constant(test->first));
  e.branch(inside, [&] { choose(*test, panel, firstColumn, tile); }, [&] { choose(others, panel, firstColumn, tile); });
}

LogicalResult emitContraction(KernelFunction &k, OpBuilder &b, plan::ContractAttr schedule,
                              const std::optional<Buffer> &memory) {
  std::optional<ContractForm> form = contractForm(k, schedule.getUnit());
  if (!form)
    return k.kernel.emitOpError("@") << k.kernel.getName() << " has the schedule " << schedule
                                     << ", and is no contraction that the machine tiles so";
  if (failed(verifyContraction(k, *form, schedule, memory)))
    return failure();
  ContractEmitter(k, b, *form, schedule).run(memory);
  return success();
}

} // namespace hewn::codegen
