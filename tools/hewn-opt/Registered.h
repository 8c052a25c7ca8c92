// SPDX-License-Identifier: Apache-2.0
//
// Registers the dialects that the text of a stage can contain: hewn's, and those of MLIR that its
// passes generate. Used by all tools that read such texts.
#ifndef HEWN_TOOLS_HEWN_OPT_REGISTERED_H
#define HEWN_TOOLS_HEWN_OPT_REGISTERED_H

#include "mlir/IR/DialectRegistry.h"

namespace hewn::tool {

void registerStageDialects(mlir::DialectRegistry &registry);

} // namespace hewn::tool

#endif
