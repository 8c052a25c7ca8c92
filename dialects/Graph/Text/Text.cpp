// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Text/Text.h"
#include "dialects/Graph/Text/TextOps.h"

#include "dialects/Graph/RuntimeCall/RuntimeCall.h"

using namespace mlir;

namespace hewn::graph {

/// Returns true for the string type, or for the integer type that represents strings in later
/// stages.
static bool isTextLike(Value v) {
  Type type = getElementType(v);
  return handle::isString(type) || type.isSignlessInteger(64);
}

static bool isBytes(Value v, DimsOf dimsOf) { return getElementType(v).isUnsignedInteger(8) && dimsOf(v).size() == 1; }

static LogicalResult inferOfText(Operation *op, DimsOf dimsOf, Type type, SmallVectorImpl<TensorShape> &results) {
  if (!llvm::all_of(op->getOperands(), isTextLike))
    return op->emitOpError("takes strings");
  Dims dims = dimsOf(op->getOperand(0));
  for (Value operand : op->getOperands().drop_front())
    if (dimsOf(operand) != dims)
      return op->emitOpError("requires strings of equal shape");
  results.push_back({dims, type ? type : getElementType(op->getOperand(0))});
  return success();
}

LogicalResult TextOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isBytes(getBytes(), dimsOf) || !graph::getElementType(getStarts()).isSignlessInteger(64))
    return emitOpError("requires bytes, and the start of each string as i64");
  Type type = (*this)->getResult(0).getType();
  type = getElementTypeOrSelf(type);
  // The element type of constant strings may be an integer type, which represents strings in later
  // stages.
  bool lowered = type.isSignlessInteger(64);
  results.push_back({dimsOf(getStarts()), lowered ? type : Type(handle::StringType::get(getContext()))});
  return success();
}

LogicalResult TextEqualOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferOfText(*this, dimsOf, IntegerType::get(getContext(), 1), results);
}

LogicalResult TextConcatOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferOfText(*this, dimsOf, {}, results);
}

LogicalResult TextMatchOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isTextLike(getX()) || !isBytes(getPattern(), dimsOf))
    return emitOpError("takes strings, and a pattern as bytes");
  results.push_back({dimsOf(getX()), IntegerType::get(getContext(), 1)});
  return success();
}

/// Returns true for the number types that the runtime parses from text and formats as text. Numbers
/// of other types are cast from or to one of these.
static bool isWritten(Type type) {
  return type.isF32() || type.isF64() || type.isSignlessInteger(64) || type.isUnsignedInteger(64);
}

LogicalResult TextParseOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isTextLike(getX()) || !isWritten(getTo()))
    return emitOpError("requires strings, and a result type of f32, f64, i64 or ui64");
  results.push_back({dimsOf(getX()), getTo()});
  return success();
}

LogicalResult TextFormatOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isWritten(graph::getElementType(getX())))
    return emitOpError("takes f32, f64, i64 or ui64");
  // The element type of strings may be an integer type, which represents strings in later stages.
  Type type = getElementTypeOrSelf((*this)->getResult(0).getType());
  bool lowered = type.isSignlessInteger(64);
  results.push_back({dimsOf(getX()), lowered ? type : Type(handle::StringType::get(getContext()))});
  return success();
}

LogicalResult TextFieldsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isTextLike(getX()) || !isBytes(getDelimiter(), dimsOf))
    return emitOpError("takes strings, and a delimiter as bytes");
  results.push_back({dimsOf(getX()), IntegerType::get(getContext(), 64)});
  return success();
}

LogicalResult TextSplitOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> width = parseDims(getWidth());
  if (!isTextLike(getX()) || !isBytes(getDelimiter(), dimsOf) || !width || width->size() != 1)
    return emitOpError("takes strings, a delimiter as bytes and one width");
  Dims dims = dimsOf(getX());
  dims.push_back(width->front());
  results.push_back({dims, graph::getElementType(getX())});
  return success();
}

LogicalResult TextNormalizeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isTextLike(getX()) || !isTextLike(getDropped()) || dimsOf(getX()).size() != 1 ||
      dimsOf(getDropped()).size() != 1)
    return emitOpError("requires two 1-D tensors of strings");
  if (getChange() > 2)
    return emitOpError("change must be 0 (none), 1 (lower case) or 2 (upper case)");
  results.push_back({{DimExpr::symbol(getCount())}, graph::getElementType(getX())});
  return success();
}

SmallVector<Dims> TextNormalizeOp::getBoundDims(DimsOf dimsOf) {
  return {{DimExpr::max(dimsOf(getX())[0], DimExpr(1))}};
}

LogicalResult LookupOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Type type = graph::getElementType(getX());
  if (type != graph::getElementType(getKeys()) || dimsOf(getKeys()).size() != 1)
    return emitOpError("requires a 1-D tensor of keys with the operand's element type");
  if (getText() ? !isTextLike(getX()) : !isOrdered(type))
    return emitOpError("can't compare elements of type ") << type;
  Dims slots = dimsOf(getSlots()), keys = dimsOf(getKeys());
  std::optional<int64_t> size = slots.size() == 1 ? slots[0].constant() : std::nullopt;
  if (!graph::getElementType(getSlots()).isSignlessInteger(32) || !size || !llvm::isPowerOf2_64(uint64_t(*size)) ||
      keys[0].constant().value_or(*size) >= *size)
    return emitOpError("requires a hash table of i32, whose size is a power of two and more than the number of keys");
  results.push_back({dimsOf(getX()), IntegerType::get(getContext(), 64)});
  return success();
}

// The string ops state no requirements: they process elements one by one, and shape inference
// rejects operands of different shapes. The runtime function checks that bytes are zero-terminated.
void TextOp::requireDims(Requirements &) {}
void TextEqualOp::requireDims(Requirements &) {}
void TextConcatOp::requireDims(Requirements &) {}
void TextParseOp::requireDims(Requirements &) {}
void TextFormatOp::requireDims(Requirements &) {}
void TextMatchOp::requireDims(Requirements &) {}
void TextFieldsOp::requireDims(Requirements &) {}
void TextSplitOp::requireDims(Requirements &) {}
void TextNormalizeOp::requireDims(Requirements &) {}
void LookupOp::requireDims(Requirements &) {}

} // namespace hewn::graph
