// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;

namespace hewn::graph {

std::optional<Dims> parseDims(Attribute attr) {
  auto list = dyn_cast_or_null<ArrayAttr>(attr);
  if (!list)
    return std::nullopt;
  Dims dims;
  for (Attribute entry : list) {
    std::optional<DimExpr> dim = DimExpr::fromAttr(entry);
    if (!dim)
      return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

ArrayAttr dimsAttr(MLIRContext *context, ArrayRef<DimExpr> dims) {
  return ArrayAttr::get(context, llvm::map_to_vector(dims, [&](const DimExpr &d) { return d.toAttr(context); }));
}

static Attribute dimsAttrOf(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto lists = result.getOwner()->getAttrOfType<ArrayAttr>(kDimsAttr);
    return lists && result.getResultNumber() < lists.size() ? lists[result.getResultNumber()] : Attribute();
  }
  auto argument = cast<BlockArgument>(value);
  Operation *owner = argument.getOwner()->getParentOp();
  if (!owner)
    return {};
  if (auto function = dyn_cast<FunctionOpInterface>(owner))
    return function.getArgAttr(argument.getArgNumber(), kDimsAttr);
  auto regions = owner->getAttrOfType<ArrayAttr>(kRegionDimsAttr);
  unsigned region = argument.getOwner()->getParent()->getRegionNumber();
  auto lists = regions && region < regions.size() ? dyn_cast<ArrayAttr>(regions[region]) : ArrayAttr();
  return lists && argument.getArgNumber() < lists.size() ? lists[argument.getArgNumber()] : Attribute();
}

Dims getDims(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return {};
  Dims dims;
  for (int64_t extent : type.getShape())
    dims.push_back(ShapedType::isDynamic(extent) ? DimExpr(0) : DimExpr(extent));
  if (type.hasStaticShape())
    return dims;
  std::optional<Dims> written = parseDims(dimsAttrOf(value));
  if (written && written->size() == dims.size())
    return *written;
  for (auto [d, extent] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(extent))
      dims[d] = DimExpr::symbol(("?" + Twine(uint64_t(uintptr_t(value.getAsOpaquePointer()))) + "." + Twine(d)).str());
  return dims;
}

Type getElementType(Value value) { return getElementTypeOrSelf(value.getType()); }
int64_t getRank(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
int64_t elementBytes(Value value) { return (getElementType(value).getIntOrFloatBitWidth() + 7) / 8; }

bool isUnsigned(Type elementType) { return elementType.isUnsignedInteger() || elementType.isInteger(1); }

RankedTensorType tensorType(ArrayRef<DimExpr> dims, Type elementType) {
  return RankedTensorType::get(staticShape(dims), elementType);
}

void setResultDims(Operation *op, ArrayRef<Dims> dims) {
  bool dynamic =
      llvm::any_of(dims, [](const Dims &d) { return llvm::any_of(d, [](const DimExpr &e) { return !e.constant(); }); });
  if (!dynamic) {
    op->removeAttr(kDimsAttr);
    return;
  }
  MLIRContext *context = op->getContext();
  op->setAttr(kDimsAttr, ArrayAttr::get(context, llvm::map_to_vector(dims, [&](const Dims &d) -> Attribute {
                                          return dimsAttr(context, d);
                                        })));
}

void setResultShapes(Operation *op, ArrayRef<TensorShape> shapes) {
  SmallVector<Dims> dims;
  for (auto [result, shape] : llvm::zip(op->getResults(), shapes)) {
    result.setType(tensorType(shape.dims, shape.elementType));
    dims.push_back(shape.dims);
  }
  setResultDims(op, dims);
}

/// Checks the number of shapes that an op infers for its results, and that no dim is negative:
/// builtin types cannot represent negative dims.
static LogicalResult checkShapes(Operation *op, ArrayRef<TensorShape> shapes) {
  if (shapes.size() != op->getNumResults())
    return op->emitOpError() << "has " << op->getNumResults() << " results and must have " << shapes.size();
  for (const TensorShape &shape : shapes)
    for (const DimExpr &dim : shape.dims)
      if (dim.constant() && *dim.constant() < 0)
        return op->emitOpError() << "makes a tensor with the negative dim " << dim.str();
      else if (!dim.constant() && overflows(dim))
        return op->emitOpError("makes a tensor with a dim that does not fit into 64 bits");
  return success();
}

LogicalResult inferResults(Operation *op) {
  auto shaped = dyn_cast<ShapeOpInterface>(op);
  if (!shaped)
    return success();
  SmallVector<TensorShape> shapes;
  if (failed(shaped.inferShapes(getDims, shapes)) || failed(checkShapes(op, shapes)))
    return failure();
  setResultShapes(op, shapes);
  return success();
}

LogicalResult verifyShapes(Operation *op) {
  SmallVector<TensorShape> shapes;
  if (failed(cast<ShapeOpInterface>(op).inferShapes(getDims, shapes)) || failed(checkShapes(op, shapes)))
    return failure();
  for (auto [result, shape] : llvm::zip(op->getResults(), shapes)) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    // A result type and the inferred shape may differ in a dim that is static in only one of them,
    // because other information has refined the dim. Layouts are not compared.
    bool fits = type && type.getElementType() == shape.elementType && type.getRank() == int64_t(shape.dims.size()) &&
                llvm::all_of(llvm::zip(type.getShape(), shape.dims), [](auto pair) {
                  auto [written, inferred] = pair;
                  return ShapedType::isDynamic(written) || !inferred.constant() || inferred.is(written);
                });
    if (!fits)
      return op->emitOpError() << "result " << result.getResultNumber() << " has type " << result.getType()
                               << " and must have " << tensorType(shape.dims, shape.elementType);
  }
  return success();
}

/// Returns true if `dim` is proven to be at least 1 under the assumption that the symbol `most` is
/// at least 1.
static bool followsFrom(const DimExpr &most, const DimExpr &dim) {
  ArrayRef<DimExpr::Term> terms = most.terms();
  bool isSymbol = terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1;
  StringRef name = isSymbol ? StringRef(terms[0].factors[0]->name) : "";
  DimExpr more =
      dim.substitute([&](StringRef s) { return s == name ? DimExpr::symbol(s) + DimExpr(1) : DimExpr::symbol(s); });
  return dim == most || isKnownNonNegative(more - DimExpr(1));
}

/// Returns the size to which dims broadcast if none of them is known to be 1: their maximum, or 0
/// if one dim is 0 and all others are 1. Does not check that the dims match; the op has
/// requirements for that.
static DimExpr meet(SmallVector<DimExpr> dims) {
  llvm::sort(dims, [](const DimExpr &a, const DimExpr &b) { return a.str() < b.str(); });
  dims.erase(llvm::unique(dims), dims.end());
  DimExpr most = dims.front();
  for (const DimExpr &dim : ArrayRef(dims).drop_front())
    most = DimExpr::max(most, dim);
  // If one of the dims is at least 2, no dim that broadcasts to it can be 0, so the size is the
  // maximum of the dims.
  if (llvm::any_of(dims, [](const DimExpr &dim) { return isKnownNonNegative(dim - DimExpr(2)); }))
    return most;
  std::optional<DimExpr> least;
  for (const DimExpr &dim : dims)
    if (!followsFrom(most, dim))
      least = least ? DimExpr::min(*least, dim) : dim;
  if (!least)
    return most;
  DimExpr some = DimExpr::min(DimExpr(1), *least);
  return most * (isKnownNonNegative(some) ? some : DimExpr::max(DimExpr(0), some));
}

/// Returns the dims from whose broadcast `meet` computed the size `met`, or `met` itself if it is
/// not a result of `meet`.
static SmallVector<DimExpr> unmeet(const DimExpr &met) {
  using Op = DimExpr::Op;
  auto isMost = [](const DimExpr::AtomRef &atom) { return atom->name.empty() && atom->op == Op::Max; };
  SmallVector<DimExpr> dims, open;
  ArrayRef<DimExpr::Term> terms = met.terms();
  for (const DimExpr::AtomRef &factor : terms.size() == 1 ? ArrayRef(terms[0].factors) : ArrayRef<DimExpr::AtomRef>()) {
    if (!isMost(factor))
      continue;
    dims.clear();
    open = {factor->rhs, factor->lhs};
    while (!open.empty()) {
      DimExpr one = open.pop_back_val();
      ArrayRef<DimExpr::Term> own = one.terms();
      if (own.size() == 1 && own[0].coefficient == 1 && own[0].factors.size() == 1 && isMost(own[0].factors[0]))
        open.append({own[0].factors[0]->rhs, own[0].factors[0]->lhs});
      else
        dims.push_back(one);
    }
    if (meet(dims) == met)
      return dims;
  }
  return {met};
}

std::optional<Dims> broadcastDims(ArrayRef<Dims> shapes) {
  size_t rank = 0;
  for (const Dims &shape : shapes)
    rank = std::max(rank, shape.size());
  Dims result(rank, DimExpr(1));
  for (const Dims &shape : shapes)
    for (auto [i, dim] : llvm::enumerate(shape)) {
      DimExpr &into = result[rank - shape.size() + i];
      if (dim.is(1) || dim == into)
        continue;
      if (into.is(1) || (dim.constant() && !into.constant())) {
        into = dim;
      } else if (dim.constant() && into.constant()) {
        return std::nullopt;
      } else if (!into.constant()) {
        SmallVector<DimExpr> all = unmeet(into);
        llvm::append_range(all, unmeet(dim));
        into = meet(std::move(all));
      }
    }
  return result;
}

std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

Value makeNamed(OpBuilder &b, Location loc, StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes) {
  if (llvm::any_of(operands, [](Value v) { return !v; }))
    return {};
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  // Gives the new op a placeholder result type, which `inferResults` replaces.
  state.addTypes(RankedTensorType::get({}, b.getF32Type()));
  Operation *op = b.create(state);
  if (failed(inferResults(op))) {
    op->erase();
    return {};
  }
  return op->getResult(0);
}

Value makeConstant(OpBuilder &b, Location loc, DenseElementsAttr value) {
  return ConstantOp::create(b, loc, value.getType(), value);
}

Value makeSplat(OpBuilder &b, Location loc, Type elementType, double value, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, elementType);
  Attribute element;
  if (auto f = dyn_cast<FloatType>(elementType)) {
    element = FloatAttr::get(f, value);
  } else {
    // Attributes of ONNX nodes are floats even if the constant has an integer type: values out of
    // its range saturate, and NaN becomes 0.
    bool isUnsigned = elementType.isUnsignedInteger() || elementType.isSignlessInteger(1);
    llvm::APSInt whole(elementType.getIntOrFloatBitWidth(), isUnsigned);
    bool exact = false;
    (void)llvm::APFloat(value).convertToInteger(whole, llvm::APFloat::rmTowardZero, &exact);
    element = IntegerAttr::get(elementType, whole);
  }
  return makeConstant(b, loc, DenseElementsAttr::get(type, element));
}

} // namespace hewn::graph
