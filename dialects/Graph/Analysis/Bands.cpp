// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bands.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

std::optional<Lines> linesOf(Value value, int64_t dim) {
  Dims dims = getDims(value);
  std::optional<int64_t> size = dim < int64_t(dims.size()) ? dims[dim].constant() : std::nullopt;
  return size ? std::optional(Lines{0, *size}) : std::nullopt;
}

SmallVector<NamedAttribute> withDim(Operation *op, StringRef name, int64_t place, const DimExpr &value) {
  SmallVector<NamedAttribute> attributes = ownAttributes(op);
  for (NamedAttribute &attr : attributes)
    if (attr.getName() == name) {
      Dims dims = *parseDims(attr.getValue());
      dims[place] = value;
      attr.setValue(dimsAttr(op->getContext(), dims));
    }
  return attributes;
}

/// Operands meet the result's last dims; one whose dim is 1 there is the same for all lines.
static std::optional<BandForm> elementwiseForm(Operation *op, const Band &wanted) {
  BandForm form;
  Dims result = getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims dims = getDims(operand);
    int64_t dim = wanted.dim - int64_t(result.size() - dims.size());
    if (dim >= 0 && dims[dim] == result[wanted.dim])
      form.operands.push_back(Band{dim, wanted.lines});
    else if (dim < 0 || dims[dim].is(1))
      form.operands.push_back(std::nullopt);
    else
      return std::nullopt; // whether it is repeated only a run knows
  }
  return form;
}

namespace {
/// Along which lines an index runs where one iteration dim takes some steps and the others all of theirs: stride * that dim, and up to `reach` more.
struct Walk {
  int64_t stride = 0, reach = 0;
  bool isKnown = true;
};
} // namespace

/// Sums of iteration dims times numbers are walked; all else is not known.
static Walk walkOf(AffineExpr expr, unsigned along, const Dims &extents) {
  auto times = [&](AffineExpr dim, int64_t factor) -> Walk {
    unsigned place = cast<AffineDimExpr>(dim).getPosition();
    if (factor < 0)
      return {.isKnown = false};
    if (place == along)
      return {.stride = factor};
    std::optional<int64_t> extent = extents[place].constant();
    return {.reach = extent ? factor * (*extent - 1) : 0, .isKnown = extent && *extent > 0};
  };
  if (isa<AffineDimExpr>(expr))
    return times(expr, 1);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr); constant && constant.getValue() == 0)
    return {};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && binary.getKind() == AffineExprKind::Add) {
    Walk left = walkOf(binary.getLHS(), along, extents), right = walkOf(binary.getRHS(), along, extents);
    return {left.stride + right.stride, left.reach + right.reach, left.isKnown && right.isKnown};
  }
  auto factor = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
  if (binary && binary.getKind() == AffineExprKind::Mul && factor && isa<AffineDimExpr>(binary.getLHS()))
    return times(binary.getLHS(), factor.getValue());
  return {.isKnown = false};
}

static std::optional<BandForm> contractForm(ContractOpInterface op, const Band &wanted) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  auto place = dyn_cast<AffineDimExpr>(maps[2].getResult(wanted.dim));
  if (!place)
    return std::nullopt; // a dim of 1
  Dims extents = op.getIterationDims([](Value value) { return getDims(value); });
  BandForm form;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<Band> band;
    for (auto [dim, expr] : llvm::enumerate(maps[i % 2].getResults())) { // terms are left and right in turn
      if (!expr.isFunctionOfDim(place.getPosition()))
        continue;
      Walk walk = walkOf(expr, place.getPosition(), extents);
      if (!walk.isKnown || walk.stride < 1 || band)
        return std::nullopt; // not lines one behind the other, or along two dims at once
      band =
          Band{int64_t(dim), {wanted.lines.begin * walk.stride, (wanted.lines.end - 1) * walk.stride + walk.reach + 1}};
    }
    form.operands.push_back(band);
  }
  return form;
}

static std::optional<BandForm> reduceForm(ReduceOpInterface op, const Band &wanted) {
  int64_t dim = wanted.dim;
  for (int64_t reduced : op.getReducedDims()) { // ascending
    if (reduced == dim && op.keepsDims())
      return std::nullopt; // its one line is made of all
    dim += !op.keepsDims() && reduced <= dim;
  }
  return BandForm{{Band{dim, wanted.lines}}, {}, {}};
}

std::optional<BandForm> bandForm(Operation *op, const Band &wanted) {
  if (op->getNumResults() != 1 || op->getNumRegions() || wanted.lines.empty())
    return std::nullopt;
  std::optional<Lines> all = linesOf(op->getResult(0), wanted.dim);
  if (!all || !all->contains(wanted.lines))
    return std::nullopt;
  std::optional<BandForm> form;
  if (auto move = dyn_cast<MoveOpInterface>(op)) {
    form = move.getBandForm(wanted);
  } else {
    if (isa<ElementwiseOpInterface>(op))
      form = elementwiseForm(op, wanted);
    else if (auto contract = dyn_cast<ContractOpInterface>(op))
      form = contractForm(contract, wanted);
    else if (auto reduce = dyn_cast<ReduceOpInterface>(op))
      form = reduceForm(reduce, wanted);
    else if (auto sums = dyn_cast<CumulateOpInterface>(op); sums && sums.getCumulatedDim() != wanted.dim)
      form = BandForm{{wanted}, {}, {}};
    if (form) {
      form->attributes = ownAttributes(op);
      form->made = wanted.lines;
    }
  }
  if (!form)
    return std::nullopt; // whose lines depend on each other, or that has none
  for (auto [operand, band] : llvm::zip(op->getOperands(), form->operands)) {
    std::optional<Lines> lines = band ? linesOf(operand, band->dim) : std::nullopt;
    if (band && (!lines || band->lines.empty() || !lines->contains(band->lines)))
      return std::nullopt; // made of no line, such as padding alone
  }
  return form;
}

} // namespace hewn::graph
