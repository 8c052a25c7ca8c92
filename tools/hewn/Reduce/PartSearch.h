// SPDX-License-Identifier: Apache-2.0
//
// Searches the smallest subgraph of a model that shows a symptom, for `hewn check` and `hewn
// reduce`. Each subgraph is compiled with the flags of the model and runs on the reference's
// values: fusion inside of it is preserved, and errors of preceding nodes do not affect it.
#ifndef HEWN_TOOLS_HEWN_REDUCE_PARTSEARCH_H
#define HEWN_TOOLS_HEWN_REDUCE_PARTSEARCH_H

#include "tools/hewn/Check/CheckParts.h"
#include <functional>

namespace hewn::tool {

/// A symptom that a subgraph shows: the affected outputs (all outputs, if they are unknown), and
/// their comparison with the reference, if there was one.
struct Shown {
  Names outputs;
  Judgement judgement;
};

/// A subgraph that shows the symptom, with its nodes and the affected outputs.
struct Window : Shown {
  std::set<int> nodes;
};

class PartSearch {
public:
  /// Runs a subgraph. Returns nullopt if it does not show the symptom, or cannot run separately
  /// from the model.
  using Test = std::function<std::optional<Shown>(const ModelGraph::Part &)>;
  /// `limit`: maximum number of subgraphs that `dropAny` tries; each one is compiled.
  PartSearch(const Parts &parts, Test test, size_t limit) : parts(parts), test(std::move(test)), limit(limit) {}

  /// Returns the subgraph of all nodes that `outputs` depend on, if this subgraph shows the
  /// symptom.
  std::optional<Window> all(const Names &outputs);
  /// Removes nodes at the end of the window, as long as a value that a removed node reads shows the
  /// symptom.
  void dropEnd(Window &window);
  /// Removes nodes at the start of the window.
  void dropBegin(Window &window);
  /// Removes any nodes by delta debugging: large chunks first, then smaller ones (Zeller and
  /// Hildebrandt, "Simplifying and isolating failure-inducing input"). Values of removed nodes
  /// become inputs, values that only removed nodes read become outputs. `cutsFixed`: also removes
  /// computations of dims and feeds their results as numbers.
  void dropAny(Window &window, bool cutsFixed);
  /// Removes outputs of the window that are not needed to show the symptom.
  void dropOutputs(Window &window);

  ModelGraph::Part partOf(const Window &window) const { return parts.cut(window.nodes, window.outputs, cutsFixed); }

private:
  std::set<int> makersOf(const Names &outputs) const;
  /// Runs the given subgraph. If it shows the symptom, replaces `window` by it and returns true.
  bool accept(Window &window, std::set<int> nodes, const Names &outputs);
  /// Returns the values of `nodes` that are outputs of the window, that its other nodes read, or
  /// that no node of `nodes` reads.
  Names outputsOf(const std::set<int> &nodes, const Window &window) const;
  bool canBeOutput(const std::string &value) const;

  const Parts &parts;
  Test test;
  size_t limit;
  bool cutsFixed = false;
};

} // namespace hewn::tool

#endif
