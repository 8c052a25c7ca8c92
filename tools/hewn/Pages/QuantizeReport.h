// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TOOLS_HEWN_QUANTIZEREPORT_H
#define HEWN_TOOLS_HEWN_QUANTIZEREPORT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn::tool {

/// The report of a compile that quantized (hewn_compilation_report) for a reader: as it is for ".json", a page that needs nothing else for
/// ".html", else text.
std::string reportAs(llvm::StringRef extension, const std::string &json);

} // namespace hewn::tool

#endif
