// SPDX-License-Identifier: Apache-2.0
//
// The smallest part of a model that differs from the reference. Each part is compiled as the model is and fed the reference's
// values, so what is fused in it stays fused, and no error comes from elsewhere.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKSEARCH_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKSEARCH_H

#include "tools/hewn/Check/CheckParts.h"

namespace hewn::tool {

/// A part that differs: its nodes, and those of its values that do.
struct Window {
  std::set<int> nodes;
  Names outputs;
  Judgement judgement;
};

class Search {
public:
  explicit Search(Parts &parts) : parts(parts) {}

  /// The nodes that `outputs` need, where compiling these alone still shows a difference.
  std::optional<Window> all(const Names &outputs);
  /// Leaves nodes out at the end, as long as a value that is read by them differs.
  void dropEnd(Window &window);
  /// Leaves nodes out at the begin, then one by one.
  void dropBegin(Window &window);

private:
  std::set<int> makersOf(const Names &outputs) const;
  /// Takes the smaller window where it differs.
  bool accept(Window &window, std::set<int> nodes, const Names &outputs);

  Parts &parts;
};

} // namespace hewn::tool

#endif
