// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Partition/Tables.h"
#include "dialects/Graph/Analysis/Transposed.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::partition {

namespace {

/// Only constants with at least this many bytes are padded to a multiple of the number of ranks.
constexpr int64_t kPaddedBytes = 1 << 20;

/// A dim of a constant that is an operand of a contraction, directly or through a transpose.
struct Source {
  graph::ConstantOp constant;
  int64_t dim;
  /// The permutation of the transpose, or an empty list if there is no transpose.
  SmallVector<int64_t> order;
};

Source sourceOf(Value value, int64_t dim) {
  auto move = value.getDefiningOp<graph::IndexingOpInterface>();
  if (!move || move.getViewKind() != graph::ViewKind::Transpose)
    return {value.getDefiningOp<graph::ConstantOp>(), dim, {}};
  SmallVector<int64_t> order = move.getViewOrder();
  return {move->getOperand(0).getDefiningOp<graph::ConstantOp>(), order[dim], order};
}

bool isLookupAlong(Operation *op, int64_t dim) {
  auto move = dyn_cast<graph::IndexingOpInterface>(op);
  return move && move.getLookedUpDim() == dim && graph::sumForm(op, 0, {dim, 1});
}

/// Returns true if the op looks up elements of operand 0 by the integers of operand 1. Such an op
/// can also read a matrix packed in panels.
bool isLookup(OpOperand &use) {
  Operation *op = use.getOwner();
  return isa<graph::IndexingOpInterface>(op) && use.getOperandNumber() == 0 && op->getNumOperands() == 2 &&
         graph::getElementType(op->getOperand(1)).isInteger();
}

/// Returns the dim of the op's result that grows when the operand grows along `dim`. Returns
/// nothing if the result would change in any other way.
std::optional<int64_t> extendedDim(OpOperand &use, int64_t dim) {
  Operation *op = use.getOwner();
  if (op->getNumResults() != 1)
    return std::nullopt;
  DimExpr size = graph::getDims(use.get())[dim];
  for (auto [result, own] : llvm::enumerate(graph::getDims(op->getResult(0)))) {
    std::optional<graph::ShardingRule> form =
        own == size ? graph::shardingRule(op, {int64_t(result), 1}, size) : std::optional<graph::ShardingRule>();
    if (!form || form->attributes != graph::ownAttributes(op))
      continue;
    bool fits = true;
    for (auto [i, cut] : llvm::enumerate(form->operands))
      fits &= i == use.getOperandNumber() ? cut == graph::DimSharding{dim, 1} : !cut;
    if (fits)
      return int64_t(result);
  }
  return std::nullopt;
}

class TablePadder {
public:
  explicit TablePadder(int64_t ranks) : ranks(ranks) {}

  void pad(graph::ContractOpInterface op) {
    if (op->getNumOperands() != 2)
      return;
    AffineMap results = op.getIndexingMaps()[2];
    for (OpOperand &operand : op->getOpOperands())
      for (auto [result, expr] : llvm::enumerate(results.getResults()))
        if (std::optional<int64_t> dim = exclusiveDim(op, operand.getOperandNumber(), expr))
          if (padOperand(op, operand, *dim, int64_t(result)))
            return;
  }

private:
  /// Returns the dim of a contraction's operand that corresponds to the result dim `result`, if the
  /// other operand lacks this dim. Returns nothing otherwise.
  static std::optional<int64_t> exclusiveDim(graph::ContractOpInterface op, unsigned operand, AffineExpr result) {
    SmallVector<AffineMap> maps = op.getIndexingMaps();
    auto place = dyn_cast<AffineDimExpr>(result);
    if (!place)
      return std::nullopt;
    ArrayRef<AffineExpr> own = maps[operand % 2].getResults(), other = maps[1 - operand % 2].getResults();
    auto found = llvm::find(own, AffineExpr(place));
    if (found == own.end() || llvm::any_of(other, [&](AffineExpr e) { return e.isFunctionOfDim(place.getPosition()); }))
      return std::nullopt;
    return found - own.begin();
  }

  bool padOperand(graph::ContractOpInterface op, OpOperand &operand, int64_t dim, int64_t result) {
    Source source = sourceOf(operand.get(), dim);
    auto type = cast<RankedTensorType>(operand.get().getType());
    if (!source.constant || !type.hasStaticShape() ||
        type.getNumElements() * graph::elementBytes(operand.get()) < kPaddedBytes)
      return false;
    int64_t size = type.getDimSize(dim);
    if (size % ranks == 0 || size < 64 * ranks)
      return false;
    Value table = padded(source.constant.getResult(), source.dim);
    if (!table)
      return false;
    OpBuilder b(op);
    graph::Composer c(b, op->getLoc());
    SmallVector<Value> operands(op->getOperands());
    operands[operand.getOperandNumber()] = source.order.empty() ? table : c.transpose(table, source.order);
    Value made = graph::makeNamed(b, op->getLoc(), op->getName().getStringRef(), operands, graph::ownAttributes(op));
    if (!made)
      return false;
    op->getResult(0).replaceAllUsesWith(c.slice(made, result, DimExpr(0), DimExpr(size)));
    op->erase();
    return true;
  }

  /// Pads the constant with zeros along `dim`, once for all users that can read the padded
  /// constant. Returns null if a lookup cannot: the lookup would need the unpadded constant as
  /// well, so nothing would be saved. Also returns null if the constant is already padded along
  /// another dim.
  Value padded(Value constant, int64_t dim) {
    auto [found, isNew] = all.try_emplace(constant, dim, Value());
    auto &[along, made] = found->second;
    if (!isNew)
      return along == dim ? made : Value();
    if (llvm::any_of(constant.getUses(), [&](OpOperand &use) { return isLookup(use) && !canRead(use, dim); }))
      return made;
    Dims low(graph::getRank(constant), DimExpr(0)), high = low;
    DimExpr size = graph::getDims(constant)[dim];
    high[dim] = DimExpr(ranks - *size.constant() % ranks);
    OpBuilder b(constant.getContext());
    b.setInsertionPointAfterValue(constant);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : constant.getUses())
      if (canRead(use, dim))
        uses.push_back(&use);
    made = graph::Composer(b, constant.getLoc()).pad(constant, low, high);
    for (OpOperand *use : uses)
      readPadded(*use, dim, made, size);
    return made;
  }

  /// Returns true if the user can read the constant padded with more elements along the dim.
  /// Returns false for contractions, and for transposes before them, because `pad` changes these
  /// one by one.
  static bool canRead(OpOperand &use, int64_t dim) {
    Operation *user = use.getOwner();
    auto move = dyn_cast<graph::IndexingOpInterface>(user);
    return user->getBlock() == use.get().getParentBlock() && !isa<graph::ContractOpInterface>(user) &&
           !(move && move.getViewKind() == graph::ViewKind::Transpose) &&
           llvm::count(user->getOperands(), use.get()) == 1 && (isLookupAlong(user, dim) || extendedDim(use, dim));
  }

  /// Replaces the constant by the padded constant `table` in one of its users.
  static void readPadded(OpOperand &use, int64_t dim, Value table, const DimExpr &size) {
    Operation *user = use.getOwner();
    OpBuilder b(user);
    graph::Composer c(b, user->getLoc());
    Value made;
    if (isLookupAlong(user, dim)) {
      made = graph::makeLookup(b, user, table);
    } else {
      SmallVector<Value> operands(user->getOperands());
      operands[use.getOperandNumber()] = table;
      made = graph::makeNamed(b, user->getLoc(), user->getName().getStringRef(), operands, graph::ownAttributes(user));
      made = made ? c.slice(made, *extendedDim(use, dim), DimExpr(0), size) : made;
    }
    if (!made)
      return;
    user->getResult(0).replaceAllUsesWith(made);
    user->erase();
  }

  int64_t ranks;
  /// For each padded constant, the padded dim and the result of the padding.
  DenseMap<Value, std::pair<int64_t, Value>> all;
};

} // namespace

void tieTables(Block &block) {
  llvm::DenseMap<Attribute, graph::ConstantOp> tables;
  for (auto constant : block.getOps<graph::ConstantOp>())
    if (!constant->use_empty())
      tables.try_emplace(constant.getValue(), constant);
  for (auto constant : llvm::to_vector(block.getOps<graph::ConstantOp>())) {
    graph::WeightAttr of = graph::transposeOf(constant);
    graph::ConstantOp table = of ? tables.lookup(of) : graph::ConstantOp();
    if (!table)
      continue;
    auto type = cast<RankedTensorType>(constant.getResult().getType());
    auto own = cast<RankedTensorType>(table.getResult().getType());
    if (type.getRank() != 2 || own.getRank() != 2 || type.getElementType() != own.getElementType() ||
        type.getDimSize(0) != own.getDimSize(1) || type.getDimSize(1) != own.getDimSize(0) || constant == table)
      continue;
    if (constant->isBeforeInBlock(table))
      table->moveBefore(constant);
    OpBuilder b(constant);
    constant.getResult().replaceAllUsesWith(graph::Composer(b, constant.getLoc()).transpose(table.getResult(), {1, 0}));
  }
}

void padTables(Block &block, int64_t ranks) {
  TablePadder padder(ranks);
  for (auto op : llvm::to_vector(block.getOps<graph::ContractOpInterface>()))
    padder.pad(op);
}

} // namespace hewn::partition
