// SPDX-License-Identifier: Apache-2.0
//
// Import of feature encoders and imputation.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/Text/Text.h"

using namespace mlir;

namespace hewn::graph {

template <typename T> static Value rowOf(OnnxNode &node, ArrayRef<T> values, Type type) {
  auto list = RankedTensorType::get({int64_t(values.size())}, type);
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(list, values));
}

LogicalResult buildImputer(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  if (!x || getRank(x) == 0)
    return node.refuse("needs features");
  Type type = getElementType(x);
  Value values, lacking;
  if (isa<FloatType>(type)) {
    SmallVector<float> written = node.getFloats("imputed_value_floats").value_or(SmallVector<float>());
    double replaced = node.getFloat("replaced_value_float", 0);
    values = c.cast(rowOf(node, ArrayRef<float>(written), node.b.getF32Type()), type);
    lacking = std::isnan(replaced) ? c.op<IsNaNOp>(x) : c.op<EqualOp>({x, c.scalarLike(x, replaced)});
  } else {
    SmallVector<int64_t> written =
        node.getInts("imputed_value_int64s", OnnxNode::Range::Any).value_or(SmallVector<int64_t>());
    int64_t replaced = node.getInt("replaced_value_int64", 0);
    values = c.cast(rowOf(node, ArrayRef<int64_t>(written), node.b.getI64Type()), type);
    lacking =
        c.op<EqualOp>({x, c.cast(c.reshape(rowOf(node, ArrayRef<int64_t>(replaced), node.b.getI64Type()), {}), type)});
  }
  std::optional<int64_t> count = values ? getDims(values)[0].constant() : std::nullopt,
                         features = getDims(x).back().constant();
  if (!count || *count == 0 || (*count != 1 && features && *count != *features))
    return node.refuse("has " + Twine(count.value_or(0)) + " imputed values for " + getDims(x).back().str() +
                       " features");
  return node.finish(c.op<WhereOp>({lacking, values, x}));
}

LogicalResult buildFeatureVectorizer(OnnxNode &node) {
  Composer c(node);
  SmallVector<int64_t> widths = node.getInts("inputdimensions").value_or(SmallVector<int64_t>());
  if (widths.size() != node.numInputs() || widths.empty())
    return node.refuse("needs an entry of inputdimensions for each input");
  SmallVector<Value> parts;
  for (auto [i, width] : llvm::enumerate(widths)) {
    Value x = node.input(i);
    if (!x || getRank(x) < 1 || getRank(x) > 2 || width < 0)
      return node.refuse("needs inputs of one or two dims");
    if (getRank(x) == 1)
      x = c.reshape(x, {getDims(x)[0], DimExpr(1)});
    std::optional<int64_t> given = getDims(x)[1].constant();
    if (!given)
      return node.refuse("the inputs must have a static number of columns");
    if (*given > width)
      x = c.slice(x, 1, DimExpr(0), DimExpr(width));
    else
      x = c.pad(x, {DimExpr(0), DimExpr(0)}, {DimExpr(0), DimExpr(width - *given)});
    parts.push_back(c.cast(x, node.b.getF32Type()));
  }
  return node.finish(c.concat(parts, 1));
}

LogicalResult buildOneHotEncoder(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  if (!x)
    return node.refuse("lacks an input");
  SmallVector<int64_t> numbers = node.getInts("cats_int64s", OnnxNode::Range::Any).value_or(SmallVector<int64_t>());
  SmallVector<std::string> strings = node.getStrings("cats_strings").value_or(SmallVector<std::string>());
  bool byName = handle::isString(getElementType(x));
  int64_t count = int64_t(byName ? strings.size() : numbers.size());
  if (count == 0)
    return node.refuse("has no categories for elements of its input's type");
  Dims dims = getDims(x);
  dims.push_back(DimExpr(1));
  Value place, category;
  if (byName) {
    place = lookup(node, x, strings);
    category = c.range(DimExpr(count));
  } else {
    place = c.cast(x, node.b.getI64Type());
    category = rowOf(node, ArrayRef<int64_t>(numbers), node.b.getI64Type());
  }
  if (!place)
    return failure();
  Value hot = c.cast(c.op<EqualOp>({c.reshape(place, dims), category}), node.b.getF32Type());
  if (!hot)
    return failure();
  if (!node.getInt("zeros", 1)) { // an unknown category ends the run with an error status
    Value found = c.reduce<ReduceMaxOp>(hot, {getRank(hot) - 1}, false);
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, getRank(found)));
    if (!all.empty())
      found = c.reduce<ReduceMinOp>(found, all, false);
    RequireOp::create(node.b, node.loc, c.cast(found, node.b.getI1Type()));
  }
  return node.finish(hot);
}

//===------------------------------------------------------------------------------------------===//
// LabelEncoder
//===------------------------------------------------------------------------------------------===//

namespace {
/// A list attribute of a LabelEncoder node. The node has it in one of three attributes, depending
/// on the element type, or in a tensor.
struct AttributeList {
  SmallVector<std::string> strings;
  SmallVector<int64_t> ints;
  SmallVector<double> numbers;
  Type type; // element type, or null if the attribute is absent
  size_t size() const { return strings.size() + ints.size() + numbers.size(); }
};
} // namespace

static AttributeList readAttributeList(OnnxNode &node, StringRef prefix) {
  AttributeList labels;
  std::string tensor = (prefix + "_tensor").str();
  if (auto strings = node.getStrings((prefix + "_strings").str())) {
    labels.strings = *strings;
    labels.type = handle::StringType::get(node.b.getContext());
  } else if (auto ints = node.getInts((prefix + "_int64s").str(), OnnxNode::Range::Any)) {
    labels.ints = *ints;
    labels.type = node.b.getI64Type();
  } else if (auto floats = node.getFloats((prefix + "_floats").str())) {
    labels.numbers.assign(floats->begin(), floats->end());
    labels.type = node.b.getF32Type();
  } else if (node.hasAttr(tensor)) {
    labels.type = node.tensorElementType(tensor);
    if (handle::isString(labels.type)) {
      labels.strings = node.getStrings(tensor).value_or(SmallVector<std::string>());
    } else {
      if (isa_and_nonnull<IntegerType>(labels.type)) // keys are compared exactly, as integers
        labels.ints = node.getInts(tensor, OnnxNode::Range::Any).value_or(SmallVector<int64_t>());
      else
        labels.numbers = node.getNumbers(tensor).value_or(SmallVector<double>());
    }
  }
  return labels;
}

/// Returns a 1-D tensor of the values of a LabelEncoder, followed by its default value, with the
/// element type of the values.
static Value tableOf(OnnxNode &node, AttributeList values) {
  Composer c(node);
  if (handle::isString(values.type)) {
    std::string otherwise = node.getString("default_string", "_Unused");
    if (auto written = node.getStrings("default_tensor"); written && !written->empty())
      otherwise = written->front();
    values.strings.push_back(otherwise);
    return makeText(node, values.strings, {int64_t(values.strings.size())});
  }
  bool isWritten = node.hasAttr("default_tensor");
  if (isa<IntegerType>(values.type)) {
    SmallVector<int64_t> written;
    if (isWritten)
      written = node.getInts("default_tensor", OnnxNode::Range::Any).value_or(SmallVector<int64_t>());
    values.ints.push_back(written.empty() ? node.getInt("default_int64", -1, OnnxNode::Range::Any) : written.front());
    return c.cast(rowOf(node, ArrayRef<int64_t>(values.ints), node.b.getI64Type()), values.type);
  }
  SmallVector<double> written;
  if (isWritten)
    written = node.getNumbers("default_tensor").value_or(SmallVector<double>());
  values.numbers.push_back(written.empty() ? node.getFloat("default_float", -0.0) : written.front());
  return c.cast(rowOf(node, ArrayRef<double>(values.numbers), node.b.getF64Type()), values.type);
}

LogicalResult buildLabelEncoder(OnnxNode &node) {
  Value x = node.input(0);
  if (!x)
    return node.refuse("lacks an input");
  // version 1 of LabelEncoder: maps strings to their indices in this list, and indices to strings
  if (node.hasAttr("classes_strings")) {
    SmallVector<std::string> names = node.getStrings("classes_strings").value_or(SmallVector<std::string>());
    if (handle::isString(getElementType(x))) {
      Value table = rowOf(node, ArrayRef<int64_t>(llvm::to_vector(llvm::seq<int64_t>(0, int64_t(names.size())))),
                          node.b.getI64Type());
      Value otherwise = rowOf(node, ArrayRef<int64_t>(node.getInt("default_int64", -1)), node.b.getI64Type());
      Value place = lookup(node, x, names);
      table = Composer(node).concat({table, otherwise}, 0);
      return node.finish(place ? node.make<GatherOp>({table, place}, node.attr("axis", int64_t(0))) : Value());
    }
    SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(names.size())));
    Value place = lookup(node, x, places);
    names.push_back(node.getString("default_string", "_Unused"));
    Value table = makeText(node, names, {int64_t(names.size())});
    return node.finish(place && table ? node.make<GatherOp>({table, place}, node.attr("axis", int64_t(0))) : Value());
  }
  AttributeList keys = readAttributeList(node, "keys"), values = readAttributeList(node, "values");
  if (!keys.type || !values.type || keys.size() != values.size())
    return node.refuse("needs as many values as keys");
  if (keys.type != getElementType(x))
    return node.refuse("the keys have another type than the input");
  Value place = handle::isString(keys.type)   ? lookup(node, x, keys.strings)
                : isa<IntegerType>(keys.type) ? lookup(node, x, keys.ints)
                                              : lookup(node, x, keys.numbers);
  Value table = place ? tableOf(node, values) : Value();
  return table ? node.finish(node.make<GatherOp>({table, place}, node.attr("axis", int64_t(0)))) : failure();
}

LogicalResult buildCategoryMapper(OnnxNode &node) {
  Value x = node.input(0);
  SmallVector<std::string> names = node.getStrings("cats_strings").value_or(SmallVector<std::string>());
  SmallVector<int64_t> numbers = node.getInts("cats_int64s", OnnxNode::Range::Any).value_or(SmallVector<int64_t>());
  if (!x || names.empty() || names.size() != numbers.size())
    return node.refuse("needs as many strings as numbers");
  Value place, table;
  if (handle::isString(getElementType(x))) {
    place = lookup(node, x, names);
    numbers.push_back(node.getInt("default_int64", -1));
    table = rowOf(node, ArrayRef<int64_t>(numbers), node.b.getI64Type());
  } else {
    place = lookup(node, x, numbers);
    names.push_back(node.getString("default_string", "_Unused"));
    table = makeText(node, names, {int64_t(names.size())});
  }
  return place && table ? node.finish(node.make<GatherOp>({table, place}, node.attr("axis", int64_t(0)))) : failure();
}

} // namespace hewn::graph
