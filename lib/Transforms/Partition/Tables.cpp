// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Partition/Tables.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::partition {

namespace {

/// From this size on a constant is worth zeros behind it.
constexpr int64_t kPaddedBytes = 1 << 20;

/// A dim of a constant, seen through a transposition.
struct Source {
  graph::ConstantOp constant;
  int64_t dim;
  /// The order of the transposition; empty: there is none.
  SmallVector<int64_t> order;
};

Source sourceOf(Value value, int64_t dim) {
  auto move = value.getDefiningOp<graph::MoveOpInterface>();
  if (!move || move.getViewKind() != graph::ViewKind::Transpose)
    return {value.getDefiningOp<graph::ConstantOp>(), dim, {}};
  SmallVector<int64_t> order = move.getViewOrder();
  return {move->getOperand(0).getDefiningOp<graph::ConstantOp>(), order[dim], order};
}

bool isLookupAlong(Operation *op, int64_t dim) {
  auto move = dyn_cast<graph::MoveOpInterface>(op);
  return move && move.getLookedUpDim() == dim && graph::sumForm(op, 0, {dim, 1});
}

/// Whether the op takes elements of operand 0 at places that operand 1 has: it reads them where a packed matrix has them, too.
bool isLookup(OpOperand &use) {
  Operation *op = use.getOwner();
  return isa<graph::MoveOpInterface>(op) && use.getOperandNumber() == 0 && op->getNumOperands() == 2 &&
         graph::getElementType(op->getOperand(1)).isInteger();
}

/// The dim of the result that is longer where an operand is longer along `dim`, and nothing else changes; nullopt where more does.
std::optional<int64_t> longerDim(OpOperand &use, int64_t dim) {
  Operation *op = use.getOwner();
  if (op->getNumResults() != 1)
    return std::nullopt;
  DimExpr size = graph::getDims(use.get())[dim];
  for (auto [result, own] : llvm::enumerate(graph::getDims(op->getResult(0)))) {
    std::optional<graph::CutForm> form =
        own == size ? graph::cutForm(op, {int64_t(result), 1}, size) : std::optional<graph::CutForm>();
    if (!form || form->attributes != graph::ownAttributes(op))
      continue;
    bool fits = true;
    for (auto [i, cut] : llvm::enumerate(form->operands))
      fits &= i == use.getOperandNumber() ? cut == graph::Cut{dim, 1} : !cut;
    if (fits)
      return int64_t(result);
  }
  return std::nullopt;
}

class Padder {
public:
  explicit Padder(int64_t ranks) : ranks(ranks) {}

  void pad(graph::ContractOpInterface op) {
    if (op->getNumOperands() != 2)
      return;
    AffineMap results = op.getIndexingMaps()[2];
    for (OpOperand &operand : op->getOpOperands())
      for (auto [result, expr] : llvm::enumerate(results.getResults()))
        if (std::optional<int64_t> dim = alongAlone(op, operand.getOperandNumber(), expr))
          if (padOperand(op, operand, *dim, int64_t(result)))
            return;
  }

private:
  /// The dim of the operand that runs along a dim of the result, where the other operand does not.
  static std::optional<int64_t> alongAlone(graph::ContractOpInterface op, unsigned operand, AffineExpr result) {
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

  /// The constant with zeros behind the dim, once for all who read it and can go on with more elements. Null where a lookup can't: it would keep the
  /// constant as it is, which it shares with the packed one of a product, so that nothing were saved. Null also where it has zeros along another dim.
  Value padded(Value constant, int64_t dim) {
    auto [found, isNew] = all.try_emplace(constant, dim, Value());
    auto &[along, made] = found->second;
    if (!isNew)
      return along == dim ? made : Value();
    if (llvm::any_of(constant.getUses(), [&](OpOperand &use) { return isLookup(use) && !canRead(use, dim); }))
      return made;
    Dims none(graph::getRank(constant), DimExpr(0)), behind = none;
    DimExpr size = graph::getDims(constant)[dim];
    behind[dim] = DimExpr(ranks - *size.constant() % ranks);
    OpBuilder b(constant.getContext());
    b.setInsertionPointAfterValue(constant);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : constant.getUses())
      if (canRead(use, dim))
        uses.push_back(&use);
    made = graph::Composer(b, constant.getLoc()).pad(constant, none, behind);
    for (OpOperand *use : uses)
      readPadded(*use, dim, made, size);
    return made;
  }

  /// Whether a reader can read more along the dim. Products are changed one after another (`pad`), and so are transpositions in front of them.
  static bool canRead(OpOperand &use, int64_t dim) {
    Operation *user = use.getOwner();
    auto move = dyn_cast<graph::MoveOpInterface>(user);
    return user->getBlock() == use.get().getParentBlock() && !isa<graph::ContractOpInterface>(user) &&
           !(move && move.getViewKind() == graph::ViewKind::Transpose) &&
           llvm::count(user->getOperands(), use.get()) == 1 && (isLookupAlong(user, dim) || longerDim(use, dim));
  }

  /// A reader reads `table` instead.
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
      made = made ? c.slice(made, *longerDim(use, dim), DimExpr(0), size) : made;
    }
    if (!made)
      return;
    user->getResult(0).replaceAllUsesWith(made);
    user->erase();
  }

  int64_t ranks;
  /// By constants: the dim, and the one with zeros behind it.
  DenseMap<Value, std::pair<int64_t, Value>> all;
};

} // namespace

void tieTables(Block &block, WeightTable &weights) {
  llvm::StringMap<graph::ConstantOp> tables;
  for (auto constant : block.getOps<graph::ConstantOp>())
    if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()); weight && !constant->use_empty())
      if (StringRef made = weights.transposed(weight); !made.empty())
        tables.try_emplace(made, constant);
  for (auto constant : llvm::to_vector(block.getOps<graph::ConstantOp>())) {
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    graph::ConstantOp table = weight ? tables.lookup(weight.getKey()) : graph::ConstantOp();
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
  Padder padder(ranks);
  for (auto op : llvm::to_vector(block.getOps<graph::ContractOpInterface>()))
    padder.pad(op);
}

} // namespace hewn::partition
