// SPDX-License-Identifier: Apache-2.0
//
// `hewn-lsp-server`: a language server (Language Server Protocol) for the text of stages.
#include "tools/hewn-opt/Registered.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hewn::tool::registerStageDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
