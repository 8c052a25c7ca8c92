// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Text/Text.h"
#include "dialects/Graph/Text/TextOps.h"

#include "dialects/Graph/Part/Part.h"

using namespace mlir;

namespace hewn::graph {

/// Elements of strings, or the integers that stand for them in later stages.
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
      return op->emitOpError("takes strings of one shape");
  results.push_back({dims, type ? type : getElementType(op->getOperand(0))});
  return success();
}

LogicalResult TextOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isBytes(getBytes(), dimsOf) || !graph::getElementType(getStarts()).isSignlessInteger(64))
    return emitOpError("needs bytes, and where strings begin in them as i64");
  Type type = (*this)->getResult(0).getType();
  type = getElementTypeOrSelf(type);
  // Later stages know strings as the integers that stand for them.
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

/// Number types that text is read as and made of; others are cast from and to these.
static bool isWritten(Type type) {
  return type.isF32() || type.isF64() || type.isSignlessInteger(64) || type.isUnsignedInteger(64);
}

LogicalResult TextParseOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isTextLike(getX()) || !isWritten(getTo()))
    return emitOpError("takes strings, and makes f32, f64, i64 or ui64 of them");
  results.push_back({dimsOf(getX()), getTo()});
  return success();
}

LogicalResult TextFormatOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isWritten(graph::getElementType(getX())))
    return emitOpError("takes f32, f64, i64 or ui64");
  // Later stages know strings as the integers that stand for them.
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
    return emitOpError("takes two lists of strings");
  if (getChange() > 2)
    return emitOpError("changes no case (0), makes lower (1) or upper (2) case");
  results.push_back({{DimExpr::symbol(getCount())}, graph::getElementType(getX())});
  return success();
}

SmallVector<Dims> TextNormalizeOp::getBoundDims(DimsOf dimsOf) {
  return {{DimExpr::max(dimsOf(getX())[0], DimExpr(1))}};
}

LogicalResult LookupOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Type type = graph::getElementType(getX());
  if (type != graph::getElementType(getKeys()) || dimsOf(getKeys()).size() != 1)
    return emitOpError("needs a list of keys of its elements' type");
  if (getText() ? !isTextLike(getX()) : !isOrdered(type))
    return emitOpError("can't compare elements of type ") << type;
  results.push_back({dimsOf(getX()), IntegerType::get(getContext(), 64)});
  return success();
}

// Elements are looked at one by one, and operands of different shapes are refused above; bytes end with a zero, or the part says so.
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
