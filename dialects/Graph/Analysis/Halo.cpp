// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Halo.h"
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

/// Returns the halo rule of an elementwise op. The op aligns its operands with the last dims of the
/// result. An operand whose dim is 1 is broadcast, so all result rows read the full operand.
static std::optional<HaloRule> elementwiseForm(Operation *op, const HaloShard &wanted) {
  HaloRule form;
  Dims result = getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims dims = getDims(operand);
    int64_t dim = wanted.dim - int64_t(result.size() - dims.size());
    if (dim >= 0 && dims[dim] == result[wanted.dim])
      form.operands.push_back(HaloShard{dim, wanted.lines});
    else if (dim < 0 || dims[dim].is(1))
      form.operands.push_back(std::nullopt);
    else
      // no halo rule: with dynamic dims, whether the operand is broadcast is only known at run time
      return std::nullopt;
  }
  return form;
}

namespace {
/// The operand rows that an index expression reads for one value i of an iteration dim, while all
/// other iteration dims take all of their values: from stride * i to stride * i + `reach`.
struct Walk {
  int64_t stride = 0, reach = 0;
  bool isKnown = true;
};
} // namespace

/// Analyzes an index into an operand that is a sum of iteration dims with constant factors. For any
/// other expression, the result's `isKnown` is false.
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

static std::optional<HaloRule> contractForm(ContractOpInterface op, const HaloShard &wanted) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  auto place = dyn_cast<AffineDimExpr>(maps[2].getResult(wanted.dim));
  if (!place)
    return std::nullopt; // no halo rule: the result dim is a constant 1, not an iteration dim
  Dims extents = op.getIterationDims([](Value value) { return getDims(value); });
  HaloRule form;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<HaloShard> band;
    // left and right operands of a contraction alternate, also if they are split into bf16
    // components
    for (auto [dim, expr] : llvm::enumerate(maps[i % 2].getResults())) {
      if (!expr.isFunctionOfDim(place.getPosition()))
        continue;
      Walk walk = walkOf(expr, place.getPosition(), extents);
      if (!walk.isKnown || walk.stride < 1 || band)
        // no halo rule: the operand rows that the op reads are unknown, or two operand dims depend
        // on the iteration dim
        return std::nullopt;
      band = HaloShard{int64_t(dim),
                       {wanted.lines.begin * walk.stride, (wanted.lines.end - 1) * walk.stride + walk.reach + 1}};
    }
    form.operands.push_back(band);
  }
  return form;
}

static std::optional<HaloRule> reduceForm(ReduceOpInterface op, const HaloShard &wanted) {
  int64_t dim = wanted.dim;
  for (int64_t reduced : op.getReducedDims()) { // reduced dims in ascending order
    if (reduced == dim && op.keepsDims())
      // no halo rule: the result has one row, which depends on all operand rows
      return std::nullopt;
    dim += !op.keepsDims() && reduced <= dim;
  }
  return HaloRule{{HaloShard{dim, wanted.lines}}, {}, {}};
}

std::optional<HaloRule> haloRule(Operation *op, const HaloShard &wanted) {
  if (op->getNumResults() != 1 || op->getNumRegions() || wanted.lines.empty())
    return std::nullopt;
  std::optional<Lines> all = linesOf(op->getResult(0), wanted.dim);
  if (!all || !all->contains(wanted.lines))
    return std::nullopt;
  std::optional<HaloRule> form;
  if (auto move = dyn_cast<IndexingOpInterface>(op)) {
    form = move.getHaloRule(wanted);
  } else {
    if (isa<ElementwiseOpInterface>(op))
      form = elementwiseForm(op, wanted);
    else if (auto contract = dyn_cast<ContractOpInterface>(op))
      form = contractForm(contract, wanted);
    else if (auto reduce = dyn_cast<ReduceOpInterface>(op))
      form = reduceForm(reduce, wanted);
    else if (auto sums = dyn_cast<PrefixScanOpInterface>(op); sums && sums.getCumulatedDim() != wanted.dim)
      form = HaloRule{{wanted}, {}, {}};
    if (form) {
      form->attributes = ownAttributes(op);
      form->made = wanted.lines;
    }
  }
  if (!form)
    return std::nullopt; // the result rows depend on each other, or the op has no halo rule
  for (auto [operand, band] : llvm::zip(op->getOperands(), form->operands)) {
    std::optional<Lines> lines = band ? linesOf(operand, band->dim) : std::nullopt;
    if (band && (!lines || band->lines.empty() || !lines->contains(band->lines)))
      // no halo rule: the op reads no row of this operand; for example, all result rows are padding
      return std::nullopt;
  }
  return form;
}

} // namespace hewn::graph
