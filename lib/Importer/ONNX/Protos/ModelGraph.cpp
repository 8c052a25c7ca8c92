// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Protos/ModelGraph.h"

#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/Protos/ModelFile.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "lib/Support/Files/InputFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <climits>

using llvm::ArrayRef;
using llvm::StringRef;

namespace hewn::importer {

/// Minimum number of elements of a constant that counts as weights. Shorter constants are assumed
/// to be parameters of an op, such as exponents, scales or bounds.
static constexpr int64_t kLeastWeights = 64;

ModelGraph::~ModelGraph() = default;

std::unique_ptr<ModelGraph> ModelGraph::load(const std::string &path, Diagnostics &diagnostics) {
  std::unique_ptr<ModelGraph> graph(new ModelGraph);
  ImportOptions options;
  options.path = path;
  graph->loaded = loadModel(options, diagnostics);
  if (!graph->loaded)
    return nullptr;
  // `home` is the folder that an import of the model would use for external data. Extracted
  // submodels refer to the model file itself as external data only if an import of them would
  // accept such a reference.
  graph->home = llvm::sys::path::parent_path(path).str();
  if (graph->home.empty())
    graph->home = ".";
  std::string ignored, name = llvm::sys::path::filename(path).str();
  if (openInside(graph->home, name, ignored))
    graph->file = name;
  graph->order();
  graph->findFixed();
  return graph;
}

void ModelGraph::order() {
  const onnx::GraphProto &graph = loaded->proto.graph();
  llvm::StringSet<> initialized = initializedNames(graph);
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      inputNames.push_back(input.name());
  std::vector<StringRef> wanted;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    outputNames.push_back(output.name());
    wanted.push_back(output.name());
  }
  llvm::SmallVector<int> sorted = sortNodes(graph.node());
  std::vector<bool> needed = neededNodes(graph.node(), sorted, wanted);
  for (int i : sorted) {
    if (!needed[i])
      continue;
    const onnx::NodeProto &node = graph.node(i);
    Node one;
    one.name = node.name().empty() ? "#" + std::to_string(i) + " " + node.op_type() : node.name();
    one.op = node.op_type();
    // the domain "ai.onnx" is equivalent to ""
    one.domain = node.domain() == "ai.onnx" ? "" : node.domain();
    llvm::StringSet<> seen;
    namesRead(node, [&](StringRef name) {
      if (!name.empty() && seen.insert(name).second)
        one.inputs.push_back(name.str());
    });
    for (const std::string &name : node.output())
      if (!name.empty()) {
        one.outputs.push_back(name);
        makers[name] = int(list.size());
      }
    list.push_back(std::move(one));
    places.push_back(i);
  }
}

void ModelGraph::findFixed() {
  llvm::StringSet<> open;
  for (const std::string &input : inputNames) {
    open.insert(input);
    varying.insert(input);
  }
  for (const Node &node : list) {
    auto readsOneOf = [&](const llvm::StringSet<> &names) {
      return llvm::any_of(node.inputs, [&](const std::string &name) { return names.contains(name); });
    };
    // The results of Shape and Size depend only on the dims of the operand, not on its elements.
    bool ofDims = node.domain.empty() && (node.op == "Shape" || node.op == "Size");
    // A node without inputs, other than Constant, is assumed to return random numbers, so its
    // results are no constants.
    bool random = node.inputs.empty() && !(node.domain.empty() && node.op == "Constant");
    bool isOpen = random || (!ofDims && readsOneOf(open)), varies = random || readsOneOf(varying);
    for (const std::string &name : node.outputs) {
      (isOpen ? open : fixed).insert(name);
      if (varies)
        varying.insert(name);
    }
  }
}

int ModelGraph::maker(StringRef value) const {
  auto found = makers.find(value);
  return found == makers.end() ? -1 : found->second;
}

//===----------------------------------------------------------------------===//
// Extracted models
//===----------------------------------------------------------------------===//

static bool isFloating(int type) {
  using onnx::TensorProto;
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE || type == TensorProto::FLOAT16 ||
         type == TensorProto::BFLOAT16;
}

static bool isWeights(const onnx::TensorProto &tensor) {
  int64_t elements = 1;
  for (int64_t dim : tensor.dims())
    elements = dim < 0 || dim > INT_MAX || elements > INT_MAX ? 0 : elements * dim;
  return isFloating(tensor.data_type()) && elements >= kLeastWeights;
}

/// Returns the raw bytes of a tensor, which are stored in the message, in the model file or in an
/// external file.
ArrayRef<char> ModelGraph::rawBytes(const onnx::TensorProto &tensor, std::unique_ptr<llvm::MemoryBuffer> &file,
                                    std::string &reason) const {
  if (auto raw = loaded->raw.find(&tensor); raw != loaded->raw.end())
    return raw->second;
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
    return ArrayRef(tensor.raw_data().data(), tensor.raw_data().size());
  StringRef location;
  uint64_t offset = 0, length = UINT64_MAX;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      (void)StringRef(entry.value()).getAsInteger(10, offset);
    else if (entry.key() == "length")
      (void)StringRef(entry.value()).getAsInteger(10, length);
  }
  std::string why;
  file = openInside(home, location, why);
  if (!file || offset > file->getBufferSize()) {
    reason = "the tensor '" + tensor.name() + "' is stored in '" + location.str() + "', which " +
             (file ? "is too short" : why);
    return {};
  }
  return ArrayRef(file->getBufferStart() + offset, std::min<uint64_t>(length, file->getBufferSize() - offset));
}

/// Calls `change` with the elements of a repeated protobuf field as bytes.
template <typename T>
static bool changeList(int type, google::protobuf::RepeatedField<T> &list, ModelGraph::Change change) {
  if (!list.empty())
    change(type, {reinterpret_cast<char *>(list.mutable_data()), size_t(list.size()) * sizeof(T)});
  return !list.empty();
}

/// Calls `change` with the elements in a typed field of the tensor (such as float_data). Returns
/// false if the elements are not stored in a typed field.
static bool changeTyped(onnx::TensorProto &tensor, ModelGraph::Change change) {
  if (changeList(tensor.data_type(), *tensor.mutable_float_data(), change) ||
      changeList(tensor.data_type(), *tensor.mutable_double_data(), change))
    return true;
  // The field int32_data of a tensor contains one 16-bit float in each of its elements.
  std::vector<uint16_t> halves(tensor.int32_data().begin(), tensor.int32_data().end());
  if (halves.empty())
    return false;
  change(tensor.data_type(), {reinterpret_cast<char *>(halves.data()), halves.size() * 2});
  tensor.mutable_int32_data()->Assign(halves.begin(), halves.end());
  return true;
}

bool ModelGraph::copyTensor(const onnx::TensorProto &from, bool whole, Change change, onnx::TensorProto &to,
                            std::string &reason) const {
  bool changes = change && isWeights(from), external = from.data_location() == onnx::TensorProto::EXTERNAL;
  auto raw = loaded->raw.find(&from);
  to.CopyFrom(from);
  if (!changes && raw != loaded->raw.end() && !whole && !file.empty()) {
    auto entry = [&](const char *key, std::string value) {
      onnx::StringStringEntryProto *made = to.add_external_data();
      made->set_key(key);
      made->set_value(std::move(value));
    };
    to.set_data_location(onnx::TensorProto::EXTERNAL);
    entry("location", file);
    entry("offset", std::to_string(raw->second.data() - loaded->file->getBufferStart()));
    entry("length", std::to_string(raw->second.size()));
    return true;
  }
  if (!changes && raw == loaded->raw.end() && !(external && whole))
    return true;
  std::unique_ptr<llvm::MemoryBuffer> kept;
  ArrayRef<char> bytes = rawBytes(from, kept, reason);
  if (!reason.empty())
    return false;
  if (changes && changeTyped(to, change))
    return true;
  to.clear_external_data();
  to.clear_data_location();
  if (!bytes.empty())
    to.set_raw_data(bytes.data(), bytes.size());
  if (changes && !to.raw_data().empty())
    change(from.data_type(), {to.mutable_raw_data()->data(), to.raw_data().size()});
  return true;
}

/// Applies `change` to the weights in a Constant node: a tensor with raw bytes or a typed field, or
/// a list of floats. Some exporters store weights in Constant nodes instead of initializers.
void ModelGraph::changeConstants(onnx::NodeProto &node, Change change) const {
  if (node.op_type() != "Constant" || !(node.domain().empty() || node.domain() == "ai.onnx"))
    return;
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.floats_size() >= kLeastWeights)
      changeList(onnx::TensorProto::FLOAT, *attribute.mutable_floats(), change);
    if (!attribute.has_t() || !isWeights(attribute.t()) || changeTyped(*attribute.mutable_t(), change))
      continue;
    if (attribute.t().has_raw_data())
      change(attribute.t().data_type(),
             {attribute.mutable_t()->mutable_raw_data()->data(), attribute.t().raw_data().size()});
  }
}

static void setType(const ModelGraph::Feed &feed, onnx::ValueInfoProto &info) {
  info.set_name(feed.name);
  auto *type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(feed.elementType);
  type->mutable_shape();
  for (const std::string &text : feed.dims) {
    auto *dim = type->mutable_shape()->add_dim();
    int64_t size;
    if (!StringRef(text).getAsInteger(10, size))
      dim->set_dim_value(size);
    else if (!text.empty())
      dim->set_dim_param(text);
  }
}

bool ModelGraph::serialize(const Part &part, bool whole, Change change, std::string &bytes, std::string &reason) const {
  const onnx::ModelProto &model = loaded->proto;
  onnx::ModelProto made;
  made.set_ir_version(model.ir_version());
  *made.mutable_opset_import() = model.opset_import();
  *made.mutable_functions() = model.functions();
  onnx::GraphProto &graph = *made.mutable_graph();
  graph.set_name("part");
  llvm::StringSet<> read, fed;
  for (int number : part.nodes) {
    onnx::NodeProto &node = *graph.add_node();
    node.CopyFrom(model.graph().node(places[number]));
    if (change)
      changeConstants(node, change);
    for (const std::string &name : list[number].inputs)
      read.insert(name);
  }
  for (const std::string &name : part.outputs)
    read.insert(name);
  for (const ModelGraph::Feed &feed : part.feeds) {
    onnx::ValueInfoProto &info = *graph.add_input();
    setType(feed, info);
    if (feed.elementType == 0)
      for (const onnx::ValueInfoProto &input : model.graph().input())
        if (input.name() == feed.name)
          info.CopyFrom(input);
    fed.insert(feed.name);
  }
  if (part.feeds.empty())
    for (const onnx::ValueInfoProto &input : model.graph().input())
      if (llvm::is_contained(inputNames, input.name()))
        graph.add_input()->CopyFrom(input);
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (read.contains(tensor.name()) && !fed.contains(tensor.name()))
      if (!copyTensor(tensor, whole, change, *graph.add_initializer(), reason))
        return false;
  for (const onnx::SparseTensorProto &tensor : model.graph().sparse_initializer())
    if (read.contains(tensor.values().name()) && !fed.contains(tensor.values().name()))
      graph.add_sparse_initializer()->CopyFrom(tensor);
  for (const std::string &name : part.outputs) {
    onnx::ValueInfoProto &info = *graph.add_output();
    info.set_name(name);
    // Declares the types of outputs that are not tensors, as ONNX requires. The types of tensors
    // are inferred by the compiler.
    for (const onnx::ValueInfoProto &output : model.graph().output())
      if (output.name() == name)
        info.CopyFrom(output);
  }
  dropUncalledFunctions(made);
  bool small = false;
  if (!guarded(reason, [&] {
        small = made.ByteSizeLong() < INT_MAX;
        if (small)
          bytes = made.SerializeAsString();
      }))
    return false;
  if (!small)
    reason = "a part of the model exceeds 2 GB, the limit of protobuf";
  return small;
}

} // namespace hewn::importer
