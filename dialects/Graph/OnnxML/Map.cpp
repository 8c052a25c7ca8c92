// SPDX-License-Identifier: Apache-2.0
//
// Import of the ops on maps. A map is a graph.map op, whose operands are the keys and the values.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Indexing/ScatterOps.h"
#include "dialects/Graph/OnnxML/MapOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "dialects/Graph/RuntimeCall/RuntimeCallOps.h"
#include "dialects/Graph/Text/Text.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult MapOp::verify() {
  if (getOperandTypes() != TypeRange(cast<TupleType>(getResult().getType()).getTypes()))
    return emitOpError("the result type does not match the operand types");
  Dims keys = getDims(getKeys()), values = getDims(getValues());
  if (keys.size() != 1 || values.empty() || values.size() > 2 || values.back() != keys.front())
    return emitOpError("requires keys [k], and values [k] or [n, k]");
  return success();
}

/// Returns the graph.map op that defines input 0 of the node. Calls `refuse` and returns null if
/// the input is not a single map.
static MapOp mapOf(OnnxNode &node) {
  Value x = node.input(0);
  auto map = x ? x.getDefiningOp<MapOp>() : MapOp();
  if (!map || getRank(map.getValues()) != 1) {
    (void)node.refuse("input 0 must be a map");
    return {};
  }
  return map;
}

static Value int64s(OnnxNode &node, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, node.b.getI64Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(type, values));
}

/// Returns the list attribute of the node that is present, as strings or as integers. Calls
/// `refuse` and returns false unless the node has exactly one of the two attributes and it is not
/// empty.
static bool readKeys(OnnxNode &node, StringRef ofStrings, StringRef ofInts, SmallVectorImpl<std::string> &strings,
                     SmallVectorImpl<int64_t> &ints) {
  strings = node.getStrings(ofStrings).value_or(SmallVector<std::string>());
  ints = node.getInts(ofInts, OnnxNode::Range::Any).value_or(SmallVector<int64_t>());
  if (strings.empty() == ints.empty())
    (void)node.refuse("must have one of the attributes " + ofStrings + " and " + ofInts);
  return strings.empty() != ints.empty();
}

LogicalResult buildZipMap(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  SmallVector<std::string> strings;
  SmallVector<int64_t> ints;
  if (!x || !readKeys(node, "classlabels_strings", "classlabels_int64s", strings, ints))
    return failure();
  Dims dims = getDims(x);
  if (dims.empty() || dims.size() > 2)
    return node.refuse("the input must have one or two dims, but has " + Twine(dims.size()));
  DimExpr count(int64_t(strings.size() + ints.size()));
  if (dims.back().constant() && dims.back() != count)
    return node.refuse("has " + count.str() + " class labels for " + dims.back().str() + " columns");
  require(node.b, node.loc, Relation::Equal, dims.back(), count);
  Value values = c.reshape(x, {dims.size() == 2 ? dims.front() : DimExpr(1), count});
  Value keys = strings.empty() ? int64s(node, ints) : makeText(node, strings, {int64_t(strings.size())});
  if (!keys || !values)
    return failure();
  auto type = TupleType::get(node.b.getContext(), {keys.getType(), values.getType()});
  return node.finish(MapOp::create(node.b, node.loc, type, keys, values));
}

/// Emits a row [1, size] with values[i] at column places[i], and `otherwise` (shape [1]) in all
/// other columns. A value whose place is `size` is dropped.
static Value scattered(OnnxNode &node, Value places, Value values, Value otherwise, int64_t size) {
  Composer c(node);
  Value row = c.expand(otherwise, {DimExpr(size + 1)});
  if (!row || !places || !values)
    return {};
  row = node.make<ScatterElementsOp>(
      {row, places, values}, {node.attr("axis", int64_t(0)), node.attr("reduction", node.b.getStringAttr("none"))});
  return c.reshape(c.slice(row, 0, DimExpr(0), DimExpr(size)), {DimExpr(1), DimExpr(size)});
}

/// Emits the default value of a map's values, as a tensor [1]: `text`, or the number 0.
static Value defaultOf(OnnxNode &node, Type type, const std::string &text) {
  return handle::isString(type) ? makeText(node, text, {1}) : Composer(node).filled({DimExpr(1)}, type, 0);
}

LogicalResult buildDictVectorizer(OnnxNode &node) {
  MapOp map = mapOf(node);
  SmallVector<std::string> strings;
  SmallVector<int64_t> ints;
  if (!map || !readKeys(node, "string_vocabulary", "int64_vocabulary", strings, ints))
    return failure();
  if (strings.empty() == handle::isString(getElementType(map.getKeys())))
    return node.refuse("the vocabulary has another type than the keys of the input");
  llvm::StringSet<> seen;
  llvm::DenseSet<int64_t> seenInts;
  for (StringRef word : strings)
    if (!seen.insert(word).second)
      return node.refuse("the vocabulary has '" + word + "' twice");
  for (int64_t number : ints)
    if (!seenInts.insert(number).second)
      return node.refuse("the vocabulary has " + Twine(number) + " twice");
  // The index of each key in the vocabulary, or the size of the vocabulary if it lacks the key.
  Value places = strings.empty() ? lookup(node, map.getKeys(), ints) : lookup(node, map.getKeys(), strings);
  return node.finish(scattered(node, places, map.getValues(), defaultOf(node, getElementType(map.getValues()), ""),
                               int64_t(strings.size() + ints.size())));
}

LogicalResult buildCastMap(OnnxNode &node) {
  Composer c(node);
  MapOp map = mapOf(node);
  if (!map)
    return failure();
  std::string to = node.getString("cast_to", "TO_FLOAT"), form = node.getString("map_form", "DENSE");
  int64_t size = node.getInt("max_map", 1);
  Type type = to == "TO_FLOAT"    ? Type(node.b.getF32Type())
              : to == "TO_INT64"  ? Type(node.b.getI64Type())
              : to == "TO_STRING" ? Type(handle::StringType::get(node.b.getContext()))
                                  : Type();
  if (!type)
    return node.refuse("cast_to is '" + to + "', and must be TO_FLOAT, TO_INT64 or TO_STRING");
  Value keys = map.getKeys(), values = map.getValues();
  if (form == "DENSE") {
    Operation *sorted =
        makePart(node, TopKOp::getOperationName(), keys,
                 {node.attr("k", ArrayRef<DimExpr>(getDims(keys))), node.attr("axis", int64_t(0)),
                  node.attr("largest", node.b.getBoolAttr(false)), node.attr("sorted", node.b.getBoolAttr(true))},
                 2);
    if (!sorted)
      return failure();
    values = node.make<GatherOp>({values, sorted->getResult(1)}, node.attr("axis", int64_t(0)));
  }
  if (Type from = getElementType(values); from != type)
    values = handle::isString(from)   ? parseText(node, values, type)
             : handle::isString(type) ? formatText(node, values)
                                      : c.cast(values, type);
  if (form == "DENSE")
    return node.finish(c.reshape(values, {DimExpr(1), getDims(keys).front()}));
  if (form != "SPARSE")
    return node.refuse("map_form is '" + form + "', and must be DENSE or SPARSE");
  if (size < 1)
    return node.refuse("max_map is " + Twine(size) + ", and must be positive");
  Value places = c.op<MinimumOp>({keys, c.scalarLike(keys, double(size))});
  if (failed(checkIndices(node, places, DimExpr(size + 1), IndexRange::Position))) // negative keys
    return failure();
  // The padding of strings is onnxruntime's: ONNX does not define it.
  return node.finish(scattered(node, places, values, defaultOf(node, type, "0.f"), size));
}

} // namespace hewn::graph
