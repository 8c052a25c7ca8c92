// SPDX-License-Identifier: Apache-2.0
// Imports the nodes of one graph or body: order, inputs, and selection of the builder.
#include "dialects/Graph/Graph.h"
#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/ModelImporter.h"
#include "lib/Importer/ONNX/Node.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "lib/Importer/ONNX/Schemas/OnnxTable.h"
#include "lib/Importer/ONNX/Schemas/SchemaCheck.h"
#include <onnx/defs/schema.h>

using namespace mlir;

namespace hewn::importer {

LogicalResult ModelImporter::importNodes(const Nodes &nodes, Frame &frame, ArrayRef<StringRef> wanted) {
  auto infoOf = [&](int i) {
    const onnx::NodeProto &node = nodes[i];
    NodeInfo info{frame.prefix, node.op_type(), domainOf(node.domain()).str(), 0};
    info.name += node.name().empty() ? "#" + std::to_string(i) + " " + node.op_type() : node.name();
    auto version = frame.opsets->find(info.domain);
    info.opset = version == frame.opsets->end() ? 0 : version->second;
    return info;
  };
  SmallVector<int> order = sortNodes(nodes);
  bool good = true;
  if (int(order.size()) < nodes.size()) {
    llvm::DenseSet<int> sorted(order.begin(), order.end());
    for (int i = 0; i < nodes.size(); ++i)
      if (!sorted.contains(i)) {
        refuse(infoOf(i), "depends on its own output: the graph has a cycle");
        return failure();
      }
  }
  std::vector<bool> needed = neededNodes(nodes, order, wanted);
  for (int i : order) {
    if (!needed[i])
      continue;
    NodeInfo info = infoOf(i);
    if (options.seeNode) {
      auto names = [](const auto &values) {
        return llvm::map_to_vector(values, [](const auto &name) { return StringRef(name); });
      };
      options.seeNode(info.name, nodes[i].op_type(), names(nodes[i].input()), names(nodes[i].output()));
    }
    if (failed(importNode(nodes[i], frame, info))) {
      good = false;
      for (const std::string &name : nodes[i].output())
        frame.names[name] = {Binding::Kind::Failed, {}};
    }
    // this import is abandoned: the model will be imported again for each outcome of the question
    if (question || rankWasAsked)
      return failure();
  }
  return success(good);
}

//===----------------------------------------------------------------------===//
// One node
//===----------------------------------------------------------------------===//

bool ModelImporter::findInputs(const onnx::NodeProto &node, const Frame &frame, const NodeInfo &info,
                               SmallVectorImpl<Value> &inputs) {
  bool good = true;
  for (auto [i, name] : llvm::enumerate(node.input())) {
    inputs.push_back({});
    if (name.empty())
      continue;
    const Binding *binding = frame.find(name);
    if (!binding) {
      refuseOutright(info, "input " + Twine(i) + " '" + name + "' is not defined by a node, input or initializer");
      good = false;
    } else if (binding->kind == Binding::Kind::Failed) {
      metFailed = true;
      good = false;
    } else {
      inputs.back() = binding->value;
    }
  }
  return good;
}

const graph::CustomDefinition *ModelImporter::customOp(const NodeInfo &info) const {
  return options.customOps ? options.customOps->find(info.domain, info.op, info.opset) : nullptr;
}

bool ModelImporter::isKnown(const onnx::NodeProto &node, const NodeInfo &info) const {
  return customOp(info) || findRecord(info.domain, info.op, info.opset) || hasFunction(node, info);
}

std::string ModelImporter::whyUnsupported(const NodeInfo &info) {
  std::optional<int64_t> given = options.customOps ? options.customOps->since(info.domain, info.op) : std::nullopt;
  if (given && info.opset != 0)
    return "the custom op of this name requires version " + std::to_string(*given) + " or later of its domain";
  std::string versions = recordedVersions(info.domain, info.op), ignored;
  if (!versions.empty())
    return "this version of the op is not supported: hewn supports " + versions;
  if (info.opset == 0)
    return "the model does not import the domain '" + info.domain + "'";
  bool known = false;
  guarded(ignored, [&] { known = onnx::OpSchemaRegistry::Schema(info.op, info.domain) != nullptr; });
  if (known)
    return "this op is not supported yet; define it with --custom-ops";
  const auto &domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  return domains.count(info.domain)
             ? "ONNX has no such op"
             : "hewn does not support this op, which is not an ONNX op; define it with --custom-ops";
}

/// Returns true if ONNX has a schema for the op. In that case the types of its inputs have been
/// checked against the schema.
static bool hasSchema(const NodeInfo &info) {
  std::string ignored;
  bool known = false;
  guarded(ignored, [&] { known = onnx::OpSchemaRegistry::Schema(info.op, int(info.opset), info.domain) != nullptr; });
  return known;
}

LogicalResult ModelImporter::importNode(const onnx::NodeProto &node, Frame &frame, NodeInfo &info) {
  // Limits apply to nodes in bodies only: the number of nodes in the main graph is limited by the
  // size of the file.
  const Limits &limits = options.limits;
  bool tooDeep = depth >= limits.nesting, tooMany = depth > 0 && ++numNodes > limits.nodes;
  if (tooDeep || tooMany) {
    if (!std::exchange(toldLimit, true))
      refuseOutright(
          info,
          tooDeep ? "functions and subgraphs nest too deep, more than " + limitText("nesting", limits.nesting)
                  : "functions and subgraphs expand to too many nodes, more than " + limitText("nodes", limits.nodes));
    return failure();
  }
  for (const std::string &name : node.output()) {
    auto before = frame.names.find(name);
    if (!name.empty() && before != frame.names.end()) {
      refuse(info, "defines '" + name + "', which is defined before");
      return failure();
    }
  }
  SmallVector<Value> inputs;
  if (!findInputs(node, frame, info, inputs)) {
    // The node cannot be imported because an input failed. If the node's op is unsupported, that is
    // reported in addition.
    if (!isKnown(node, info))
      refuseOutright(info, whyUnsupported(info));
    return failure();
  }
  ++depth;
  const NodeInfo *outer = std::exchange(current, &info);
  unsigned errors = diagnostics.numErrors();
  bool metBefore = std::exchange(metFailed, false);
  LogicalResult built = buildNode(node, frame, info, inputs);
  if (failed(built) && diagnostics.numErrors() == errors && !metFailed)
    refuse(info, "is not well-formed");
  metFailed |= metBefore;
  current = outer;
  --depth;
  return built;
}

LogicalResult ModelImporter::buildNode(const onnx::NodeProto &node, Frame &frame, NodeInfo &info,
                                       ArrayRef<Value> inputs) {
  if (const graph::CustomDefinition *custom = customOp(info)) {
    Node built(*this, frame, node, info, inputs);
    return failure(failed(built.build(*custom)) || failed(bindOutputs(built, node, frame)));
  }
  if (isOwnFunction(node, info)) {
    auto function = functionOf(node, info, inputs);
    return failure(!function || failed(expandFunction(std::move(function), node, frame, info, inputs)));
  }
  std::string objection = schemaObjection(node, info.domain, info.opset, inputs);
  if (!objection.empty()) {
    refuse(info, objection);
    return failure();
  }
  const OnnxRecord *record = findRecord(info.domain, info.op, info.opset);
  if (!record) {
    unsigned errors = diagnostics.numErrors();
    // ONNX may choose the function body by the ranks of the inputs, so these must be known.
    llvm::for_each(inputs, [&](Value input) { askRank(input); });
    if (auto function = functionOf(node, info, inputs))
      return expandFunction(std::move(function), node, frame, info, inputs);
    if (diagnostics.numErrors() == errors)
      refuseOutright(info, whyUnsupported(info));
    return failure();
  }
  if (std::string objection = hasSchema(info) ? "" : listObjection(inputs); !objection.empty()) {
    refuse(info, objection);
    return failure();
  }
  Node built(*this, frame, node, info, inputs);
  return failure(failed(built.build(*record)) || failed(bindOutputs(built, node, frame)));
}

LogicalResult ModelImporter::bindOutputs(Node &built, const onnx::NodeProto &node, Frame &frame) {
  for (auto [i, value] : llvm::enumerate(built.outputs())) {
    if (!built.wantsOutput(i))
      continue;
    if (!value)
      return built.refuse("output " + Twine(i) + " is not supported");
    std::string reason;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> known;
    if (type)
      llvm::copy_if(type.getShape(), std::back_inserter(known), [](int64_t d) { return !ShapedType::isDynamic(d); });
    if (type && !tensorBytes(known, type.getElementType(), reason))
      return built.refuse("output " + Twine(i) + " " + reason);
    frame.names[node.output(i)] = {Binding::Kind::Value, value};
  }
  return success();
}

} // namespace hewn::importer
