// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contents.h"

#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

static bool isSmall(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() <= Contents::kMostElements;
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
  Elements &all = memo[value];
  if (i < int64_t(all.size()))
    all[i] = {{}, expr, 1};
}

const Contents::Elements &Contents::elements(Value value) {
  auto found = memo.find(value);
  if (found != memo.end())
    return found->second;
  Elements made = evaluate(value);
  made.resize(cast<RankedTensorType>(value.getType()).getNumElements());
  return memo[value] = std::move(made);
}

/// A constant element in its compute type.
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
  if (!weight || width == 4)
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

Contents::Elements Contents::evaluate(Value value) {
  Elements all;
  Operation *op = value.getDefiningOp();
  if (!op)
    return all;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constantElements(cast<RankedTensorType>(value.getType()), constant.getValue());
  if (auto dims = dyn_cast<DimValueOp>(op)) {
    Dims values = *parseDims(dims.getValues());
    for (const DimExpr &dim : values)
      all.push_back({{}, dim, 1});
    return all;
  }
  return all;
}

} // namespace hewn::graph
