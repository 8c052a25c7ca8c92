// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

Composer::Composer(OnnxNode &node) : b(node.b), loc(node.loc) {}

Value Composer::reshape(Value x, ArrayRef<DimExpr> shape) {
  if (!x || ArrayRef<DimExpr>(getDims(x)) == shape)
    return x;
  return make<ReshapeOp>(b, loc, x, b.getNamedAttr("shape", dimsAttr(b.getContext(), shape)));
}

Value Composer::transpose(Value x, ArrayRef<int64_t> order) {
  Value made = x ? make<TransposeOp>(b, loc, x, b.getNamedAttr("order", b.getDenseI64ArrayAttr(order))) : Value();
  SmallVector<Value> folded;
  if (!made || failed(b.tryFold(made.getDefiningOp(), folded)) || folded.size() != 1)
    return made;
  made.getDefiningOp()->erase();
  return folded[0];
}

/// Returns the operand of the concatenation `x` that contains all elements of a slice along `dim`,
/// and makes `offset` relative to that operand. Returns null if the slice spans several operands,
/// or if `x` is not a concatenation along `dim`.
static Value concatOperandOf(Value x, int64_t dim, DimExpr &offset, const DimExpr &size, int64_t step) {
  auto concat = x.getDefiningOp<ConcatOp>();
  std::optional<int64_t> at = offset.constant(), count = size.constant();
  if (!concat || int64_t(concat.getAxis()) != dim || !at || !count || *count < 1)
    return {};
  int64_t last = *at + (*count - 1) * step;
  for (Value operand : concat->getOperands()) {
    std::optional<int64_t> extent = getDims(operand)[dim].constant();
    if (!extent)
      return {};
    if (std::min(*at, last) < *extent) {
      if (std::max(*at, last) >= *extent)
        return {};
      offset = DimExpr(*at);
      return operand;
    }
    *at -= *extent;
    last -= *extent;
  }
  return {};
}

Value Composer::slice(Value x, int64_t dim, DimExpr offset, DimExpr size, int64_t step) {
  if (!x)
    return x;
  Dims sizes = getDims(x);
  if (offset.is(0) && step == 1 && sizes[dim] == size)
    return x;
  // If one operand of a concatenation contains the full slice, slices this operand instead. Chains
  // of layout transforms produce slices of concatenations.
  if (Value operand = concatOperandOf(x, dim, offset, size, step))
    return slice(operand, dim, offset, size, step);
  Dims offsets(sizes.size(), DimExpr(0));
  SmallVector<int64_t> steps(sizes.size(), 1);
  offsets[dim] = offset;
  sizes[dim] = size;
  steps[dim] = step;
  return make<SliceOp>(b, loc, x,
                       {b.getNamedAttr("offsets", dimsAttr(b.getContext(), offsets)),
                        b.getNamedAttr("sizes", dimsAttr(b.getContext(), sizes)),
                        b.getNamedAttr("steps", b.getDenseI64ArrayAttr(steps))});
}

Value Composer::expand(Value x, ArrayRef<DimExpr> shape) {
  if (!x || ArrayRef<DimExpr>(getDims(x)) == shape)
    return x;
  return make<ExpandOp>(b, loc, x, b.getNamedAttr("shape", dimsAttr(b.getContext(), shape)));
}

Value Composer::pad(Value x, ArrayRef<DimExpr> low, ArrayRef<DimExpr> high, StringRef mode, Value value) {
  auto zero = [](const DimExpr &d) { return d.is(0); };
  if (!x || (llvm::all_of(low, zero) && llvm::all_of(high, zero)))
    return x;
  SmallVector<Value> operands = {x};
  if (value)
    operands.push_back(reshape(value, {}));
  return make<PadOp>(b, loc, operands,
                     {b.getNamedAttr("low", dimsAttr(b.getContext(), low)),
                      b.getNamedAttr("high", dimsAttr(b.getContext(), high)),
                      b.getNamedAttr("mode", b.getStringAttr(mode))});
}

Value Composer::concat(ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values[0];
  return make<ConcatOp>(b, loc, values, b.getNamedAttr("axis", b.getI64IntegerAttr(axis)));
}

Value concatInGroups(OnnxNode &node, ValueRange values, int64_t axis) {
  constexpr size_t kMost = 64;
  auto isOpen = [&](Value value) { return value && axis < getRank(value) && !getDims(value)[axis].constant(); };
  SmallVector<Value> parts(values);
  while (parts.size() > kMost && llvm::count_if(parts, isOpen) > int64_t(kMost)) {
    SmallVector<Value> wholes;
    for (ArrayRef<Value> rest(parts); !rest.empty(); rest = rest.drop_front(std::min(rest.size(), kMost))) {
      wholes.push_back(Composer(node).concat(rest.take_front(kMost), axis));
      // `setOutput` replaces long expressions in the dims of the concatenated value by symbols
      node.setOutput(0, wholes.back());
    }
    parts = std::move(wholes);
  }
  return Composer(node).concat(parts, axis);
}

Value Composer::cast(Value x, Type elementType) {
  if (!x || getElementType(x) == elementType)
    return x;
  return make<CastOp>(b, loc, x, b.getNamedAttr("to", TypeAttr::get(elementType)));
}

Value Composer::term(Value x, int64_t index, int64_t count) {
  return make<TermOp>(
      b, loc, x,
      {b.getNamedAttr("index", b.getI64IntegerAttr(index)), b.getNamedAttr("count", b.getI64IntegerAttr(count))});
}

Value Composer::add(ValueRange operands) { return op<AddOp>(operands); }
Value Composer::sub(ValueRange operands) { return op<SubOp>(operands); }
Value Composer::mul(ValueRange operands) { return op<MulOp>(operands); }
Value Composer::product(ValueRange matrices) { return op<MatMulOp>(matrices); }
Value Composer::sum(Value x, ArrayRef<int64_t> dims, bool keep) { return reduce<ReduceSumOp>(x, dims, keep); }

Value Composer::scalarLike(Value x, double value) { return x ? makeSplat(b, loc, getElementType(x), value) : Value(); }

Value Composer::number(const DimExpr &value) {
  // makeSplat takes a double, which represents integers exactly up to this limit
  constexpr int64_t mostExact = int64_t(1) << 53;
  if (int64_t known = value.constant().value_or(mostExact); known > -mostExact && known < mostExact)
    return makeSplat(b, loc, b.getI64Type(), double(known));
  return reshape(make<DimValueOp>(b, loc, {}, b.getNamedAttr("values", dimsAttr(b.getContext(), {value}))), {});
}

Value Composer::range(Value start, Value step, const DimExpr &count) {
  if (!start || !step)
    return {};
  return make<RangeOp>(b, loc, {start, step}, b.getNamedAttr("count", dimsAttr(b.getContext(), {count})));
}

Value Composer::range(const DimExpr &count) { return range(number(DimExpr(0)), number(DimExpr(1)), count); }

Value Composer::filled(ArrayRef<DimExpr> dims, Type elementType, double value) {
  return expand(makeSplat(b, loc, elementType, value), dims);
}

Value Composer::reduceNamed(StringRef name, Value x, ArrayRef<int64_t> dims, bool keep) {
  if (!x || dims.empty()) // a reduction over no dims is the identity
    return x;
  return makeNamed(
      b, loc, name, x,
      {b.getNamedAttr("dims", b.getDenseI64ArrayAttr(dims)), b.getNamedAttr("keepdims", b.getBoolAttr(keep))});
}

bool isNonNegative(const DimExpr &expr) {
  return llvm::all_of(expr.terms(), [](const DimExpr::Term &term) {
    return term.coefficient >= 0 && llvm::all_of(term.factors, [](const DimExpr::AtomRef &atom) {
             if (!atom->name.empty())
               return !isReadSymbol(atom->name);
             bool left = isNonNegative(atom->lhs), right = isNonNegative(atom->rhs);
             switch (atom->op) {
             case DimExpr::Op::Mod: // the remainder n mod d has the sign of d
               return right;
             case DimExpr::Op::Max:
               return left || right;
             case DimExpr::Op::FloorDiv:
             case DimExpr::Op::Min:
               return left && right;
             }
             return false;
           });
  });
}

DimExpr clampToZero(const DimExpr &expr) { return isNonNegative(expr) ? expr : DimExpr::max(expr, DimExpr(0)); }

std::optional<Dims> intsOrRead(OnnxNode &node, StringRef name, unsigned i, bool &absent) {
  absent = false;
  if (std::optional<SmallVector<int64_t>> written = node.getInts(name, OnnxNode::Range::Any))
    return Dims(written->begin(), written->end());
  if (node.input(i))
    return node.contentsOrRead(node.input(i));
  absent = true;
  return std::nullopt;
}

} // namespace hewn::graph
