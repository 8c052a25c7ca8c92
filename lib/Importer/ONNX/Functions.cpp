// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions, the model's own and those by which ONNX defines ops: the body's nodes are imported in the call's
// place, with the call's inputs and attributes put in.
#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/ModelImporter.h"
#include "lib/Importer/ONNX/SchemaCheck.h"
#include <onnx/defs/schema.h>

using namespace mlir;

namespace hewn::importer {

using onnx::AttributeProto;
using onnx::FunctionProto;
using Actuals = llvm::StringMap<const AttributeProto *>;

static void bindAttributes(onnx::NodeProto &node, const Actuals &actuals) {
  auto *attributes = node.mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    AttributeProto &attribute = *attributes->Mutable(i);
    if (!attribute.ref_attr_name().empty()) {
      const AttributeProto *actual = actuals.lookup(attribute.ref_attr_name());
      if (!actual) { // absent in the call: absent here
        attributes->DeleteSubrange(i, 1);
        continue;
      }
      std::string name = attribute.name();
      attribute.CopyFrom(*actual);
      attribute.set_name(name);
      continue; // what came from outside refers to nothing in here
    }
    if (attribute.has_g())
      for (onnx::NodeProto &inner : *attribute.mutable_g()->mutable_node())
        bindAttributes(inner, actuals);
    for (onnx::GraphProto &graph : *attribute.mutable_graphs())
      for (onnx::NodeProto &inner : *graph.mutable_node())
        bindAttributes(inner, actuals);
  }
}

/// The function body by which ONNX defines an op, for this node; empty where there is none.
static bool schemaFunction(const onnx::OpSchema &schema, const onnx::NodeProto &node, int opset, ArrayRef<Value> inputs,
                           FunctionProto &function) {
  if (const FunctionProto *body = schema.GetFunction(opset)) {
    function = *body;
    return true;
  }
  if (!schema.HasContextDependentFunction())
    return false;
  onnx::FunctionBodyBuildContextImpl context(node, onnxTypes(inputs));
  return schema.BuildContextDependentFunction(context, function, opset);
}

static const FunctionProto *ownFunction(const onnx::ModelProto &model, const onnx::NodeProto &node,
                                        const NodeInfo &info) {
  for (const FunctionProto &f : model.functions())
    if (domainOf(f.domain()) == info.domain && f.name() == node.op_type() && f.overload() == node.overload())
      return &f;
  return nullptr;
}

bool ModelImporter::hasFunction(const onnx::NodeProto &node, const NodeInfo &info) const {
  if (ownFunction(*model, node, info))
    return true;
  bool found = false;
  std::string ignored;
  guarded(ignored, [&] {
    const auto *schema = onnx::OpSchemaRegistry::Schema(info.op, int(info.opset), info.domain);
    found = schema && (schema->HasFunction() || schema->HasContextDependentFunction());
  });
  return found;
}

std::shared_ptr<FunctionProto> ModelImporter::functionOf(const onnx::NodeProto &node, const NodeInfo &info,
                                                         ArrayRef<Value> inputs) {
  auto function = std::make_shared<FunctionProto>();
  Actuals actuals;
  const onnx::OpSchema *schema = nullptr;
  const FunctionProto *own = ownFunction(*model, node, info);
  bool found = own;
  std::string reason;
  if (found) {
    *function = *own;
    for (const AttributeProto &otherwise : own->attribute_proto())
      actuals[otherwise.name()] = &otherwise;
  } else {
    guarded(reason, [&] {
      schema = onnx::OpSchemaRegistry::Schema(info.op, int(info.opset), info.domain);
      found = schema && schemaFunction(*schema, node, int(info.opset), inputs, *function);
      if (found)
        for (const auto &[name, attribute] : schema->attributes())
          if (attribute.default_value.has_type())
            actuals[name] = &attribute.default_value;
    });
  }
  if (!found)
    return nullptr;
  for (const AttributeProto &attribute : node.attribute())
    actuals[attribute.name()] = &attribute;
  for (onnx::NodeProto &inner : *function->mutable_node())
    bindAttributes(inner, actuals);
  return function;
}

LogicalResult ModelImporter::expandFunction(std::shared_ptr<FunctionProto> function, const onnx::NodeProto &node,
                                            Frame &frame, const NodeInfo &info, ArrayRef<Value> inputs) {
  if (node.input_size() > function->input_size() || node.output_size() > function->output_size()) {
    refuse(info, "has more inputs or outputs than the function that it calls");
    return failure();
  }
  Opsets imported(opsets);
  for (const onnx::OperatorSetIdProto &entry : function->opset_import())
    imported[domainOf(entry.domain())] = entry.version();
  // A message must stay readable where functions call each other without end.
  std::string prefix = info.name.size() < 200 ? info.name : info.name.substr(0, 200) + "...";
  Frame inner{nullptr, &imported, function, prefix + "/", {}};
  for (int i = 0; i < function->input_size(); ++i) {
    Value input = i < int(inputs.size()) ? inputs[i] : Value();
    inner.names[function->input(i)] = {input ? Binding::Kind::Value : Binding::Kind::Absent, input};
  }
  SmallVector<StringRef> wanted;
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      wanted.push_back(function->output(i));
  if (failed(importNodes(function->node(), inner, wanted)))
    return failure();
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    const Binding *output = inner.find(function->output(i));
    if (!output || output->kind != Binding::Kind::Value) {
      refuse(info, "calls a function that does not make its output '" + function->output(i) + "'");
      return failure();
    }
    frame.names[node.output(i)] = *output;
  }
  return success();
}

} // namespace hewn::importer
