// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Pieces.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Plan/Schedule.h"

using namespace mlir;
using hewn::graph::LayoutAttr;

namespace hewn::plan {

bool liesAsIn(RankedTensorType piece, RankedTensorType whole, int64_t dim) {
  auto inBlocks = [](RankedTensorType type) {
    auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
    return layout && (layout.getBlockDim() >= 0 || layout.getPieceDim() >= 0);
  };
  if (inBlocks(piece) || inBlocks(whole) || piece.isDynamicDim(dim) || whole.isDynamicDim(dim) ||
      piece.getDimSize(dim) == 0)
    return false;
  return graph::significantOrder(piece) == graph::significantOrder(graph::memoryOrder(whole), piece);
}

/// Whether pieces along the dim are runs of elements of the whole.
static bool hasRuns(RankedTensorType whole, int64_t dim) {
  SmallVector<int64_t> order = graph::significantOrder(whole);
  return !order.empty() && order.front() == dim;
}

RankedTensorType pieceType(RankedTensorType piece, RankedTensorType whole, int64_t dim) {
  bool runs = hasRuns(whole, dim);
  if (runs && liesAsIn(piece, whole, dim))
    return piece;
  SmallVector<int64_t> order = graph::memoryOrder(whole);
  Attribute layout;
  if (!runs || !llvm::is_sorted(order))
    layout = LayoutAttr::get(piece.getContext(), order, /*blockDim=*/-1, /*block=*/1, /*groupDim=*/-1, /*group=*/1,
                             /*tile=*/0, /*windows=*/{}, runs ? -1 : dim, runs ? 0 : whole.getDimSize(dim));
  return RankedTensorType::get(piece.getShape(), piece.getElementType(), layout);
}

bool fillsWhole(RankedTensorType piece, RankedTensorType whole, int64_t dim) {
  if (!graph::isPiece(piece))
    return hasRuns(whole, dim) && liesAsIn(piece, whole, dim);
  return !hasRuns(whole, dim) && pieceType(piece, whole, dim) == piece;
}

bool mayBeReadApart(RankedTensorType piece, Value whole, int64_t dim) {
  auto type = cast<RankedTensorType>(whole.getType());
  TargetAttr target = targetOf(whole.getDefiningOp());
  std::optional<int64_t> elements = graph::storedElements(type, graph::getDims(whole)).constant();
  return pieceType(piece, type, dim) == piece ||
         (target && elements && *elements * graph::elementBytes(whole) <= target.getL2Bytes() / 2);
}

/// Whether the value has to be in memory for its readers: not where one alone takes it element by element.
static bool isReadWhole(Value value) {
  if (!value.hasOneUse())
    return true;
  Operation *reader = *value.user_begin();
  if (graph::isView(reader))
    return isReadWhole(reader->getResult(0));
  if (auto border = dyn_cast<graph::MoveOpInterface>(reader); border && border->hasOneUse())
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(*border->user_begin()))
      if (contraction->getOperand(0) == border->getResult(0) && plan::leavesOutBorder(contraction, border))
        return true;
  return !isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ReduceOpInterface, graph::ScanOpInterface>(
      reader);
}

/// Whether few contractions are between the first operand's maker and the op: the whole is live from there on, and its memory is
/// wanted by what is done meanwhile.
static bool isMadeAtOnce(Operation *op) {
  constexpr int64_t perOperand = 4;
  Operation *first = op;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp();
        maker && maker->getBlock() == op->getBlock() && maker->isBeforeInBlock(first))
      first = maker;
  int64_t between = 0;
  for (Operation *at = first; at != op; at = at->getNextNode())
    between += isa<graph::ContractOpInterface>(at);
  return between <= perOperand * int64_t(op->getNumOperands());
}

bool placesPieces(graph::MoveOpInterface op, llvm::function_ref<bool(Value)> isMadeElsewhere) {
  std::optional<int64_t> dim = op.getPieceDim();
  if (!dim || gridOf(op) || !isReadWhole(op->getResult(0)) || !isMadeAtOnce(op))
    return false;
  auto whole = cast<RankedTensorType>(op->getResult(0).getType());
  if (whole.isDynamicDim(*dim))
    return false;
  int64_t placed = 0;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    auto type = cast<RankedTensorType>(operand.getType());
    bool computed = isa_and_nonnull<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::ContractOpInterface,
                                    graph::MoveOpInterface>(maker) &&
                    !graph::isViewKind(maker) && maker->getBlock() == op->getBlock();
    auto putsTogether = [](OpOperand &use) {
      auto move = dyn_cast<graph::MoveOpInterface>(use.getOwner());
      return move && move.getPieceDim();
    };
    auto staysInKernels = [](Operation *user) {
      return isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::ScanOpInterface,
                 graph::ContractOpInterface, graph::MoveOpInterface>(user) &&
             !graph::isViewKind(user);
    };
    if (computed && isMadeElsewhere(operand) && liesAsIn(type, whole, *dim) &&
        llvm::count_if(operand.getUses(), putsTogether) == 1 &&
        (pieceType(type, whole, *dim) == type || llvm::all_of(operand.getUsers(), staysInKernels)) &&
        (operand.hasOneUse() || mayBeReadApart(type, op->getResult(0), *dim)))
      placed += type.getDimSize(*dim);
  }
  return 3 * placed >= 2 * whole.getDimSize(*dim) && placed > 0; // pieces with gaps take longer to read
}

} // namespace hewn::plan
