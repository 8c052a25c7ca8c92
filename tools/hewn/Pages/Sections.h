// SPDX-License-Identifier: Apache-2.0
//
// Sections that several pages share.
#ifndef HEWN_TOOLS_HEWN_SECTIONS_H
#define HEWN_TOOLS_HEWN_SECTIONS_H

#include "tools/hewn/Pages/Page.h"

namespace hewn::tool {

/// Adds the `suggestions` of the record, each with the figures that it is based on.
void tellSuggestions(Page &page, const llvm::json::Object &record);
/// Returns a text that describes the measured rates of the machine and defines the roofs of the
/// roofline diagram.
std::string machineText(const llvm::json::Object &record);
/// Adds the missed optimizations from the `remarks` of explain's record, grouped by reason.
void tellRemarks(Page &page, const llvm::json::Object &explanation);
/// Draws, for each of these variants of the model, a diagram of the buffers in its arena.
void tellArenas(Page &page, llvm::ArrayRef<const llvm::json::Object *> variants);

/// Returns a cell with the name of a kernel and its nodes. The reason for the kernel's fusion and
/// its schedule are hidden until the reader opens them.
Cell kernelCell(const llvm::json::Object &kernel, llvm::StringRef name);
/// Returns a cell with the number of FLOP or of bytes per launch.
Cell workCell(const llvm::json::Object &kernel, llvm::StringRef key);

} // namespace hewn::tool

#endif
