// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TOOLS_HEWN_STYLE_H
#define HEWN_TOOLS_HEWN_STYLE_H

#include "llvm/ADT/StringRef.h"

namespace hewn::tool {

/// CSS and script of every page. The CSS supports light and dark color schemes and small screens.
/// The script implements tooltips, and sorting and filtering of tables.
llvm::StringRef pageStyle();
llvm::StringRef pageScript();

} // namespace hewn::tool

#endif
