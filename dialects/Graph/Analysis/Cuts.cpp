// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Cuts.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

SmallVector<NamedAttribute> ownAttributes(Operation *op) {
  return llvm::filter_to_vector(op->getAttrs(), [](NamedAttribute attr) { return attr.getName() != kDimsAttr; });
}

std::optional<DimExpr> grainOf(const DimExpr &dim, const Cut &cut, const Parts &parts) {
  std::optional<DimExpr> block = dim.divideExactly(cut.blocks);
  return block ? block->divideExactly(parts.items.is(0) ? parts.count : parts.items) : std::nullopt;
}

std::optional<DimExpr> sizeOfPart(const DimExpr &dim, const Cut &cut, const Parts &parts) {
  std::optional<DimExpr> grain = grainOf(dim, cut, parts);
  if (!grain)
    return std::nullopt;
  return cut.blocks * *grain * (parts.items.is(0) ? DimExpr(1) : parts.items.ceilDiv(parts.count));
}

SmallVector<NamedAttribute> withPart(Operation *op, StringRef name, const Cut &cut, const Parts &parts) {
  SmallVector<NamedAttribute> attributes = ownAttributes(op);
  for (NamedAttribute &attr : attributes)
    if (attr.getName() == name) {
      Dims dims = *parseDims(attr.getValue());
      int64_t place = cut.dim - (getRank(op->getResult(0)) - int64_t(dims.size()));
      if (place >= 0 && !dims[place].is(1))
        dims[place] = sizeOfPart(dims[place], cut, parts).value_or(dims[place]);
      attr.setValue(dimsAttr(op->getContext(), dims));
    }
  return attributes;
}

Dims dimsOfPart(Dims dims, const Cut &cut, const Parts &parts) {
  dims[cut.dim] = *sizeOfPart(dims[cut.dim], cut, parts);
  return dims;
}

bool isCuttable(const Dims &dims, const Cut &cut, int64_t parts) {
  if (cut.dim >= int64_t(dims.size()))
    return false;
  std::optional<int64_t> size = dims[cut.dim].constant(), blocks = cut.blocks.constant();
  return size && blocks && *size > 0 && *size % (*blocks * parts) == 0;
}

/// Operands meet the result's last dims; one whose dim is 1 there is the same for all parts.
static std::optional<CutForm> elementwiseForm(Operation *op, const Cut &cut) {
  CutForm form;
  Dims result = getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims dims = getDims(operand);
    int64_t dim = cut.dim - int64_t(result.size() - dims.size());
    if (dim >= 0 && dims[dim] == result[cut.dim])
      form.operands.push_back(Cut{dim, cut.blocks});
    else if (dim < 0 || dims[dim].is(1))
      form.operands.push_back(std::nullopt);
    else
      return std::nullopt;
  }
  return form;
}

/// The operands of a contraction where its iteration dim `dim` is cut; nullopt where one reads along it and another dim at once.
static std::optional<CutForm> alongIteration(ContractOpInterface op, unsigned dim, const DimExpr &blocks) {
  CutForm form;
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<Cut> cut;
    for (auto [place, expr] : llvm::enumerate(maps[i % 2].getResults())) { // terms are left and right in turn
      if (!expr.isFunctionOfDim(dim))
        continue;
      if (!isa<AffineDimExpr>(expr) || cut)
        return std::nullopt;
      cut = Cut{int64_t(place), blocks};
    }
    form.operands.push_back(cut);
  }
  return form;
}

static std::optional<CutForm> contractForm(ContractOpInterface op, const Cut &cut) {
  auto place = dyn_cast<AffineDimExpr>(op.getIndexingMaps()[2].getResult(cut.dim));
  return place ? alongIteration(op, place.getPosition(), cut.blocks) : std::nullopt;
}

static std::optional<CutForm> reduceForm(ReduceOpInterface op, const Cut &cut) {
  int64_t dim = cut.dim;
  for (int64_t reduced : op.getReducedDims()) { // ascending
    if (reduced == dim && op.keepsDims())
      return std::nullopt;
    dim += !op.keepsDims() && reduced <= dim;
  }
  return CutForm{{Cut{dim, cut.blocks}}, {}};
}

std::optional<CutForm> cutForm(Operation *op, const Cut &cut, const Parts &parts) {
  if (op->getNumResults() != 1 || op->getNumRegions() || getRank(op->getResult(0)) <= cut.dim ||
      !sizeOfPart(getDims(op->getResult(0))[cut.dim], cut, parts))
    return std::nullopt;
  if (auto move = dyn_cast<MoveOpInterface>(op))
    return move.getCutForm(cut, parts);
  std::optional<CutForm> form;
  if (isa<ElementwiseOpInterface>(op))
    form = elementwiseForm(op, cut);
  else if (auto contract = dyn_cast<ContractOpInterface>(op))
    form = contractForm(contract, cut);
  else if (auto reduce = dyn_cast<ReduceOpInterface>(op))
    form = reduceForm(reduce, cut);
  else if (auto sums = dyn_cast<CumulateOpInterface>(op); sums && sums.getCumulatedDim() != cut.dim)
    form = CutForm{{cut}, {}};
  if (form)
    form->attributes = ownAttributes(op);
  return form;
}

/// Each part says which of its elements are meant, for which indices must be able to count beyond the whole.
static std::optional<CutForm> lookupSumForm(MoveOpInterface op, unsigned operand, const Cut &cut) {
  std::optional<int64_t> dim = op.getLookedUpDim();
  if (!dim || operand != 0 || cut != Cut{*dim, 1})
    return std::nullopt;
  std::optional<int64_t> size = getDims(op->getOperand(0))[*dim].constant();
  unsigned bits = getElementType(op->getOperand(1)).getIntOrFloatBitWidth();
  if (!size || (bits < 64 && *size >= int64_t(1) << (bits - 2)))
    return std::nullopt;
  return CutForm{{cut, std::nullopt}, ownAttributes(op)};
}

std::optional<CutForm> sumForm(Operation *op, unsigned operand, const Cut &cut) {
  if (auto move = dyn_cast<MoveOpInterface>(op))
    return lookupSumForm(move, operand, cut);
  auto contract = dyn_cast<ContractOpInterface>(op);
  if (!contract)
    return std::nullopt;
  auto place = dyn_cast<AffineDimExpr>(contract.getIndexingMaps()[operand % 2].getResult(cut.dim));
  if (!place || !contract.getReductionDims()[place.getPosition()])
    return std::nullopt;
  std::optional<CutForm> form = alongIteration(contract, place.getPosition(), cut.blocks);
  if (form)
    form->attributes = ownAttributes(op);
  return form;
}

/// Cuts in more blocks are not looked for: dims may be as long as they like.
static constexpr int64_t kMostBlocks = 1024;

SmallVector<Cut> cutsThrough(Operation *op, unsigned operand, const Cut &cut, int64_t parts) {
  SmallVector<Cut> found;
  if (op->getNumResults() != 1)
    return found;
  Dims dims = getDims(op->getResult(0));
  for (int64_t dim = 0; dim < int64_t(dims.size()); ++dim) {
    std::optional<int64_t> size = dims[dim].constant();
    if (!size || *size % parts != 0)
      continue;
    for (int64_t blocks = 1; blocks <= std::min(*size / parts, kMostBlocks); ++blocks) {
      Cut result{dim, DimExpr(blocks)};
      if (!isCuttable(dims, result, parts))
        continue;
      std::optional<CutForm> form = cutForm(op, result, DimExpr(parts));
      if (form && form->operands[operand] == cut)
        found.push_back(result);
      // Only moves change the number of blocks.
      if (!form || (!isa<MoveOpInterface>(op) && blocks > *cut.blocks.constant()))
        break;
    }
  }
  llvm::sort(found, [](const Cut &a, const Cut &b) {
    return std::pair(*a.blocks.constant(), a.dim) < std::pair(*b.blocks.constant(), b.dim);
  });
  return found;
}

} // namespace hewn::graph
