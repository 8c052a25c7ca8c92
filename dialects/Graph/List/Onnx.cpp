// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX nodes on run-time lists and optional values.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/List/List.h"
#include "dialects/Graph/List/ListOps.h"

using namespace mlir;

namespace hewn::graph {

static NamedAttribute typeNamed(OnnxNode &node, StringRef name, Type type) {
  return node.attr(name, TypeAttr::get(type));
}
static NamedAttribute text(OnnxNode &node, Type element) {
  return node.attr("text", node.b.getBoolAttr(handle::isString(element)));
}
static NamedAttribute flag(OnnxNode &node, StringRef name, bool value) {
  return node.attr(name, node.b.getBoolAttr(value));
}

static Value integer(OnnxNode &node, int64_t value) {
  auto scalar = RankedTensorType::get({}, node.b.getI64Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(scalar, value));
}

Value erased(OnnxNode &node, Value list, Value place) {
  std::optional<handle::List> type = listOf(list);
  if (!type)
    return {};
  return node.make<ListEraseOp>({list, place ? place : integer(node, -1)}, typeNamed(node, "to", type->type()));
}

Value joined(OnnxNode &node, Value list) {
  std::optional<handle::List> type = listOf(list);
  if (!type)
    return {};
  if (type->rank < 0) {
    (void)node.refuse("the rank of the sequence's tensors is unknown; specify a shape in the input's type");
    return {};
  }
  bool fresh = node.getInt("new_axis", 0);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), type->rank + fresh);
  if (!axis)
    return {};
  Value held = node.make<ListJointDimsOp>(
      list, {node.attr("rank", type->rank), node.attr("axis", *axis), flag(node, "fresh", fresh)});
  std::optional<Dims> dims = held ? node.contentsOrRead(held) : std::nullopt;
  if (!dims)
    return {};
  return node.make<ListJoinOp>(list,
                               {node.attr("axis", *axis), flag(node, "fresh", fresh),
                                node.attr("shape", ArrayRef<DimExpr>(*dims)), typeNamed(node, "of", type->element)});
}

Value split(OnnxNode &node, Value x, Value sizes, int64_t axis, bool drop) {
  handle::List type{handle::List::Kind::Sequence, getElementType(x), getRank(x) - drop};
  Composer c(node);
  sizes = sizes ? c.cast(sizes, node.b.getI64Type()) : integer(node, 1);
  return node.make<ListSplitOp>({x, sizes}, {node.attr("axis", axis), flag(node, "drop", drop),
                                             typeNamed(node, "to", type.type()), text(node, type.element)});
}

LogicalResult buildImageDecoder(OnnxNode &node) {
  std::string format = node.getString("pixel_format", "RGB");
  int64_t number = format == "RGB" ? 0 : format == "BGR" ? 1 : format == "Grayscale" ? 2 : -1;
  if (number < 0)
    return node.refuse("pixel_format '" + format + "' is not supported");
  handle::List type{handle::List::Kind::Sequence, getElementType(node.input(0)), 3};
  Value list =
      node.make<ImageDecodeOp>(node.input(0), {node.attr("format", number), typeNamed(node, "to", type.type())});
  return node.finish(list ? elementAt(node, list, integer(node, 0)) : Value());
}

//===------------------------------------------------------------------------------------------===//
// SequenceMap
//===------------------------------------------------------------------------------------------===//

/// Imports a SequenceMap as a loop over the positions of the first list. The loop carries one list
/// for each output of the body, and appends that output in each step.
LogicalResult mapLists(OnnxNode &node) {
  SmallVector<Value> inputs;
  Value trips;
  for (unsigned k = 0; k < node.numInputs(); ++k) {
    inputs.push_back(asHandle(node.b, node.loc, node.input(k)));
    if (!inputs.back())
      return node.refuse("sequences must have tensors of one type");
    if (std::optional<handle::List> list = listOf(inputs.back())) {
      Value length = lengthOf(node.b, node.loc, inputs.back());
      if (trips) // requires all lists to be as long as the first one
        RequireOp::create(node.b, node.loc, Composer(node).op<EqualOp>({trips, length}));
      trips = trips ? trips : length;
    }
  }
  OpBuilder::InsertionGuard guard(node.b);
  // The element types of the lists that the loop of a SequenceMap carries are those of the body's
  // outputs, which are only known after the body is built. The body is then built again with these
  // types.
  SmallVector<TensorShape> carried(node.numOutputs());
  for (TensorShape &shape : carried)
    shape.elementType = handle::List{handle::List::Kind::Sequence, node.b.getF32Type(), handle::kNoRank}.type();
  while (true) {
    RegionOpBuilder shell = RegionOpBuilder::loop(node.b, node.loc);
    SmallVector<TensorShape> arguments = {{{}, node.b.getI64Type()}, {{}, node.b.getI1Type()}};
    llvm::append_range(arguments, carried);
    Block *block = shell.open(0, arguments);
    SmallVector<Value> given;
    for (Value input : inputs)
      given.push_back(listOf(input) ? elementAt(node, input, block->getArgument(0)) : input);
    if (llvm::is_contained(given, Value()))
      return failure();
    std::optional<SmallVector<Value>> results = node.inlineSubgraph("body", given);
    if (!results)
      return failure();
    if (results->size() != carried.size() ||
        !llvm::all_of(*results, [](Value v) { return isa<RankedTensorType>(v.getType()); }))
      return node.refuse("the body must return one tensor for each output");
    SmallVector<Value> yields = {block->getArgument(1)};
    bool changed = false;
    for (auto [i, result] : llvm::enumerate(*results)) {
      Value longer = inserted(node, block->getArgument(2 + i), result, {});
      if (!longer)
        return failure();
      changed |= getElementType(longer) != carried[i].elementType;
      carried[i].elementType = getElementType(longer);
      yields.push_back(longer);
    }
    if (changed) {
      node.discard(shell.take());
      continue;
    }
    shell.close(0, yields);
    SmallVector<Value> operands = {trips, makeSplat(node.b, node.loc, node.b.getI1Type(), 1)};
    for (const TensorShape &shape : carried)
      operands.push_back(makeList(node.b, node.loc, {}, *handle::asList(shape.elementType)));
    Operation *op = shell.finish(operands, carried);
    for (OpResult result : op->getResults())
      node.setOutput(result.getResultNumber(), result);
    return success();
  }
}

//===------------------------------------------------------------------------------------------===//
// Optional values
//===------------------------------------------------------------------------------------------===//

Value hasElement(OnnxNode &node, Value optional) {
  Composer c(node);
  Value word = retype(node.b, node.loc, optional, node.b.getI64Type());
  return c.op<NotOp>(c.op<EqualOp>({word, integer(node, 0)}));
}

Value elementOf(OnnxNode &node, Value optional) {
  std::optional<handle::List> type = listOf(optional);
  if (!type || type->kind == handle::List::Kind::Sequence)
    return optional;
  RequireOp::create(node.b, node.loc, hasElement(node, optional));
  if (type->kind == handle::List::Kind::OptionalSequence) {
    type->kind = handle::List::Kind::Sequence;
    return retype(node.b, node.loc, optional, type->type());
  }
  return elementAt(node, optional, integer(node, 0));
}

} // namespace hewn::graph
