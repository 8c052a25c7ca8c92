// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Stages/Stages.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/Stages/StageWeights.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace hewn {

namespace {

enum Stage { Import, Graph, Kernels, Loops, Plan, End };

struct StageInfo {
  StringRef name;
  void (*build)(OpPassManager &, const PipelineOptions &);
};
const StageInfo stages[] = {{"import", nullptr}, // imported models pass no stage
                            {"graph", buildGraphStage},
                            {"kernels", buildKernelsStage},
                            {"loops", buildLoopsStage},
                            {"plan", buildPlanStage}};

//===------------------------------------------------------------------------------------------===//
// Text of a stage as input
//===------------------------------------------------------------------------------------------===//

/// Returns true if the stage text that is the input can be compiled to code: the weights to which
/// it refers must come from a file, because the text does not contain their bytes. Without the
/// bytes, the compile can only print the text of a stage.
bool hasAllConstants(Session &session, const Request &request, ModuleOp module) {
  const std::string &file = request.options.weights;
  if (file.empty() && (isIRStage(request.options.emit) || request.isExplained()))
    return true;
  SmallVector<StringRef> names = missingWeights(module);
  if (names.empty())
    return true;
  constexpr size_t maxListed = 3;
  std::string more = names.size() > maxListed ? " and " + std::to_string(names.size() - maxListed) + " more" : "";
  std::string listed = "'" + llvm::join(ArrayRef(names).take_front(maxListed), "', '") + "'" + more;
  if (file.empty())
    session.diagnostics.error("'" + request.options.modelPath +
                              "' refers to weights whose bytes are not part of a stage's text: " + listed +
                              "; compile the original model, or add --weights=FILE, a file that --save-weights wrote");
  else
    session.diagnostics.error("'" + file + "' lacks weights of '" + request.options.modelPath + "': " + listed);
  return false;
}

/// Returns true if the program has kernels that are not lowered.
bool hasGraphKernels(ModuleOp program) {
  return llvm::any_of(program.getOps<plan::KernelOp>(), [](plan::KernelOp kernel) { return !kernel.isLowered(); });
}

/// Returns true if the program has passed the plan stage.
bool isPlanned(ModuleOp program) {
  auto main = program.lookupSymbol<func::FuncOp>(plan::kProgramName);
  return main && main->hasAttr(plan::kArenaBytesAttr);
}

/// Returns true if the program launches persistent kernels, which the last pass forms. The verifier
/// of plans does not know the lifetimes inside of such a kernel.
bool hasPersistentKernels(ModuleOp program) {
  return llvm::any_of(program.getOps<func::FuncOp>(), [](func::FuncOp function) {
    plan::GpuLaunchAttr launch = plan::gpuLaunchOf(function);
    return launch && launch.getMeets();
  });
}

/// Verifies the invariants that passes rely on, in an artifact that was read from the text of a
/// stage: a hand-written text may violate them.
bool isWellFormed(Session &session, Artifact &artifact) {
  for (ModuleOp program : artifact.programs()) {
    auto pm = PassManager::on<ModuleOp>(&session.context);
    if (hasGraphKernels(program))
      pm.addPass(createVerifyKernelsPass());
    else if (isPlanned(program) && !hasPersistentKernels(program))
      pm.addPass(createVerifyPlanPass());
    if (failed(pm.run(program)))
      return false;
  }
  return true;
}

/// Returns true if an artifact that was read from text has the requested targets. Text for one
/// target may be compiled for another one: `addVariants` replaces its attributes.
bool hasTargets(Session &session, const Request &request, Artifact &artifact) {
  SmallVector<StringRef> names = artifact.targetNames();
  auto requested = llvm::map_to_vector(request.machines, [](const auto &machine) { return StringRef(machine.name); });
  if (names.size() <= 1 || names == requested)
    return true;
  session.diagnostics.error("'" + request.options.modelPath + "' is the text of a stage for the targets " +
                            llvm::join(names, ",") + ": add --target=" + llvm::join(names, ","));
  return false;
}

/// Returns the artifact of the cases of a model, with a case for each rank if it is partitioned.
std::optional<Artifact> ofRanks(Session &session, const Request &request, importer::Cases cases) {
  int64_t ranks = request.partition.ranks();
  if (ranks > 1 && !addRanks(cases, ranks, session.diagnostics))
    return std::nullopt;
  return Artifact::ofCases(session.context, std::move(cases), ranks);
}

/// Reads the text of a stage as the input of the compile, which continues from that stage. Tests of
/// single stages use such inputs.
std::optional<Artifact> readText(Session &session, const Request &request) {
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openRegular(request.options.modelPath, why);
  if (!file) {
    session.diagnostics.error("can't read " + request.options.modelPath + ": " + why);
    return std::nullopt;
  }
  // Parses a copy of the text, because the lexer needs a terminating zero.
  auto module =
      parseSourceString<ModuleOp>(file->getBuffer().str(), ParserConfig(&session.context), request.options.modelPath);
  if (!module)
    return std::nullopt;
  if (!request.options.weights.empty())
    if (llvm::Error error = loadWeights(*module, request.options.weights)) {
      session.diagnostics.error(llvm::toString(std::move(error)));
      return std::nullopt;
    }
  if (request.partition.ranks() > 1 && module->getOps<ModuleOp>().empty()) {
    importer::Cases cases;
    cases.list.push_back({{}, std::move(module), ""});
    return ofRanks(session, request, std::move(cases));
  }
  Artifact artifact = Artifact::ofText(std::move(module));
  if (std::string problem = artifact.problem(); !problem.empty()) {
    session.diagnostics.error("'" + request.options.modelPath + "' can't be read: " + problem);
    return std::nullopt;
  }
  if (!isWellFormed(session, artifact) || !hasAllConstants(session, request, artifact.module()) ||
      !hasTargets(session, request, artifact))
    return std::nullopt;
  return artifact;
}

/// Returns the stage whose text is requested, or End if no text of an IR stage is.
Stage stageOf(StringRef emit) {
  const auto *found = llvm::find_if(stages, [&](const StageInfo &stage) { return stage.name == emit; });
  return Stage(found - std::begin(stages));
}

/// Returns the stage from which a compile continues, judged by the first nested module. Text of the
/// graph stage passes through this stage again, text of the plan stage through none.
Stage firstStage(Artifact &artifact) {
  ModuleOp program = artifact.programs().front();
  if (hasGraphKernels(program))
    return Loops;
  if (isPlanned(program))
    return End;
  bool launches = program->walk([](plan::LaunchOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return launches ? Plan : Graph;
}

//===------------------------------------------------------------------------------------------===//
// Stages
//===------------------------------------------------------------------------------------------===//

/// Runs a stage on all nested modules, in parallel. A stage that collects results for a quantizing
/// compile runs on one module after the other, because all modules add to the same lists.
bool runStage(Session &session, const StageInfo &stage, const PipelineOptions &options, Artifact &artifact) {
  bool isDone = true;
  if (options.quantization) {
    auto pm = PassManager::on<ModuleOp>(&session.context);
    stage.build(pm, options);
    for (ModuleOp program : artifact.programs())
      isDone = isDone && succeeded(pm.run(program));
  } else {
    auto pm = PassManager::on<ModuleOp>(&session.context);
    stage.build(pm.nest<ModuleOp>(), options);
    isDone = succeeded(pm.run(artifact.module()));
  }
  if (session.isCancelled())
    return false;
  return isDone || session.fail("internal error in stage '" + stage.name + "'");
}

/// Adds the options of a step of a quantizing compile for the graph stage.
PipelineOptions withQuantization(PipelineOptions options, const QuantizeStep *step) {
  if (step) {
    options.quantization = &step->wanted;
    options.quantized = step->done;
    options.exposed = step->exposed;
    options.shifts = step->shifts;
    options.trial = step->trial;
    options.evidence = step->evidence;
  }
  return options;
}

/// Records the decisions of the kernels stage.
void explainPrograms(Artifact &artifact, Explanation &explanation) {
  for (auto [variant, explained] : llvm::zip(artifact.programs(), explanation.variants)) {
    explainKernels(variant, explained);
    explainGraph(variant, explained);
  }
}

} // namespace

StageTimer::StageTimer(const CompileOptions &options, CompileResult &result, StringRef stage)
    : result(result), stage(stage), begin(std::chrono::steady_clock::now()) {
  if (options.progress)
    options.progress(stage);
}

StageTimer::~StageTimer() {
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  result.stageSeconds.push_back({stage.str(), seconds.count()});
}

bool isIRStage(StringRef emit) { return stageOf(emit) != End; }

std::optional<Artifact> importModel(Session &session, const Request &request, Explanation *explanation) {
  if (request.isStageText())
    return readText(session, request);
  importer::ImportOptions options = request.importOptions();
  if (explanation)
    options.seeNode = [explanation](StringRef name, StringRef op, ArrayRef<StringRef> inputs,
                                    ArrayRef<StringRef> outputs) {
      auto [entry, isNew] = explanation->nodes.try_emplace(name); // each case of the model imports all nodes
      ExplainedNode &node = entry->second;
      node = {isNew ? unsigned(explanation->nodes.size()) : node.number, op.str()};
      for (auto [from, to] : {std::pair(inputs, &node.inputs), std::pair(outputs, &node.outputs)})
        for (StringRef value : from)
          if (!value.empty())
            to->push_back(value.str());
    };
  importer::Cases cases = importer::importModel(session.context, options, session.weights(), session.diagnostics);
  if (cases.list.empty())
    return std::nullopt;
  return ofRanks(session, request, std::move(cases));
}

PipelineOptions pipelineOptions(const Request &request) {
  PipelineOptions options;
  options.optimize = request.options.optimize;
  options.precision = request.precision;
  options.maxFoldedOps = request.limits.folding;
  options.tuning = request.tuning.size() > 0 ? request.tuning.text() : "";
  return options;
}

bool runStages(Session &session, const Request &request, Artifact &artifact, CompileResult &result,
               Explanation *explanation) {
  PipelineOptions options = pipelineOptions(request);
  options.tensorRanks = request.partition.tensor;
  options.stages = request.partition.stages;
  options.microBatches = request.partition.microBatches;
  options.orderedSums = request.partition.orderedSums;
  options.lines = request.partition.lines;
  options.rowCosts = request.rowCosts;
  StringRef until = request.options.emit;
  unsigned s = firstStage(artifact), last = stageOf(until);
  if (last + 1 < s) {
    session.diagnostics.error("'" + request.options.modelPath + "' is the text of a stage after " + until.str() +
                              ": --emit needs a later stage");
    return false;
  }
  if (last == Import)
    return true;
  if (s == Graph) {
    StageTimer timer(request.options, result, stages[s].name);
    // All targets share the graph stage. If there is only one target, the graph stage can already
    // convert 8-bit integers to the signedness that its instructions require.
    if (request.machines.size() == 1)
      for (ModuleOp program : artifact.programs())
        setTarget(program, request.machines.front(), request.precision);
    const QuantizeStep *step = request.options.step;
    if (!runStage(session, stages[s], withQuantization(options, step), artifact))
      return false;
    if (step && step->check && !step->check())
      return false;
    ++s;
    if (last == Graph)
      return true;
  }
  if (artifact.targetNames().size() <= 1)
    artifact.addVariants(request.machines, request.precision);
  if (explanation)
    for (ModuleOp variant : artifact.programs())
      explanation->variants.push_back({titleOf(variant).str()});
  for (; s < End && s <= last; ++s) {
    StageTimer timer(request.options, result, stages[s].name);
    if (!runStage(session, stages[s], options, artifact))
      return false;
    if (explanation && s == Kernels)
      explainPrograms(artifact, *explanation);
  }
  return true;
}

bool formPersistentKernels(Session &session, Artifact &artifact) {
  if (llvm::any_of(artifact.programs(), hasPersistentKernels))
    return true; // in the text that was read
  auto pm = PassManager::on<ModuleOp>(&session.context);
  buildPersistentKernelStage(pm.nest<ModuleOp>());
  return succeeded(pm.run(artifact.module())) || session.fail("internal error while forming persistent kernels");
}

} // namespace hewn
