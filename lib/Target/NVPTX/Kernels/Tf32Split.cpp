// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/Tf32Split.h"

using namespace mlir;

namespace hewn::codegen {

Value Tf32Split::bits(int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }

std::pair<Value, Value> Tf32Split::factors(Value number) {
  Value word = arith::BitcastOp::create(b, loc, b.getI32Type(), number);
  auto leading = [&](Value w) -> Value { return arith::AndIOp::create(b, loc, w, bits(int32_t(0xffffe000))); };
  auto rounded = [&](Value w) { return leading(arith::AddIOp::create(b, loc, w, bits(0x1000))); };
  // When a float32 is rounded to TF32, truncate infinities and NaNs, and numbers that would round
  // to infinity, instead of rounding them.
  Value size = arith::AndIOp::create(b, loc, word, bits(0x7fffffff));
  Value large = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, size, bits(0x7f7ff000));
  Value high = arith::SelectOp::create(b, loc, large, leading(word), rounded(word));
  if (!two)
    return {high, Value()};
  Value rest = arith::SubFOp::create(b, loc, number, arith::BitcastOp::create(b, loc, b.getF32Type(), high));
  Value low = arith::BitcastOp::create(b, loc, b.getI32Type(), rest);
  return {high, arith::SelectOp::create(b, loc, large, leading(low), rounded(low))};
}

Tf32Split::Fragment Tf32Split::fragment(ArrayRef<Value> numbers, bool whole) {
  Fragment made;
  if (whole) {
    for (Value number : numbers)
      made.high.push_back(arith::BitcastOp::create(b, loc, b.getI32Type(), number));
    return made;
  }
  for (Value number : numbers) {
    auto [high, low] = factors(number);
    made.high.push_back(high);
    if (two)
      made.low.push_back(low);
  }
  return made;
}

Tf32Split::Sum Tf32Split::begin(ArrayRef<Value> sums) {
  Sum sum{SmallVector<Value>(sums), {}};
  if (two)
    sum.corrections.assign(sums.size(), arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
  return sum;
}

void Tf32Split::multiply(Sum &sum, const Fragment &left, const Fragment &right, Type type) {
  if (!left.low.empty())
    sum.corrections = gpu.product(type, type, left.low, right.high, sum.corrections);
  if (!right.low.empty())
    sum.corrections = gpu.product(type, type, left.high, right.low, sum.corrections);
  sum.main = gpu.product(type, type, left.high, right.high, sum.main);
}

void Tf32Split::add(MutableArrayRef<Value> sums, ArrayRef<Value> more) {
  for (auto [sum, one] : llvm::zip(sums, more))
    sum = arith::AddFOp::create(b, loc, sum, one);
}

SmallVector<Value> Tf32Split::finish(const Sum &sum) {
  SmallVector<Value> values(sum.main);
  if (sum.corrections.empty())
    return values;
  for (auto [value, correction] : llvm::zip(values, sum.corrections)) {
    Value word =
        arith::AndIOp::create(b, loc, arith::BitcastOp::create(b, loc, b.getI32Type(), value), bits(0x7fffffff));
    Value finite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, word, bits(0x7f800000));
    value = arith::SelectOp::create(b, loc, finite, arith::AddFOp::create(b, loc, value, correction), value);
  }
  return values;
}

} // namespace hewn::codegen
