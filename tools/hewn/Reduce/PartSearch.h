// SPDX-License-Identifier: Apache-2.0
//
// The smallest part of a model that shows something: check's and reduce's one search. Each part is compiled as the model is and fed the
// reference's values, so what is fused in it stays fused, and no error comes from elsewhere.
#ifndef HEWN_TOOLS_HEWN_REDUCE_PARTSEARCH_H
#define HEWN_TOOLS_HEWN_REDUCE_PARTSEARCH_H

#include "tools/hewn/Check/CheckParts.h"
#include <functional>

namespace hewn::tool {

/// What a part shows: which of its outputs, all of them where that can't be told, and how they compare where they were compared.
struct Shown {
  Names outputs;
  Judgement judgement;
};

/// A part that shows it: its nodes, and those of its values that do.
struct Window : Shown {
  std::set<int> nodes;
};

class PartSearch {
public:
  /// Nothing where a part does not show it, or can't be run alone.
  using Test = std::function<std::optional<Shown>(const ModelGraph::Part &)>;
  /// `limit`: so many parts are tried where nodes are left out a few at a time; each costs compiles.
  PartSearch(const Parts &parts, Test test, size_t limit) : parts(parts), test(std::move(test)), limit(limit) {}

  /// The nodes that `outputs` need, where these alone still show it.
  std::optional<Window> all(const Names &outputs);
  /// Leaves nodes out at the end, as long as a value that is read by them shows it.
  void dropEnd(Window &window);
  /// Leaves nodes out at the begin.
  void dropBegin(Window &window);
  /// Leaves out any nodes, many at a time and then fewer (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input"). What
  /// others read of them becomes an input, what they read an output. `cutsFixed`: also what computes with dims, whose results are given as numbers then.
  void dropAny(Window &window, bool cutsFixed);
  /// Leaves out outputs.
  void dropOutputs(Window &window);

  ModelGraph::Part partOf(const Window &window) const { return parts.cut(window.nodes, window.outputs, cutsFixed); }

private:
  std::set<int> makersOf(const Names &outputs) const;
  /// Takes the smaller window where it shows the same.
  bool accept(Window &window, std::set<int> nodes, const Names &outputs);
  /// What `nodes` give to an output of the window or to a node of it that is not among them, and what none of them reads.
  Names outputsOf(const std::set<int> &nodes, const Window &window) const;
  bool canBeOutput(const std::string &value) const;

  const Parts &parts;
  Test test;
  size_t limit;
  bool cutsFixed = false;
};

} // namespace hewn::tool

#endif
