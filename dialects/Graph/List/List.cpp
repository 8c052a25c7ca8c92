// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/List/List.h"
#include "dialects/Graph/Control/SequenceOps.h"
#include "dialects/Graph/List/ListOps.h"

#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------===//

/// Returns true for the type of a list handle, or for the integer type that replaces it in later
/// stages.
static bool isListLike(Value v, DimsOf dimsOf) {
  Type type = getElementType(v);
  return dimsOf(v).empty() && (handle::asList(type) || type.isSignlessInteger(64));
}
static bool isPlace(Value v, DimsOf dimsOf) { return dimsOf(v).empty() && getElementType(v).isSignlessInteger(64); }

static LogicalResult inferList(Operation *op, bool fits, Type to, SmallVectorImpl<TensorShape> &results) {
  if (!fits)
    return op->emitOpError("requires a list, and positions as i64 scalars");
  if (!handle::asList(to) && !to.isSignlessInteger(64))
    return op->emitOpError("makes lists, not ") << to;
  results.push_back({{}, to});
  return success();
}

LogicalResult RetypeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Type from = getElementType(getX());
  auto isWord = [](Type type) { return handle::isHandle(type) || type.isSignlessInteger(64); };
  if (!isWord(from) || !isWord(getTo()))
    return emitOpError("takes and gives handles or i64");
  results.push_back({dimsOf(getX()), getTo()});
  return success();
}

LogicalResult ListMakeOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferList(*this, true, getTo(), results);
}

LogicalResult ListInsertOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferList(*this, isListLike(getList(), dimsOf) && isPlace(getPlace(), dimsOf), getTo(), results);
}

LogicalResult ListEraseOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferList(*this, isListLike(getList(), dimsOf) && isPlace(getPlace(), dimsOf), getTo(), results);
}

LogicalResult ListLengthOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferList(*this, isListLike(getList(), dimsOf), IntegerType::get(getContext(), 64), results);
}

LogicalResult ListDimsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  int64_t rank = getRank();
  if (!isListLike(getList(), dimsOf) || !isPlace(getPlace(), dimsOf) || rank < 0 || rank > 64)
    return emitOpError("requires a list, a position as an i64 scalar, and a rank");
  results.push_back({{DimExpr(rank)}, IntegerType::get(getContext(), 64)});
  return success();
}

static LogicalResult inferElement(Operation *op, bool fits, Attribute shape, Type type,
                                  SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(shape);
  if (!fits || !dims)
    return op->emitOpError("requires a list, a position as an i64 scalar, and dims");
  results.push_back({*dims, type});
  return success();
}

LogicalResult ListAtOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferElement(*this, isListLike(getList(), dimsOf) && isPlace(getPlace(), dimsOf), getShape(), getOf(),
                      results);
}

LogicalResult ListJointDimsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  int64_t rank = getRank(), all = rank + getFresh(), axis = getAxis();
  if (!isListLike(getList(), dimsOf) || rank < 0 || rank > 63 || axis < 0 || axis >= all)
    return emitOpError("takes a list, a rank and an axis within it");
  results.push_back({{DimExpr(all)}, IntegerType::get(getContext(), 64)});
  return success();
}

LogicalResult ListJoinOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(getShape());
  int64_t axis = getAxis();
  bool fits = dims && axis >= 0 && axis < int64_t(dims->size());
  return inferElement(*this, fits && isListLike(getList(), dimsOf), getShape(), getOf(), results);
}

LogicalResult ImageDecodeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  bool fits = dimsOf(getBytes()).size() == 1 && getElementType(getBytes()).isUnsignedInteger(8);
  if (!fits || getFormat() > 2)
    return emitOpError("takes bytes, and a format of 0, 1 or 2");
  return inferList(*this, true, getTo(), results);
}

LogicalResult ListSplitOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  int64_t axis = getAxis(), rank = int64_t(dimsOf(getX()).size());
  bool fits =
      axis >= 0 && axis < rank && dimsOf(getSizes()).size() <= 1 && getElementType(getSizes()).isSignlessInteger(64);
  return inferList(*this, fits, getTo(), results);
}

// The list ops state no requirements: what a list contains is only known at run time, so the
// runtime functions check each tensor that they take from a list, and each position and size.
void ListMakeOp::requireDims(Requirements &) {}
void ListInsertOp::requireDims(Requirements &) {}
void ListEraseOp::requireDims(Requirements &) {}
void ListLengthOp::requireDims(Requirements &) {}
void ListDimsOp::requireDims(Requirements &) {}
void ListAtOp::requireDims(Requirements &) {}
void ListJointDimsOp::requireDims(Requirements &) {}
void ListJoinOp::requireDims(Requirements &) {}
void ImageDecodeOp::requireDims(Requirements &) {}

void ListSplitOp::requireDims(Requirements &requirements) {
  // Each part of a split with `drop` has size 1 along the dim at which x is split.
  if (getDrop())
    for (const DimExpr &dim : getDims(getSizes()))
      requirements.equal(dim, getDims(getX())[getAxis()]);
}

//===------------------------------------------------------------------------------------------===//
// Construction
//===------------------------------------------------------------------------------------------===//

std::optional<handle::List> listOf(Value value) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  return type && type.getRank() == 0 ? handle::asList(type.getElementType()) : std::nullopt;
}

static NamedAttribute typeNamed(OpBuilder &b, StringRef name, Type type) {
  return b.getNamedAttr(name, TypeAttr::get(type));
}
static NamedAttribute text(OpBuilder &b, const handle::List &list) {
  return b.getNamedAttr("text", b.getBoolAttr(handle::isString(list.element)));
}

Value makeList(OpBuilder &b, Location loc, ValueRange elements, const handle::List &type) {
  return make<ListMakeOp>(b, loc, elements, {typeNamed(b, "to", type.type()), text(b, type)});
}

Value retype(OpBuilder &b, Location loc, Value x, Type elementType) {
  if (!x || getElementType(x) == elementType)
    return x;
  return make<RetypeOp>(b, loc, x, typeNamed(b, "to", elementType));
}

Value asHandle(OpBuilder &b, Location loc, Value value) {
  auto sequence = value ? value.getDefiningOp<SequenceOp>() : SequenceOp();
  if (!sequence)
    return value;
  Type held = sequence.getHeld().value_or(Type());
  std::optional<handle::List> list = handle::asList(held);
  if (sequence.getAbsent()) {
    Value none = makeSplat(b, loc, b.getI64Type(), 0);
    return list ? retype(b, loc, none, list->type()) : Value();
  }
  handle::List type{handle::List::Kind::Sequence, list ? list->element : Type(b.getF32Type()), handle::kNoRank};
  if (!sequence.getElements().empty()) {
    type.element = getElementType(sequence.getElements().front());
    type.rank = getRank(sequence.getElements().front());
  }
  for (Value element : sequence.getElements()) {
    if (getElementType(element) != type.element)
      return {};
    if (getRank(element) != type.rank)
      type.rank = handle::kAnyRank;
  }
  return makeList(b, loc, sequence.getElements(), type);
}

Value asHandle(OpBuilder &b, Location loc, Value value, const handle::List &wanted) {
  value = asHandle(b, loc, value);
  if (!value)
    return {};
  std::optional<handle::List> has = listOf(value);
  if (!has) { // the optional value is a tensor that is present
    handle::List own{handle::List::Kind::Optional, getElementType(value), getRank(value)};
    std::optional<handle::List> both = handle::join(own, wanted);
    return both && both->kind == wanted.kind ? retype(b, loc, makeList(b, loc, value, own), wanted.type()) : Value();
  }
  std::optional<handle::List> both = handle::join(*has, wanted);
  return both && both->kind == wanted.kind ? retype(b, loc, value, wanted.type()) : Value();
}

Value lengthOf(OpBuilder &b, Location loc, Value list) { return make<ListLengthOp>(b, loc, list); }

Value elementAt(OnnxNode &node, Value list, Value place) {
  std::optional<handle::List> type = listOf(list);
  if (!type || !place)
    return {};
  if (type->rank < 0) {
    (void)node.refuse(type->rank == handle::kNoRank
                          ? "the sequence is empty"
                          : "the rank of the sequence's tensors is unknown; specify a shape in the input's type");
    return {};
  }
  Value held = node.make<ListDimsOp>({list, place}, node.attr("rank", type->rank));
  std::optional<Dims> dims = held ? node.contentsOrRead(held) : std::nullopt;
  if (!dims)
    return {};
  return node.make<ListAtOp>({list, place},
                             {node.attr("shape", ArrayRef<DimExpr>(*dims)), typeNamed(node.b, "of", type->element)});
}

Value inserted(OnnxNode &node, Value list, Value element, Value place) {
  std::optional<handle::List> type = listOf(list);
  if (!type || !element)
    return {};
  handle::List own{handle::List::Kind::Sequence, getElementType(element), getRank(element)};
  // An empty ONNX sequence whose element type is unknown gets the element type of the first tensor
  // that is inserted.
  if (type->rank == handle::kNoRank)
    type->element = own.element;
  std::optional<handle::List> both = handle::join(*type, own);
  if (!both) {
    (void)node.refuse("the inserted tensor has another type than the sequence");
    return {};
  }
  if (!place) {
    auto scalar = RankedTensorType::get({}, node.b.getI64Type());
    place = makeConstant(node.b, node.loc, DenseElementsAttr::get(scalar, kEnd));
  }
  return node.make<ListInsertOp>({list, element, place}, {typeNamed(node.b, "to", both->type()), text(node.b, *both)});
}

} // namespace hewn::graph
