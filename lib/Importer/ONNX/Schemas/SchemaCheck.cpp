// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Schemas/SchemaCheck.h"

#include "dialects/Graph/Analysis/Shapes.h"
#include "dialects/Graph/Control/SequenceOps.h"
#include "dialects/Graph/List/List.h"
#include "dialects/Graph/OnnxML/MapOps.h"
#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/OnnxTypes.h"
#include "llvm/ADT/StringMap.h"
#include <onnx/defs/schema.h>

using namespace mlir;

namespace hewn::importer {

using onnx::OpSchema;

/// Sets `type` to the ONNX type of `value` if that is a sequence (of static or dynamic length), an
/// optional value, a map or a sequence of maps. Returns false for other values.
static bool setListType(Value value, onnx::TypeProto &type) {
  if (auto map = value.getDefiningOp<graph::MapOp>()) {
    onnx::TypeProto &each =
        graph::getRank(map.getValues()) == 1 ? type : *type.mutable_sequence_type()->mutable_elem_type();
    each.mutable_map_type()->set_key_type(onnxCode(graph::getElementType(map.getKeys())));
    each.mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(
        onnxCode(graph::getElementType(map.getValues())));
    return true;
  }
  std::optional<handle::List> list = graph::listOf(value);
  if (auto sequence = value.getDefiningOp<graph::SequenceOp>()) {
    list = handle::asList(sequence.getHeld().value_or(Type()));
    if (!list && !sequence.getElements().empty())
      list = {handle::List::Kind::Sequence, graph::getElementType(sequence.getElements().front()), handle::kAnyRank};
  }
  if (!list)
    return false;
  onnx::TypeProto *each = &type;
  if (list->kind != handle::List::Kind::Sequence)
    each = each->mutable_optional_type()->mutable_elem_type();
  if (list->kind != handle::List::Kind::Optional)
    each = each->mutable_sequence_type()->mutable_elem_type();
  each->mutable_tensor_type()->set_elem_type(onnxCode(list->element));
  return true;
}

std::vector<onnx::TypeProto> onnxTypes(ArrayRef<Value> values) {
  std::vector<onnx::TypeProto> types(values.size());
  for (auto [type, value] : llvm::zip(types, values)) {
    if (!value || setListType(value, type))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor)
      continue;
    type.mutable_tensor_type()->set_elem_type(onnxCode(tensor.getElementType()));
    auto *shape = type.mutable_tensor_type()->mutable_shape();
    for (const graph::DimExpr &dim : graph::getDims(value)) {
      if (std::optional<int64_t> extent = dim.constant())
        shape->add_dim()->set_dim_value(*extent);
      else
        shape->add_dim()->set_dim_param(dim.str().str());
    }
  }
  return types;
}

/// Checks the attributes of a node against the schema and returns the first error, or "". Names
/// that start with two underscores are annotations of exporters and are ignored.
static std::string attributeObjection(const onnx::NodeProto &node, const OpSchema &schema) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (!schema.attributes().count(attribute.name()) && !StringRef(attribute.name()).starts_with("__"))
      return "has the attribute '" + attribute.name() + "', which this op does not have";
  for (const auto &[name, attribute] : schema.attributes()) {
    bool there = llvm::any_of(node.attribute(), [&, &name = name](const auto &a) { return a.name() == name; });
    if (attribute.required && !there)
      return "lacks the attribute '" + name + "'";
  }
  return "";
}

static std::string countObjection(const onnx::NodeProto &node, const OpSchema &schema) {
  int inputs = node.input_size(), outputs = node.output_size();
  if (inputs < schema.min_input() || inputs > schema.max_input())
    return "has " + std::to_string(inputs) + " inputs, and must have " + std::to_string(schema.min_input()) + " to " +
           std::to_string(schema.max_input());
  if (outputs > schema.max_output())
    return "has " + std::to_string(outputs) + " outputs, expected at most " + std::to_string(schema.max_output());
  return "";
}

static std::string typeObjection(const OpSchema &schema, ArrayRef<Value> inputs) {
  std::vector<onnx::TypeProto> types = onnxTypes(inputs);
  llvm::StringMap<onnx::DataType> parameters;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    const auto &formals = schema.inputs();
    if (formals.empty())
      break;
    const OpSchema::FormalParameter &formal = formals[std::min(i, formals.size() - 1)];
    std::string what = "input " + std::to_string(i) + " '" + formal.GetName() + "'";
    if (!input) {
      if (formal.GetOption() == OpSchema::Single)
        return "lacks " + what;
      continue;
    }
    onnx::DataType type = onnx::Utils::DataTypeUtils::ToType(types[i]);
    if (!formal.GetTypes().empty() && !formal.GetTypes().count(type))
      return what + " is a " + *type + ", which this op does not take";
    if (formal.GetOption() == OpSchema::Variadic && !formal.GetIsHomogeneous())
      continue;
    auto [known, isNew] = parameters.try_emplace(formal.GetTypeStr(), type);
    if (!isNew && known->second != type)
      return what + " is a " + *type + ", but an earlier input of the same type parameter is a " + *known->second;
  }
  return "";
}

std::string schemaObjection(const onnx::NodeProto &node, StringRef domain, int64_t opset, ArrayRef<Value> inputs) {
  std::string objection, ignored;
  guarded(ignored, [&] {
    const OpSchema *schema = onnx::OpSchemaRegistry::Schema(node.op_type(), int(opset), domain.str());
    if (!schema)
      return;
    objection = countObjection(node, *schema);
    if (objection.empty())
      objection = attributeObjection(node, *schema);
    if (objection.empty())
      objection = typeObjection(*schema, inputs);
  });
  return objection;
}

std::string listTypeText(Value value) {
  std::string text = "sequence or absent", ignored;
  onnx::TypeProto type;
  if (setListType(value, type))
    guarded(ignored, [&] { text = *onnx::Utils::DataTypeUtils::ToType(type); });
  return text;
}

std::string listObjection(ArrayRef<Value> inputs) {
  for (auto [i, input] : llvm::enumerate(inputs)) {
    // An input that is a tensor is accepted, unless its element type is a handle: such a tensor
    // represents a sequence of dynamic length.
    if (!input || (isa<RankedTensorType>(input.getType()) && !graph::listOf(input)))
      continue;
    return "input " + std::to_string(i) + " is a " + listTypeText(input) + ", which this op does not take";
  }
  return "";
}

} // namespace hewn::importer
