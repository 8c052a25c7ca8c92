// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Items.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

SmallVector<NamedAttribute> ownAttributes(Operation *op) {
  return llvm::filter_to_vector(op->getAttrs(), [](NamedAttribute attr) { return attr.getName() != kDimsAttr; });
}

SmallVector<NamedAttribute> withFirstDimOne(Operation *op, StringRef name) {
  SmallVector<NamedAttribute> attributes = ownAttributes(op);
  for (NamedAttribute &attr : attributes)
    if (attr.getName() == name) {
      Dims dims = *parseDims(attr.getValue());
      dims[0] = DimExpr(1);
      attr.setValue(dimsAttr(op->getContext(), dims));
    }
  return attributes;
}

/// Operands of the result's rank and first dim are taken by items; others must not run along it.
static std::optional<ItemForm> elementwiseForm(Operation *op) {
  ItemForm form;
  Dims result = getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims dims = getDims(operand);
    bool reaches = dims.size() == result.size();
    form.byItem.push_back(reaches && dims[0] == result[0]);
    if (reaches && !form.byItem.back() && !dims[0].is(1))
      return std::nullopt;
  }
  return form;
}

static std::optional<ItemForm> contractForm(ContractOpInterface op) {
  ItemForm form;
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  AffineExpr item = maps[2].getResult(0);
  if (!isa<AffineDimExpr>(item))
    return std::nullopt;
  unsigned dim = cast<AffineDimExpr>(item).getPosition();
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    ArrayRef<AffineExpr> places = maps[i % 2].getResults(); // terms are left and right in turn
    form.byItem.push_back(!places.empty() && places[0] == item);
    for (AffineExpr place : places.drop_front(form.byItem.back()))
      if (place.isFunctionOfDim(dim))
        return std::nullopt;
  }
  return form;
}

std::optional<ItemForm> itemForm(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || getRank(op->getResult(0)) == 0)
    return std::nullopt;
  std::optional<ItemForm> form;
  if (auto move = dyn_cast<MoveOpInterface>(op))
    form = move.getItemForm();
  else if (isa<ElementwiseOpInterface>(op))
    form = elementwiseForm(op);
  else if (auto contract = dyn_cast<ContractOpInterface>(op))
    form = contractForm(contract);
  else if (auto reduce = dyn_cast<ReduceOpInterface>(op); reduce && !llvm::is_contained(reduce.getReducedDims(), 0))
    form = ItemForm{{true}, {}};
  else if (auto sums = dyn_cast<CumulateOpInterface>(op); sums && sums.getCumulatedDim() != 0)
    form = ItemForm{{true}, {}};
  if (!form || !llvm::is_contained(form->byItem, true))
    return std::nullopt;
  if (!isa<MoveOpInterface>(op))
    form->attributes = ownAttributes(op);
  return form;
}

} // namespace hewn::graph
