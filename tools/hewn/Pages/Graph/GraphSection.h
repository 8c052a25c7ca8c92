// SPDX-License-Identifier: Apache-2.0
//
// The section of a page that shows the model as a graph: ONNX nodes inside of the kernels that they
// are fused into. A script draws it from data in the page.
#ifndef HEWN_TOOLS_HEWN_PAGES_GRAPHSECTION_H
#define HEWN_TOOLS_HEWN_PAGES_GRAPHSECTION_H

#include "lib/Tools/Profile/Trace.h"
#include "tools/hewn/Pages/Page.h"

namespace hewn::tool {

/// Adds the graphs of all variants in explain's record. A step's time is the lower bound by the
/// roofline.
void tellExplainedGraph(Page &page, const llvm::json::Object &record);

/// Adds the graph of the variant that ran. `record` is the record of profile, `run` the trace of
/// its fastest run.
void tellProfiledGraph(Page &page, const llvm::json::Object &record, const TracedRun &run);

} // namespace hewn::tool

#endif
