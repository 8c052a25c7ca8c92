// SPDX-License-Identifier: Apache-2.0
//
// The stages of a compile up to the memory plan, in the order in which they run.
#ifndef HEWN_LIB_COMPILER_STAGES_H
#define HEWN_LIB_COMPILER_STAGES_H

#include "lib/Compiler/Artifact.h"
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Compiler/Request.h"
#include "lib/Compiler/Session.h"
#include "lib/Pipelines/Pipelines.h"
#include <chrono>

namespace hewn {

/// Reports the start of a stage to the user, and measures its time until the end of the scope.
class StageTimer {
public:
  StageTimer(const CompileOptions &options, CompileResult &result, llvm::StringRef stage);
  ~StageTimer();
  StageTimer(const StageTimer &) = delete;

private:
  CompileResult &result;
  llvm::StringRef stage;
  std::chrono::steady_clock::time_point begin;
};

/// Returns true if the text of the stage `emit` is MLIR: import, graph, kernels, loops or plan.
bool isIRStage(llvm::StringRef emit);

/// Imports the model, or reads the text of a stage, as an artifact without variants. Adds the ONNX
/// nodes to `explanation` unless it is null. Returns nullopt after an error.
std::optional<Artifact> importModel(Session &session, const Request &request, Explanation *explanation);

/// Runs the stages that the artifact has not passed, up to the plan or to the stage whose text is
/// requested. Adds the variants after the graph stage, which all targets share. Records the
/// decisions of the kernels stage in `explanation` unless it is null. Returns false after an error.
bool runStages(Session &session, const Request &request, Artifact &artifact, CompileResult &result,
               Explanation *explanation);

/// Forms the persistent kernels that the plan stage has decided on, for GPUs. The result cannot be
/// printed as a stage. Returns false after an error.
bool formPersistentKernels(Session &session, Artifact &artifact);

/// Returns the options of the stages. The request must outlive the result.
PipelineOptions pipelineOptions(const Request &request);

} // namespace hewn

#endif
