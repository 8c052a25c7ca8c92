// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a page: shapes that stretch with the window, and text beside them that does not. What a shape says, its name for those who don't
// see it, is what pointing at it shows.
#ifndef HEWN_TOOLS_HEWN_PICTURES_H
#define HEWN_TOOLS_HEWN_PICTURES_H

#include "tools/hewn/Measure/Trace.h"
#include "tools/hewn/Pages/Page.h"

namespace hewn::tool {

/// The buffers of an arena of explain's record, from left to right over the program's steps, by address from below. Says so where there is
/// none.
void drawArena(Page &page, const llvm::json::Object &arena);

/// A kernel beside the roofs.
struct RooflineDot {
  std::string name, nodes;
  /// Of a run: FLOP, bytes, milliseconds; and the part of all kernels' time.
  double flop, bytes, milliseconds, share;
  bool isCompute;
};
/// FLOP a second over FLOP a byte, both logarithmic, under the roofs of profile's `machine`.
void drawRoofline(Page &page, const llvm::json::Object &machine, llvm::ArrayRef<RooflineDot> dots);

/// A lane for each thread. `toneOf`: compute, memory, unknown, by kernel; `nodesOf`: the nodes of the kernel's launch with this number, for
/// readers.
void drawTimeline(Page &page, const TracedRun &run, int threads,
                  llvm::function_ref<std::string(llvm::StringRef)> toneOf,
                  llvm::function_ref<std::string(llvm::StringRef, size_t)> nodesOf);

/// What the colours of kernels mean.
void drawRoofLegend(Page &page);

/// "conv1, bn1 and 3 more"
std::string nodesText(const llvm::json::Object &kernel, size_t most);
std::string nodesText(const llvm::json::Array *nodes, size_t most);

} // namespace hewn::tool

#endif
