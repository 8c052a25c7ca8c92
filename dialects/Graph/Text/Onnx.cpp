// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's nodes become ops on strings.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/MoveOps.h"
#include "dialects/Graph/Part/Part.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/Text/Text.h"
#include "dialects/Graph/Text/TextOps.h"
#include "hewn/services.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------------------------------===//
// Constants
//===------------------------------------------------------------------------------------------------------------------===//

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

//===------------------------------------------------------------------------------------------------------------------===//
// Lookup
//===------------------------------------------------------------------------------------------------------------------===//

/// Looks x up among keys, which `less` orders, and turns places in that order back into places among the keys as they are written.
template <typename T, typename Less, typename Make>
static Value lookupSorted(OnnxNode &node, Value x, ArrayRef<T> keys, Less less, Make make, bool text) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(keys.size())));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(keys[a], keys[b]); });
  // Of equal keys the first one counts.
  auto last = std::unique(order.begin(), order.end(),
                          [&](int64_t a, int64_t b) { return !less(keys[a], keys[b]) && !less(keys[b], keys[a]); });
  order.erase(last, order.end());
  SmallVector<T> sorted = llvm::map_to_vector(order, [&](int64_t i) { return keys[i]; });
  Value list = make(sorted);
  if (!list)
    return {};
  Value place = node.make<LookupOp>({x, list}, node.attr("text", node.b.getBoolAttr(text)));
  if (sorted.size() == keys.size() && llvm::is_sorted(order))
    return place;
  order.push_back(int64_t(keys.size()));
  auto type = RankedTensorType::get({int64_t(order.size())}, node.b.getI64Type());
  Value back = makeConstant(node.b, node.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(order)));
  return place ? node.make<GatherOp>({back, place}, node.attr("axis", int64_t(0))) : place;
}

Value lookup(OnnxNode &node, Value x, ArrayRef<std::string> keys) {
  auto make = [&](ArrayRef<std::string> sorted) { return makeText(node, sorted, {int64_t(sorted.size())}); };
  return lookupSorted(node, x, keys, std::less<std::string>(), make, true);
}

Value lookup(OnnxNode &node, Value x, ArrayRef<int64_t> keys) {
  auto make = [&](ArrayRef<int64_t> sorted) {
    auto type = RankedTensorType::get({int64_t(sorted.size())}, node.b.getI64Type());
    Value list = makeConstant(node.b, node.loc, DenseElementsAttr::get(type, sorted));
    return Composer(node).cast(list, getElementType(x));
  };
  return lookupSorted(node, x, keys, std::less<int64_t>(), make, false);
}

Value lookup(OnnxNode &node, Value x, ArrayRef<double> keys) {
  auto make = [&](ArrayRef<double> sorted) {
    auto type = RankedTensorType::get({int64_t(sorted.size())}, node.b.getF64Type());
    Value list = makeConstant(node.b, node.loc, DenseElementsAttr::get(type, sorted));
    return Composer(node).cast(list, getElementType(x));
  };
  // NaN behind all others, as the runtime's order of elements has it.
  auto less = [](double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; };
  return lookupSorted(node, x, keys, less, make, false);
}

//===------------------------------------------------------------------------------------------------------------------===//
// Ops
//===------------------------------------------------------------------------------------------------------------------===//

/// Both operands in the shape that they broadcast to; false after `refuse`.
static bool broadcast(OnnxNode &node, Value &a, Value &b) {
  std::optional<Dims> dims = a && b ? broadcastDims({getDims(a), getDims(b)}) : std::nullopt;
  if (!dims) {
    (void)node.refuse("has operands whose shapes do not broadcast");
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

/// The type by way of which numbers of `type` become text and are read: none loses anything, but for what the cast to it does.
static Type writtenType(OpBuilder &b, Type type) {
  if (isa<FloatType>(type))
    return type.isF64() ? b.getF64Type() : b.getF32Type();
  return type.isUnsignedInteger(64) ? type : b.getI64Type();
}

Value parseText(OnnxNode &node, Value x, Type to) {
  // What is true of a number is that it is not 0, and fractions are numbers.
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
    return node.refuse("has a pattern that is no regular expression: " + Twine(why) + ", at byte " + Twine(where));
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
  // The widest decides; of no strings none has any.
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
    return node.refuse("case_change_action is '" + change + "'");
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
