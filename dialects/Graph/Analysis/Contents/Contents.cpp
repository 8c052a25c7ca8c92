// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Contents/Contents.h"

#include "dialects/Graph/Analysis/Contents/ContentsInterpreter.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

static bool isSmall(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() <= Contents::kMaxElements;
}

std::optional<DimExpr> Contents::integer(Value value, int64_t i) {
  if (!isSmall(value) || !isa<IntegerType>(graph::getElementType(value)))
    return std::nullopt;
  const Elements &all = elements(value);
  if (i < 0 || i >= int64_t(all.size()))
    return std::nullopt;
  if (auto constant = dyn_cast_or_null<IntegerAttr>(all[i].constant)) {
    const APInt &bits = constant.getValue();
    return DimExpr(isUnsigned(graph::getElementType(value)) ? int64_t(bits.getZExtValue()) : bits.getSExtValue());
  }
  return all[i].expr;
}

std::optional<Dims> Contents::integers(Value value) {
  if (!isSmall(value))
    return std::nullopt;
  Dims dims;
  for (int64_t i = 0, n = cast<RankedTensorType>(value.getType()).getNumElements(); i < n; ++i) {
    std::optional<DimExpr> known = integer(value, i);
    if (!known)
      return std::nullopt;
    dims.push_back(*known);
  }
  return dims;
}

std::optional<Condition> Contents::question(Value value, int64_t i) {
  if (!isSmall(value))
    return std::nullopt;
  const Elements &all = elements(value);
  return i < int64_t(all.size()) && !all[i].known() ? all[i].question : std::nullopt;
}

std::optional<SmallVector<double>> Contents::floats(Value value) {
  if (!isSmall(value))
    return std::nullopt;
  SmallVector<double> numbers;
  for (const ElementContent &element : elements(value)) {
    auto constant = dyn_cast_or_null<FloatAttr>(element.constant);
    if (!constant)
      return std::nullopt;
    numbers.push_back(constant.getValueAsDouble());
  }
  return numbers;
}

void Contents::set(Value value, int64_t i, const DimExpr &expr) {
  if (!isSmall(value))
    return;
  elements(value);
  Elements &all = *memo[value];
  if (i < int64_t(all.size()))
    all[i] = {{}, expr, 1};
}

/// Converts an element of a constant, given by its bits, to its compute type.
static Attribute computeConstant(Type elementType, const APInt &bits) {
  Type type = computeType(elementType);
  if (auto f = dyn_cast<FloatType>(elementType)) {
    APFloat number(f.getFloatSemantics(), bits);
    bool ignored;
    number.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &ignored);
    return FloatAttr::get(type, number);
  }
  return IntegerAttr::get(type, bits);
}

Contents::Elements Contents::constantElements(RankedTensorType type, Attribute attr) {
  Elements all;
  Type element = type.getElementType();
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (dense.getType() != type)
      return all;
    if (isa<FloatType>(element)) {
      for (const APFloat &number : dense.getValues<APFloat>())
        all.push_back({computeConstant(element, number.bitcastToAPInt()), std::nullopt, 1});
    } else {
      for (const APInt &bits : dense.getValues<APInt>())
        all.push_back({computeConstant(element, bits), std::nullopt, 1});
    }
    return all;
  }
  auto weight = dyn_cast<WeightAttr>(attr);
  unsigned width = element.getIntOrFloatBitWidth();
  if (!weight || (width > 1 && width < 8))
    return all;
  int64_t count = type.getNumElements(), size = std::max(width / 8, 1u);
  ArrayRef<char> bytes = weights.bytes(weight);
  if (int64_t(bytes.size()) != count * size)
    return all;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    all.push_back({computeConstant(element, APInt(width, bits, false, true)), std::nullopt, 1});
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Ops by interface
//===------------------------------------------------------------------------------------------===//

static ArrayRef<int64_t> staticShapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Returns the multi-dim index of the element with row-major number `linear`.
static SmallVector<int64_t> positionOf(int64_t linear, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> at(shape.size());
  for (unsigned d = shape.size(); d-- > 0;) {
    at[d] = linear % shape[d];
    linear /= shape[d];
  }
  return at;
}

static int64_t linearize(ArrayRef<int64_t> at, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [index, extent] : llvm::zip(at, shape))
    linear = linear * extent + index;
  return linear;
}

/// Returns the content of an element of type `elementType` to which `content` is written, that is,
/// rounded or truncated to that type.
static ElementContent stored(Type elementType, ElementContent content) {
  auto f = dyn_cast<FloatType>(elementType);
  if (!f || f.getWidth() >= 32)
    return content;
  auto constant = dyn_cast_or_null<FloatAttr>(content.constant);
  if (!constant)
    return {};
  APFloat number = constant.getValue();
  bool ignored;
  number.convert(f.getFloatSemantics(), APFloat::rmNearestTiesToEven, &ignored);
  return {computeConstant(elementType, number.bitcastToAPInt()), std::nullopt, 1};
}

Contents::Elements Contents::elementwiseElements(Operation *op) {
  ContentsInterpreter interpreter(op->getLoc(), known);
  SmallVector<Value> in;
  for (Value operand : op->getOperands())
    in.push_back(interpreter.enter(computeType(graph::getElementType(operand)), {}));
  Value out = cast<ElementwiseOpInterface>(op).emit(interpreter.builder, op->getLoc(), in);
  Elements all;
  if (!out)
    return all;
  ArrayRef<int64_t> shape = staticShapeOf(op->getResult(0));
  for (int64_t i = 0, n = ShapedType::getNumElements(shape); i < n; ++i) {
    SmallVector<int64_t> at = positionOf(i, shape);
    for (auto [argument, operand] : llvm::zip(in, op->getOperands())) {
      // the elements of a large operand, or of one with dynamic length, are unknown
      if (!isSmall(operand)) {
        interpreter.replace(argument, {});
        continue;
      }
      ArrayRef<int64_t> from = staticShapeOf(operand);
      SmallVector<int64_t> source(ArrayRef(at).take_back(from.size()));
      for (auto [index, extent] : llvm::zip(source, from))
        index = extent == 1 ? 0 : index;
      interpreter.replace(argument, elements(operand)[linearize(source, from)]);
    }
    interpreter.restart();
    all.push_back(stored(graph::getElementType(op->getResult(0)), interpreter.run(out)));
  }
  return all;
}

/// Element builder for the interpretation of an indexing op's body: a read of an operand at
/// constant indices returns the compile-time content of that element.
class Contents::Reader final : public ElementBuilder {
public:
  Reader(Contents &contents, ContentsInterpreter &interpreter)
      : ElementBuilder(interpreter.builder, interpreter.loc, 0), contents(contents), interpreter(interpreter) {}

  Value read(Value tensor, ArrayRef<Index> at) override {
    return interpreter.enter(computeType(graph::getElementType(tensor)), contentAt(tensor, at));
  }

  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    auto condition = dyn_cast_or_null<IntegerAttr>(interpreter.run(inside).constant);
    if (condition)
      return condition.getValue().isZero() ? fill : read(tensor, at);
    return interpreter.enter(fill.getType(), {});
  }

  Index extent(Value tensor, unsigned dim) override { return expression(graph::getDims(tensor)[dim]); }

  Index expression(const DimExpr &expr) override {
    if (std::optional<int64_t> value = expr.constant())
      return constant(*value);
    return {interpreter.enter(b.getIndexType(), {{}, expr, 1})};
  }

private:
  ElementContent contentAt(Value tensor, ArrayRef<Index> at) {
    if (!isSmall(tensor))
      return {};
    SmallVector<int64_t> position;
    for (auto [index, extent] : llvm::zip(at, staticShapeOf(tensor))) {
      std::optional<int64_t> known = interpreter.constantOf(index);
      if (!known || *known < 0 || *known >= extent)
        return {};
      position.push_back(*known);
    }
    return contents.elements(tensor)[linearize(position, staticShapeOf(tensor))];
  }

  Contents &contents;
  ContentsInterpreter &interpreter;
};

Contents::Elements Contents::moveElements(Operation *op) {
  Elements all;
  // Skips an indexing op whose operands are all too large to be analyzed. Most indexing ops copy
  // elements, so no element of its result would be known.
  if (op->getNumOperands() && llvm::none_of(op->getOperands(), isSmall))
    return all;
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = staticShapeOf(result);
  for (int64_t i = 0, n = ShapedType::getNumElements(shape); i < n; ++i) {
    ContentsInterpreter interpreter(op->getLoc(), known);
    Reader reader(*this, interpreter);
    SmallVector<Index> at =
        llvm::map_to_vector(positionOf(i, shape), [&](int64_t index) { return reader.constant(index); });
    Value element = cast<IndexingOpInterface>(op).emitAt(reader, at);
    all.push_back(element ? stored(graph::getElementType(result), interpreter.run(element)) : ElementContent());
  }
  return all;
}

Contents::Elements Contents::reduceElements(Operation *op) {
  Elements all;
  Value x = op->getOperand(0), result = op->getResult(0);
  auto reduce = cast<ReduceOpInterface>(op);
  if (!isSmall(x))
    return all;
  ArrayRef<int64_t> shape = staticShapeOf(x);
  SmallVector<int64_t> reduced = reduce.getReducedDims(), kept, inner;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (llvm::is_contained(reduced, d) ? inner : kept).push_back(d);
  auto extents = [&](ArrayRef<int64_t> dims) { return llvm::map_to_vector(dims, [&](int64_t d) { return shape[d]; }); };
  SmallVector<int64_t> keptShape = extents(kept), innerShape = extents(inner);
  int64_t count = ShapedType::getNumElements(innerShape);
  for (int64_t i = 0, n = ShapedType::getNumElements(keptShape); i < n; ++i) {
    ContentsInterpreter interpreter(op->getLoc(), known);
    OpBuilder &b = interpreter.builder;
    SmallVector<int64_t> at(shape.size());
    for (auto [d, index] : llvm::zip(kept, positionOf(i, keptShape)))
      at[d] = index;
    SmallVector<Value> state = reduce.identity(b, interpreter.loc, 0);
    for (int64_t k = 0; k < count; ++k) {
      for (auto [d, index] : llvm::zip(inner, positionOf(k, innerShape)))
        at[d] = index;
      Value element = interpreter.enter(computeType(graph::getElementType(x)), elements(x)[linearize(at, shape)]);
      Value position = arith::ConstantOp::create(b, interpreter.loc, b.getI64IntegerAttr(k));
      state = reduce.merge(b, interpreter.loc, state, reduce.lift(b, interpreter.loc, element, position));
    }
    Value total = arith::ConstantOp::create(b, interpreter.loc, b.getI64IntegerAttr(count));
    Value finished = reduce.finish(b, interpreter.loc, state, total);
    all.push_back(stored(graph::getElementType(result), interpreter.run(finished)));
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Values
//===------------------------------------------------------------------------------------------===//

Contents::Elements Contents::evaluate(OpResult value) {
  Operation *op = value.getOwner();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constantElements(cast<RankedTensorType>(value.getType()), constant.getValue());
  if (op->getNumResults() != 1)
    return {};
  if (isa<ElementwiseOpInterface>(op))
    return elementwiseElements(op);
  if (isa<IndexingOpInterface>(op))
    return moveElements(op);
  if (isa<ReduceOpInterface>(op))
    return reduceElements(op);
  return {};
}

const Contents::Elements &Contents::elements(Value value) {
  // Evaluates operands before their users, with an explicit stack instead of recursion, because
  // models contain long chains of ops.
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.back();
    if (memo.contains(next)) {
      open.pop_back();
      continue;
    }
    size_t before = open.size();
    if (Operation *op = next.getDefiningOp())
      for (Value operand : op->getOperands())
        if (isSmall(operand) && !memo.contains(operand))
          open.push_back(operand);
    if (open.size() != before)
      continue;
    Elements made = isa<OpResult>(next) ? evaluate(cast<OpResult>(next)) : Elements();
    made.resize(cast<RankedTensorType>(next.getType()).getNumElements());
    memo[next] = std::make_unique<Elements>(std::move(made));
  }
  return *memo[value];
}

} // namespace hewn::graph
