// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Protos/ModelEdits.h"

#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <climits>

using llvm::StringRef;

namespace hewn::importer {

namespace {

/// Where a node is: in a graph or a function, with what else these have.
struct Place {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> *nodes;
  int index;
  onnx::GraphProto *graph; // null: a function's
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

/// Who reads `from` reads `to`.
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

/// Leaves out what no output needs. Inputs of bodies stay: they go by position.
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

/// The nodes of a branch in the place of their If.
bool takeBranch(const Place &place, int attribute) {
  onnx::NodeProto node = place.node();
  const onnx::GraphProto &branch = node.attribute(attribute).g();
  if (!place.graph && branch.initializer_size() > 0) // a function has none
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
  // What takes most comes first.
  forEachNode([&](int i, onnx::NodeProto &node) {
    for (int a = 0; a < node.attribute_size(); ++a)
      if (node.op_type() == "If" && node.attribute(a).has_g())
        made->edits.push_back({What::TakeBranch, i, a});
  });
  forEachNode([&](int i, onnx::NodeProto &node) {
    for (int operand = 0; operand < node.input_size() && node.output_size() > 0; ++operand)
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
  std::string ignored;
  return guarded(ignored, [&] { bytes = made.SerializeAsString(); }) && bytes != model->SerializeAsString();
}

} // namespace hewn::importer
