// SPDX-License-Identifier: Apache-2.0
//
// Regions that several pages have.
#ifndef HEWN_TOOLS_HEWN_SECTIONS_H
#define HEWN_TOOLS_HEWN_SECTIONS_H

#include "tools/hewn/Pages/Page.h"

namespace hewn::tool {

/// What to try next: `suggestions` of the record, each with its evidence.
void tellSuggestions(Page &page, const llvm::json::Object &record);
/// How the roofs were measured, in a sentence.
std::string machineText(const llvm::json::Object &record);
/// What was left undone and why, by reason; `remarks` as explain has them, of the variants with these titles (none: all).
void tellRemarks(Page &page, const llvm::json::Object &explanation);
/// The arenas of these variants, each drawn.
void tellArenas(Page &page, llvm::ArrayRef<const llvm::json::Object *> variants);

/// The name of a kernel with its nodes below it, and why it is one and how it is computed folded away.
Cell kernelCell(const llvm::json::Object &kernel, llvm::StringRef name);
/// FLOP and bytes of a launch.
Cell workCell(const llvm::json::Object &kernel, llvm::StringRef key);

} // namespace hewn::tool

#endif
