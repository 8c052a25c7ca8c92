// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's sequence ops work on lists that are known when compiling.
#include "dialects/Graph/Compose.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

/// The elements of input 0; nullopt after `refuse`.
static std::optional<SmallVector<Value>> elementsOf(OnnxNode &node) {
  Value sequence = node.input(0);
  if (auto op = sequence ? sequence.getDefiningOp<SequenceOp>() : SequenceOp())
    return SmallVector<Value>(op.getElements());
  (void)node.refuse("needs a sequence whose length is known when compiling");
  return std::nullopt;
}

/// Input 1 as a position among `count`, or `otherwise` where it is absent; nullopt after `refuse`.
static std::optional<int64_t> positionOf(OnnxNode &node, unsigned input, int64_t count, int64_t otherwise) {
  if (!node.input(input))
    return otherwise;
  std::optional<Dims> known = node.contents(node.input(input));
  if (!known || known->size() != 1 || !known->front().constant()) {
    (void)node.refuse("needs a position that is known when compiling");
    return std::nullopt;
  }
  int64_t written = *known->front().constant(), position = written < 0 ? written + count : written;
  if (position >= 0 && position < count)
    return position;
  (void)node.refuse("position " + Twine(written) + " is outside of a sequence of " + Twine(count));
  return std::nullopt;
}

static LogicalResult finishSequence(OnnxNode &node, ArrayRef<Value> elements) {
  if (!llvm::all_of(elements, [](Value v) { return v && isa<RankedTensorType>(v.getType()); }))
    return node.refuse("needs tensors as elements");
  node.setOutput(0, SequenceOp::create(node.b, node.loc, node.b.getNoneType(), elements));
  return success();
}

LogicalResult buildSequence(OnnxNode &node) {
  SmallVector<Value> elements;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    elements.push_back(node.input(i));
  return finishSequence(node, elements);
}

LogicalResult buildSequenceInsert(OnnxNode &node) {
  std::optional<SmallVector<Value>> elements = elementsOf(node);
  if (!elements)
    return failure();
  int64_t count = elements->size();
  std::optional<int64_t> position = positionOf(node, 2, count + 1, count);
  if (!position)
    return failure();
  // From the end, -1 is before the last element: one less than among the places to insert at.
  if (std::optional<Dims> known = node.input(2) ? node.contents(node.input(2)) : std::nullopt;
      known && *known->front().constant() < 0)
    --*position;
  if (*position < 0)
    return node.refuse("inserts outside of a sequence of " + Twine(count));
  elements->insert(elements->begin() + *position, node.input(1));
  return finishSequence(node, *elements);
}

LogicalResult buildSequenceErase(OnnxNode &node) {
  std::optional<SmallVector<Value>> elements = elementsOf(node);
  if (!elements)
    return failure();
  int64_t count = elements->size();
  std::optional<int64_t> position = positionOf(node, 1, count, count - 1);
  if (!position)
    return failure();
  if (*position < 0)
    return node.refuse("erases from an empty sequence");
  elements->erase(elements->begin() + *position);
  return finishSequence(node, *elements);
}

LogicalResult buildSequenceAt(OnnxNode &node) {
  std::optional<SmallVector<Value>> elements = elementsOf(node);
  std::optional<int64_t> position =
      elements ? positionOf(node, 1, elements->size(), elements->size()) : std::optional<int64_t>();
  if (!position)
    return failure();
  if (*position >= int64_t(elements->size()))
    return node.refuse("lacks a position");
  return node.finish((*elements)[*position]);
}

LogicalResult buildSequenceLength(OnnxNode &node) {
  std::optional<SmallVector<Value>> elements = elementsOf(node);
  if (!elements)
    return failure();
  auto type = RankedTensorType::get({}, node.b.getI64Type());
  return node.finish(makeConstant(node.b, node.loc, DenseElementsAttr::get(type, int64_t(elements->size()))));
}

/// The sizes of the parts along a dim; nullopt after `refuse`.
static std::optional<SmallVector<int64_t>> partSizes(OnnxNode &node, const DimExpr &dim) {
  if (!dim.constant()) {
    (void)node.refuse("splits dim " + dim.str() + ", whose size is not known when compiling");
    return std::nullopt;
  }
  int64_t left = *dim.constant(), each = 1;
  SmallVector<int64_t> sizes;
  if (Value split = node.input(1)) {
    std::optional<Dims> known = node.contents(split);
    if (!known || llvm::any_of(*known, [](const DimExpr &d) { return !d.constant() || *d.constant() < 0; })) {
      (void)node.refuse("needs sizes that are known when compiling");
      return std::nullopt;
    }
    if (getRank(split) > 0) {
      for (const DimExpr &size : *known)
        sizes.push_back(*size.constant());
      if (std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) == left)
        return sizes;
      (void)node.refuse("has parts that do not make up the dim of " + Twine(left));
      return std::nullopt;
    }
    each = known->empty() ? 0 : *known->front().constant();
  }
  if (each < 1 || left / each > 4096) {
    (void)node.refuse("splits a dim of " + Twine(left) + " into parts of " + Twine(each));
    return std::nullopt;
  }
  for (; left > 0; left -= each)
    sizes.push_back(std::min(left, each));
  return sizes;
}

LogicalResult buildSplitToSequence(OnnxNode &node) {
  Value x = node.input(0);
  std::optional<int64_t> axis = x ? node.axis(node.getInt("axis", 0), getRank(x)) : std::optional<int64_t>();
  if (!axis)
    return failure();
  Dims dims = getDims(x);
  std::optional<SmallVector<int64_t>> sizes = partSizes(node, dims[*axis]);
  if (!sizes)
    return failure();
  // Without `split` each part is one slice, whose dim stays only if asked for.
  bool squeeze = !node.input(1) && node.getInt("keepdims", 1) == 0;
  dims.erase(dims.begin() + *axis);
  Composer c(node);
  SmallVector<Value> elements;
  int64_t offset = 0;
  for (int64_t size : *sizes) {
    Value part = c.slice(x, *axis, DimExpr(offset), DimExpr(size));
    elements.push_back(squeeze ? c.reshape(part, dims) : part);
    offset += size;
  }
  return finishSequence(node, elements);
}

LogicalResult buildConcatFromSequence(OnnxNode &node) {
  std::optional<SmallVector<Value>> elements = elementsOf(node);
  if (!elements)
    return failure();
  if (elements->empty())
    return node.refuse("concatenates an empty sequence");
  bool stack = node.getInt("new_axis", 0) != 0;
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(elements->front()) + stack);
  if (!axis)
    return failure();
  Composer c(node);
  for (Value &element : *elements) {
    Dims dims = getDims(element);
    if (int64_t(dims.size()) < *axis)
      return node.refuse("concatenates tensors of unlike rank");
    if (stack)
      dims.insert(dims.begin() + *axis, DimExpr(1));
    element = c.reshape(element, dims);
  }
  return node.finish(c.concat(*elements, *axis));
}

//===------------------------------------------------------------------------------------------------------------------===//
// Optionals: a value that is there is itself
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult buildOptional(OnnxNode &node) {
  if (!node.input(0))
    return node.refuse("an optional without a value");
  return node.finish(node.input(0));
}

LogicalResult buildOptionalHasElement(OnnxNode &node) {
  return node.finish(makeSplat(node.b, node.loc, node.b.getI1Type(), node.input(0) ? 1 : 0));
}

} // namespace hewn::graph
