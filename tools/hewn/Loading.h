// SPDX-License-Identifier: Apache-2.0
//
// Opens the model of a command.
#ifndef HEWN_TOOLS_HEWN_LOADING_H
#define HEWN_TOOLS_HEWN_LOADING_H

#include "lib/Tools/Models/Loaded.h"

namespace hewn::tool {

/// Opens a library, or compiles a model and opens the result, with the flags of the command line.
/// Messages go to the standard error. Returns null after printing an error.
std::unique_ptr<Loaded> openModel(const std::string &path, Loaded::Opening opening);

} // namespace hewn::tool

#endif
