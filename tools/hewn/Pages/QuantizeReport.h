// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TOOLS_HEWN_QUANTIZEREPORT_H
#define HEWN_TOOLS_HEWN_QUANTIZEREPORT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn::tool {

/// Converts the report of a quantizing compilation (hewn_compilation_report) to the format of the
/// file extension: ".json" (unchanged), ".html" (a self-contained page), else text.
std::string reportAs(llvm::StringRef extension, const std::string &json);

} // namespace hewn::tool

#endif
