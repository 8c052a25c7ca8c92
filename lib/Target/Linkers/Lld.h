// SPDX-License-Identifier: Apache-2.0
//
// Runs lld, which is linked into hewn.
#ifndef HEWN_LIB_TARGET_LINKERS_LLD_H
#define HEWN_LIB_TARGET_LINKERS_LLD_H

#include "lld/Common/Driver.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hewn::target {

/// Runs one of lld's linkers. `program` is its name, such as "ld.lld", and `driver` its entry
/// point. An error contains the linker's first message.
llvm::Error runLld(const char *program, lld::DriverDef driver, const std::vector<std::string> &arguments);

} // namespace hewn::target

#endif
