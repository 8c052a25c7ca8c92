// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

static LayoutAttr blockedLayout(RankedTensorType type) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  return layout && layout.getBlockDim() >= 0 ? layout : LayoutAttr();
}

/// Returns the `strided` encoding of a tensor type, or null if the type has none or if the encoding
/// is not supported. A tensor with this encoding is a subview with gaps along several dims.
static StridedLayoutAttr stridedLayout(RankedTensorType type) {
  auto layout = dyn_cast_or_null<StridedLayoutAttr>(type.getEncoding());
  bool known = layout && int64_t(layout.getStrides().size()) == type.getRank() && layout.getOffset() == 0 &&
               llvm::all_of(layout.getStrides(), [](int64_t stride) { return stride > 0; });
  return known ? layout : StridedLayoutAttr();
}

SmallVector<int64_t> memoryOrder(RankedTensorType type) {
  if (StridedLayoutAttr layout = stridedLayout(type)) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return layout.getStrides()[a] > layout.getStrides()[b]; });
    return order;
  }
  if (auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding()))
    return llvm::to_vector(layout.getOrder());
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

SmallVector<int64_t> significantOrder(RankedTensorType type) { return significantOrder(memoryOrder(type), type); }

SmallVector<int64_t> significantOrder(ArrayRef<int64_t> order, RankedTensorType type) {
  return llvm::filter_to_vector(order, [&](int64_t d) { return type.getDimSize(d) != 1; });
}

bool isSubview(RankedTensorType type) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  return stridedLayout(type) || (layout && layout.getSubviewDim() >= 0);
}

Dims storedExtents(RankedTensorType type, ArrayRef<DimExpr> dims) {
  Dims extents(dims);
  if (LayoutAttr layout = blockedLayout(type)) {
    extents[layout.getBlockDim()] = extents[layout.getBlockDim()].ceilDiv(layout.getBlock());
    if (layout.getGroupDim() >= 0)
      extents[layout.getGroupDim()] = extents[layout.getGroupDim()].ceilDiv(layout.getGroup());
    for (int64_t d : layout.getWindows())
      extents[d] = extents[d] + DimExpr(layout.getTile() - 1);
  }
  if (isSubview(type) && !stridedLayout(type)) {
    auto layout = cast<LayoutAttr>(type.getEncoding());
    extents[layout.getSubviewDim()] = DimExpr(layout.getWhole());
  }
  return extents;
}

int64_t storedTogether(RankedTensorType type) {
  LayoutAttr layout = blockedLayout(type);
  return layout ? layout.getBlock() * layout.getGroup() : 1;
}

Dims storedStrides(RankedTensorType type, ArrayRef<DimExpr> dims) {
  if (StridedLayoutAttr layout = stridedLayout(type))
    return llvm::map_to_vector<4>(layout.getStrides(), [](int64_t stride) { return DimExpr(stride); });
  Dims extents = storedExtents(type, dims), strides(dims.size(), DimExpr(0));
  SmallVector<int64_t> order = memoryOrder(type);
  DimExpr stride(storedTogether(type));
  for (int64_t dim : llvm::reverse(order)) {
    strides[dim] = stride;
    stride = stride * extents[dim];
  }
  return strides;
}

DimExpr storedElements(RankedTensorType type, ArrayRef<DimExpr> dims) {
  if (StridedLayoutAttr layout = stridedLayout(type)) {
    DimExpr last(0);
    for (auto [dim, stride] : llvm::zip(dims, layout.getStrides()))
      last = last + (dim - DimExpr(1)) * DimExpr(stride);
    return last + DimExpr(1);
  }
  return numElements(storedExtents(type, dims)) * DimExpr(storedTogether(type));
}

} // namespace hewn::graph
