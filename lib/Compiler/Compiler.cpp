// SPDX-License-Identifier: Apache-2.0
//
// Runs the stages of a compile.
#include "lib/Compiler/Compiler.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Compiler/ArtifactCache.h"
#include "lib/Compiler/Emit/Emit.h"
#include "lib/Compiler/Partition/PartitionPlan.h"
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/Stages/StageWeights.h"
#include "lib/Compiler/Stages/Stages.h"
#include "lib/Compiler/WeightGrowth.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Target/Targets.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace hewn {

namespace {

/// Completes the explanation after the plan stage and returns its text or JSON.
std::string explain(Session &session, const Request &request, Artifact &artifact, const CompileResult &result,
                    Explanation &explanation) {
  explanation.target = request.options.target;
  explanation.machines = request.identities();
  std::vector<ModelCase> cases = artifact.cases();
  for (const ModelCase &one : cases)
    if (cases.size() > 1)
      explanation.cases.push_back({one.condition(), one.refusal});
  // Removes names that are not those of nodes: locations of folded constants may contain the names
  // of initializers.
  auto isNoNode = [&](const std::string &name) { return !explanation.nodes.contains(name); };
  for (auto [variant, explained] : llvm::zip(artifact.programs(), explanation.variants)) {
    for (ExplainedKernel &kernel : explained.kernels)
      for (std::vector<std::string> &nodes : kernel.launchNodes) {
        // the map is empty if the compile starts from the text of a stage instead of a model
        if (!explanation.nodes.empty())
          llvm::erase_if(nodes, isNoNode);
        for (const std::string &node : nodes)
          if (!llvm::is_contained(kernel.nodes, node))
            kernel.nodes.push_back(node);
      }
    if (explained.graph)
      keepNodes(*explained.graph, explanation.nodes);
    explainArena(variant, explanation.nodes, explained);
    explainWeights(variant, explained);
    if (request.partition.ranks() > 1)
      explainTransfers(variant, rankOf(variant), explained);
    explainTime(variant, explained);
  }
  explanation.stageSeconds = result.stageSeconds;
  if (request.options.emit == kExplain) {
    explanation.remarks = session.remarks.summary();
    return explanation.text();
  }
  std::string remarks;
  llvm::raw_string_ostream os(remarks);
  session.remarks.writeJson(os);
  explanation.allRemarks = std::move(*llvm::cantFail(llvm::json::parse(remarks)).getAsArray());
  return jsonDocument(explanation.json());
}

/// Writes the missed-optimization remarks to the file that the user requested.
bool writeRemarks(Session &session, CompileResult &result) {
  const std::string &path = session.options.remarks;
  if (path.empty())
    return true;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::sys::path::extension(path) == ".json" ? session.remarks.writeJson(os) : session.remarks.writeYaml(os);
  if (llvm::Error error = writeFile(path, text)) {
    session.diagnostics.error(llvm::toString(std::move(error)));
    return false;
  }
  result.files.push_back(path);
  return true;
}

/// Removes the positions in the text that was read. Otherwise equal kernels of several programs
/// would not be shared, because their positions differ.
void dropTextLocations(Artifact &artifact) {
  Location nowhere = UnknownLoc::get(artifact.module().getContext());
  auto isPosition = [](Location location) { return bool(location->findInstanceOf<FileLineColRange>()); };
  for (ModuleOp program : artifact.programs())
    for (Operation &function : *program.getBody())
      function.walk([&](Operation *op) {
        if (isPosition(op->getLoc()))
          op->setLoc(nowhere);
        for (Region &region : op->getRegions())
          for (Block &block : region)
            for (BlockArgument argument : block.getArguments())
              if (isPosition(argument.getLoc()))
                argument.setLoc(nowhere);
      });
}

/// Emits code for a planned artifact. Warns if its weights are larger than those of the model.
/// Returns the open files, or nullopt after an error.
std::optional<std::vector<OutputFile>> emit(Session &session, const Request &request, Artifact &artifact,
                                            WeightGrowth &growth, CompileResult &result) {
  StageTimer timer(request.options, result, "emit");
  for (ModuleOp variant : artifact.programs())
    growth.noteArtifact(variant);
  if (request.machines.front().device && !formPersistentKernels(session, artifact))
    return std::nullopt;
  if (session.isCancelled())
    return std::nullopt;
  if (request.isStageText())
    dropTextLocations(artifact);
  std::optional<std::vector<OutputFile>> files = emitArtifact(session, request, artifact, result);
  // The steps of a quantizing compile and the ranks of a partition have other weights by intent.
  bool isCompared = files && !request.options.step && request.partition.ranks() == 1 && request.options.emit.empty();
  std::string grown = isCompared ? growth.warning(result.weightsBytes) : "";
  if (!grown.empty())
    session.diagnostics.warning(grown);
  return files;
}

/// Chooses the partition for a cluster, or reports the costs of all partitions if they are to be
/// explained. Returns false if the compile ends here; `isDone` is then true unless there was an
/// error.
bool choosePartition(Session &session, Request &request, CompileResult &result, bool &isDone) {
  std::optional<PartitionPlan> plan = planPartition(request, session.diagnostics);
  if (!plan)
    return false;
  if (request.isExplained()) {
    std::string text =
        request.options.emit == kExplain ? plan->text() : jsonDocument(json::Object{{"partition", plan->json()}});
    isDone = deliver(request.options, text, session.diagnostics, result);
    return false;
  }
  request.partition.tensor = plan->splits.front().tensor;
  request.partition.stages = plan->splits.front().stages;
  request.rowCosts = rowCosts(plan->cluster, request.partition.tensor);
  return true;
}

/// Writes the weights of the artifact to the file that the user requested. Returns false after an
/// error.
bool deliverWeights(Session &session, Artifact &artifact, CompileResult &result) {
  const std::string &path = session.options.saveWeights;
  if (path.empty())
    return true;
  if (llvm::Error error = saveWeights(artifact.module(), path)) {
    session.diagnostics.error(llvm::toString(std::move(error)));
    return false;
  }
  result.files.push_back(path);
  return true;
}

/// Runs a compile: artifact cache, choice of the partition, import, stages up to the plan, code and
/// files. Returns false after an error.
bool run(const Request &checked, Session &session, CompileResult &result) {
  const CompileOptions &options = checked.options;
  Request request = checked;
  ArtifactCache cache(request);
  if (options.remarks.empty() && !options.explain && cache.restore(result, session.diagnostics))
    return true;
  std::optional<Explanation> explanation;
  if (request.isExplained() || options.explain)
    explanation.emplace();
  bool isDone = false;
  if (!options.cluster.empty() && !choosePartition(session, request, result, isDone))
    return isDone;
  Explanation *explains = explanation ? &*explanation : nullptr;
  std::optional<Artifact> artifact;
  {
    StageTimer timer(options, result, "import");
    artifact = importModel(session, request, explains);
  }
  if (!artifact) {
    if (!session.diagnostics.hasErrors())
      session.diagnostics.error("the model can't be read");
    return false;
  }
  WeightGrowth growth;
  for (ModuleOp program : artifact->programs())
    growth.noteModel(program);
  if (!runStages(session, request, *artifact, result, explains))
    return false;
  session.remarks.sort(llvm::map_to_vector(artifact->programs(), titleOf));
  if (!writeRemarks(session, result))
    return false;
  if (isIRStage(options.emit))
    return deliverWeights(session, *artifact, result) &&
           deliver(options, artifact->text(/*withLocations=*/!options.saveWeights.empty()), session.diagnostics,
                   result);
  // The data of an explanation is collected before kernels are lowered to code.
  std::string explained = explanation ? explain(session, request, *artifact, result, *explanation) : "";
  if (request.isExplained())
    return deliver(options, explained, session.diagnostics, result);
  result.text = std::move(explained);
  std::optional<std::vector<OutputFile>> files = emit(session, request, *artifact, growth, result);
  if (files)
    cache.keep(session, *files, result);
  return files.has_value();
}

/// Adds a file to the list of files that the artifact depends on. Ignores options that contain the
/// text of a file instead of its path.
void addInput(CompileResult &result, StringRef path) {
  if (!path.empty() && !path.starts_with("{") && !llvm::is_contained(result.inputs, path))
    result.inputs.push_back(path.str());
}

void addInputs(const Request &request, const WeightStore &weights, CompileResult &result) {
  const CompileOptions &options = request.options;
  addInput(result, options.modelPath);
  for (const auto &mapping : weights.mappedFiles())
    addInput(result, mapping->getBufferIdentifier());
  for (const std::vector<std::string> &list : {options.customOps, request.customOps.code, options.tunings})
    for (const std::string &path : list)
      addInput(result, path);
  addInput(result, options.cluster);
}

} // namespace

std::vector<std::string> compileTargets() { return target::names(); }

ArrayRef<StringRef> emitStages() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all = {"import", "graph", "kernels", "loops", "plan", "llvm", "asm"};
    llvm::append_range(all, target::deviceStages());
    all.insert(all.end(), {"header", kExplain, kExplainJson});
    return all;
  }();
  return names;
}

CompileResult compileOnce(const CompileOptions &options, Diagnostics &diagnostics) {
  CompileResult result;
  // Converts an internal error of LLVM to a diagnostic of the compile. Errors of the model or the
  // options do not get here: they are reported where they are found.
  llvm::Error error = codegen::guardLLVM([&] {
    std::optional<Request> request = readRequest(options, diagnostics);
    if (!request)
      return llvm::Error::success();
    bool wantsRemarks = !options.remarks.empty() || options.explain || request->isExplained();
    Session session(options, diagnostics, wantsRemarks);
    result.ok = run(*request, session, result);
    addInputs(*request, session.weights(), result);
    return llvm::Error::success();
  });
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &e) {
    result.ok = false;
    diagnostics.error(e.message());
  });
  if (!result.ok && !diagnostics.hasErrors())
    diagnostics.error("internal error: the compile failed without a diagnostic");
  return result;
}

CompileResult compile(const CompileOptions &options, Diagnostics &diagnostics) {
  FileSizeSignalBlocked blocked;
  if (!options.cluster.empty() && !options.quantize.empty()) {
    diagnostics.error(
        "--cluster does not support --quantize: partition the model by --partition tensor=N or pipeline=N");
    return {};
  }
  if (options.quantize.empty())
    return compileOnce(options, diagnostics);
  CompileResult result = compileQuantized(options, diagnostics);
  if (llvm::sys::fs::is_regular_file(options.quantize)) // not the name of a scheme
    addInput(result, options.quantize);
  return result;
}

} // namespace hewn
