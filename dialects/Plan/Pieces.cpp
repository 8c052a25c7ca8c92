// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Pieces.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"

using namespace mlir;
using hewn::graph::LayoutAttr;

namespace hewn::plan {

/// Elements between neighbours of what has each turn of the whole; nullopt where they depend on a dim that is not known.
static std::optional<SmallVector<int64_t>> stridesOfTurns(RankedTensorType whole, ArrayRef<int64_t> steps) {
  SmallVector<int64_t> strides(steps);
  std::optional<int64_t> stride = 1;
  for (int64_t d : llvm::reverse(graph::memoryOrder(whole))) {
    bool known = !whole.isDynamicDim(d);
    if (!stride || (!known && steps[d] != 1))
      return std::nullopt;
    strides[d] *= *stride;
    stride = known ? std::optional(*stride * whole.getDimSize(d)) : std::nullopt;
  }
  return strides;
}

bool knowsDims(RankedTensorType type, const graph::Assembly &assembly) {
  return assembly.takesTurns() ? stridesOfTurns(type, assembly.steps).has_value() : !type.isDynamicDim(assembly.dim);
}

bool liesAsIn(RankedTensorType piece, RankedTensorType whole, const graph::Assembly &assembly, int64_t number) {
  auto inBlocks = [](RankedTensorType type) {
    auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
    return layout && (layout.getBlockDim() >= 0 || graph::isPiece(type));
  };
  if (inBlocks(piece) || inBlocks(whole) || !knowsDims(piece, assembly) || !knowsDims(whole, assembly))
    return false;
  if (assembly.takesTurns()) {
    for (auto [d, first] : llvm::enumerate(assembly.firstOf(number)))
      if (int64_t step = assembly.steps[d];
          step != 1 && piece.getDimSize(d) != llvm::divideCeilSigned(whole.getDimSize(d) - first, step))
        return false;
  } else if (piece.getDimSize(assembly.dim) == 0) {
    return false;
  }
  return graph::significantOrder(piece) == graph::significantOrder(graph::memoryOrder(whole), piece);
}

/// Whether pieces are runs of elements of the whole.
static bool hasRuns(RankedTensorType whole, const graph::Assembly &assembly) {
  SmallVector<int64_t> order = graph::significantOrder(whole);
  return !assembly.takesTurns() && !order.empty() && order.front() == assembly.dim;
}

RankedTensorType pieceType(RankedTensorType piece, RankedTensorType whole, const graph::Assembly &assembly) {
  bool runs = hasRuns(whole, assembly);
  if (runs && liesAsIn(piece, whole, assembly, 0))
    return piece;
  SmallVector<int64_t> order = graph::memoryOrder(whole);
  Attribute layout;
  if (assembly.takesTurns())
    layout = StridedLayoutAttr::get(whole.getContext(), /*offset=*/0, *stridesOfTurns(whole, assembly.steps));
  else if (!runs || !llvm::is_sorted(order))
    layout = LayoutAttr::get(piece.getContext(), order, /*blockDim=*/-1, /*block=*/1, /*groupDim=*/-1, /*group=*/1,
                             /*tile=*/0, /*windows=*/{}, runs ? -1 : assembly.dim,
                             runs ? 0 : whole.getDimSize(assembly.dim));
  return RankedTensorType::get(piece.getShape(), piece.getElementType(), layout);
}

RankedTensorType typeAlone(RankedTensorType piece, RankedTensorType whole) {
  return RankedTensorType::get(piece.getShape(), piece.getElementType(),
                               LayoutAttr::get(whole.getContext(), graph::memoryOrder(whole)));
}

bool fillsWhole(RankedTensorType piece, RankedTensorType whole, const graph::Assembly &assembly, int64_t number) {
  if (!graph::isPiece(piece))
    return hasRuns(whole, assembly) && liesAsIn(piece, whole, assembly, number);
  return !hasRuns(whole, assembly) && pieceType(piece, whole, assembly) == piece &&
         (!assembly.takesTurns() || liesAsIn(typeAlone(piece, whole), whole, assembly, number));
}

graph::Assembly formOf(AssembleOp op) {
  auto steps = op->getAttrOfType<DenseI64ArrayAttr>(kStepsAttr);
  return {int64_t(op.getDim()), steps ? llvm::to_vector(steps.asArrayRef()) : SmallVector<int64_t>()};
}

} // namespace hewn::plan
