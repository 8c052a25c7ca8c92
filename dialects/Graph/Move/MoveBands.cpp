// SPDX-License-Identifier: Apache-2.0
//
// What the moves make of some lines of their operands (Analysis/Bands.h).
#include "dialects/Graph/Analysis/Bands.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Move/Interleave.h"
#include "dialects/Graph/Move/MoveOps.h"

using namespace mlir;

namespace hewn::graph {

std::optional<BandForm> TransposeOp::getBandForm(const Band &wanted) {
  return BandForm{{Band{getOrder()[wanted.dim], wanted.lines}}, ownAttributes(*this), wanted.lines};
}

/// Where as many elements lie in front of a dim of the operand, its lines are some of the result's each, or some of them are one. Of lines that
/// are parts of one the others are made as well.
std::optional<BandForm> ReshapeOp::getBandForm(const Band &wanted) {
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
    if (int64_t many = quotient(inner, own); many > 0) { // a line is so many of the operand
      read = {made.begin * many, made.end * many};
    } else if (int64_t parts = quotient(own, inner); parts > 0) {
      read = {made.begin / parts, int64_t(llvm::divideCeil(made.end, parts))};
      made = {read.begin * parts, read.end * parts};
    } else {
      return std::nullopt; // lines of one begin inside of the other's
    }
    return BandForm{{Band{dim, read}}, withDim(*this, "shape", wanted.dim, DimExpr(made.size())), made};
  }
  return std::nullopt; // no line of the operand begins where the result's do
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

std::optional<BandForm> SliceOp::getBandForm(const Band &wanted) {
  std::optional<int64_t> offset = (*parseDims(getOffsets()))[wanted.dim].constant();
  if (!offset)
    return std::nullopt; // where it begins only a run knows
  int64_t step = getSteps()[wanted.dim];
  int64_t first = *offset + wanted.lines.begin * step, last = *offset + (wanted.lines.end - 1) * step;
  Lines read{std::min(first, last), std::max(first, last) + 1};
  BandForm form{
      {Band{wanted.dim, read}}, withDim(*this, "sizes", wanted.dim, DimExpr(wanted.lines.size())), wanted.lines};
  setDim(getContext(), form.attributes, "offsets", wanted.dim, DimExpr(first - read.begin));
  return form;
}

std::optional<BandForm> ConcatOp::getBandForm(const Band &wanted) {
  if (getConcatDim() == wanted.dim)
    return std::nullopt; // most lines are not of all operands
  BandForm form{{}, ownAttributes(*this), wanted.lines};
  form.operands.assign(getInputs().size(), wanted);
  return form;
}

std::optional<BandForm> ExpandOp::getBandForm(const Band &wanted) {
  Dims from = getDims(getX()), to = getDims(getResult()), shape = *parseDims(getShape());
  BandForm form{{std::nullopt}, ownAttributes(*this), wanted.lines};
  int64_t place = wanted.dim - int64_t(to.size() - shape.size());
  if (place >= 0 && !shape[place].is(1))
    form.attributes = withDim(*this, "shape", place, DimExpr(wanted.lines.size()));
  int64_t dim = wanted.dim - int64_t(to.size() - from.size());
  if (dim < 0 || (from[dim].is(1) && !to[wanted.dim].is(1)))
    return form;
  if (from[dim] != to[wanted.dim])
    return std::nullopt; // whether it is repeated only a run knows
  form.operands[0] = Band{dim, wanted.lines};
  return form;
}

/// What lies in front of the first line, and behind the last one, only a band with these has; it has all lines that are found there.
std::optional<BandForm> PadOp::getBandForm(const Band &wanted) {
  std::optional<int64_t> low = (*parseDims(getLow()))[wanted.dim].constant(),
                         high = (*parseDims(getHigh()))[wanted.dim].constant();
  std::optional<Lines> all = linesOf(getX(), wanted.dim);
  if (!low || !high || !all || getMode() == "wrap")
    return std::nullopt; // only a run knows which lines are padding, or lines of the other end are
  int64_t size = all->size();
  // Along the operand, whose lines may be left of 0 and right of its last one.
  Lines source{wanted.lines.begin - *low, wanted.lines.end - *low}, read = source.meet(*all);
  int64_t before = std::max<int64_t>(0, -source.begin), behind = std::max<int64_t>(0, source.end - size);
  if (getMode() == "reflect") {
    if (before >= size || behind >= size)
      return std::nullopt; // to and fro
    if (before)
      read = read.join({0, before + 1});
    if (behind)
      read = read.join({size - 1 - behind, size});
  }
  BandForm form{{Band{wanted.dim, read}}, ownAttributes(*this), {read.begin + *low - before, read.end + *low + behind}};
  form.operands.resize((*this)->getNumOperands());
  setDim(getContext(), form.attributes, "low", wanted.dim, DimExpr(before));
  setDim(getContext(), form.attributes, "high", wanted.dim, DimExpr(behind));
  return form;
}

/// Windows that reach beyond the operand's ends do so beyond the band's; inside of it there are lines for all of their elements.
std::optional<BandForm> WindowOp::getBandForm(const Band &wanted) {
  int64_t n = int64_t(getKernel().size()), first = getRank(getX()) - n, place = wanted.dim - first;
  BandForm form{{wanted}, ownAttributes(*this), wanted.lines};
  if (place < 0)
    return form;
  std::optional<Lines> all = linesOf(getX(), wanted.dim);
  if (place >= n || !all)
    return std::nullopt; // along the windows' own elements, or nobody knows how many lines there are
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

/// Lines that one step is made of are made together.
std::optional<BandForm> InterleaveOp::getBandForm(const Band &wanted) {
  int64_t step = getSteps()[wanted.dim];
  Lines all = *linesOf(getResult(), wanted.dim), steps{wanted.lines.begin / step, (wanted.lines.end - 1) / step + 1};
  BandForm form{{}, {}, Lines{steps.begin * step, steps.end * step}.meet(all)};
  form.attributes = withDim(*this, "shape", wanted.dim, DimExpr(form.made.size()));
  Assembly assembly{0, llvm::to_vector(getSteps())};
  for (int64_t number = 0; number < int64_t(getInputs().size()); ++number) {
    int64_t first = assembly.firstOf(number)[wanted.dim], behind = form.made.end - first;
    form.operands.push_back(Band{wanted.dim, {steps.begin, int64_t(llvm::divideCeilSigned(behind, step))}});
  }
  return form;
}

} // namespace hewn::graph
