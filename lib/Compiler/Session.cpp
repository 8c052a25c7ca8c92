// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Session.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Compiler/Emit/InProcess.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Target/Targets.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace hewn {

void registerDialects(DialectRegistry &registry) {
  registry.insert<handle::HandleDialect, graph::GraphDialect, plan::PlanDialect>();
  codegen::registerLoweringDialects(registry);
  target::registerDialects(registry);
  registerStageDialects(registry);
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *dialect) {
    target::initialize();
    dialect->setEvaluator([](OwningOpRef<ModuleOp> module) { return evaluate(std::move(module), {}); });
    // passes that call the evaluator run in parallel, and loading a dialect is not thread-safe
    context->loadAllAvailableDialects();
  });
}

static DialectRegistry dialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

/// Returns an evaluator of constants with the threads and caches of a compile.
static graph::ConstantEvaluator evaluatorFor(const CompileOptions &options) {
  return [&options](OwningOpRef<ModuleOp> module) {
    codegen::CodeOptions code;
    code.threads = unsigned(std::max(options.jobs, 0));
    code.cacheDir = options.cacheDir;
    code.store = options.codeStore;
    code.namesByContent = code.store;
    code.isCancelled = options.isCancelled;
    return evaluate(std::move(module), code);
  };
}

Session::Session(const CompileOptions &options, Diagnostics &diagnostics, bool wantsRemarks)
    : options(options), diagnostics(diagnostics), context(dialects(), MLIRContext::Threading::DISABLED),
      collect(context, diagnostics) {
  target::initialize();
  if (options.jobs != 1) {
    pool = std::make_unique<llvm::DefaultThreadPool>(llvm::hardware_concurrency(unsigned(std::max(options.jobs, 0))));
    context.setThreadPool(*pool);
  }
  context.loadAllAvailableDialects();
  context.getLoadedDialect<graph::GraphDialect>()->setEvaluator(evaluatorFor(options));
  // Skips all passes that begin after the user has cancelled the compile.
  if (options.isCancelled)
    context.registerActionHandler([&options](llvm::function_ref<void()> execute, const tracing::Action &action) {
      // rewrite drivers do not expect that one of their own actions is skipped
      if (!isa<PassExecutionAction>(action) || !options.isCancelled())
        execute();
    });
  if (wantsRemarks)
    collectRemarks.emplace(context, remarks);
}

WeightStore &Session::weights() { return graph::weightsOf(&context); }

bool Session::isCancelled() {
  if (!options.isCancelled || !options.isCancelled())
    return false;
  if (!diagnostics.hasErrors())
    diagnostics.error("the compilation was cancelled");
  return true;
}

bool Session::fail(const llvm::Twine &why) {
  if (!isCancelled() && !diagnostics.hasErrors())
    diagnostics.error(why);
  return false;
}

} // namespace hewn
