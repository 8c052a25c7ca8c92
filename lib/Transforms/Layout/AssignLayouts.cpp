// SPDX-License-Identifier: Apache-2.0
//
// Chooses how values lie in memory.
//
// Dims keep their logical meaning; a layout only says in which order they lie (`#graph.layout<[0, 2, 3, 1]>`: channels
// last). A contraction with windows wants its channels innermost, in what it reads and what it writes, so that columns
// are lanes; everything around it goes along, since elementwise ops, reductions and moves work in any order:
//
//     %0 = graph.conv %x, %w : ... -> tensor<1x64x56x56xf32>
//     %1 = graph.relu %0
//     →
//     %x1 = graph.relayout %x : ... -> tensor<1x3x226x226xf32, #graph.layout<[0, 2, 3, 1]>>
//     %w1 = graph.relayout %w : ... -> tensor<64x3x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>>
//     %0 = graph.conv %x1, %w1 : ... -> tensor<1x64x56x56xf32, #graph.layout<[0, 2, 3, 1]>>
//     %1 = graph.relu %0 : ... (the same layout)
//
// A transposition of a value is the same memory under another layout, and costs nothing. So is a reshape where dims that become
// one, or come from one, lie together and its readers want what comes of it; else its operand changes its layout. Inputs, outputs, region
// arguments and what runtime parts read stay row-major; a graph.relayout stands where a value must change, and fuses
// like any elementwise op. Constant weights of 3 x 3 windows may be laid out as Winograd's minimal filtering has them, where
// the model of the machine says that this wins and `largest-tile` allows it. Not done: weighing the cost of changes over the
// whole graph; layouts follow the contractions.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/Interleave.h"
#include "lib/Schedule/GridSchedule.h"
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
      else if (auto move = dyn_cast<graph::MoveOpInterface>(op))
        assignMove(move);
      else if (isa<graph::ReduceOpInterface, graph::CumulateOpInterface>(op))
        inherit(&op, op.getOperand(0));
      else if (!isa<graph::ConstantOp>(op))
        for (OpOperand &operand : op.getOpOperands())
          require(operand, rowMajor(0), "ops of this kind, and what is returned, take row-major order");
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

  /// Makes `operand` lie in `order` (any rank: an empty one means row-major), by a change of layout before its op if
  /// need be, for this reason. A constant changes when compiling, which nobody need be told.
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
    // Beside a constant, so that it is done once and when compiling.
    Operation *maker = value.getDefiningOp();
    bool constant = isa_and_nonnull<graph::ConstantOp>(maker);
    OpBuilder b(constant ? maker : before);
    if (constant)
      b.setInsertionPointAfter(maker);
    else if (Operation *around = value.getParentBlock()->findAncestorOpInBlock(*before)) // once, not at every step
      b.setInsertionPoint(around);
    // What is returned is turned for no op: it is its own node's.
    Location loc = before->hasTrait<OpTrait::IsTerminator>() ? value.getLoc() : before->getLoc();
    OperationState state(loc, graph::RelayoutOp::getOperationName(), value, type);
    Operation *op = b.create(state);
    graph::setResultDims(op, {graph::getDims(value)});
    return op->getResult(0);
  }

  /// The order of the first value that is not row-major.
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

  /// Whether less lies together than a vector holds: talking heads, behind each other for each pair of words.
  static bool isShort(Value value, ArrayRef<int64_t> order) {
    auto type = cast<RankedTensorType>(value.getType());
    plan::TargetAttr target = plan::targetOf(value.getDefiningOp());
    Order kept = graph::significantOrder(order, type);
    return target && !plan::gridOf(value.getDefiningOp()) && !llvm::is_sorted(kept) &&
           !type.isDynamicDim(kept.back()) &&
           type.getDimSize(kept.back()) * graph::elementBytes(value) < target.getVectorBytes();
  }

  void assignMove(graph::MoveOpInterface move) {
    Operation *op = move;
    Value result = op->getResult(0);
    int64_t rank = graph::getRank(result);
    if (move.getViewKind() == graph::ViewKind::Transpose) {
      Order order = graph::transposedOrder(orderOf(op->getOperand(0)), move.getViewOrder());
      setOrder(result, order);
      if (isShort(result, order) && reductionsPreferOther(result, order)) {
        Value turned =
            relayout(result, withOrder(cast<RankedTensorType>(result.getType()), rowMajor(rank)), op->getNextNode());
        result.replaceAllUsesExcept(turned, turned.getDefiningOp());
      }
      return;
    }
    if (move.getViewKind() == graph::ViewKind::Reshape) {
      Dims from = graph::getDims(op->getOperand(0)), to = graph::getDims(result);
      Order order = graph::orderToReshape(orderOf(op->getOperand(0)), from, to);
      if (!readersPrefer(result, *graph::reshapedOrder(order, from, to)))
        order = rowMajor(from.size());
      require(op->getOpOperand(0), order, "a reshape in this order would move elements");
      setOrder(result, *graph::reshapedOrder(orderOf(op->getOperand(0)), from, to));
      return;
    }
    // A move that keeps the rank keeps the order; one that adds dims behind (a window's) puts them innermost; others
    // write row-major from whatever they read.
    if (op->getNumOperands() == 0)
      return;
    int64_t own = graph::getRank(op->getOperand(0));
    if (std::optional<graph::Assembly> assembly = graph::assemblyOf(move)) {
      Order order = leadingOrder(op->getOperands(), rank);
      if (assembly->isInterleaved()) // neighbours are different operands'
        for (OpOperand &operand : op->getOpOperands())
          require(operand, order, "interleaved operands lie alike");
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

  //===----------------------------------------------------------------------------------------------------------------===//
  // Contractions
  //===----------------------------------------------------------------------------------------------------------------===//

  /// The same for a left operand; of one inside of a border that is left out it is what is inside.
  void requireLeft(graph::ContractOpInterface op, OpOperand &operand, const Order &order, StringRef why) {
    auto border = operand.get().getDefiningOp<graph::MoveOpInterface>();
    if (!border || !operand.get().hasOneUse() || !plan::leavesOutBorder(op, border))
      return require(operand, order, why);
    require(border->getOpOperand(0), order, why);
    setOrder(border->getResult(0), order);
  }

  void assignContraction(graph::ContractOpInterface op) {
    SmallVector<AffineMap> maps = op.getIndexingMaps();
    std::optional<graph::ContractRoles> roles = plan::rolesOf(op);
    Order resultOrder = rowMajor(maps[2].getNumResults());
    if (graph::hasWindows(op)) {
      std::optional<int64_t> channel = channelDim(maps, op.getReductionDims());
      for (unsigned i = 0; channel && i < op->getNumOperands(); i += 2)
        requireLeft(op, op->getOpOperand(i), moveLast(rowMajor(maps[0].getNumResults()), *channel),
                    "a contraction with windows reads channels that lie together");
      std::optional<unsigned> lanes = roles ? graph::resultWith(maps[2], roles->column) : featureDim(maps);
      if (lanes)
        resultOrder = moveLast(resultOrder, *lanes);
    } else if (std::optional<Order> wanted = orderForTransposition(op->getResult(0))) {
      if (roles && graph::resultWith(maps[2], roles->column) == wanted->back())
        resultOrder = *wanted;
    }
    if (!graph::hasWindows(op))
      requireDepth(op, maps, roles);
    for (unsigned i = 1; i < op->getNumOperands(); i += 2)
      assignRight(op, op->getOpOperand(i), maps, roles);
    setOrder(op->getResult(0), resultOrder);
  }

  /// What a lane takes at once lies together in the left operand, too.
  void requireDepth(graph::ContractOpInterface op, ArrayRef<AffineMap> maps,
                    const std::optional<graph::ContractRoles> &roles) {
    bool inGroups = roles && !roles->columnInLeft && plan::groupSize(op) > 1;
    std::optional<unsigned> k = inGroups ? graph::plainSummedDim(op, *roles) : std::nullopt;
    std::optional<unsigned> depth = k ? graph::resultWith(maps[0], *k) : std::nullopt;
    for (unsigned i = 0; depth && i < op->getNumOperands(); i += 2)
      requireLeft(op, op->getOpOperand(i), moveLast(orderOf(op->getOperand(i)), *depth),
                  "neighbours along the sum are multiplied at once: they must lie together");
  }

  /// Where there are no columns: the result's dim that runs along both operands.
  static std::optional<unsigned> featureDim(ArrayRef<AffineMap> maps) {
    for (unsigned d = 0; d < maps[2].getNumDims(); ++d)
      if (maps[0].isFunctionOfDim(d) && maps[1].isFunctionOfDim(d) && maps[2].isFunctionOfDim(d))
        return graph::resultWith(maps[2], d);
    return std::nullopt;
  }

  /// The order in which a transposition, the only reader, would be row-major.
  static std::optional<Order> orderForTransposition(Value result) {
    if (!result.hasOneUse())
      return std::nullopt;
    auto move = dyn_cast<graph::MoveOpInterface>(*result.user_begin());
    if (!move || move.getViewKind() != graph::ViewKind::Transpose)
      return std::nullopt;
    return Order(move.getViewOrder());
  }

  /// A code of its own for this contraction, in panels as its weights would be.
  void assignCode(graph::ContractOpInterface op, graph::CodedOpInterface decoder) {
    OpBuilder b(op);
    Operation *own = b.clone(*decoder);
    int64_t block = blockFor(op, *graph::contractRoles(op));
    for (OpOperand &operand : own->getOpOperands()) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      if (type.getRank() == 1) // a table, which all columns share
        continue;
      auto packed = graph::LayoutAttr::get(type.getContext(), {1, 0}, /*blockDim=*/1, block);
      operand.set(relayout(operand.get(), RankedTensorType::get(type.getShape(), type.getElementType(), packed), own));
    }
    op->setOperand(1, own->getResult(0));
    if (decoder->use_empty())
      decoder->erase();
  }

  /// `right`: the right operand, or a further term of it.
  void assignRight(graph::ContractOpInterface op, OpOperand &right, ArrayRef<AffineMap> maps,
                   const std::optional<graph::ContractRoles> &roles) {
    auto isConstant = [](Value v) { return isa_and_nonnull<graph::ConstantOp>(v.getDefiningOp()); };
    if (graph::CodedOpInterface decoder = plan::decoderOf(op);
        decoder && llvm::all_of(decoder->getOperands(), isConstant))
      return assignCode(op, decoder);
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
    // Where a grid multiplies what lies along the sum, all of it does.
    if (constant && plan::multipliesMatrices(op) && plan::wantsAlongSum(op))
      return require(right, constantOrder(op, maps, *lanes), "");
    if (!constant && !inGroups) {
      if (plan::gridOf(op)) // whose threads read lines and columns alike
        return;
      Order significant = graph::significantOrder(type);
      if (significant.empty() || significant.back() != *lanes)
        require(right, moveLast(orderOf(right.get()), *lanes), "columns are lanes: they must lie together");
      return;
    }
    // Constants take any order for free: columns innermost, summed dims as the left operand has them. So does what is packed in
    // groups when run.
    Order order = constantOrder(op, maps, *lanes);
    if (int64_t tile = plan::chooseWinogradTile(op, plan::largestWinogradTile(op, largestTile))) {
      // The products are one for each place of the transformed windows, which are outermost: panels of channels.
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
             plan::gridOf(op) ? "the grid's engine multiplies windows directly"
                              : "windows are expected to be multiplied faster as they are");
    int64_t group = plan::groupSize(op);
    bool packs =
        roles && !roles->columnInLeft &&
        (group > 1 || graph::widensRight(op) || type.getElementType() == graph::getElementType(op->getResult(0)));
    int64_t block = packs ? blockFor(op, *roles) : 0;
    if (!block) {
      require(right, moveLast(order, *lanes), "columns are lanes: they must lie together");
      return;
    }
    std::optional<unsigned> k = group > 1 ? graph::plainSummedDim(op, *roles) : std::nullopt;
    std::optional<unsigned> grouped = k ? graph::resultWith(maps[1], *k) : std::nullopt;
    auto packed = graph::LayoutAttr::get(type.getContext(), order, *lanes, block, grouped ? int64_t(*grouped) : -1,
                                         grouped ? group : 1);
    right.set(relayout(right.get(), RankedTensorType::get(type.getShape(), type.getElementType(), packed), op));
  }

  /// Dims that are not summed first, then the summed ones in the left operand's memory order.
  static Order constantOrder(graph::ContractOpInterface op, ArrayRef<AffineMap> maps, unsigned lanes) {
    SmallVector<bool> summed = op.getReductionDims();
    Order left = orderOf(op->getOperand(0));
    Order order;
    SmallVector<std::pair<int64_t, int64_t>> inner; // place in the left operand, dim
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

  /// Columns in a block; 0 where blocks would straddle groups.
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
