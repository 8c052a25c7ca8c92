// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Protos/ModelSummary.h"

#include "lib/Importer/ONNX/Protos/ModelFile.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace hewn::importer {

namespace {

class Summarizer {
public:
  explicit Summarizer(const LoadedModel &loaded) : model(loaded.proto) {}

  ModelSummary all() {
    const onnx::GraphProto &graph = model.graph();
    summary.irVersion = model.ir_version();
    summary.producer = model.producer_name();
    summary.producerVersion = model.producer_version();
    summary.graph = graph.name();
    for (const onnx::OperatorSetIdProto &opset : model.opset_import())
      summary.opsets[domainOf(opset.domain())] = opset.version();
    llvm::StringSet<> initialized = initializedNames(graph);
    for (const onnx::ValueInfoProto &input : graph.input())
      if (!initialized.contains(input.name()))
        summary.inputs.push_back(value(input));
    for (const onnx::ValueInfoProto &output : graph.output())
      summary.outputs.push_back(value(output));
    for (const onnx::NodeProto &node : graph.node()) {
      std::string domain = domainOf(node.domain());
      ++summary.ops[domain.empty() ? node.op_type() : domain + "." + node.op_type()];
      if (domain.empty() && node.op_type() == "Constant")
        addConstant(node);
    }
    summary.nodes = size_t(graph.node_size());
    summary.initializers = size_t(graph.initializer_size()) + size_t(graph.sparse_initializer_size());
    for (const onnx::TensorProto &tensor : graph.initializer())
      summary.weightBytes = llvm::SaturatingAdd(summary.weightBytes, bytesOf(tensor));
    addFiles(graph);
    for (const onnx::FunctionProto &function : model.functions())
      addFiles(function.node());
    return std::move(summary);
  }

private:
  static std::string domainOf(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

  static uint64_t bytesOf(const onnx::TensorProto &tensor) {
    uint64_t bits = bitsOf(tensor.data_type());
    for (int64_t dim : tensor.dims())
      bits = llvm::SaturatingMultiply(bits, uint64_t(std::max<int64_t>(dim, 0)));
    return bits / 8 + (bits % 8 != 0);
  }
  void addConstant(const onnx::NodeProto &node) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == "value" && attribute.has_t()) {
        ++summary.constants;
        summary.weightBytes = llvm::SaturatingAdd(summary.weightBytes, bytesOf(attribute.t()));
      }
  }
  void addFile(const onnx::TensorProto &tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      for (const onnx::StringStringEntryProto &entry : tensor.external_data())
        if (entry.key() == "location")
          summary.files.insert(entry.value());
  }
  void addFiles(const onnx::SparseTensorProto &tensor) {
    addFile(tensor.values());
    addFile(tensor.indices());
  }
  /// Adds the external data files of the graph's tensors, including those in nested bodies.
  /// Recursion is safe because protobuf limits the nesting depth.
  void addFiles(const onnx::GraphProto &graph) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      addFile(tensor);
    for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
      addFiles(tensor);
    addFiles(graph.node());
  }
  void addFiles(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes) {
    for (const onnx::NodeProto &node : nodes)
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        addFile(attribute.t());
        for (const onnx::TensorProto &tensor : attribute.tensors())
          addFile(tensor);
        addFiles(attribute.sparse_tensor());
        for (const onnx::SparseTensorProto &tensor : attribute.sparse_tensors())
          addFiles(tensor);
        addFiles(attribute.g());
        for (const onnx::GraphProto &body : attribute.graphs())
          addFiles(body);
      }
  }
  /// Returns the size of a tensor's element in bits; 0 for strings, which have no fixed size.
  static uint64_t bitsOf(int32_t type) {
    using onnx::TensorProto;
    switch (type) {
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
    case TensorProto::UINT64:
    case TensorProto::COMPLEX64:
      return 64;
    case TensorProto::COMPLEX128:
      return 128;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 32;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return 16;
    case TensorProto::INT4:
    case TensorProto::UINT4:
    case TensorProto::FLOAT4E2M1:
      return 4;
    case 25: // UINT2 and INT2, for which older ONNX headers have no names
    case 26:
      return 2;
    case TensorProto::STRING:
    case TensorProto::UNDEFINED:
      return 0;
    default:
      return 8;
    }
  }

  template <typename Tensor> void describe(const Tensor &type, ModelSummary::Value &into) {
    into.elementType = type.elem_type();
    if (!type.has_shape())
      return;
    into.dims.emplace();
    for (const auto &dim : type.shape().dim()) {
      ModelSummary::Dim &one = into.dims->emplace_back();
      if (dim.has_dim_value() && dim.dim_value() != -1)
        one.size = dim.dim_value();
      // The dim name "?" means an unknown dim: some exporters write it for all of them.
      else if (llvm::any_of(dim.dim_param(), [](char c) { return llvm::isAlnum(c); }))
        one.name = dim.dim_param();
    }
  }

  void describe(const onnx::TypeProto &type, ModelSummary::Value &into) {
    if (type.has_tensor_type()) {
      describe(type.tensor_type(), into);
    } else if (type.has_sparse_tensor_type()) {
      into.kind = "sparse tensor";
      describe(type.sparse_tensor_type(), into);
    } else if (type.has_map_type()) {
      into.kind = "map";
      describeMap(type.map_type(), into);
      into.dims = {ModelSummary::Dim{}};
    } else if (type.has_sequence_type()) {
      bool hasMaps = type.sequence_type().elem_type().has_map_type();
      into.kind = hasMaps ? "sequence of maps" : "sequence";
      if (hasMaps)
        describeMap(type.sequence_type().elem_type().map_type(), into);
      else
        describeHeld(type.sequence_type().elem_type(), into);
    } else if (type.has_optional_type()) {
      bool isSequence = type.optional_type().elem_type().has_sequence_type();
      into.kind = isSequence ? "optional sequence" : "optional";
      describeHeld(isSequence ? type.optional_type().elem_type().sequence_type().elem_type()
                              : type.optional_type().elem_type(),
                   into);
    }
  }
  void describeHeld(const onnx::TypeProto &type, ModelSummary::Value &into) {
    if (type.has_tensor_type())
      describe(type.tensor_type(), into);
  }

  static void describeMap(const onnx::TypeProto::Map &map, ModelSummary::Value &into) {
    into.keyType = map.key_type();
    into.elementType = map.value_type().tensor_type().elem_type();
  }

  ModelSummary::Value value(const onnx::ValueInfoProto &info) {
    ModelSummary::Value made;
    made.name = info.name();
    describe(info.type(), made);
    return made;
  }

  const onnx::ModelProto &model;
  ModelSummary summary;
};

} // namespace

/// Gives anonymous dims of inputs the names that an import would give them.
static void nameDims(ModelSummary &summary) {
  std::vector<ModelSummary::Dim *> open;
  llvm::StringSet<> taken;
  for (ModelSummary::Value &input : summary.inputs)
    for (size_t d = 0; input.dims && d < input.dims->size(); ++d)
      if (ModelSummary::Dim &dim = (*input.dims)[d]; !dim.size) {
        if (dim.name.empty())
          open.push_back(&dim);
        else
          taken.insert(dim.name);
      }
  size_t number = 0;
  for (ModelSummary::Dim *dim : open) {
    do
      dim->name = "d" + std::to_string(number++);
    while (taken.contains(dim->name));
  }
}

std::optional<ModelSummary> summarizeModel(const std::string &path, Diagnostics &diagnostics) {
  ImportOptions options;
  options.path = path;
  std::shared_ptr<LoadedModel> loaded = loadModel(options, diagnostics);
  if (!loaded)
    return std::nullopt;
  ModelSummary summary = Summarizer(*loaded).all();
  nameDims(summary);
  return summary;
}

} // namespace hewn::importer
