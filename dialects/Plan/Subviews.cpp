// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Subviews.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"

using namespace mlir;
using hewn::graph::LayoutAttr;

namespace hewn::plan {

/// Returns the strides, in elements, of an interleaved operand that is stored as a subview of the
/// whole tensor. `steps` has the distance between neighbors of the operand along each dim. Returns
/// nullopt if a stride depends on a dynamic dim.
static std::optional<SmallVector<int64_t>> interleavedStrides(RankedTensorType whole, ArrayRef<int64_t> steps) {
  SmallVector<int64_t> strides(steps);
  std::optional<int64_t> stride = 1;
  SmallVector<int64_t> order = graph::memoryOrder(whole);
  for (int64_t d : llvm::reverse(order)) {
    bool known = !whole.isDynamicDim(d);
    if (!stride || (!known && steps[d] != 1))
      return std::nullopt;
    strides[d] *= *stride;
    stride = known ? std::optional(*stride * whole.getDimSize(d)) : std::nullopt;
  }
  return strides;
}

bool knowsDims(RankedTensorType type, const graph::Assembly &assembly) {
  return assembly.isInterleaved() ? interleavedStrides(type, assembly.steps).has_value()
                                  : !type.isDynamicDim(assembly.dim);
}

bool liesAsIn(RankedTensorType subview, RankedTensorType whole, const graph::Assembly &assembly, int64_t number) {
  auto inBlocks = [](RankedTensorType type) {
    auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
    return layout && (layout.getBlockDim() >= 0 || graph::isSubview(type));
  };
  if (inBlocks(subview) || inBlocks(whole) || !knowsDims(subview, assembly) || !knowsDims(whole, assembly))
    return false;
  if (assembly.isInterleaved()) {
    for (auto [d, first] : llvm::enumerate(assembly.firstOf(number)))
      if (int64_t step = assembly.steps[d];
          step != 1 && subview.getDimSize(d) != llvm::divideCeilSigned(whole.getDimSize(d) - first, step))
        return false;
  } else if (subview.getDimSize(assembly.dim) == 0) {
    return false;
  }
  return graph::significantOrder(subview) == graph::significantOrder(graph::memoryOrder(whole), subview);
}

/// Returns true if each subview is contiguous in the whole tensor, that is, if the subviews are
/// concatenated along its outermost dim.
static bool hasRuns(RankedTensorType whole, const graph::Assembly &assembly) {
  SmallVector<int64_t> order = graph::significantOrder(whole);
  return !assembly.isInterleaved() && !order.empty() && order.front() == assembly.dim;
}

RankedTensorType subviewType(RankedTensorType subview, RankedTensorType whole, const graph::Assembly &assembly) {
  bool runs = hasRuns(whole, assembly);
  if (runs && liesAsIn(subview, whole, assembly, 0))
    return subview;
  SmallVector<int64_t> order = graph::memoryOrder(whole);
  Attribute layout;
  if (assembly.isInterleaved())
    layout = StridedLayoutAttr::get(whole.getContext(), /*offset=*/0, *interleavedStrides(whole, assembly.steps));
  else if (!runs || !llvm::is_sorted(order))
    layout = LayoutAttr::get(subview.getContext(), order, /*blockDim=*/-1, /*block=*/1, /*groupDim=*/-1, /*group=*/1,
                             /*tile=*/0, /*windows=*/{}, runs ? -1 : assembly.dim,
                             runs ? 0 : whole.getDimSize(assembly.dim));
  return RankedTensorType::get(subview.getShape(), subview.getElementType(), layout);
}

RankedTensorType contiguousType(RankedTensorType subview, RankedTensorType whole) {
  return RankedTensorType::get(subview.getShape(), subview.getElementType(),
                               LayoutAttr::get(whole.getContext(), graph::memoryOrder(whole)));
}

bool fillsWhole(RankedTensorType subview, RankedTensorType whole, const graph::Assembly &assembly, int64_t number) {
  if (!graph::isSubview(subview))
    return hasRuns(whole, assembly) && liesAsIn(subview, whole, assembly, number);
  return !hasRuns(whole, assembly) && subviewType(subview, whole, assembly) == subview &&
         (!assembly.isInterleaved() || liesAsIn(contiguousType(subview, whole), whole, assembly, number));
}

graph::Assembly formOf(AssembleOp op) {
  auto steps = op->getAttrOfType<DenseI64ArrayAttr>(kStepsAttr);
  return {int64_t(op.getDim()), steps ? llvm::to_vector(steps.asArrayRef()) : SmallVector<int64_t>()};
}

} // namespace hewn::plan
