// SPDX-License-Identifier: Apache-2.0
//
// Expands calls of functions: functions of the model, and functions by which ONNX defines an op.
// The nodes of the function body are imported in place of the call, with the call's inputs and
// attributes substituted.
#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/ModelImporter.h"
#include "lib/Importer/ONNX/Schemas/SchemaCheck.h"
#include <onnx/defs/schema.h>

using namespace mlir;

namespace hewn::importer {

using onnx::AttributeProto;
using onnx::FunctionProto;
using Actuals = llvm::StringMap<const AttributeProto *>;

/// Returns true if the node, or a node of its subgraphs, refers to an attribute of the call of the
/// enclosing function.
static bool refersToCall(const onnx::NodeProto &node) {
  auto inGraph = [](const onnx::GraphProto &graph) { return llvm::any_of(graph.node(), refersToCall); };
  return llvm::any_of(node.attribute(), [&](const AttributeProto &attribute) {
    return !attribute.ref_attr_name().empty() || (attribute.has_g() && inGraph(attribute.g())) ||
           llvm::any_of(attribute.graphs(), inGraph);
  });
}

namespace {

/// Substitutes the attributes of a function call for the references to them in the function's body.
class Binder {
public:
  /// `bytes`: remaining memory budget for copied attributes. Their sizes are subtracted from it.
  Binder(const Actuals &actuals, int64_t &bytes) : actuals(actuals), bytes(bytes) {}

  /// Substitutes the attributes in a node. Returns false if the memory budget is exceeded.
  bool bind(onnx::NodeProto &node) {
    auto *attributes = node.mutable_attribute();
    for (int i = attributes->size(); i-- > 0;) {
      AttributeProto &attribute = *attributes->Mutable(i);
      if (!attribute.ref_attr_name().empty()) {
        const AttributeProto *actual = actuals.lookup(attribute.ref_attr_name());
        if (!actual) { // an attribute that the call lacks is removed from the node as well
          attributes->DeleteSubrange(i, 1);
          continue;
        }
        bytes -= int64_t(actual->SpaceUsedLong());
        if (bytes < 0)
          return false;
        std::string name = attribute.name();
        attribute.CopyFrom(*actual);
        attribute.set_name(name);
        continue; // an attribute of the call cannot refer to attributes of this function
      }
      if (attribute.has_g() && !bind(*attribute.mutable_g()))
        return false;
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        if (!bind(graph))
          return false;
    }
    return true;
  }

private:
  bool bind(onnx::GraphProto &graph) {
    return llvm::all_of(*graph.mutable_node(), [&](onnx::NodeProto &inner) { return bind(inner); });
  }

  const Actuals &actuals;
  int64_t &bytes;
};

/// A function body in which the attributes of a call are substituted. Only nodes that refer to
/// these attributes are copies; all others are shared with the original function, because there may
/// be many calls, and bodies may contain large constants.
struct BoundFunction {
  ~BoundFunction() {
    std::vector<onnx::NodeProto *> nodes(size_t(function.node_size()));
    function.mutable_node()->UnsafeArenaExtractSubrange(0, function.node_size(), nodes.data());
  }
  FunctionProto function;
  std::vector<std::unique_ptr<onnx::NodeProto>> copies;
  // owner of the nodes that are shared with the original function
  std::shared_ptr<const void> owner;
};

} // namespace

/// Stores the function body by which ONNX defines the node's op in `function`. Returns false if
/// ONNX does not define the op by a function.
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

bool ModelImporter::isOwnFunction(const onnx::NodeProto &node, const NodeInfo &info) const {
  return !isOnnxDomain(info.domain) && ownFunction(*model, node, info);
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

std::shared_ptr<const FunctionProto> ModelImporter::functionOf(const onnx::NodeProto &node, const NodeInfo &info,
                                                               ArrayRef<Value> inputs) {
  std::shared_ptr<const FunctionProto> function;
  Actuals actuals;
  std::string reason;
  if (const FunctionProto *own = ownFunction(*model, node, info)) {
    function = {loaded, own};
    for (const AttributeProto &otherwise : own->attribute_proto())
      actuals[otherwise.name()] = &otherwise;
  } else {
    auto made = std::make_shared<FunctionProto>();
    bool found = false;
    guarded(reason, [&] {
      const auto *schema = onnx::OpSchemaRegistry::Schema(info.op, int(info.opset), info.domain);
      found = schema && schemaFunction(*schema, node, int(info.opset), inputs, *made);
      if (found)
        for (const auto &[name, attribute] : schema->attributes())
          if (attribute.default_value.has_type())
            actuals[name] = &attribute.default_value;
    });
    if (!found)
      return nullptr;
    function = std::move(made);
  }
  if (llvm::none_of(function->node(), refersToCall))
    return function;
  for (const AttributeProto &attribute : node.attribute())
    actuals[attribute.name()] = &attribute;
  auto bound = std::make_shared<BoundFunction>();
  bound->owner = function;
  *bound->function.mutable_input() = function->input();
  *bound->function.mutable_output() = function->output();
  *bound->function.mutable_opset_import() = function->opset_import();
  Binder binder(actuals, bytesLeft);
  for (const onnx::NodeProto &inner : function->node()) {
    // the node, which may be shared with other calls of the function, is only read, never modified
    auto *shared = const_cast<onnx::NodeProto *>(&inner);
    if (refersToCall(inner)) {
      bytesLeft -= int64_t(inner.SpaceUsedLong());
      bound->copies.push_back(std::make_unique<onnx::NodeProto>(inner));
      shared = bound->copies.back().get();
      if (bytesLeft < 0 || !binder.bind(*shared)) {
        refuseOutright(info, "has attributes that take too much memory where its body uses them, more than " +
                                 limitText("bytes", options.limits.bytes));
        return nullptr;
      }
    }
    bound->function.mutable_node()->UnsafeArenaAddAllocated(shared);
  }
  return {bound, &bound->function};
}

LogicalResult ModelImporter::expandFunction(std::shared_ptr<const FunctionProto> function, const onnx::NodeProto &node,
                                            Frame &frame, const NodeInfo &info, ArrayRef<Value> inputs) {
  if (node.input_size() > function->input_size() || node.output_size() > function->output_size()) {
    refuse(info, "has more inputs or outputs than the function that it calls");
    return failure();
  }
  Opsets imported(opsets);
  for (const onnx::OperatorSetIdProto &entry : function->opset_import())
    imported[domainOf(entry.domain())] = entry.version();
  // Limits the length of the prefix of node names in messages, which would otherwise grow with each
  // nested function call.
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
      refuse(info, "calls a function that does not define its output '" + function->output(i) + "'");
      return failure();
    }
    frame.names[node.output(i)] = *output;
  }
  return success();
}

} // namespace hewn::importer
