// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Reduce/PartSearch.h"

#include "llvm/ADT/STLExtras.h"

namespace hewn::tool {

std::set<int> PartSearch::makersOf(const Names &outputs) const {
  std::set<int> nodes;
  Names wanted = outputs;
  while (!wanted.empty()) {
    int maker = parts.graph().maker(wanted.back());
    wanted.pop_back();
    if (maker >= 0 && nodes.insert(maker).second)
      llvm::append_range(wanted, parts.graph().nodes()[size_t(maker)].inputs);
  }
  return nodes;
}

bool PartSearch::accept(Window &window, std::set<int> nodes, const Names &outputs) {
  std::optional<Shown> shown = test(parts.cut(nodes, outputs, cutsFixed));
  if (!shown)
    return false;
  static_cast<Shown &>(window) = std::move(*shown);
  window.nodes = std::move(nodes);
  return true;
}

bool PartSearch::canBeOutput(const std::string &value) const {
  const ValueInfo *form = parts.info(value);
  return !parts.graph().isFixed(value) && (!form || form->isTensor);
}

std::optional<Window> PartSearch::all(const Names &outputs) {
  Window window;
  if (accept(window, makersOf(outputs), outputs))
    return window;
  return std::nullopt;
}

void PartSearch::dropEnd(Window &window) {
  std::vector<int> order(window.nodes.begin(), window.nodes.end());
  const Names final = window.outputs;
  // Returns the first `count` nodes, and their values that later nodes or the outputs read.
  auto outputsUpTo = [&](size_t count) {
    std::set<int> nodes(order.begin(), order.begin() + std::ptrdiff_t(count));
    std::set<std::string> read(final.begin(), final.end());
    for (size_t i = count; i < order.size(); ++i)
      read.insert(parts.graph().nodes()[size_t(order[i])].inputs.begin(),
                  parts.graph().nodes()[size_t(order[i])].inputs.end());
    Names outputs;
    for (int node : nodes)
      for (const std::string &value : parts.graph().nodes()[size_t(node)].outputs)
        if (read.count(value) && canBeOutput(value))
          outputs.push_back(value);
    return std::make_pair(nodes, outputs);
  };
  size_t equal = 0, differs = order.size();
  while (differs - equal > 1) {
    size_t middle = equal + (differs - equal) / 2;
    auto [nodes, outputs] = outputsUpTo(middle);
    if (!outputs.empty() && accept(window, nodes, outputs))
      differs = middle;
    else
      equal = middle;
  }
  // Keep only the nodes that the differing values depend on.
  std::set<int> needed = makersOf(window.outputs);
  if (needed.size() < window.nodes.size())
    accept(window, needed, Names(window.outputs));
}

void PartSearch::dropBegin(Window &window) {
  const Names outputs = window.outputs;
  std::set<int> makers;
  for (const std::string &name : outputs)
    makers.insert(parts.graph().maker(name));
  if (window.nodes != makers && accept(window, makers, outputs))
    return;
  std::vector<int> order(window.nodes.begin(), window.nodes.end());
  size_t differs = 0, equal = order.size();
  while (equal - differs > 1) {
    size_t middle = differs + (equal - differs) / 2;
    std::set<int> nodes(order.begin() + std::ptrdiff_t(middle), order.end());
    nodes.insert(makers.begin(), makers.end());
    if (accept(window, nodes, outputs))
      differs = middle;
    else
      equal = middle;
  }
}

Names PartSearch::outputsOf(const std::set<int> &nodes, const Window &window) const {
  llvm::ArrayRef<ModelGraph::Node> all = parts.graph().nodes();
  std::set<std::string> inside, outside(window.outputs.begin(), window.outputs.end());
  for (int node : window.nodes)
    (nodes.count(node) ? inside : outside).insert(all[size_t(node)].inputs.begin(), all[size_t(node)].inputs.end());
  Names outputs;
  for (int node : nodes)
    for (const std::string &value : all[size_t(node)].outputs)
      if (outside.count(value) || (!inside.count(value) && canBeOutput(value)))
        outputs.push_back(value);
  return outputs;
}

void PartSearch::dropAny(Window &window, bool fixedToo) {
  cutsFixed |= fixedToo;
  size_t tried = 0;
  for (size_t chunk = std::max<size_t>(1, window.nodes.size() / 2);; chunk /= 2) {
    bool progress = true;
    while (progress) {
      progress = false;
      std::vector<int> order(window.nodes.begin(), window.nodes.end());
      for (size_t end = order.size(); end > 0 && window.nodes.size() > 1; end -= std::min(chunk, end)) {
        std::set<int> nodes = window.nodes;
        for (size_t i = end - std::min(chunk, end); i < end; ++i)
          nodes.erase(order[i]);
        Names outputs = outputsOf(nodes, window);
        // `cut` adds removed nodes again if other nodes need them.
        ModelGraph::Part part = parts.cut(nodes, outputs, cutsFixed);
        if (outputs.empty() || nodes.size() == window.nodes.size() ||
            part.nodes.size() >= parts.cut(window.nodes, window.outputs, cutsFixed).nodes.size())
          continue;
        if (++tried > limit)
          return;
        progress |= accept(window, nodes, outputs);
      }
      // Repeat the pass over the nodes: a removed node may have been the last user of another one.
      progress &= chunk == 1;
    }
    if (chunk == 1)
      return;
  }
}

void PartSearch::dropOutputs(Window &window) {
  for (size_t i = window.outputs.size(); i-- > 0 && window.outputs.size() > 1;) {
    if (i >= window.outputs.size())
      continue;
    Names outputs = window.outputs;
    outputs.erase(outputs.begin() + std::ptrdiff_t(i));
    std::set<int> needed = makersOf(outputs), nodes;
    for (int node : window.nodes)
      if (needed.count(node))
        nodes.insert(node);
    if (!nodes.empty())
      accept(window, nodes, outputs);
  }
}

} // namespace hewn::tool
