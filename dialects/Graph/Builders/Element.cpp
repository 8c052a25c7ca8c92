// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Builders/Facts.h"

#include "dialects/Handle/Handle.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <numeric>

using namespace mlir;

namespace hewn::graph {

Type computeType(Type elementType) {
  if (auto f = dyn_cast<FloatType>(elementType))
    return f.getWidth() < 32 ? Type(Float32Type::get(f.getContext())) : elementType;
  if (auto i = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(i.getContext(), i.getWidth());
  if (handle::isHandle(elementType))
    return IntegerType::get(elementType.getContext(), 64);
  return elementType;
}

bool isHeldInByte(Type elementType) { return isa<Float4E2M1FNType, Float8E8M0FNUType>(elementType); }

static Type withElement(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(vector.clone(element)) : element;
}

Value toByte(OpBuilder &b, Location loc, Type elementType, Value element) {
  Type shape = element.getType(), bits = b.getIntegerType(elementType.getIntOrFloatBitWidth());
  Value narrow = arith::TruncFOp::create(b, loc, withElement(shape, elementType), element);
  Value code = arith::BitcastOp::create(b, loc, withElement(shape, bits), narrow);
  return bits.isInteger(8) ? code : Value(arith::ExtUIOp::create(b, loc, withElement(shape, b.getI8Type()), code));
}

Value fromByte(OpBuilder &b, Location loc, Type elementType, Value byte) {
  Type shape = byte.getType(), bits = b.getIntegerType(elementType.getIntOrFloatBitWidth());
  Value code = bits.isInteger(8) ? byte : Value(arith::TruncIOp::create(b, loc, withElement(shape, bits), byte));
  Value narrow = arith::BitcastOp::create(b, loc, withElement(shape, elementType), code);
  return arith::ExtFOp::create(b, loc, withElement(shape, computeType(elementType)), narrow);
}

ElementBuilder::~ElementBuilder() = default;

static std::optional<int64_t> constantOf(const Index &index) {
  return index.uniform() ? getConstantIntValue(index.base) : std::nullopt;
}

namespace {

/// Facts about an index value that follow from its computation: its range, and a divisor of it.
struct IndexFacts {
  int64_t least, most, factor;
};

/// Bounds of index values beyond -kFar and kFar are not tracked, so that adding bounds cannot
/// overflow.
constexpr int64_t kFar = int64_t(1) << 40;

IndexFacts factsOf(Value value, unsigned depth);

/// Maximum depth to which `factsOf` follows the ops that compute an index.
constexpr unsigned kDeepest = 6;

/// Returns the facts about `value` if it is the induction variable of a loop with a positive step.
/// If the lower bound of the loop is an argument of the kernel's function, it is the number of the
/// first task and thus not negative.
std::optional<IndexFacts> factsOfLoop(Value value, unsigned depth) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast_if_present<LoopLikeOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  if (!loop || loop.getSingleInductionVar() != value)
    return std::nullopt;
  auto constant = [](std::optional<OpFoldResult> bound) { return bound ? getConstantIntValue(*bound) : std::nullopt; };
  std::optional<int64_t> from = constant(loop.getSingleLowerBound()), step = constant(loop.getSingleStep()),
                         to = constant(loop.getSingleUpperBound());
  if (step && *step < 1)
    return std::nullopt;
  if (!from || !step) {
    auto begin = dyn_cast<Value>(*loop.getSingleLowerBound());
    auto told = dyn_cast_if_present<BlockArgument>(begin);
    bool isCount = told && isa<FunctionOpInterface>(told.getOwner()->getParentOp());
    IndexFacts facts{-kFar, kFar, 1};
    if (from)
      facts = {*from, *from, *from};
    else if (begin && depth < kDeepest)
      facts = factsOf(begin, depth + 1);
    return IndexFacts{isCount ? 0 : facts.least, to ? *to - 1 : kFar,
                      std::gcd(isCount ? 1 : facts.factor, step.value_or(1))};
  }
  int64_t trips = to ? std::max<int64_t>(llvm::divideCeilSigned(*to - *from, *step), 1) : 0;
  return IndexFacts{*from, to ? *from + (trips - 1) * *step : kFar, std::gcd(*from, *step)};
}

/// Returns the facts about the result of an add, subtract or multiply op.
IndexFacts factsOfSum(Operation *op, unsigned depth) {
  const IndexFacts nothing{-kFar, kFar, 1};
  IndexFacts l = factsOf(op->getOperand(0), depth + 1), r = factsOf(op->getOperand(1), depth + 1), sum = nothing;
  if (isa<arith::MulIOp>(op)) {
    if (r.least != r.most)
      std::swap(l, r);
    constexpr int64_t mostFactor = 1 << 20;
    if (r.least != r.most || r.most < 0 || r.most > mostFactor)
      return nothing;
    sum.factor = l.factor * r.most;
    if (l.least > -mostFactor)
      sum.least = l.least * r.most;
    if (l.most < mostFactor)
      sum.most = l.most * r.most;
    return sum;
  }
  bool minus = isa<arith::SubIOp>(op);
  sum.factor = std::gcd(l.factor, r.factor);
  sum.least = std::max(-kFar, l.least + (minus ? -r.most : r.least));
  sum.most = std::min(kFar, l.most + (minus ? -r.least : r.most));
  return sum;
}

/// Returns the facts about the result of a division or remainder op. There are none unless the
/// dividend is not negative and the divisor is a constant.
IndexFacts factsOfQuotient(Operation *op, unsigned depth) {
  const IndexFacts nothing{-kFar, kFar, 1};
  IndexFacts l = factsOf(op->getOperand(0), depth + 1), r = factsOf(op->getOperand(1), depth + 1);
  if (l.least < 0 || r.least < 1 || r.least != r.most)
    return nothing;
  if (isa<arith::RemUIOp>(op))
    return {0, std::min(l.most, r.most - 1), std::gcd(l.factor, r.factor)};
  return {l.least / r.least, l.most == kFar ? kFar : l.most / r.least, l.factor % r.least ? 1 : l.factor / r.least};
}

IndexFacts factsOf(Value value, unsigned depth = 0) {
  const IndexFacts nothing{-kFar, kFar, 1};
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return std::abs(*known) < kFar ? IndexFacts{*known, *known, *known} : nothing;
  if (std::optional<IndexFacts> facts = factsOfLoop(value, depth))
    return *facts;
  Operation *op = value.getDefiningOp();
  if (!op || depth == kDeepest)
    return nothing;
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return factsOfSum(op, depth);
  if (isa<arith::FloorDivSIOp, arith::DivUIOp, arith::RemUIOp>(op))
    return factsOfQuotient(op, depth);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    IndexFacts facts = factsOf(op->getOperand(0), depth + 1);
    if (facts.least >= 0 && facts.most <= INT32_MAX)
      return facts;
    return isa<arith::IndexCastUIOp>(op) ? IndexFacts{0, kFar, 1} : nothing;
  }
  if (!isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return nothing;
  IndexFacts l = factsOf(op->getOperand(0), depth + 1), r = factsOf(op->getOperand(1), depth + 1);
  int64_t factor = std::gcd(l.factor, r.factor);
  return isa<arith::MinSIOp>(op) ? IndexFacts{std::min(l.least, r.least), std::min(l.most, r.most), factor}
                                 : IndexFacts{std::max(l.least, r.least), std::max(l.most, r.most), factor};
}

/// Returns facts that hold in all lanes of an index of the form base + stride * lane.
IndexFacts factsOfLanes(const Index &index, int64_t lanes) {
  IndexFacts facts = factsOf(index.base);
  int64_t reach = index.stride * std::max<int64_t>(lanes - 1, 0);
  return {facts.least + std::min<int64_t>(reach, 0), facts.most + std::max<int64_t>(reach, 0), 1};
}

/// Returns true if the comparison holds for all values in the ranges of x and y, false if it holds
/// for none, and nullopt otherwise.
std::optional<bool> alwaysOrNever(arith::CmpIPredicate predicate, const IndexFacts &x, const IndexFacts &y) {
  switch (predicate) {
  case arith::CmpIPredicate::sge:
    return x.least >= y.most ? std::optional(true) : x.most < y.least ? std::optional(false) : std::nullopt;
  case arith::CmpIPredicate::slt:
    return x.most < y.least ? std::optional(true) : x.least >= y.most ? std::optional(false) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace

int64_t factorOf(Value position) { return factsOf(position).factor; }

Index ElementBuilder::constant(int64_t value) {
  using Keys = llvm::DenseMapInfo<int64_t>;
  // Does not cache the constants that DenseMap reserves as keys of empty slots; a model may contain
  // any number.
  if (!home || value == Keys::getEmptyKey() || value == Keys::getTombstoneKey())
    return {arith::ConstantIndexOp::create(b, loc, value)};
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(home);
    known = arith::ConstantIndexOp::create(b, loc, value);
  }
  return {known};
}

Value ElementBuilder::vectorOf(Index index) {
  if (index.general)
    return index.base;
  VectorType type = vectorType(b.getIndexType());
  Value base = vector::BroadcastOp::create(b, loc, type, index.base);
  if (index.stride == 0)
    return base;
  SmallVector<APInt> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(APInt(64, lane * index.stride, /*isSigned=*/true));
  Value ramp = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, steps));
  return b.createOrFold<arith::AddIOp>(loc, base, ramp);
}

Index ElementBuilder::binary(Index x, Index y, llvm::function_ref<Value(Value, Value)> make) {
  if (x.uniform() && y.uniform())
    return {make(x.base, y.base)};
  return {make(vectorOf(x), vectorOf(y)), 0, true};
}

Index ElementBuilder::bounded(Index x) {
  if (x.general)
    return x;
  int64_t reach = x.stride * std::max<int64_t>(lanes - 1, 0);
  x.low = reach < 0 ? add({x.base}, constant(reach)).base : x.base;
  x.span = std::abs(reach) + 1;
  return x;
}

Index ElementBuilder::ascending(Index x, int64_t span) {
  if (!x.general)
    return x;
  x.low = vector::ExtractOp::create(b, loc, x.base, ArrayRef<int64_t>{0});
  x.span = span;
  return x;
}

bool ElementBuilder::staysWithin(const Index &x, int64_t d) const {
  return !x.general && x.stride > 0 && x.stride * (lanes - 1) < std::gcd(factsOf(x.base).factor, d);
}

Index ElementBuilder::add(Index x, Index y) {
  if (constantOf(x) == 0)
    return y;
  if (constantOf(y) == 0)
    return x;
  if (!x.general && !y.general)
    return {b.createOrFold<arith::AddIOp>(loc, x.base, y.base), x.stride + y.stride};
  Index sum = binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::AddIOp>(loc, l, r); });
  if (Index l = bounded(x), r = bounded(y); l.span && r.span) {
    sum.low = add({l.low}, {r.low}).base;
    sum.span = l.span + r.span - 1;
  }
  return sum;
}

Index ElementBuilder::sub(Index x, Index y) {
  if (constantOf(y) == 0)
    return x;
  if (!x.general && !y.general)
    return {b.createOrFold<arith::SubIOp>(loc, x.base, y.base), x.stride - y.stride};
  Index rest = binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::SubIOp>(loc, l, r); });
  if (Index l = bounded(x), r = bounded(y); l.span && r.span) {
    rest.low = sub({l.low}, add({r.low}, constant(r.span - 1))).base;
    rest.span = l.span + r.span - 1;
  }
  return rest;
}

Index ElementBuilder::mul(Index x, Index y) {
  if (constantOf(x))
    std::swap(x, y);
  if (std::optional<int64_t> factor = constantOf(y)) {
    if (*factor == 1)
      return x;
    if (*factor == 0)
      return constant(0);
    if (!x.general)
      return {b.createOrFold<arith::MulIOp>(loc, x.base, y.base), x.stride * *factor};
    if (*factor > 0 && x.span) {
      Index product = binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MulIOp>(loc, l, r); });
      product.low = mul({x.low}, y).base;
      product.span = (x.span - 1) * *factor + 1;
      return product;
    }
  }
  return binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MulIOp>(loc, l, r); });
}

/// Returns floor(x / d) for each lane, where x has a stride and `d` divides its base. The quotient
/// is the scalar `base` (x.base / d) plus a constant vector of the lanes' offsets.
Index ElementBuilder::quotientOfLanes(const Index &x, int64_t d, Value base) {
  SmallVector<APInt> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(APInt(64, lane * x.stride / d));
  VectorType type = vectorType(b.getIndexType());
  Value ramp = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, steps));
  return {arith::AddIOp::create(b, loc, vector::BroadcastOp::create(b, loc, type, base), ramp), 0, true};
}

Index ElementBuilder::floorDiv(Index x, Index divisor) {
  std::optional<int64_t> d = constantOf(divisor);
  // A divisor of 0 is the size of a dim without elements. No index into such a dim is ever
  // computed, so any quotient is correct.
  if (d == 1 || d == 0)
    return x;
  // Uses an unsigned division if the dividend is not negative: LLVM lowers it to a shift or a
  // multiplication, and floordivsi would also need a correction for negative dividends.
  bool isCount = d && !x.general && factsOf(x.base).least >= 0;
  auto quotientOf = [&](Value l, Value r) -> Value {
    if (isCount)
      return b.createOrFold<arith::DivUIOp>(loc, l, r);
    return b.createOrFold<arith::FloorDivSIOp>(loc, l, r);
  };
  // If d divides the stride s, the quotient is an index with a stride: floor((base + s*lane) / d) =
  // floor(base / d) + (s/d)*lane.
  if (d && !x.general && x.stride % *d == 0)
    return {quotientOf(x.base, divisor.base), x.stride / *d};
  if (d && staysWithin(x, *d))
    return {quotientOf(x.base, divisor.base)};
  isCount &= x.stride >= 0;
  Index quotient = d && !x.general && x.stride > 0 && factsOf(x.base).factor % *d == 0
                       ? quotientOfLanes(x, *d, quotientOf(x.base, divisor.base))
                       : binary(x, divisor, quotientOf);
  if (Index bounds = bounded(x); d && quotient.general && bounds.span) {
    quotient.low = floorDiv({bounds.low}, divisor).base;
    quotient.span = (bounds.span + *d - 2) / *d + 1;
  }
  return quotient;
}

Index ElementBuilder::mod(Index x, Index divisor) {
  std::optional<int64_t> d = constantOf(divisor);
  if (d == 1 || d == 0) // a divisor of 0 is the size of an empty dim, so the code never runs
    return constant(0);
  if (d && !x.general && x.stride % *d == 0) {
    x.stride = 0;
    return sub(x, mul(floorDiv(x, divisor), divisor));
  }
  Index rest = sub(x, mul(floorDiv(x, divisor), divisor));
  if (d && rest.general && *d <= lanes) {
    rest.low = constant(0).base;
    rest.span = *d;
  }
  return rest;
}

bool ElementBuilder::isAtMost(const Index &x, const Index &y) const {
  return !x.general && !y.general && factsOfLanes(x, lanes).most <= factsOfLanes(y, lanes).least;
}

Index ElementBuilder::min(Index x, Index y) {
  if (isAtMost(x, y))
    return x;
  if (isAtMost(y, x))
    return y;
  Index chosen = binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MinSIOp>(loc, l, r); });
  Index l = bounded(x), r = bounded(y);
  if (chosen.general && l.span && r.span) {
    chosen.low = min({l.low}, {r.low}).base;
    chosen.span = std::max(l.span, r.span);
  }
  return chosen;
}

Index ElementBuilder::max(Index x, Index y) {
  if (isAtMost(x, y))
    return y;
  if (isAtMost(y, x))
    return x;
  Index chosen = binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MaxSIOp>(loc, l, r); });
  Index l = bounded(x), r = bounded(y);
  if (chosen.general && l.span && r.span) {
    chosen.low = max({l.low}, {r.low}).base;
    chosen.span = std::max(l.span, r.span);
  }
  return chosen;
}

Index ElementBuilder::select(Value condition, Index x, Index y) {
  if (!isa<VectorType>(condition.getType())) {
    if (std::optional<int64_t> known = getConstantIntValue(condition))
      return *known ? x : y;
    if (!x.general && !y.general && x.stride == y.stride)
      return {b.createOrFold<arith::SelectOp>(loc, condition, x.base, y.base), x.stride};
    return {b.createOrFold<arith::SelectOp>(loc, condition, vectorOf(x), vectorOf(y)), 0, true};
  }
  return {b.createOrFold<arith::SelectOp>(loc, condition, vectorOf(x), vectorOf(y)), 0, true};
}

Value ElementBuilder::compare(arith::CmpIPredicate predicate, Index x, Index y) {
  if (!x.general && !y.general)
    if (std::optional<bool> known = alwaysOrNever(predicate, factsOfLanes(x, lanes), factsOfLanes(y, lanes)))
      return arith::ConstantIntOp::create(b, loc, b.getI1Type(), *known);
  if (!x.general && !y.general && x.stride == y.stride)
    return b.createOrFold<arith::CmpIOp>(loc, predicate, x.base, y.base);
  return b.createOrFold<arith::CmpIOp>(loc, predicate, vectorOf(x), vectorOf(y));
}

Value ElementBuilder::inBounds(Index x, Index extent) {
  return logicalAnd(compare(arith::CmpIPredicate::sge, x, constant(0)), compare(arith::CmpIPredicate::slt, x, extent));
}

Value ElementBuilder::logicalAnd(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  if (getConstantIntValue(x) == 1)
    return y;
  if (getConstantIntValue(y) == 1)
    return x;
  Value both[] = {x, y};
  unify(both);
  return b.createOrFold<arith::AndIOp>(loc, both[0], both[1]);
}

Index ElementBuilder::fromElement(Value element) {
  Type type = element.getType();
  bool vector = isa<VectorType>(type);
  Type target = vector ? Type(vectorType(b.getIndexType())) : Type(b.getIndexType());
  return {b.createOrFold<arith::IndexCastOp>(loc, target, element), 0, vector};
}

Value ElementBuilder::toElement(Index index, Type type) {
  Value value = index.uniform() ? index.base : vectorOf(index);
  auto like = [&](Type scalar) { return index.uniform() ? scalar : Type(vectorType(scalar)); };
  Value integer = b.createOrFold<arith::IndexCastOp>(
      loc, like(isa<FloatType>(type) ? b.getI64Type() : Type(b.getIntegerType(type.getIntOrFloatBitWidth()))), value);
  return isa<FloatType>(type) ? b.createOrFold<arith::SIToFPOp>(loc, like(computeType(type)), integer) : integer;
}

Value ElementBuilder::broadcast(Value value) {
  if (lanes == 0 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, vectorType(value.getType()), value);
}

void ElementBuilder::unify(MutableArrayRef<Value> values) {
  if (llvm::none_of(values, [](Value v) { return isa<VectorType>(v.getType()); }))
    return;
  for (Value &v : values)
    v = broadcast(v);
}

Value ElementBuilder::selectElement(Value condition, Value x, Value y) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? x : y;
  Value branches[] = {x, y};
  unify(branches);
  if (isa<VectorType>(condition.getType()))
    for (Value &v : branches)
      v = broadcast(v);
  return b.createOrFold<arith::SelectOp>(loc, condition, branches[0], branches[1]);
}

Value ElementBuilder::constantElement(Type elementType, double value) {
  Type type = computeType(elementType);
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, int64_t(value)));
}

} // namespace hewn::graph
