// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TOOLS_HEWN_STYLE_H
#define HEWN_TOOLS_HEWN_STYLE_H

#include "llvm/ADT/StringRef.h"

namespace hewn::tool {

/// What every page brings: CSS for light and dark, narrow and wide; a script for what points at pictures, sorts and filters.
llvm::StringRef pageStyle();
llvm::StringRef pageScript();

} // namespace hewn::tool

#endif
