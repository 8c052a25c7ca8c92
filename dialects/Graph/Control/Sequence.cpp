// SPDX-License-Identifier: Apache-2.0
//
// Sequences while importing: every builder looks at the op that made the list. Where that does not tell, the list is one that a run
// makes (List/List.h).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/SequenceOps.h"
#include "dialects/Graph/List/List.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult SequenceOp::verify() {
  if (getElements().getTypes() != TypeRange(cast<TupleType>(getResult().getType()).getTypes()))
    return emitOpError("is a tuple of other types than its elements");
  return success();
}

static Value makeSequence(OnnxNode &node, ValueRange elements, bool absent = false, Type held = {}) {
  auto type = TupleType::get(node.b.getContext(), TypeRange(elements));
  return SequenceOp::create(node.b, node.loc, type, elements, absent, held ? TypeAttr::get(held) : TypeAttr());
}

/// Input `i` as a list that a run makes; null where it is none.
static Value listAt(OnnxNode &node, unsigned i) {
  Value list = asHandle(node.b, node.loc, node.input(i));
  return listOf(list) ? list : Value();
}

/// Whether input `i` is a sequence whose length is known, and input `place`, where it is there, known as well.
static bool isKnown(OnnxNode &node, unsigned i, unsigned place) {
  Value value = node.input(i);
  if (!value || !value.getDefiningOp<SequenceOp>())
    return !listOf(value);
  if (!node.input(place))
    return true;
  std::optional<Dims> known = node.contents(node.input(place));
  return known && known->size() == 1 && known->front().constant();
}

/// Input `i` as a single i64; null where it is absent.
static Value placeAt(OnnxNode &node, unsigned i) {
  Composer c(node);
  return node.input(i) ? c.cast(c.reshape(node.input(i), {}), node.b.getI64Type()) : Value();
}

/// Input `i` as a sequence; null after `refuse`.
static SequenceOp sequenceOf(OnnxNode &node, unsigned i) {
  Value value = node.input(i);
  auto sequence = value ? value.getDefiningOp<SequenceOp>() : SequenceOp();
  if (!sequence || sequence.getAbsent()) {
    (void)node.refuse("input " + Twine(i) + " is no sequence");
    return {};
  }
  return sequence;
}

/// The place that input `i` names among `count` elements, `otherwise` without that input; nullopt after `refuse`.
static std::optional<int64_t> position(OnnxNode &node, unsigned i, int64_t count, int64_t otherwise) {
  if (!node.input(i))
    return otherwise;
  std::optional<Dims> known = node.contents(node.input(i));
  std::optional<int64_t> value = known && known->size() == 1 ? known->front().constant() : std::nullopt;
  if (!value) {
    (void)node.refuse("a position in a sequence must be known when compiling");
    return std::nullopt;
  }
  if (*value < -count || *value >= count) {
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
    return node.refuse("makes a sequence of something that is no tensor");
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
    Value list = listAt(node, 0);
    return isTensor(node.input(1)) && list ? node.finish(inserted(node, list, node.input(1), placeAt(node, 2)))
                                           : node.refuse("inserts something that is no tensor, or into no sequence");
  }
  SequenceOp sequence = sequenceOf(node, 0);
  if (!sequence)
    return failure();
  if (!isTensor(node.input(1)))
    return node.refuse("inserts something that is no tensor");
  SmallVector<Value> elements(sequence.getElements());
  // One place more than there are elements: behind the last one.
  std::optional<int64_t> at = position(node, 2, elements.size() + 1, elements.size());
  if (!at)
    return failure();
  // From the end it counts elements, not places.
  if (std::optional<Dims> written = node.input(2) ? node.contents(node.input(2)) : std::nullopt;
      written && written->front().constant() && *written->front().constant() < 0)
    at = std::max<int64_t>(*at - 1, 0);
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
  std::optional<int64_t> at = position(node, 1, elements.size(), int64_t(elements.size()) - 1);
  if (!at)
    return failure();
  if (*at < 0)
    return node.refuse("erases from an empty sequence");
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
  std::optional<int64_t> at = position(node, 1, sequence.getElements().size(), 0);
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
    return node.refuse("concatenates an empty sequence");
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
      return node.refuse("concatenates tensors of unlike rank");
    dims.insert(dims.begin() + *axis, DimExpr(1));
    element = c.reshape(element, dims);
  }
  return node.finish(concatInGroups(node, elements, *axis));
}

/// The sizes of the parts; nullopt where only a run knows them, or (`bad`) after `refuse`.
static std::optional<Dims> partSizes(OnnxNode &node, const DimExpr &all, bool &bad) {
  Value split = node.input(1);
  std::optional<Dims> written = split ? node.contents(split) : Dims{DimExpr(1)};
  bad = split && getRank(split) > 1;
  if (bad)
    (void)node.refuse("takes the sizes of the parts as one number or a list");
  if (bad || !written)
    return std::nullopt;
  if (split && getRank(split) == 1)
    return written;
  std::optional<int64_t> total = all.constant(), each = written->front().constant();
  bad = each && *each < 1;
  if (bad)
    (void)node.refuse("splits " + all.str() + " elements into parts of " + written->front().str());
  // Far more parts than most models have are no values of their own.
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
        return node.refuse("maps sequences of unlike length");
      arguments.push_back(sequence ? sequence.getElements()[i] : input);
    }
    std::optional<SmallVector<Value>> results = node.inlineSubgraph("body", arguments);
    if (!results)
      return failure();
    if (results->size() != columns.size() || !llvm::all_of(*results, isTensor))
      return node.refuse("has a body whose outputs are not one tensor for each of its own");
    for (auto [column, result] : llvm::zip(columns, *results))
      column.push_back(result);
  }
  for (auto [i, column] : llvm::enumerate(columns))
    node.setOutput(i, makeSequence(node, column));
  return success();
}

//===------------------------------------------------------------------------------------------------------------------===//
// Optionals: the value itself where it is there
//===------------------------------------------------------------------------------------------------------------------===//

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
  return isThere(node) ? node.finish(node.input(0)) : node.refuse("takes an optional value that is not there");
}

} // namespace hewn::graph
