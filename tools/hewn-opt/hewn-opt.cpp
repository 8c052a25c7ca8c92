// SPDX-License-Identifier: Apache-2.0
#include "hewn/version.h"
#include "lib/Codegen/Passes.h"
#include "lib/Compiler/Session.h"
#include "lib/Compiler/Stages/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Batch/Passes.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Layout/Passes.h"
#include "lib/Transforms/Lower/Passes.h"
#include "lib/Transforms/Partition/Passes.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Simplify/Passes.h"
#include "tools/hewn-opt/Registered.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

int hewn_opt_main(int argc, char **argv);

int hewn_opt_main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "hewn-opt " HEWN_VERSION " (LLVM " LLVM_VERSION_STRING ")\n"; });
  mlir::DialectRegistry registry;
  hewn::tool::registerStageDialects(registry);
  hewn::registerDialects(registry);
  hewn::registerHewnSimplifyPasses();
  hewn::registerHewnQuantizePasses();
  hewn::registerHewnBatchPasses();
  hewn::registerHewnPartitionPasses();
  hewn::registerHewnLayoutPasses();
  hewn::registerHewnFusePasses();
  hewn::registerHewnLowerPasses();
  hewn::codegen::registerHewnCodegenPasses();
  hewn::target::registerPasses();
  mlir::registerTransformsPasses();
  mlir::registerConvertLinalgToLoopsPass();
  hewn::registerHewnPlanPasses();
  hewn::registerHewnCompilerPasses();
  hewn::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "hewn's passes on the text of a stage\n", registry));
}
