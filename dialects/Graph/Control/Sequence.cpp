// SPDX-License-Identifier: Apache-2.0
//
// Import of sequences. A sequence that a graph.sequence op defines has a known length and is
// imported as separate values. Any other sequence is a run-time list (List/List.h).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/SequenceOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/List/List.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult SequenceOp::verify() {
  if (getElements().getTypes() != TypeRange(cast<TupleType>(getResult().getType()).getTypes()))
    return emitOpError("the result type does not match the element types");
  return success();
}

static Value makeSequence(OnnxNode &node, ValueRange elements, bool absent = false, Type held = {}) {
  auto type = TupleType::get(node.b.getContext(), TypeRange(elements));
  return SequenceOp::create(node.b, node.loc, type, elements, absent, held ? TypeAttr::get(held) : TypeAttr());
}

/// Returns input `i` of the node if it is a run-time list, else null.
static Value listAt(OnnxNode &node, unsigned i) {
  Value list = asHandle(node.b, node.loc, node.input(i));
  return listOf(list) ? list : Value();
}

/// Returns true if input `i` of the node is a sequence of known length, and if its input `place`, a
/// position in the sequence, is absent or known at compile time.
static bool isKnown(OnnxNode &node, unsigned i, unsigned place) {
  Value value = node.input(i);
  if (!value || !value.getDefiningOp<SequenceOp>())
    return !listOf(value);
  if (!node.input(place))
    return true;
  std::optional<Dims> known = node.contents(node.input(place));
  return known && known->size() == 1 && known->front().constant();
}

/// Returns input `i` of the node, a position, as an i64 scalar, or null if the input is absent.
static Value placeAt(OnnxNode &node, unsigned i) {
  Composer c(node);
  return node.input(i) ? c.cast(c.reshape(node.input(i), {}), node.b.getI64Type()) : Value();
}

static Value int64Scalar(OnnxNode &node, int64_t value) {
  auto type = RankedTensorType::get({}, node.b.getI64Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(type, value));
}

/// Returns the graph.sequence that defines input `i` of the node. Calls `refuse` and returns null
/// if there is none.
static SequenceOp sequenceOf(OnnxNode &node, unsigned i) {
  Value value = node.input(i);
  auto sequence = value ? value.getDefiningOp<SequenceOp>() : SequenceOp();
  if (!sequence || sequence.getAbsent()) {
    (void)node.refuse("input " + Twine(i) + " must be a sequence");
    return {};
  }
  return sequence;
}

/// Returns the sequence position in input `i` of the node, in a sequence of `count` elements: an
/// index in [0, most], or `otherwise` if the input is absent. A negative position counts from the
/// end. Calls `refuse` and returns nullopt if the position is outside of [-count, most].
static std::optional<int64_t> position(OnnxNode &node, unsigned i, int64_t count, int64_t most, int64_t otherwise) {
  if (!node.input(i))
    return otherwise;
  std::optional<Dims> known = node.contents(node.input(i));
  std::optional<int64_t> value = known && known->size() == 1 ? known->front().constant() : std::nullopt;
  if (!value) {
    (void)node.refuse("a position in a sequence must be known at compile time");
    return std::nullopt;
  }
  if (*value < -count || *value > most) {
    (void)node.refuse("position " + Twine(*value) + " is outside of a sequence of " + Twine(count));
    return std::nullopt;
  }
  return *value < 0 ? *value + count : *value;
}

static bool isTensor(Value value) { return value && isa<RankedTensorType>(value.getType()); }

LogicalResult buildSequenceConstruct(OnnxNode &node) {
  SmallVector<Value> elements;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    elements.push_back(node.input(i));
  if (!llvm::all_of(elements, isTensor))
    return node.refuse("the elements of a sequence must be tensors");
  return node.finish(makeSequence(node, elements));
}

LogicalResult buildSequenceEmpty(OnnxNode &node) {
  Type element = node.elementTypeOf(node.getInt("dtype", 1));
  if (!element)
    return node.refuse("has a data type that hewn does not have");
  handle::List type{handle::List::Kind::Sequence, element, handle::kNoRank};
  return node.finish(makeSequence(node, {}, false, type.type()));
}

LogicalResult buildSequenceInsert(OnnxNode &node) {
  if (!isKnown(node, 0, 2)) {
    Value list = listAt(node, 0), place = placeAt(node, 2);
    // INT64_MAX, the runtime function's position after the last element, is no valid input
    if (place)
      place = Composer(node).op<MinimumOp>({place, int64Scalar(node, INT64_MAX - 1)});
    return isTensor(node.input(1)) && list ? node.finish(inserted(node, list, node.input(1), place))
                                           : node.refuse("requires a sequence and a tensor to insert");
  }
  SequenceOp sequence = sequenceOf(node, 0);
  if (!sequence)
    return failure();
  if (!isTensor(node.input(1)))
    return node.refuse("the inserted value must be a tensor");
  SmallVector<Value> elements(sequence.getElements());
  // SequenceInsert may also insert an element after the last one.
  int64_t count = elements.size();
  std::optional<int64_t> at = position(node, 2, count, /*most=*/count, /*otherwise=*/count);
  if (!at)
    return failure();
  elements.insert(elements.begin() + *at, node.input(1));
  return node.finish(makeSequence(node, elements));
}

LogicalResult buildSequenceErase(OnnxNode &node) {
  if (!isKnown(node, 0, 1))
    return node.finish(erased(node, listAt(node, 0), placeAt(node, 1)));
  SequenceOp sequence = sequenceOf(node, 0);
  if (!sequence)
    return failure();
  SmallVector<Value> elements(sequence.getElements());
  std::optional<int64_t> at =
      position(node, 1, elements.size(), int64_t(elements.size()) - 1, int64_t(elements.size()) - 1);
  if (!at)
    return failure();
  if (*at < 0)
    return node.refuse("cannot erase from an empty sequence");
  elements.erase(elements.begin() + *at);
  return node.finish(makeSequence(node, elements));
}

LogicalResult buildSequenceAt(OnnxNode &node) {
  if (!isKnown(node, 0, 1)) {
    Value list = listAt(node, 0), place = placeAt(node, 1);
    return place ? node.finish(elementAt(node, list, place)) : node.refuse("lacks an input");
  }
  SequenceOp sequence = sequenceOf(node, 0);
  if (!sequence)
    return failure();
  if (!node.input(1))
    return node.refuse("lacks an input");
  int64_t count = sequence.getElements().size();
  std::optional<int64_t> at = position(node, 1, count, count - 1, 0);
  return at ? node.finish(sequence.getElements()[*at]) : failure();
}

LogicalResult buildSequenceLength(OnnxNode &node) {
  if (listOf(node.input(0)))
    return node.finish(lengthOf(node.b, node.loc, node.input(0)));
  SequenceOp sequence = sequenceOf(node, 0);
  if (!sequence)
    return failure();
  return node.finish(makeSplat(node.b, node.loc, node.b.getI64Type(), double(sequence.getElements().size())));
}

LogicalResult buildConcatFromSequence(OnnxNode &node) {
  if (listOf(node.input(0)))
    return node.finish(joined(node, node.input(0)));
  SequenceOp sequence = sequenceOf(node, 0);
  if (!sequence)
    return failure();
  SmallVector<Value> elements(sequence.getElements());
  if (elements.empty())
    return node.refuse("cannot concatenate an empty sequence");
  bool fresh = node.getInt("new_axis", 0);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(elements.front()) + (fresh ? 1 : 0));
  if (!axis)
    return failure();
  Composer c(node);
  for (Value &element : elements) {
    if (!fresh)
      break;
    Dims dims = getDims(element);
    if (*axis > int64_t(dims.size()))
      return node.refuse("cannot concatenate tensors of different rank");
    dims.insert(dims.begin() + *axis, DimExpr(1));
    element = c.reshape(element, dims);
  }
  return node.finish(concatInGroups(node, elements, *axis));
}

/// Returns the sizes of the parts into which SplitToSequence splits its input. Returns nullopt if
/// the sizes are only known at run time, or, after a call of `refuse` (`bad` is then set), if they
/// are invalid.
static std::optional<Dims> partSizes(OnnxNode &node, const DimExpr &all, bool &bad) {
  Value split = node.input(1);
  std::optional<Dims> written = split ? node.contents(split) : Dims{DimExpr(1)};
  bad = split && getRank(split) > 1;
  if (bad)
    (void)node.refuse("split must be a scalar or 1-D tensor");
  if (bad || !written)
    return std::nullopt;
  if (split && getRank(split) == 1)
    return written;
  std::optional<int64_t> total = all.constant(), each = written->front().constant();
  bad = each && *each < 1;
  if (bad)
    (void)node.refuse("cannot split " + all.str() + " elements into parts of " + written->front().str());
  // Limits the number of separate values: a SplitToSequence into more parts becomes a run-time
  // list.
  if (bad || !total || !each || *total / *each > 4096)
    return std::nullopt;
  Dims sizes;
  for (int64_t from = 0; from < *total; from += *each)
    sizes.push_back(DimExpr(std::min(*each, *total - from)));
  return sizes;
}

LogicalResult buildSplitToSequence(OnnxNode &node) {
  Value x = node.input(0);
  if (!isTensor(x))
    return node.refuse("lacks an input");
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(x));
  if (!axis)
    return failure();
  Composer c(node);
  Dims dims = getDims(x);
  bool bad = false, drops = !node.input(1) && !node.getInt("keepdims", 1);
  std::optional<Dims> sizes = partSizes(node, dims[*axis], bad);
  if (bad)
    return failure();
  if (!sizes)
    return node.finish(split(node, x, node.input(1), *axis, drops));
  if (failed(checkParts(node, *sizes, dims[*axis])))
    return failure();
  DimExpr offset(0);
  SmallVector<Value> parts;
  for (const DimExpr &size : *sizes) {
    Value part = c.slice(x, *axis, offset, size);
    Dims shape = dims;
    shape.erase(shape.begin() + *axis);
    parts.push_back(drops ? c.reshape(part, shape) : part);
    if (!parts.back())
      return failure();
    offset = offset + size;
  }
  return node.finish(makeSequence(node, parts));
}

LogicalResult buildSequenceMap(OnnxNode &node) {
  for (unsigned k = 0; k < node.numInputs(); ++k)
    if (listOf(node.input(k)))
      return mapLists(node);
  SequenceOp first = sequenceOf(node, 0);
  if (!first)
    return failure();
  size_t count = first.getElements().size();
  SmallVector<SmallVector<Value>> columns(node.numOutputs());
  for (size_t i = 0; i < count; ++i) {
    SmallVector<Value> arguments;
    for (unsigned k = 0; k < node.numInputs(); ++k) {
      Value input = node.input(k);
      auto sequence = input ? input.getDefiningOp<SequenceOp>() : SequenceOp();
      if (sequence && sequence.getElements().size() != count)
        return node.refuse("sequences differ in length");
      arguments.push_back(sequence ? sequence.getElements()[i] : input);
    }
    std::optional<SmallVector<Value>> results = node.inlineSubgraph("body", arguments);
    if (!results)
      return failure();
    if (results->size() != columns.size() || !llvm::all_of(*results, isTensor))
      return node.refuse("the body must return one tensor for each output");
    for (auto [column, result] : llvm::zip(columns, *results))
      column.push_back(result);
  }
  for (auto [i, column] : llvm::enumerate(columns))
    node.setOutput(i, makeSequence(node, column));
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Optional values: represented by the value itself if it is present
//===------------------------------------------------------------------------------------------===//

static bool isThere(OnnxNode &node) {
  Value value = node.input(0);
  auto sequence = value ? value.getDefiningOp<SequenceOp>() : SequenceOp();
  return value && !(sequence && sequence.getAbsent());
}

LogicalResult buildOptional(OnnxNode &node) {
  if (node.input(0))
    return node.finish(node.input(0));
  std::optional<handle::List> of = handle::asList(node.getType("type"));
  Type held;
  if (of && of->kind == handle::List::Kind::Sequence)
    held = handle::List{handle::List::Kind::OptionalSequence, of->element, of->rank}.type();
  else if (of)
    held = of->type();
  return node.finish(makeSequence(node, {}, /*absent=*/true, held));
}

LogicalResult buildOptionalHasElement(OnnxNode &node) {
  if (std::optional<handle::List> list = listOf(node.input(0)); list && list->kind != handle::List::Kind::Sequence)
    return node.finish(hasElement(node, node.input(0)));
  return node.finish(makeSplat(node.b, node.loc, node.b.getI1Type(), isThere(node)));
}

LogicalResult buildOptionalGetElement(OnnxNode &node) {
  if (listOf(node.input(0)))
    return node.finish(elementOf(node, node.input(0)));
  return isThere(node) ? node.finish(node.input(0)) : node.refuse("the optional value is absent");
}

} // namespace hewn::graph
