// SPDX-License-Identifier: Apache-2.0
//
// The pages of `hewn explain` and `hewn profile`, generated from the record that --json prints.
#ifndef HEWN_TOOLS_HEWN_PAGES_H
#define HEWN_TOOLS_HEWN_PAGES_H

#include "lib/Tools/Profile/Trace.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace hewn::tool {

/// Returns the page of `hewn explain` for the model `file`. `record` is the record of explain with
/// the measured rates of this machine, the lower bounds of kernel times (Measure/Roofline.h), and
/// suggestions.
std::string explainPage(const llvm::json::Object &record, llvm::StringRef file);
/// Returns the page of `hewn profile` for `file`. `record` is the record of profile, `run` the
/// trace of its fastest run.
std::string profilePage(const llvm::json::Object &record, const TracedRun &run, llvm::StringRef file);

} // namespace hewn::tool

#endif
