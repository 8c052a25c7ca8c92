// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Protos/ModelEdits.h"

#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <climits>
#include <set>

using llvm::StringRef;

namespace hewn::importer {

namespace {

/// Position of a node in the model: the list of nodes that contains it, and the graph or function
/// that this list belongs to.
struct Place {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> *nodes;
  int index;
  onnx::GraphProto *graph; // null for a node of a function
  onnx::FunctionProto *function;

  onnx::NodeProto &node() const { return *nodes->Mutable(index); }
};

template <typename F> void forEachBody(onnx::NodeProto &node, F visit) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (onnx::GraphProto &graph : *attribute.mutable_graphs())
      visit(graph);
  }
}

void placesOf(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, onnx::GraphProto *graph,
              onnx::FunctionProto *function, std::vector<Place> &places) {
  for (int i = 0; i < nodes.size(); ++i) {
    places.push_back({&nodes, i, graph, function});
    forEachBody(nodes[i], [&](onnx::GraphProto &body) { placesOf(*body.mutable_node(), &body, nullptr, places); });
  }
}

std::vector<Place> placesOf(onnx::ModelProto &model) {
  std::vector<Place> places;
  placesOf(*model.mutable_graph()->mutable_node(), model.mutable_graph(), nullptr, places);
  for (onnx::FunctionProto &function : *model.mutable_functions())
    placesOf(*function.mutable_node(), nullptr, &function, places);
  return places;
}

/// Replaces all uses of the value `from` in a graph by the value `to`.
void renameRead(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, const std::string &from,
                const std::string &to) {
  for (onnx::NodeProto &node : nodes) {
    for (std::string &input : *node.mutable_input())
      if (input == from)
        input = to;
    forEachBody(node, [&](onnx::GraphProto &body) {
      renameRead(*body.mutable_node(), from, to);
      for (onnx::ValueInfoProto &output : *body.mutable_output())
        if (output.name() == from)
          output.set_name(to);
    });
  }
}

void renameRead(const Place &place, const std::string &from, const std::string &to) {
  renameRead(*place.nodes, from, to);
  if (place.graph)
    for (onnx::ValueInfoProto &output : *place.graph->mutable_output())
      if (output.name() == from)
        output.set_name(to);
  if (place.function)
    for (std::string &output : *place.function->mutable_output())
      if (output == from)
        output = to;
}

template <typename List, typename F> void keepIf(List &list, F keep) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i)
    if (keep(list[i], i))
      list.SwapElements(kept++, i);
  list.DeleteSubrange(kept, list.size() - kept);
}

void pruneNodes(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, llvm::ArrayRef<StringRef> wanted) {
  std::vector<bool> needed = neededNodes(nodes, sortNodes(nodes), wanted);
  keepIf(nodes, [&](const onnx::NodeProto &, int i) { return needed[size_t(i)]; });
}

/// Removes nodes, initializers and inputs that no output of the graph depends on. Inputs of a body
/// are kept, because they are identified by their position.
void prune(onnx::GraphProto &graph, bool isBody) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &output : graph.output())
    names.push_back(output.name());
  pruneNodes(*graph.mutable_node(),
             llvm::map_to_vector(names, [](const std::string &name) { return StringRef(name); }));
  llvm::StringSet<> read;
  for (const std::string &name : names)
    read.insert(name);
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    forEachBody(node, [](onnx::GraphProto &body) { prune(body, /*isBody=*/true); });
    namesRead(node, [&](StringRef name) { read.insert(name); });
  }
  keepIf(*graph.mutable_initializer(), [&](const onnx::TensorProto &one, int) { return read.contains(one.name()); });
  keepIf(*graph.mutable_sparse_initializer(),
         [&](const onnx::SparseTensorProto &one, int) { return read.contains(one.values().name()); });
  if (!isBody)
    keepIf(*graph.mutable_input(), [&](const onnx::ValueInfoProto &one, int) { return read.contains(one.name()); });
}

void prune(onnx::ModelProto &model) {
  prune(*model.mutable_graph(), /*isBody=*/false);
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    std::vector<std::string> names(function.output().begin(), function.output().end());
    pruneNodes(*function.mutable_node(),
               llvm::map_to_vector(names, [](const std::string &name) { return StringRef(name); }));
    for (onnx::NodeProto &node : *function.mutable_node())
      forEachBody(node, [](onnx::GraphProto &body) { prune(body, /*isBody=*/true); });
  }
  dropUncalledFunctions(model);
}

/// Replaces an If node by the nodes of a branch.
bool takeBranch(const Place &place, int attribute) {
  onnx::NodeProto node = place.node();
  const onnx::GraphProto &branch = node.attribute(attribute).g();
  if (!place.graph && branch.initializer_size() > 0) // a function body cannot have initializers
    return false;
  place.nodes->DeleteSubrange(place.index, 1);
  for (int i = 0; i < branch.node_size(); ++i) {
    place.nodes->Add()->CopyFrom(branch.node(i));
    for (int at = place.nodes->size() - 1; at > place.index + i; --at)
      place.nodes->SwapElements(at, at - 1);
  }
  for (const onnx::TensorProto &tensor : branch.initializer())
    place.graph->add_initializer()->CopyFrom(tensor);
  for (int i = 0; i < std::min(node.output_size(), branch.output_size()); ++i)
    if (!node.output(i).empty())
      renameRead(place, node.output(i), branch.output(i).name());
  return true;
}

} // namespace

ModelEdits::~ModelEdits() = default;

std::unique_ptr<ModelEdits> ModelEdits::parse(const std::string &bytes) {
  std::unique_ptr<ModelEdits> made(new ModelEdits);
  made->model = std::make_unique<onnx::ModelProto>();
  std::string ignored;
  bool parsed = false;
  if (bytes.size() > INT_MAX || !guarded(ignored, [&] { parsed = made->model->ParseFromString(bytes); }) || !parsed)
    return nullptr;
  std::vector<Place> places = placesOf(*made->model);
  made->numNodes = places.size();
  using What = Edit::What;
  made->edits.push_back({What::Prune, 0, 0});
  auto forEachNode = [&](auto visit) {
    for (size_t i = places.size(); i-- > 0;)
      visit(int(i), places[i].node());
  };
  // The list of possible edits begins with the edits that remove most from the model.
  forEachNode([&](int i, onnx::NodeProto &node) {
    for (int a = 0; a < node.attribute_size(); ++a)
      if (node.op_type() == "If" && node.attribute(a).has_g())
        made->edits.push_back({What::TakeBranch, i, a});
  });
  forEachNode([&](int i, onnx::NodeProto &node) {
    for (int operand = 0; operand < node.input_size() && node.output_size() > 0 && !node.output(0).empty(); ++operand)
      if (!node.input(operand).empty() &&
          llvm::find(node.input(), node.input(operand)) == node.input().begin() + operand)
        made->edits.push_back({What::Bypass, i, operand});
  });
  forEachNode([&](int i, onnx::NodeProto &node) {
    for (int operand = node.input_size() - 1; operand > 0; --operand)
      if (!node.input(operand).empty())
        made->edits.push_back({What::DropOperand, i, operand});
    for (int a = 0; a < node.attribute_size(); ++a)
      if (!node.attribute(a).has_g() && node.op_type() != "Constant")
        made->edits.push_back({What::DropAttribute, i, a});
  });
  return made;
}

std::vector<std::string> ModelEdits::inputs() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &input : model->graph().input())
    names.push_back(input.name());
  return names;
}

bool ModelEdits::apply(size_t edit, std::string &bytes) const {
  const Edit &asked = edits[edit];
  onnx::ModelProto made = *model;
  if (asked.what != Edit::What::Prune) {
    const Place place = placesOf(made)[size_t(asked.node)];
    onnx::NodeProto &node = place.node();
    switch (asked.what) {
    case Edit::What::Prune:
      break;
    case Edit::What::TakeBranch:
      if (!takeBranch(place, asked.part))
        return false;
      break;
    case Edit::What::Bypass:
      renameRead(place, std::string(node.output(0)), std::string(node.input(asked.part)));
      break;
    case Edit::What::DropOperand:
      node.mutable_input(asked.part)->clear();
      while (node.input_size() > 0 && node.input(node.input_size() - 1).empty())
        node.mutable_input()->RemoveLast();
      break;
    case Edit::What::DropAttribute:
      node.mutable_attribute()->DeleteSubrange(asked.part, 1);
      break;
    }
  }
  prune(made);
  return written(made, bytes);
}

bool ModelEdits::written(const onnx::ModelProto &made, std::string &bytes) const {
  std::string ignored;
  return guarded(ignored, [&] { bytes = made.SerializeAsString(); }) && bytes != model->SerializeAsString();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Maximum number of elements of a tensor that can be resized: for larger tensors, the list of
/// remaining elements would take too much memory.
static constexpr int64_t kMaxElements = int64_t(1) << 26;
/// Maximum length of integer lists that may contain dims: a shape, sizes, or the ends of slices.
static constexpr int64_t kMaxShape = 8;

std::vector<int64_t> ModelEdits::keptElements(std::vector<int64_t> &dims, int64_t from, int64_t to) {
  std::vector<int64_t> kept = {0};
  for (int64_t &dim : dims) {
    int64_t stays = dim == from ? to : dim;
    std::vector<int64_t> inner;
    inner.reserve(kept.size() * size_t(stays));
    for (int64_t outer : kept)
      for (int64_t i = 0; i < stays; ++i)
        inner.push_back(outer * dim + i);
    kept = std::move(inner);
    dim = stays;
  }
  return kept;
}

/// Returns the size of a tensor's element in bytes; -1 for types that are not stored as whole
/// bytes.
static int64_t elementBytes(int type) {
  using onnx::TensorProto;
  switch (type) {
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return 1;
  default:
    return -1;
  }
}

template <typename T>
static void keepListed(google::protobuf::RepeatedField<T> &list, llvm::ArrayRef<int64_t> kept, int64_t elements) {
  if (list.size() != elements)
    return;
  google::protobuf::RepeatedField<T> made;
  for (int64_t i : kept)
    made.Add(list.Get(int(i)));
  list.Swap(&made);
}

/// Changes dims of a tensor from size `from` to size `to`. In short integer tensors, replaces the
/// number `from` by `to` as well. Returns false if the way in which the tensor is stored is not
/// supported.
static bool cutTensor(onnx::TensorProto &tensor, int64_t from, int64_t to) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  int64_t elements = 1, bytes = elementBytes(tensor.data_type());
  for (int64_t dim : dims)
    elements = dim < 0 || dim > kMaxElements || elements > kMaxElements ? kMaxElements + 1 : elements * dim;
  bool isCut = llvm::is_contained(dims, from);
  if (isCut && (bytes < 0 || elements > kMaxElements || tensor.data_location() == onnx::TensorProto::EXTERNAL ||
                (tensor.has_raw_data() && int64_t(tensor.raw_data().size()) != elements * bytes)))
    return false;
  if (isCut) {
    std::vector<int64_t> kept = ModelEdits::keptElements(dims, from, to);
    if (tensor.has_raw_data()) {
      std::string raw;
      for (int64_t i : kept)
        raw.append(tensor.raw_data(), size_t(i * bytes), size_t(bytes));
      tensor.set_raw_data(std::move(raw));
    }
    keepListed(*tensor.mutable_float_data(), kept, elements);
    keepListed(*tensor.mutable_double_data(), kept, elements);
    keepListed(*tensor.mutable_int32_data(), kept, elements);
    keepListed(*tensor.mutable_int64_data(), kept, elements);
    keepListed(*tensor.mutable_uint64_data(), kept, elements);
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    elements = int64_t(kept.size());
  }
  if (tensor.data_type() != onnx::TensorProto::INT64 || elements > kMaxShape)
    return true;
  std::replace(tensor.mutable_int64_data()->begin(), tensor.mutable_int64_data()->end(), from, to);
  for (size_t at = 0; at + 8 <= tensor.raw_data().size(); at += 8)
    if (llvm::support::endian::read64le(tensor.raw_data().data() + at) == uint64_t(from))
      llvm::support::endian::write64le(tensor.mutable_raw_data()->data() + at, uint64_t(to));
  return true;
}

std::vector<int64_t> ModelEdits::sizes() const {
  std::set<int64_t> found;
  for (const onnx::TensorProto &tensor : model->graph().initializer())
    found.insert(tensor.dims().begin(), tensor.dims().end());
  for (const onnx::ValueInfoProto &input : model->graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      found.insert(dim.dim_value());
  std::vector<int64_t> sizes;
  for (int64_t size : llvm::reverse(found))
    if (size > 1)
      sizes.push_back(size);
  return sizes;
}

bool ModelEdits::resize(int64_t from, int64_t to, std::string &bytes) const {
  onnx::ModelProto made = *model;
  for (onnx::TensorProto &tensor : *made.mutable_graph()->mutable_initializer())
    if (!cutTensor(tensor, from, to))
      return false;
  for (auto *list : {made.mutable_graph()->mutable_input(), made.mutable_graph()->mutable_output()})
    for (onnx::ValueInfoProto &info : *list)
      if (info.type().has_tensor_type() && info.type().tensor_type().has_shape())
        for (auto &dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
          if (dim.dim_value() == from)
            dim.set_dim_value(to);
  made.mutable_graph()->clear_value_info();
  for (const Place &place : placesOf(made))
    for (onnx::AttributeProto &attribute : *place.node().mutable_attribute()) {
      std::replace(attribute.mutable_ints()->begin(), attribute.mutable_ints()->end(), from, to);
      if (attribute.has_t() && !cutTensor(*attribute.mutable_t(), from, to))
        return false;
    }
  return written(made, bytes);
}

} // namespace hewn::importer
