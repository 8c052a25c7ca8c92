// SPDX-License-Identifier: Apache-2.0
//
// Diagrams of a page. Shapes stretch with the window, text does not. The accessible name of a shape
// is also its tooltip.
#ifndef HEWN_TOOLS_HEWN_PICTURES_H
#define HEWN_TOOLS_HEWN_PICTURES_H

#include "lib/Tools/Profile/Trace.h"
#include "tools/hewn/Pages/Page.h"

namespace hewn::tool {

/// Draws the buffers of an arena in explain's record. The horizontal axis is the steps of the
/// program, the vertical axis the address. Adds a text instead if the arena is empty.
void drawArena(Page &page, const llvm::json::Object &arena);

/// A kernel in the roofline diagram.
struct RooflineDot {
  std::string name, nodes;
  /// FLOP, bytes and milliseconds per run, and the share of the run's time.
  double flop, bytes, milliseconds, share;
  bool isCompute;
};
/// Draws a roofline diagram: kernels by FLOP/s and FLOP per byte, both on logarithmic axes, and the
/// roofs that the member `machine` of profile's record gives.
void drawRoofline(Page &page, const llvm::json::Object &machine, llvm::ArrayRef<RooflineDot> dots);

/// Draws a track for each thread. `toneOf` returns compute, memory or unknown for a kernel;
/// `nodesOf` returns, as text, the nodes of the launch that has this number among the launches of a
/// kernel.
void drawTimeline(Page &page, const TracedRun &run, int threads,
                  llvm::function_ref<std::string(llvm::StringRef)> toneOf,
                  llvm::function_ref<std::string(llvm::StringRef, size_t)> nodesOf);

/// Draws the legend that explains the colors of kernels.
void drawRoofLegend(Page &page);

/// Returns the first `most` nodes and the number of other nodes as text, for example "conv1, bn1
/// and 3 more".
std::string nodesText(const llvm::json::Object &kernel, size_t most);
std::string nodesText(const llvm::json::Array *nodes, size_t most);

} // namespace hewn::tool

#endif
