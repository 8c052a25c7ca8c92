// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Protos/NodeOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace hewn::importer {

llvm::StringSet<> initializedNames(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    names.insert(tensor.values().name());
  return names;
}

void namesRead(const onnx::NodeProto &node, llvm::function_ref<void(StringRef)> visit) {
  for (const std::string &name : node.input())
    visit(name);
  auto inGraph = [&](const onnx::GraphProto &graph) {
    llvm::StringSet<> own;
    for (const onnx::ValueInfoProto &input : graph.input())
      own.insert(input.name());
    for (const onnx::TensorProto &initializer : graph.initializer())
      own.insert(initializer.name());
    for (const onnx::NodeProto &inner : graph.node())
      for (const std::string &name : inner.output())
        own.insert(name);
    auto free = [&](StringRef name) {
      if (!own.contains(name))
        visit(name);
    };
    for (const onnx::NodeProto &inner : graph.node())
      namesRead(inner, free);
    for (const onnx::ValueInfoProto &output : graph.output())
      free(output.name());
  };
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      inGraph(attribute.g());
    for (const onnx::GraphProto &graph : attribute.graphs())
      inGraph(graph);
  }
}

SmallVector<int> sortNodes(const Nodes &nodes) {
  llvm::StringMap<int> maker;
  for (auto [i, node] : llvm::enumerate(nodes))
    for (const std::string &name : node.output())
      if (!name.empty())
        maker.try_emplace(name, int(i));
  std::vector<SmallVector<int>> users(nodes.size());
  std::vector<int> waits(nodes.size(), 0);
  for (auto [i, node] : llvm::enumerate(nodes))
    namesRead(node, [&, i = int(i)](StringRef name) {
      auto found = maker.find(name);
      if (found == maker.end())
        return;
      users[found->second].push_back(i);
      ++waits[i];
    });
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (waits[i] == 0)
      ready.push(i);
  SmallVector<int> order;
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int user : users[i])
      if (--waits[user] == 0)
        ready.push(user);
  }
  return order;
}

std::vector<bool> neededNodes(const Nodes &nodes, ArrayRef<int> order, ArrayRef<StringRef> wanted) {
  llvm::StringSet<> names;
  for (StringRef name : wanted)
    names.insert(name);
  std::vector<bool> needed(nodes.size());
  for (int i : llvm::reverse(order)) {
    needed[i] = llvm::any_of(nodes[i].output(), [&](const std::string &name) { return names.contains(name); });
    if (needed[i])
      namesRead(nodes[i], [&](StringRef name) {
        if (!name.empty())
          names.insert(name);
      });
  }
  return needed;
}

/// Appends the names of the functions that the nodes call, including the calls in bodies of the
/// nodes.
static void addCalled(const Nodes &nodes, std::vector<std::string> &called) {
  for (const onnx::NodeProto &node : nodes) {
    called.push_back(node.domain() + "::" + node.op_type());
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        addCalled(attribute.g().node(), called);
      for (const onnx::GraphProto &graph : attribute.graphs())
        addCalled(graph.node(), called);
    }
  }
}

void dropUncalledFunctions(onnx::ModelProto &model) {
  llvm::StringSet<> reached;
  std::vector<std::string> called;
  addCalled(model.graph().node(), called);
  while (!called.empty()) {
    std::string name = std::move(called.back());
    called.pop_back();
    if (!reached.insert(name).second)
      continue;
    for (const onnx::FunctionProto &function : model.functions())
      if (function.domain() + "::" + function.name() == name)
        addCalled(function.node(), called);
  }
  auto &functions = *model.mutable_functions();
  int kept = 0;
  for (int i = 0; i < functions.size(); ++i)
    if (reached.contains(functions[i].domain() + "::" + functions[i].name()))
      functions.SwapElements(kept++, i);
  functions.DeleteSubrange(kept, functions.size() - kept);
}

} // namespace hewn::importer
