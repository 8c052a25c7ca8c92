// SPDX-License-Identifier: Apache-2.0
//
// Assigns a memory layout to each value and inserts conversions (see Passes.td).
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Interleave.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Layout/LayoutPreferences.h"
#include "lib/Transforms/Layout/Passes.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

using Order = SmallVector<int64_t>;

constexpr llvm::StringLiteral kPass = "hewn-assign-layouts";

Order rowMajor(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

Order orderOf(Value value) { return graph::memoryOrder(cast<RankedTensorType>(value.getType())); }

RankedTensorType withOrder(RankedTensorType type, ArrayRef<int64_t> order) {
  bool plain = llvm::is_sorted(graph::significantOrder(order, type));
  Attribute encoding = plain ? Attribute() : graph::LayoutAttr::get(type.getContext(), order, -1, 1);
  return RankedTensorType::get(type.getShape(), type.getElementType(), encoding);
}

Order moveLast(Order order, int64_t dim) {
  order.erase(llvm::find(order, dim));
  order.push_back(dim);
  return order;
}

class Assigner {
public:
  explicit Assigner(int64_t largestTile) : largestTile(largestTile) {}

  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
        assignContraction(contraction);
      else if (isa<graph::ElementwiseOpInterface>(op))
        assignElementwise(&op);
      else if (auto move = dyn_cast<graph::IndexingOpInterface>(op))
        assignMove(move);
      else if (isa<graph::ReduceOpInterface, graph::PrefixScanOpInterface>(op))
        inherit(&op, op.getOperand(0));
      else if (!isa<graph::ConstantOp>(op))
        for (OpOperand &operand : op.getOpOperands())
          require(operand, rowMajor(0),
                  "layout conversion inserted: this op, or the function's return, needs row-major operands");
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          run(inner);
    }
  }

private:
  int64_t largestTile;

  void setOrder(Value result, ArrayRef<int64_t> order) {
    result.setType(withOrder(cast<RankedTensorType>(result.getType()), order));
  }

  /// Inserts a conversion of `operand` to the dim order `order` before its user, if the operand has
  /// another order. An empty order means row-major of any rank. `why` is the reason that the remark
  /// gives. Conversions of constants have no remark, because they cost nothing at run time.
  void require(OpOperand &operand, Order order, StringRef why) {
    Value value = operand.get();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    if (order.empty())
      order = rowMajor(type.getRank());
    if (graph::significantOrder(type) == graph::significantOrder(order, type))
      return;
    Operation *maker = value.getDefiningOp(), *reader = operand.getOwner();
    if (!isa_and_nonnull<graph::ConstantOp>(maker))
      missed(maker && reader->hasTrait<OpTrait::IsTerminator>() ? maker : reader, kPass, "LayoutChanged", why)
          << remark::metric("Operand", int64_t(operand.getOperandNumber()));
    operand.set(relayout(value, withOrder(type, order), operand.getOwner()));
  }

  Value relayout(Value value, RankedTensorType type, Operation *before) {
    // A constant is converted to another layout directly after its definition, so that
    // PackConstants converts it once at compile time.
    Operation *maker = value.getDefiningOp();
    bool constant = isa_and_nonnull<graph::ConstantOp>(maker);
    OpBuilder b(constant ? maker : before);
    if (constant)
      b.setInsertionPointAfter(maker);
    // Convert a value that a loop body reads outside of the loop, so that it is converted once.
    else if (Operation *around = value.getParentBlock()->findAncestorOpInBlock(*before))
      b.setInsertionPoint(around);
    // The location of a conversion before the function's return is that of the op that produces the
    // value.
    Location loc = before->hasTrait<OpTrait::IsTerminator>() ? value.getLoc() : before->getLoc();
    OperationState state(loc, graph::RelayoutOp::getOperationName(), value, type);
    Operation *op = b.create(state);
    graph::setResultDims(op, {graph::getDims(value)});
    return op->getResult(0);
  }

  /// Returns the layout of the first of `values` that is not row-major, or row-major if all are.
  static Order leadingOrder(ValueRange values, int64_t rank) {
    for (Value value : values)
      if (Order own = orderOf(value); !llvm::is_sorted(own))
        return own;
    return rowMajor(rank);
  }

  void assignElementwise(Operation *op) {
    Dims dims = graph::getDims(op->getResult(0));
    SmallVector<Value> whole =
        llvm::filter_to_vector(op->getOperands(), [&](Value operand) { return graph::getDims(operand) == dims; });
    setOrder(op->getResult(0), leadingOrder(whole, dims.size()));
  }

  void inherit(Operation *op, Value operand) {
    Value result = op->getResult(0);
    Order order = orderOf(operand);
    int64_t rank = graph::getRank(result);
    if (auto reduce = dyn_cast<graph::ReduceOpInterface>(op); reduce && !reduce.keepsDims()) {
      Order kept;
      SmallVector<int64_t> reduced = reduce.getReducedDims();
      for (int64_t d : order)
        if (!llvm::is_contained(reduced, d))
          kept.push_back(d - llvm::count_if(reduced, [&](int64_t r) { return r < d; }));
      order = kept;
    }
    setOrder(result, int64_t(order.size()) == rank ? order : rowMajor(rank));
  }

  /// Returns true if the innermost dim of `value` in this dim order is shorter than a vector, so
  /// that vectors would be mostly empty. Example: attention scores whose heads are innermost.
  static bool isShort(Value value, ArrayRef<int64_t> order) {
    auto type = cast<RankedTensorType>(value.getType());
    plan::TargetAttr target = plan::targetOf(value.getDefiningOp());
    Order kept = graph::significantOrder(order, type);
    return target && plan::supports(value.getDefiningOp(), plan::KernelFeature::InnermostVectors) &&
           !llvm::is_sorted(kept) && !type.isDynamicDim(kept.back()) &&
           type.getDimSize(kept.back()) * graph::elementBytes(value) < target.getVectorBytes();
  }

  void assignMove(graph::IndexingOpInterface move) {
    Operation *op = move;
    Value result = op->getResult(0);
    int64_t rank = graph::getRank(result);
    if (move.getViewKind() == graph::ViewKind::Transpose) {
      Order order = graph::transposedOrder(orderOf(op->getOperand(0)), move.getViewOrder());
      setOrder(result, order);
      if (isShort(result, order) && reductionsPreferOther(result, order)) {
        Value converted =
            relayout(result, withOrder(cast<RankedTensorType>(result.getType()), rowMajor(rank)), op->getNextNode());
        result.replaceAllUsesExcept(converted, converted.getDefiningOp());
      }
      return;
    }
    if (move.getViewKind() == graph::ViewKind::Reshape) {
      Dims from = graph::getDims(op->getOperand(0)), to = graph::getDims(result);
      Order order = graph::orderToReshape(orderOf(op->getOperand(0)), from, to);
      if (!readersPrefer(result, *graph::reshapedOrder(order, from, to)))
        order = rowMajor(from.size());
      require(op->getOpOperand(0), order,
              "layout conversion inserted: a reshape of the current layout would move elements");
      setOrder(result, *graph::reshapedOrder(orderOf(op->getOperand(0)), from, to));
      return;
    }
    // An indexing op that keeps the rank keeps the layout of its operand. An op that appends dims
    // (those of a window) makes them innermost. All other indexing ops write row-major.
    if (op->getNumOperands() == 0)
      return;
    int64_t own = graph::getRank(op->getOperand(0));
    if (std::optional<graph::Assembly> assembly = graph::assemblyOf(move)) {
      Order order = leadingOrder(op->getOperands(), rank);
      if (assembly->isInterleaved()) // neighbouring elements come from different operands
        for (OpOperand &operand : op->getOpOperands())
          require(operand, order,
                  "layout conversion inserted: the operands of an interleaving concat need the same layout");
      setOrder(result, order);
    } else if (own == rank) {
      inherit(op, op->getOperand(0));
    } else if (own < rank) {
      Order order = orderOf(op->getOperand(0));
      for (int64_t d = own; d < rank; ++d)
        order.push_back(d);
      setOrder(result, order);
    }
  }

  //===----------------------------------------------------------------------------------------===//
  // Contractions
  //===----------------------------------------------------------------------------------------===//

  /// Converts the left operand of a contraction to the dim order `order`. If the operand is the
  /// result of a padding op that the contraction folds, converts the operand of the padding op
  /// instead.
  void requireLeft(graph::ContractOpInterface op, OpOperand &operand, const Order &order, StringRef why) {
    auto padding = operand.get().getDefiningOp<graph::IndexingOpInterface>();
    if (!padding || !operand.get().hasOneUse() || !plan::leavesOutBorder(op, padding))
      return require(operand, order, why);
    require(padding->getOpOperand(0), order, why);
    setOrder(padding->getResult(0), order);
  }

  void assignContraction(graph::ContractOpInterface op) {
    SmallVector<AffineMap> maps = op.getIndexingMaps();
    std::optional<graph::ContractRoles> roles = plan::rolesOf(op);
    Order resultOrder = rowMajor(maps[2].getNumResults());
    if (graph::hasWindows(op)) {
      std::optional<int64_t> channel = channelDim(maps, op.getReductionDims());
      for (unsigned i = 0; channel && i < op->getNumOperands(); i += 2)
        requireLeft(op, op->getOpOperand(i), moveLast(rowMajor(maps[0].getNumResults()), *channel),
                    "layout conversion inserted: a convolution needs contiguous channels");
      std::optional<unsigned> lanes = roles ? graph::resultWith(maps[2], roles->column) : featureDim(maps);
      if (lanes)
        resultOrder = moveLast(resultOrder, *lanes);
    } else if (std::optional<Order> preferred = orderForTransposition(op->getResult(0))) {
      if (roles && graph::resultWith(maps[2], roles->column) == preferred->back())
        resultOrder = *preferred;
    }
    if (!graph::hasWindows(op))
      requireContiguousK(op, maps, roles);
    for (unsigned i = 1; i < op->getNumOperands(); i += 2)
      assignRight(op, op->getOpOperand(i), maps, roles);
    setOrder(op->getResult(0), resultOrder);
  }

  /// Makes K contiguous in the left operand if dot-product instructions multiply groups of elements
  /// along K.
  void requireContiguousK(graph::ContractOpInterface op, ArrayRef<AffineMap> maps,
                          const std::optional<graph::ContractRoles> &roles) {
    bool inGroups = roles && !roles->columnInLeft && plan::groupSize(op) > 1;
    std::optional<unsigned> k = inGroups ? graph::plainSummedDim(op, *roles) : std::nullopt;
    std::optional<unsigned> depth = k ? graph::resultWith(maps[0], *k) : std::nullopt;
    for (unsigned i = 0; depth && i < op->getNumOperands(); i += 2)
      requireLeft(op, op->getOpOperand(i), moveLast(orderOf(op->getOperand(i)), *depth),
                  "layout conversion inserted: dot-product instructions need elements that are contiguous along K");
  }

  /// Returns the result dim that both operands depend on, or nothing if the contraction has a
  /// column dim.
  static std::optional<unsigned> featureDim(ArrayRef<AffineMap> maps) {
    for (unsigned d = 0; d < maps[2].getNumDims(); ++d)
      if (maps[0].isFunctionOfDim(d) && maps[1].isFunctionOfDim(d) && maps[2].isFunctionOfDim(d))
        return graph::resultWith(maps[2], d);
    return std::nullopt;
  }

  /// If the only user of `result` is a transpose, returns the layout of `result` in which the
  /// transpose's result is row-major.
  static std::optional<Order> orderForTransposition(Value result) {
    if (!result.hasOneUse())
      return std::nullopt;
    auto move = dyn_cast<graph::IndexingOpInterface>(*result.user_begin());
    if (!move || move.getViewKind() != graph::ViewKind::Transpose)
      return std::nullopt;
    return Order(move.getViewOrder());
  }

  /// Clones packed low-bit weights for this contraction and converts them to the panels (blocked
  /// layout) that its kernel reads.
  void assignPackedWeights(graph::ContractOpInterface op, graph::PackedWeightsOpInterface decoder) {
    OpBuilder b(op);
    Operation *own = b.clone(*decoder);
    int64_t block = blockFor(op, *graph::contractRoles(op));
    for (OpOperand &operand : own->getOpOperands()) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      if (type.getRank() == 1) // a lookup table, which all columns share
        continue;
      auto packed = graph::LayoutAttr::get(type.getContext(), {1, 0}, /*blockDim=*/1, block);
      operand.set(relayout(operand.get(), RankedTensorType::get(type.getShape(), type.getElementType(), packed), own));
    }
    op->setOperand(1, own->getResult(0));
    if (decoder->use_empty())
      decoder->erase();
  }

  /// Assigns the layout of a contraction's right operand. `right` is the weight or, for split
  /// types, a further component of it.
  void assignRight(graph::ContractOpInterface op, OpOperand &right, ArrayRef<AffineMap> maps,
                   const std::optional<graph::ContractRoles> &roles) {
    auto isConstant = [](Value v) { return isa_and_nonnull<graph::ConstantOp>(v.getDefiningOp()); };
    if (graph::PackedWeightsOpInterface decoder = plan::decoderOf(op);
        decoder && llvm::all_of(decoder->getOperands(), isConstant))
      return assignPackedWeights(op, decoder);
    auto type = cast<RankedTensorType>(right.get().getType());
    bool constant = isConstant(right.get());
    std::optional<unsigned> lanes;
    if (roles)
      lanes = graph::resultWith(maps[1], roles->column);
    else
      for (unsigned d = 0; d < maps[2].getNumDims() && !lanes; ++d)
        if (maps[0].isFunctionOfDim(d) && maps[1].isFunctionOfDim(d) && maps[2].isFunctionOfDim(d))
          lanes = graph::resultWith(maps[1], d);
    if (!lanes)
      return;
    bool inGroups = roles && !roles->columnInLeft && plan::groupSize(op) > 1;
    // For kernels whose matrix instructions need contiguous K, make all of K contiguous in memory,
    // not only the elements of one block.
    const plan::ScheduleModel &model = plan::ScheduleModel::of(op);
    if (constant && model.multipliesMatrices(op) && model.wantsAlongSum(op))
      return require(right, constantOrder(op, maps, *lanes), "");
    if (!constant && !inGroups) {
      if (!plan::supports(op, plan::KernelFeature::InnermostVectors))
        return;
      Order significant = graph::significantOrder(type);
      if (significant.empty() || significant.back() != *lanes)
        require(right, moveLast(orderOf(right.get()), *lanes),
                "layout conversion inserted: the kernel is vectorized along columns, which must be contiguous");
      return;
    }
    // A right operand that is a constant, or is packed at run time, can have any layout. Make its
    // columns innermost, and give its reduction dims the order of the left operand.
    Order order = constantOrder(op, maps, *lanes);
    if (int64_t tile = plan::chooseWinogradTile(op, plan::largestWinogradTile(op, largestTile))) {
      // Winograd computes one GEMM per position of the transformed window. The window dims of the
      // transformed filter are therefore outermost, and its channels form panels.
      graph::WinogradDims dims = *graph::winogradDims(op);
      Order windows(std::begin(dims.right), std::end(dims.right));
      llvm::erase_if(order, [&](int64_t d) { return llvm::is_contained(windows, d); });
      order.insert(order.begin(), windows.begin(), windows.end());
      auto transformed = graph::LayoutAttr::get(type.getContext(), order, *lanes, plan::winogradPanel(op, tile), -1, 1,
                                                tile, windows, -1, 0);
      right.set(relayout(right.get(), RankedTensorType::get(type.getShape(), type.getElementType(), transformed), op));
      return;
    }
    if (graph::winogradDims(op))
      missed(op, kPass, "NoMinimalFiltering",
             plan::supports(op, plan::KernelFeature::Winograd)
                 ? "Winograd not used: the cost model expects the direct convolution to be faster"
                 : "Winograd not used: the target's kernels compute convolutions directly");
    int64_t group = plan::groupSize(op);
    bool packs =
        roles && !roles->columnInLeft &&
        (group > 1 || graph::widensRight(op) || type.getElementType() == graph::getElementType(op->getResult(0)));
    int64_t block = packs ? blockFor(op, *roles) : 0;
    if (!block) {
      require(right, moveLast(order, *lanes),
              "layout conversion inserted: the kernel is vectorized along columns, which must be contiguous");
      return;
    }
    std::optional<unsigned> k = group > 1 ? graph::plainSummedDim(op, *roles) : std::nullopt;
    std::optional<unsigned> grouped = k ? graph::resultWith(maps[1], *k) : std::nullopt;
    auto packed = graph::LayoutAttr::get(type.getContext(), order, *lanes, block, grouped ? int64_t(*grouped) : -1,
                                         grouped ? group : 1);
    right.set(relayout(right.get(), RankedTensorType::get(type.getShape(), type.getElementType(), packed), op));
  }

  /// Returns the order of the dims of a constant right operand: parallel dims first, then reduction
  /// dims in the left operand's memory order.
  static Order constantOrder(graph::ContractOpInterface op, ArrayRef<AffineMap> maps, unsigned lanes) {
    SmallVector<bool> summed = op.getReductionDims();
    Order left = orderOf(op->getOperand(0));
    Order order;
    // Each pair holds a reduction dim's position in the left operand's memory order, and the dim.
    SmallVector<std::pair<int64_t, int64_t>> inner;
    for (auto [i, expr] : llvm::enumerate(maps[1].getResults())) {
      int64_t place = -1;
      for (unsigned d = 0; d < summed.size(); ++d)
        if (summed[d] && expr.isFunctionOfDim(d))
          if (std::optional<unsigned> there = graph::resultWith(maps[0], d))
            place = llvm::find(left, int64_t(*there)) - left.begin();
      if (place >= 0 && i != lanes)
        inner.push_back({place, int64_t(i)});
      else
        order.push_back(i);
    }
    llvm::sort(inner);
    for (auto [place, dim] : inner)
      order.push_back(dim);
    return order;
  }

  /// Returns the number of columns per block of a right operand's blocked layout. Returns 0 if
  /// blocks would straddle the groups of a grouped convolution.
  static int64_t blockFor(graph::ContractOpInterface op, const graph::ContractRoles &roles) {
    Dims extents = op.getIterationDims(graph::getDims);
    plan::ContractShape shape = plan::contractShape(op, roles);
    shape.matrix = plan::findMatrix(op);
    shape.grouped = plan::groupSize(op) > 1;
    if (op->getParentOfType<ModuleOp>()->hasAttr(plan::kPacksForAnyRowsAttr))
      shape.rows = graph::DimExpr::symbol("rows");
    int64_t block = plan::choosePanel(op, shape);
    std::optional<unsigned> column = graph::resultWith(op.getIndexingMaps()[1], roles.column);
    bool shared = llvm::any_of(roles.batch, [&](unsigned d) {
      return !extents[d].is(1) && graph::resultWith(op.getIndexingMaps()[1], d) == column;
    });
    int64_t lanes = std::max(plan::contractLanes(op, shape), plan::packingLanes(op));
    while (shared && block > 0 && extents[roles.column].constant().value_or(1) % block != 0)
      block -= lanes;
    return block;
  }
};

struct AssignLayoutsPass : impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using AssignLayoutsPassBase::AssignLayoutsPassBase;
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      Assigner(largestTile).run(block);
  }
};

} // namespace
} // namespace hewn
