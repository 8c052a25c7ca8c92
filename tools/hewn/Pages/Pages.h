// SPDX-License-Identifier: Apache-2.0
//
// The pages of `hewn explain` and `hewn profile`, each made of the record that --json prints.
#ifndef HEWN_TOOLS_HEWN_PAGES_H
#define HEWN_TOOLS_HEWN_PAGES_H

#include "tools/hewn/Measure/Trace.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace hewn::tool {

/// `record`: explain's, with the machine and the kernels' least times (Measure/Roofline.h) and suggestions. `file`: what it is about.
std::string explainPage(const llvm::json::Object &record, llvm::StringRef file);
/// `record`: profile's; `run`: its fastest run, launch by launch.
std::string profilePage(const llvm::json::Object &record, const TracedRun &run, llvm::StringRef file);

} // namespace hewn::tool

#endif
