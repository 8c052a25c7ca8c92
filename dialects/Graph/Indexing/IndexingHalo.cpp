// SPDX-License-Identifier: Apache-2.0
//
// Halo rules of the indexing ops (Analysis/Halo.h).
#include "dialects/Graph/Analysis/Halo.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Indexing/Interleave.h"

using namespace mlir;

namespace hewn::graph {

std::optional<HaloRule> TransposeOp::getHaloRule(const HaloShard &wanted) {
  return HaloRule{{HaloShard{getOrder()[wanted.dim], wanted.lines}}, ownAttributes(*this), wanted.lines};
}

/// The halo rule of a reshape. Finds an operand dim that has as many elements before it as the
/// result's dim. A result row then consists of several operand rows, or is a part of one operand
/// row. In the latter case, the requested range of result rows is extended so that it covers full
/// operand rows.
std::optional<HaloRule> ReshapeOp::getHaloRule(const HaloShard &wanted) {
  Dims from = getDims(getX()), to = getDims(getResult());
  DimExpr outer = numElements(ArrayRef(to).take_front(wanted.dim)),
          inner = numElements(ArrayRef(to).drop_front(wanted.dim + 1));
  for (int64_t dim = 0; dim < int64_t(from.size()); ++dim) {
    if (from[dim].is(1) || numElements(ArrayRef(from).take_front(dim)) != outer)
      continue;
    DimExpr own = numElements(ArrayRef(from).drop_front(dim + 1));
    auto quotient = [](const DimExpr &whole, const DimExpr &of) -> int64_t {
      std::optional<DimExpr> exact = of.is(0) ? std::nullopt : whole.divideExactly(of);
      return exact ? exact->constant().value_or(0) : 0;
    };
    Lines made = wanted.lines, read;
    // a result row of the reshape consists of `many` operand rows
    if (int64_t many = quotient(inner, own); many > 0) {
      read = {made.begin * many, made.end * many};
    } else if (int64_t parts = quotient(own, inner); parts > 0) {
      read = {made.begin / parts, int64_t(llvm::divideCeil(made.end, parts))};
      made = {read.begin * parts, read.end * parts};
    } else {
      return std::nullopt; // result rows and operand rows overlap partially
    }
    return HaloRule{{HaloShard{dim, read}}, withDim(*this, "shape", wanted.dim, DimExpr(made.size())), made};
  }
  return std::nullopt; // no operand dim starts at the same element as the result's dim
}

static void setDim(MLIRContext *context, SmallVectorImpl<NamedAttribute> &attributes, StringRef name, int64_t place,
                   const DimExpr &value) {
  for (NamedAttribute &attr : attributes)
    if (attr.getName() == name) {
      Dims dims = *parseDims(attr.getValue());
      dims[place] = value;
      attr.setValue(dimsAttr(context, dims));
    }
}

std::optional<HaloRule> SliceOp::getHaloRule(const HaloShard &wanted) {
  std::optional<int64_t> offset = (*parseDims(getOffsets()))[wanted.dim].constant();
  if (!offset)
    return std::nullopt; // the offset is only known at run time
  int64_t step = getSteps()[wanted.dim];
  int64_t first = *offset + wanted.lines.begin * step, last = *offset + (wanted.lines.end - 1) * step;
  Lines read{std::min(first, last), std::max(first, last) + 1};
  HaloRule form{
      {HaloShard{wanted.dim, read}}, withDim(*this, "sizes", wanted.dim, DimExpr(wanted.lines.size())), wanted.lines};
  setDim(getContext(), form.attributes, "offsets", wanted.dim, DimExpr(first - read.begin));
  return form;
}

std::optional<HaloRule> ConcatOp::getHaloRule(const HaloShard &wanted) {
  if (getConcatDim() == wanted.dim)
    // a range of rows along the concatenated dim needs different row ranges of the operands, or
    // none
    return std::nullopt;
  HaloRule form{{}, ownAttributes(*this), wanted.lines};
  form.operands.assign(getInputs().size(), wanted);
  return form;
}

std::optional<HaloRule> ExpandOp::getHaloRule(const HaloShard &wanted) {
  Dims from = getDims(getX()), to = getDims(getResult()), shape = *parseDims(getShape());
  HaloRule form{{std::nullopt}, ownAttributes(*this), wanted.lines};
  int64_t place = wanted.dim - int64_t(to.size() - shape.size());
  if (place >= 0 && !shape[place].is(1))
    form.attributes = withDim(*this, "shape", place, DimExpr(wanted.lines.size()));
  int64_t dim = wanted.dim - int64_t(to.size() - from.size());
  if (dim < 0 || (from[dim].is(1) && !to[wanted.dim].is(1)))
    return form;
  if (from[dim] != to[wanted.dim])
    return std::nullopt; // dynamic dims: whether the operand is broadcast is only known at run time
  form.operands[0] = HaloShard{dim, wanted.lines};
  return form;
}

/// The halo rule of a pad: a row range has padding rows only if it reaches beyond an end of the
/// operand. It is then extended so that it has all padding rows at that end.
std::optional<HaloRule> PadOp::getHaloRule(const HaloShard &wanted) {
  std::optional<int64_t> low = (*parseDims(getLow()))[wanted.dim].constant(),
                         high = (*parseDims(getHigh()))[wanted.dim].constant();
  std::optional<Lines> all = linesOf(getX(), wanted.dim);
  if (!low || !high || !all || getMode() == "wrap")
    // no rule: the padding is dynamic, or (mode wrap) padding rows come from the other end of the
    // operand
    return std::nullopt;
  int64_t size = all->size();
  // The requested result rows of the pad, numbered as operand rows; they may extend beyond the
  // operand.
  Lines source{wanted.lines.begin - *low, wanted.lines.end - *low}, read = source.meet(*all);
  int64_t before = std::max<int64_t>(0, -source.begin), behind = std::max<int64_t>(0, source.end - size);
  if (getMode() == "reflect") {
    if (before)
      read = read.join({0, before + 1});
    if (behind)
      read = read.join({size - 1 - behind, size});
  }
  HaloRule form{
      {HaloShard{wanted.dim, read}}, ownAttributes(*this), {read.begin + *low - before, read.end + *low + behind}};
  form.operands.resize((*this)->getNumOperands());
  setDim(getContext(), form.attributes, "low", wanted.dim, DimExpr(before));
  setDim(getContext(), form.attributes, "high", wanted.dim, DimExpr(behind));
  return form;
}

/// The halo rule of graph.window. Windows may extend beyond the operand at its ends only. Inside of
/// the operand, the row range includes all elements of the windows.
std::optional<HaloRule> WindowOp::getHaloRule(const HaloShard &wanted) {
  int64_t n = int64_t(getKernel().size()), first = getRank(getX()) - n, place = wanted.dim - first;
  HaloRule form{{wanted}, ownAttributes(*this), wanted.lines};
  if (place < 0)
    return form;
  std::optional<Lines> all = linesOf(getX(), wanted.dim);
  if (place >= n || !all)
    return std::nullopt; // the dim is that of window elements, or the number of rows is dynamic
  int64_t stride = getStrides()[place], low = getLow()[place];
  Lines reach{wanted.lines.begin * stride - low,
              (wanted.lines.end - 1) * stride + (getKernel()[place] - 1) * getDilations()[place] - low + 1};
  Lines read = reach.meet(*all);
  form.operands[0]->lines = read;
  setDim(getContext(), form.attributes, "sizes", place, DimExpr(wanted.lines.size()));
  SmallVector<int64_t> lows(getLow());
  lows[place] = read.begin - reach.begin;
  for (NamedAttribute &attr : form.attributes)
    if (attr.getName() == "low")
      attr.setValue(DenseI64ArrayAttr::get(getContext(), lows));
  return form;
}

/// The halo rule of an interleave: extends the row range to multiples of the step, so that each
/// operand contributes equally many rows.
std::optional<HaloRule> InterleaveOp::getHaloRule(const HaloShard &wanted) {
  int64_t step = getSteps()[wanted.dim];
  Lines all = *linesOf(getResult(), wanted.dim), steps{wanted.lines.begin / step, (wanted.lines.end - 1) / step + 1};
  HaloRule form{{}, {}, Lines{steps.begin * step, steps.end * step}.meet(all)};
  form.attributes = withDim(*this, "shape", wanted.dim, DimExpr(form.made.size()));
  Assembly assembly{0, llvm::to_vector(getSteps())};
  for (int64_t number = 0; number < int64_t(getInputs().size()); ++number) {
    int64_t first = assembly.firstOf(number)[wanted.dim], behind = form.made.end - first;
    form.operands.push_back(HaloShard{wanted.dim, {steps.begin, int64_t(llvm::divideCeilSigned(behind, step))}});
  }
  return form;
}

} // namespace hewn::graph
