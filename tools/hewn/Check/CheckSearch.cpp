// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Check/CheckSearch.h"

#include "llvm/ADT/STLExtras.h"

namespace hewn::tool {

/// So many nodes are tried to be left out one by one: each costs compiles.
static constexpr size_t kMaxSingle = 64;

std::set<int> Search::makersOf(const Names &outputs) const {
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

bool Search::accept(Window &window, std::set<int> nodes, const Names &outputs) {
  std::string ignored; // what can't be run alone is not smaller
  std::optional<Judgement> judgement = parts.judge(parts.cut(nodes, outputs), ignored);
  if (!judgement || !judgement->differs())
    return false;
  Names differing;
  for (auto &[name, difference] : judgement->found)
    if (difference.kind == Difference::Kind::Differs)
      differing.push_back(name);
  window = {std::move(nodes), std::move(differing), std::move(*judgement)};
  return true;
}

std::optional<Window> Search::all(const Names &outputs) {
  Window window;
  if (accept(window, makersOf(outputs), outputs))
    return window;
  return std::nullopt;
}

void Search::dropEnd(Window &window) {
  std::vector<int> order(window.nodes.begin(), window.nodes.end());
  const Names final = window.outputs;
  // What the nodes up to one give to those behind it.
  auto outputsUpTo = [&](size_t count) {
    std::set<int> nodes(order.begin(), order.begin() + std::ptrdiff_t(count));
    std::set<std::string> read(final.begin(), final.end());
    for (size_t i = count; i < order.size(); ++i)
      read.insert(parts.graph().nodes()[size_t(order[i])].inputs.begin(),
                  parts.graph().nodes()[size_t(order[i])].inputs.end());
    Names outputs;
    for (int node : nodes)
      for (const std::string &value : parts.graph().nodes()[size_t(node)].outputs)
        if (read.count(value) && !parts.graph().isFixed(value) && parts.info(value) && parts.info(value)->isTensor)
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
  // Only what the values that differ need.
  std::set<int> needed = makersOf(window.outputs);
  if (needed.size() < window.nodes.size())
    accept(window, needed, Names(window.outputs));
}

void Search::dropBegin(Window &window) {
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
  order.assign(window.nodes.begin(), window.nodes.end());
  if (order.size() > kMaxSingle)
    return;
  for (int node : order) {
    std::set<int> nodes = window.nodes;
    nodes.erase(node);
    if (!makers.count(node))
      accept(window, nodes, Names(window.outputs));
  }
}

} // namespace hewn::tool
