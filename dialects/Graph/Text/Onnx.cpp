// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX nodes on strings.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "dialects/Graph/Text/Text.h"
#include "dialects/Graph/Text/TextOps.h"
#include "hewn/hash.h"
#include "hewn/services.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Constants
//===------------------------------------------------------------------------------------------===//

static RankedTensorType byteList(OpBuilder &b, size_t size) {
  return RankedTensorType::get({int64_t(size)}, IntegerType::get(b.getContext(), 8, IntegerType::Unsigned));
}

Value makeBytesOf(OnnxNode &node, StringRef text) {
  if (text.contains('\0')) {
    (void)node.refuse("has a string with a zero byte in it");
    return {};
  }
  std::vector<char> bytes(text.begin(), text.end());
  bytes.push_back('\0');
  RankedTensorType type = byteList(node.b, bytes.size());
  return node.makeBytes(type, std::move(bytes));
}

Value makeText(OpBuilder &b, Location loc, MakeBytes makeBytes, ArrayRef<std::string> strings, ArrayRef<int64_t> shape,
               std::string &reason) {
  std::vector<char> bytes;
  SmallVector<int64_t> starts;
  for (const std::string &text : strings) {
    if (StringRef(text).contains('\0')) {
      reason = "has a string with a zero byte in it";
      return {};
    }
    starts.push_back(int64_t(bytes.size()));
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back('\0');
  }
  if (bytes.empty())
    bytes.push_back('\0');
  const char *from = reinterpret_cast<const char *>(starts.data());
  Value places = makeBytes(RankedTensorType::get(shape, b.getI64Type()),
                           std::vector<char>(from, from + starts.size() * sizeof(int64_t)));
  RankedTensorType type = byteList(b, bytes.size());
  return make<TextOp>(b, loc, {makeBytes(type, std::move(bytes)), places});
}

Value makeText(OnnxNode &node, ArrayRef<std::string> strings, ArrayRef<int64_t> shape) {
  std::string reason;
  auto makeBytes = [&](RankedTensorType type, std::vector<char> bytes) {
    return node.makeBytes(type, std::move(bytes));
  };
  Value text = makeText(node.b, node.loc, makeBytes, strings, shape, reason);
  if (!reason.empty())
    (void)node.refuse(reason);
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Lookup
//===------------------------------------------------------------------------------------------===//

SmallVector<int32_t> hashTable(size_t count, llvm::function_ref<uint64_t(size_t)> hashOf,
                               llvm::function_ref<bool(size_t, size_t)> isSame) {
  // With fewer entries a slot, a search tests fewer slots. Larger tables would miss the L1 cache.
  constexpr size_t cachedSlots = 8192;
  size_t size = llvm::PowerOf2Ceil(std::max<size_t>(2 * count, 2));
  SmallVector<int32_t> slots(2 * size <= cachedSlots ? 2 * size : size, -1);
  for (size_t i = 0; i < count; ++i) {
    size_t at = hashOf(i) & (slots.size() - 1);
    while (slots[at] >= 0 && !isSame(size_t(slots[at]), i))
      at = (at + 1) & (slots.size() - 1);
    if (slots[at] < 0)
      slots[at] = int32_t(i);
  }
  return slots;
}

Value hashTableOf(OnnxNode &node, ArrayRef<int32_t> slots) {
  auto type = RankedTensorType::get({int64_t(slots.size())}, node.b.getI32Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(type, slots));
}

/// Returns the runtime's `hewn_part_key` of an element of an integer type.
static uint64_t keyOf(Type type, int64_t value) {
  unsigned width = type.getIntOrFloatBitWidth();
  APInt bits = APInt(64, uint64_t(value)).trunc(width);
  if (type.isUnsignedInteger() || width == 1)
    return bits.getZExtValue();
  return uint64_t(bits.getSExtValue()) ^ uint64_t(1) << 63;
}

/// Returns the runtime's `hewn_part_key` of an element of a float type.
static uint64_t keyOf(Type type, double value) {
  const llvm::fltSemantics &semantics = cast<FloatType>(type).getFloatSemantics();
  APFloat number(value);
  bool losesInfo;
  number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return hewn_part_float_key(number.bitcastToAPInt().getZExtValue(), int(type.getIntOrFloatBitWidth()),
                             APFloat::getInf(semantics).bitcastToAPInt().getZExtValue());
}

/// Emits a lookup of the numbers x in the constant `keys`, which have type `type` before they are
/// cast to the type of x.
template <typename T> static Value lookupNumbers(OnnxNode &node, Value x, ArrayRef<T> keys, Type type) {
  Type to = getElementType(x);
  if (!isa<IntegerType, FloatType>(to)) {
    (void)node.refuse("can't look up elements of this type");
    return {};
  }
  auto words = llvm::map_to_vector(
      keys, [&](T key) { return isa<FloatType>(to) ? keyOf(to, double(key)) : keyOf(to, int64_t(key)); });
  auto slots = hashTable(
      keys.size(), [&](size_t i) { return hewn_hash_word(0, words[i]); },
      [&](size_t a, size_t b) { return words[a] == words[b]; });
  auto list = RankedTensorType::get({int64_t(keys.size())}, type);
  Value made = Composer(node).cast(makeConstant(node.b, node.loc, DenseElementsAttr::get(list, keys)), to);
  return made ? node.make<LookupOp>({x, made, hashTableOf(node, slots)}, node.attr("text", node.b.getBoolAttr(false)))
              : Value();
}

Value lookup(OnnxNode &node, Value x, ArrayRef<std::string> keys) {
  auto slots = hashTable(
      keys.size(), [&](size_t i) { return hewn_hash_text(keys[i].c_str()); },
      [&](size_t a, size_t b) { return keys[a] == keys[b]; });
  Value made = makeText(node, keys, {int64_t(keys.size())});
  return made ? node.make<LookupOp>({x, made, hashTableOf(node, slots)}, node.attr("text", node.b.getBoolAttr(true)))
              : Value();
}

Value lookup(OnnxNode &node, Value x, ArrayRef<int64_t> keys) {
  return lookupNumbers(node, x, keys, node.b.getI64Type());
}

Value lookup(OnnxNode &node, Value x, ArrayRef<double> keys) {
  return lookupNumbers(node, x, keys, node.b.getF64Type());
}

//===------------------------------------------------------------------------------------------===//
// Ops
//===------------------------------------------------------------------------------------------===//

/// Broadcasts two string operands to their common shape. Calls `refuse` and returns false if there
/// is no common shape.
static bool broadcast(OnnxNode &node, Value &a, Value &b) {
  std::optional<Dims> dims = a && b ? broadcastDims({getDims(a), getDims(b)}) : std::nullopt;
  if (!dims) {
    (void)node.refuse("operands do not broadcast");
    return false;
  }
  Composer c(node);
  a = c.expand(a, *dims);
  b = c.expand(b, *dims);
  return a && b;
}

LogicalResult buildEqual(OnnxNode &node) {
  Value a = node.input(0), b = node.input(1);
  if (a && handle::isString(getElementType(a)))
    return broadcast(node, a, b) ? node.finish(node.make<TextEqualOp>({a, b})) : failure();
  return node.finish(Composer(node).op<EqualOp>({a, b}));
}

/// Returns the number type that is parsed from text or formatted as text in place of `type`.
/// Numbers are cast between both types without an additional loss of precision.
static Type writtenType(OpBuilder &b, Type type) {
  if (isa<FloatType>(type))
    return type.isF64() ? b.getF64Type() : b.getF32Type();
  return type.isUnsignedInteger(64) ? type : b.getI64Type();
}

Value parseText(OnnxNode &node, Value x, Type to) {
  // A cast of a string to bool parses the string as a float, which is true if it is not 0.
  Type written = to.isSignlessInteger(1) ? Type(node.b.getF64Type()) : writtenType(node.b, to);
  Value parsed = node.make<TextParseOp>(x, {node.attr("to", TypeAttr::get(written))});
  return Composer(node).cast(parsed, to);
}

Value formatText(OnnxNode &node, Value x) {
  return node.make<TextFormatOp>({Composer(node).cast(x, writtenType(node.b, getElementType(x)))});
}

LogicalResult buildStringConcat(OnnxNode &node) {
  Value a = node.input(0), b = node.input(1);
  return broadcast(node, a, b) ? node.finish(node.make<TextConcatOp>({a, b})) : failure();
}

LogicalResult buildRegexFullMatch(OnnxNode &node) {
  std::string pattern = node.getString("pattern", "");
  Value bytes = makeBytesOf(node, pattern);
#ifdef HEWN_HAS_REGEX
  int64_t where = 0;
  char why[256];
  if (bytes && !hewn_part_textpattern(pattern.c_str(), &where, why, sizeof(why)))
    return node.refuse("the pattern is not a valid regular expression: " + Twine(why) + ", at byte " + Twine(where));
#endif
  return bytes ? node.finish(node.make<TextMatchOp>({node.input(0), bytes})) : failure();
}

LogicalResult buildStringSplit(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0), delimiter = makeBytesOf(node, node.getString("delimiter", ""));
  if (!x || !delimiter)
    return failure();
  NamedAttribute most = node.attr("maxSplits", node.getInt("maxsplit", -1));
  Value fields = node.make<TextFieldsOp>({x, delimiter}, most);
  if (!fields)
    return failure();
  // The new dim of a StringSplit is as long as the longest list of substrings. If there are no
  // strings, it is 0.
  Value flat = c.reshape(fields, {numElements(getDims(fields))});
  Value zero = c.reshape(c.number(DimExpr(0)), {DimExpr(1)});
  Value widest = c.reduce<ReduceMaxOp>(c.concat({flat, zero}, 0), {0}, true);
  std::optional<Dims> width = widest ? node.contentsOrRead(widest) : std::nullopt;
  if (!width)
    return failure();
  node.setOutput(0, node.make<TextSplitOp>({x, delimiter}, {most, node.attr("width", ArrayRef<DimExpr>(*width))}));
  node.setOutput(1, fields);
  return success();
}

LogicalResult buildStringNormalizer(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  std::string change = node.getString("case_change_action", "NONE");
  SmallVector<std::string> dropped = node.getStrings("stopwords").value_or(SmallVector<std::string>());
  int64_t action = change == "LOWER" ? 1 : change == "UPPER" ? 2 : 0;
  if (change != "LOWER" && change != "UPPER" && change != "NONE")
    return node.refuse("case_change_action '" + change + "' is not supported");
  if (!x || getRank(x) < 1 || getRank(x) > 2 || (getRank(x) == 2 && !getDims(x)[0].is(1)))
    return node.refuse("needs strings of shape [n] or [1, n]");
  bool isRow = getRank(x) == 2;
  if (isRow)
    x = c.reshape(x, {getDims(x)[1]});
  Value list = makeText(node, dropped, {int64_t(dropped.size())});
  Operation *op = list ? makePart(node, TextNormalizeOp::getOperationName(), {x, list},
                                  {node.attr("change", action),
                                   node.attr("caseSensitive", node.b.getBoolAttr(node.getInt("is_case_sensitive", 0))),
                                   node.attr("count", node.b.getStringAttr(node.freshDim().str()))},
                                  1)
                       : nullptr;
  if (!op)
    return failure();
  Value y = op->getResult(0);
  return node.finish(isRow ? c.reshape(y, {DimExpr(1), getDims(y)[0]}) : y);
}

} // namespace hewn::graph
