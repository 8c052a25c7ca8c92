// SPDX-License-Identifier: Apache-2.0
//
// The dialects that a text of a stage may hold: hewn's, and those of MLIR that its passes make. For every tool that reads such texts.
#ifndef HEWN_TOOLS_HEWN_OPT_REGISTERED_H
#define HEWN_TOOLS_HEWN_OPT_REGISTERED_H

#include "mlir/IR/DialectRegistry.h"

namespace hewn::tool {

void registerStageDialects(mlir::DialectRegistry &registry);

} // namespace hewn::tool

#endif
