// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Requirements/Accesses.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {

struct Range {
  std::optional<DimExpr> least, most;
  bool isExact() const { return least && most && *least == *most; }
};

/// A scratch module for the element computation of an op, which is emitted for analysis only.
struct Scratch {
  Scratch(MLIRContext *context, Location loc) : module(ModuleOp::create(loc)), builder(context) {
    builder.setInsertionPointToEnd(module->getBody());
  }
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
};

class RangeBuilder : private Scratch, public ElementBuilder {
public:
  explicit RangeBuilder(Operation *op)
      : Scratch(op->getContext(), op->getLoc()), ElementBuilder(builder, op->getLoc(), /*lanes=*/0) {}

  Value read(Value tensor, ArrayRef<Index> at) override {
    record(tensor, at, llvm::DenseMap<Value, Range>());
    return opaque(computeType(getElementType(tensor)));
  }
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value) override {
    llvm::DenseMap<Value, Range> facts;
    if (getConstantIntValue(inside) != 0) {
      addFacts(inside, facts);
      record(tensor, at, facts);
    }
    return opaque(computeType(getElementType(tensor)));
  }
  Index extent(Value tensor, unsigned dim) override { return expression(getDims(tensor)[dim]); }
  Index expression(const DimExpr &expr) override {
    if (std::optional<int64_t> number = expr.constant())
      return constant(*number);
    return position({expr, expr});
  }
  /// Returns a new index of which only the range is known.
  Index position(Range range) {
    Value value = opaque(b.getIndexType());
    ranges[value] = std::move(range);
    return {value};
  }
  Accesses finish();

private:
  Value opaque(Type type) { return UnrealizedConversionCastOp::create(b, loc, type, ValueRange()).getResult(0); }
  void record(Value tensor, ArrayRef<Index> at, const llvm::DenseMap<Value, Range> &facts);
  void addFacts(Value condition, llvm::DenseMap<Value, Range> &facts);
  Range rangeOf(Value value);
  Range compute(Value value);
  Range ofSum(Operation *op);
  Range ofRest(arith::SubIOp op);
  Range ofProduct(Operation *op);
  Range ofQuotient(Operation *op);
  Range ofLeast(Operation *op);
  Range ofMost(Operation *op);

  llvm::DenseMap<Value, Range> ranges;
  Accesses accesses;
};

} // namespace

Range RangeBuilder::rangeOf(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return {DimExpr(*number), DimExpr(*number)};
  if (auto known = ranges.find(value); known != ranges.end())
    return known->second;
  Range range = compute(value);
  ranges[value] = range;
  return range;
}

Range RangeBuilder::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::AddIOp>(op))
    return ofSum(op);
  if (auto rest = dyn_cast<arith::SubIOp>(op))
    return ofRest(rest);
  if (isa<arith::MulIOp>(op))
    return ofProduct(op);
  // both division ops round down here, because ops emit unsigned divisions only for non-negative
  // operands
  if (isa<arith::FloorDivSIOp, arith::DivUIOp>(op))
    return ofQuotient(op);
  if (isa<arith::MinSIOp>(op))
    return ofLeast(op);
  if (isa<arith::MaxSIOp>(op))
    return ofMost(op);
  if (isa<arith::SelectOp>(op)) {
    Range a = rangeOf(op->getOperand(1)), c = rangeOf(op->getOperand(2)), either;
    if (a.least && c.least)
      either.least = DimExpr::min(*a.least, *c.least);
    if (a.most && c.most)
      either.most = DimExpr::max(*a.most, *c.most);
    return either;
  }
  Type from = op->getNumOperands() == 1 ? op->getOperand(0).getType() : Type();
  if (isa<arith::IndexCastOp>(op) &&
      (value.getType().isInteger(64) || (from.isInteger(64) && value.getType().isIndex())))
    return rangeOf(op->getOperand(0));
  return {}; // the index is read from a tensor and may have any value
}

Range RangeBuilder::ofSum(Operation *op) {
  Range a = rangeOf(op->getOperand(0)), c = rangeOf(op->getOperand(1)), sum;
  if (a.least && c.least)
    sum.least = *a.least + *c.least;
  if (a.most && c.most)
    sum.most = *a.most + *c.most;
  return sum;
}

Range RangeBuilder::ofRest(arith::SubIOp op) {
  // Matches the remainder x - floor(x / d) * d, as `ElementBuilder::mod` emits it.
  auto product = op.getRhs().getDefiningOp<arith::MulIOp>();
  Operation *quotient = product ? product.getLhs().getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::FloorDivSIOp, arith::DivUIOp>(quotient) && quotient->getOperand(0) == op.getLhs() &&
      quotient->getOperand(1) == product.getRhs()) {
    Range divisor = rangeOf(quotient->getOperand(1)), x = rangeOf(op.getLhs()), rest;
    rest.least = DimExpr(0);
    if (divisor.most)
      rest.most = *divisor.most - DimExpr(1);
    if (x.most && x.least && isKnownNonNegative(*x.least) && (!rest.most || isKnownAtMost(*x.most, *rest.most)))
      rest.most = x.most;
    return rest;
  }
  Range a = rangeOf(op.getLhs()), c = rangeOf(op.getRhs()), rest;
  if (a.least && c.most)
    rest.least = *a.least - *c.most;
  if (a.most && c.least)
    rest.most = *a.most - *c.least;
  return rest;
}

Range RangeBuilder::ofProduct(Operation *op) {
  Range a = rangeOf(op->getOperand(0)), factor = rangeOf(op->getOperand(1)), product;
  if (!factor.isExact())
    std::swap(a, factor);
  if (!factor.isExact())
    return {};
  const DimExpr &by = *factor.least;
  if (!isKnownNonNegative(by)) {
    if (!isKnownNonNegative(by * DimExpr(-1)))
      return {};
    std::swap(a.least, a.most);
  }
  if (a.least)
    product.least = *a.least * by;
  if (a.most)
    product.most = *a.most * by;
  return product;
}

/// Returns the range of an index division's quotient for a positive divisor. `finish` records the
/// ranges of all divisors in `accesses`, so that a requirement checks that they are positive.
Range RangeBuilder::ofQuotient(Operation *op) {
  Range a = rangeOf(op->getOperand(0)), divisor = rangeOf(op->getOperand(1)), quotient;
  if (!divisor.isExact() || divisor.least->constant().value_or(1) < 1)
    return {};
  if (a.least)
    quotient.least = a.least->floorDiv(*divisor.least);
  if (a.most)
    quotient.most = a.most->floorDiv(*divisor.least);
  return quotient;
}

Range RangeBuilder::ofLeast(Operation *op) {
  Value l = op->getOperand(0), r = op->getOperand(1);
  Range a = rangeOf(l), c = rangeOf(r), least;
  if (a.least && c.least)
    least.least = DimExpr::min(*a.least, *c.least);
  least.most = a.most && c.most ? DimExpr::min(*a.most, *c.most) : a.most ? a.most : c.most;
  // The index min(x, s - x) is at most s / 2. Reflected indices (mirror padding) have this form.
  for (auto [x, y] : {std::pair(l, r), std::pair(r, l)})
    if (auto rest = y.getDefiningOp<arith::SubIOp>(); rest && rest.getRhs() == x)
      if (Range sum = rangeOf(rest.getLhs()); sum.most)
        least.most = sum.most->floorDiv(DimExpr(2));
  return least;
}

Range RangeBuilder::ofMost(Operation *op) {
  Range a = rangeOf(op->getOperand(0)), c = rangeOf(op->getOperand(1)), most;
  if (a.most && c.most)
    most.most = DimExpr::max(*a.most, *c.most);
  most.least = a.least && c.least ? DimExpr::max(*a.least, *c.least) : a.least ? a.least : c.least;
  return most;
}

/// Records in `facts` the index ranges that hold where `condition` is true.
void RangeBuilder::addFacts(Value condition, llvm::DenseMap<Value, Range> &facts) {
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op)) {
    addFacts(op->getOperand(0), facts);
    addFacts(op->getOperand(1), facts);
    return;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare)
    return;
  Range than = rangeOf(compare.getRhs());
  if (compare.getPredicate() == arith::CmpIPredicate::slt && than.most)
    facts[compare.getLhs()].most = *than.most - DimExpr(1);
  if (compare.getPredicate() == arith::CmpIPredicate::sge && than.least)
    facts[compare.getLhs()].least = than.least;
}

void RangeBuilder::record(Value tensor, ArrayRef<Index> at, const llvm::DenseMap<Value, Range> &facts) {
  for (auto [dim, index] : llvm::enumerate(at)) {
    Range range = facts.lookup(index.base);
    // `rangeOf` is only called for an index without a range in `facts`: the index at which a
    // concatenated operand starts is a sum of many sizes, whose range takes long to compute
    if (!range.least || !range.most) {
      Range own = rangeOf(index.base);
      range.least = range.least ? range.least : own.least;
      range.most = range.most ? range.most : own.most;
    }
    accesses.ranges.push_back({tensor, unsigned(dim), range.least, range.most});
  }
}

Accesses RangeBuilder::finish() {
  module->walk([&](Operation *op) {
    if (isa<arith::FloorDivSIOp, arith::DivUIOp>(op) && op->getResult(0).getType().isIndex())
      accesses.divisors.push_back(rangeOf(op->getOperand(1)).least);
  });
  return std::move(accesses);
}

Accesses accessesOf(Operation *op) {
  RangeBuilder ranges(op);
  SmallVector<Index> at;
  for (const DimExpr &dim : getDims(op->getResult(0)))
    at.push_back(dim.is(1) ? ranges.constant(0) : ranges.position({DimExpr(0), dim - DimExpr(1)}));
  cast<IndexingOpInterface>(op).emitAt(ranges, at);
  return ranges.finish();
}

} // namespace hewn::graph
