// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Element.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace hewn::graph {

Type computeType(Type elementType) {
  if (auto f = dyn_cast<FloatType>(elementType))
    return f.getWidth() < 32 ? Type(Float32Type::get(f.getContext())) : elementType;
  if (auto i = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(i.getContext(), i.getWidth());
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

Index ElementBuilder::constant(int64_t value) {
  if (!home)
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

Index ElementBuilder::add(Index x, Index y) {
  if (constantOf(x) == 0)
    return y;
  if (constantOf(y) == 0)
    return x;
  if (!x.general && !y.general)
    return {b.createOrFold<arith::AddIOp>(loc, x.base, y.base), x.stride + y.stride};
  return binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::AddIOp>(loc, l, r); });
}

Index ElementBuilder::sub(Index x, Index y) {
  if (constantOf(y) == 0)
    return x;
  if (!x.general && !y.general)
    return {b.createOrFold<arith::SubIOp>(loc, x.base, y.base), x.stride - y.stride};
  return binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::SubIOp>(loc, l, r); });
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
  }
  return binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MulIOp>(loc, l, r); });
}

Index ElementBuilder::floorDiv(Index x, Index divisor) {
  std::optional<int64_t> d = constantOf(divisor);
  if (d == 1)
    return x;
  // floor((base + s*lane) / d) = floor(base / d) + (s/d)*lane exactly where d
  // divides s.
  if (d && !x.general && x.stride % *d == 0)
    return {b.createOrFold<arith::FloorDivSIOp>(loc, x.base, divisor.base), x.stride / *d};
  return binary(x, divisor, [&](Value l, Value r) { return b.createOrFold<arith::FloorDivSIOp>(loc, l, r); });
}

Index ElementBuilder::mod(Index x, Index divisor) {
  std::optional<int64_t> d = constantOf(divisor);
  if (d == 1)
    return constant(0);
  if (d && !x.general && x.stride % *d == 0) {
    x.stride = 0;
    return sub(x, mul(floorDiv(x, divisor), divisor));
  }
  return sub(x, mul(floorDiv(x, divisor), divisor));
}

Index ElementBuilder::min(Index x, Index y) {
  return binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MinSIOp>(loc, l, r); });
}

Index ElementBuilder::max(Index x, Index y) {
  return binary(x, y, [&](Value l, Value r) { return b.createOrFold<arith::MaxSIOp>(loc, l, r); });
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

Value ElementBuilder::spread(Value value) {
  if (lanes == 0 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, vectorType(value.getType()), value);
}

void ElementBuilder::unify(MutableArrayRef<Value> values) {
  if (llvm::none_of(values, [](Value v) { return isa<VectorType>(v.getType()); }))
    return;
  for (Value &v : values)
    v = spread(v);
}

Value ElementBuilder::selectElement(Value condition, Value x, Value y) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? x : y;
  Value branches[] = {x, y};
  unify(branches);
  if (isa<VectorType>(condition.getType()))
    for (Value &v : branches)
      v = spread(v);
  return b.createOrFold<arith::SelectOp>(loc, condition, branches[0], branches[1]);
}

Value ElementBuilder::constantElement(Type elementType, double value) {
  Type type = computeType(elementType);
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, int64_t(value)));
}

} // namespace hewn::graph
