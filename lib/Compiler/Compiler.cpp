// SPDX-License-Identifier: Apache-2.0
//
// Runs the stages of a compile.
#include "lib/Compiler/Compiler.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Codegen/Emit/UserCode.h"
#include "lib/Compiler/ArtifactCache.h"
#include "lib/Compiler/Compilation.h"
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Compiler/InProcess.h"
#include "lib/Compiler/Partition/PartitionPlan.h"
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Compiler/WeightGrowth.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace mlir;
namespace json = llvm::json;

namespace hewn {

namespace {

/// Stages of a compile up to the plan. `Behind` represents all later stages, which Artifact.cpp
/// implements.
enum Stage { Graph, Kernels, Loops, Plan, Behind };

struct StageInfo {
  StringRef name;
  void (*build)(OpPassManager &, const PipelineOptions &);
};
const StageInfo stages[] = {
    {"graph", buildGraphStage}, {"kernels", buildKernelsStage}, {"loops", buildLoopsStage}, {"plan", buildPlanStage}};

/// Names of the stages that print the compiler's decisions instead of IR: as text, and as JSON.
constexpr StringRef kExplain = "explain", kExplainJson = "explain-json";

/// Prints a module. Local scope is used because printing would otherwise visit everything that
/// attributes refer to.
std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().useLocalScope());
  os << "\n";
  return text;
}

std::vector<std::string> identitiesOf(ArrayRef<codegen::TargetSpec> machines) {
  std::vector<std::string> names;
  for (const codegen::TargetSpec &machine : machines)
    names.push_back(target::identity(machine));
  return names;
}

class Timer {
public:
  Timer(Compilation &c, StringRef stage) : c(c), stage(stage), begin(std::chrono::steady_clock::now()) {
    if (c.options.progress)
      c.options.progress(stage);
  }
  ~Timer() {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    c.result.stageSeconds.push_back({stage.str(), seconds.count()});
  }

private:
  Compilation &c;
  StringRef stage;
  std::chrono::steady_clock::time_point begin;
};

/// Reads all tuning files. Warns about a file that contains no entry for the targets of this
/// compile.
void readTunings(Compilation &c) {
  for (const std::string &given : c.options.tunings) {
    plan::Tuning one;
    if (!one.read(given, c.diagnostics))
      continue;
    c.tuning.add(one);
    std::vector<std::string> known = one.machines(), wanted = identitiesOf(c.machines);
    bool isUsed = llvm::any_of(wanted, [&](const std::string &machine) { return llvm::is_contained(known, machine); });
    if (!isUsed && !known.empty() && !wanted.empty())
      c.diagnostics.warning((StringRef(given).starts_with("{") ? "a tuning" : "'" + given + "'") +
                            " is ignored: its schedules are for " + llvm::join(known, ", ") +
                            ", and the code is compiled for " + llvm::join(wanted, ", "));
  }
  if (!c.options.tunings.empty() && !c.options.optimize)
    c.diagnostics.error("-O0 does not use schedules: leave --tuning out");
}

bool isExplained(const CompileOptions &options) { return options.emit == kExplain || options.emit == kExplainJson; }

void checkCluster(Compilation &c) {
  const CompileOptions &options = c.options;
  if (c.partition.isAuto && options.cluster.empty())
    c.diagnostics.error("--partition auto needs a cluster description: add --cluster FILE");
  if (!options.cluster.empty() && options.partition.empty())
    c.diagnostics.error("--cluster needs --partition auto, tensor=N or pipeline=N");
  if (!options.cluster.empty() && !c.partition.isAuto && !isExplained(options))
    c.diagnostics.error("--cluster is for --partition auto: '" + options.partition + "' is chosen already");
  if (!options.cluster.empty() && c.partition.microBatches > 1)
    c.diagnostics.error("--cluster does not support micro-batches: leave microbatches=N out of '" + options.partition +
                        "'");
  if (!options.cluster.empty() && c.partition.orderedSums)
    c.diagnostics.error("--cluster does not support ordered sums: leave sums=ordered out of '" + options.partition +
                        "'");
  if (!options.cluster.empty() && isExplained(options) && !options.remarks.empty())
    c.diagnostics.error("explaining --cluster gives no remarks: leave --remarks out");
  if (!options.cluster.empty() && llvm::sys::path::extension(options.modelPath) == ".mlir")
    c.diagnostics.error("--cluster is for models, and '" + options.modelPath + "' is the text of a stage");
}

/// Checks all options before the model is read, and reports all errors.
bool checkOptions(Compilation &c) {
  const CompileOptions &options = c.options;
  auto refuse = [&](const llvm::Twine &why) { c.diagnostics.error(why); };
  if (!options.emit.empty() && !llvm::is_contained(emitStages(), options.emit))
    refuse("unknown stage '" + options.emit + "' for --emit; there are: " + llvm::join(emitStages(), ", "));
  if (auto machines = target::findAll(options.target)) {
    c.machines = std::move(*machines);
    bool isDevice = c.machines.front().device;
    if (options.emit == "ptx" && !isDevice)
      refuse("--emit=ptx is for GPUs; '" + options.target + "' is none");
    if (isDevice && !options.optimize)
      refuse("-O0 has no code for GPUs: '" + options.target + "'");
  } else {
    refuse(llvm::toString(machines.takeError()));
  }
  if (std::optional<Precision> precision = parsePrecision(options.precision))
    c.precision = *precision;
  else
    refuse("unknown float32 precision '" + options.precision +
           "'; there are: " + llvm::join(llvm::make_second_range(precisions()), ", "));
  for (const std::string &text : options.dims)
    if (std::optional<importer::DimBinding> binding = importer::parseDimBinding(text, c.diagnostics))
      c.dims.push_back(*binding);
  if (options.dimNames == "strict")
    c.dimNaming = importer::DimNaming::Strict;
  else if (options.dimNames != "lenient")
    refuse("unknown use of dim names '" + options.dimNames + "'; there are: strict, lenient");
  for (const std::string &text : options.limits)
    parseLimit(text, c.limits, c.diagnostics);
  for (const std::string &given : options.customOps)
    (void)importer::readCustomOps(given, c.customOps, c.diagnostics);
  readTunings(c);
  if (!options.dims.empty() && llvm::sys::path::extension(options.modelPath) == ".mlir")
    refuse("--dim is for models, and '" + options.modelPath + "' is the text of a stage");
  if (!options.partition.empty())
    (void)readPartition(options.partition, c.partition, c.diagnostics);
  checkCluster(c);
  // Files of custom code that this compile links must exist and contain code for the target. An
  // object file (.o) is linked by the user later, so nothing is checked for it.
  std::string triple = c.machines.empty() ? "" : target::baseTarget(c.machines.front()).triple;
  if (llvm::sys::path::extension(options.output) != ".o" && options.emit.empty() && !triple.empty())
    for (const std::string &path : c.customOps.code) {
      std::string why;
      std::unique_ptr<llvm::MemoryBuffer> code = openRegular(path, why);
      if (!code)
        refuse("can't read " + path + ", the code of custom ops: " + why);
      else if (why = codegen::whyNotLinkable(*code, triple); !why.empty())
        refuse("can't link " + path + ", the code of custom ops: " + why);
    }
  if (!options.customFunctions.empty() && !options.transient)
    refuse("custom ops given as functions of this process need an artifact for this process only");
  if (options.emit.empty() && !llvm::is_contained({".so", ".a", ".o"}, llvm::sys::path::extension(options.output)))
    refuse("the output's extension must be .so, .a or .o unless --emit is given, not that of '" + options.output + "'");
  if (!options.output.empty() && (options.output != "-" || options.emit.empty()))
    if (std::string why = whyNotWritable(options.output); !why.empty())
      refuse("can't write '" + options.output + "': " + why);
  if (!options.remarks.empty()) {
    auto isOne = [&](StringRef other) {
      return options.remarks == other || llvm::sys::fs::equivalent(options.remarks, other);
    };
    if (options.remarks == "-")
      refuse("--remarks needs a file of its own, not '-'");
    else if (isOne(options.output) || isOne(options.modelPath))
      refuse("--remarks needs a file of its own: '" + options.remarks + "' is the model or the output");
    else if (std::string why = whyNotWritable(options.remarks); !why.empty())
      refuse("can't write '" + options.remarks + "': " + why);
  }
  return !c.diagnostics.hasErrors();
}

/// Returns true if the stage text that is the input can be compiled to code: it must not refer to
/// weights, because the text does not contain their bytes. Without the bytes, the compile can only
/// print the text of a stage.
bool hasAllConstants(Compilation &c, ModuleOp module) {
  if (llvm::is_contained(
          {StringRef("graph"), StringRef("kernels"), StringRef("loops"), StringRef("plan"), kExplain, kExplainJson},
          c.options.emit))
    return true;
  llvm::SetVector<StringRef> names;
  module.walk([&](graph::ConstantOp constant) {
    if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
      names.insert(weight.getKey());
  });
  if (names.empty())
    return true;
  constexpr size_t told = 3;
  std::string more = names.size() > told ? " and " + std::to_string(names.size() - told) + " more" : "";
  c.diagnostics.error("'" + c.options.modelPath + "' refers to weights whose bytes are not part of a stage's text: '" +
                      llvm::join(names.getArrayRef().take_front(told), "', '") + "'" + more +
                      "; compile the original model");
  return false;
}

/// Verifies the invariants that passes rely on, in a module that was read from the text of a stage:
/// a hand-written text may violate them.
bool isWellFormed(Compilation &c, ModuleOp module) {
  PassManager pm(c.context.get());
  pm.addPass(createVerifyKernelsPass());
  return module.getOps<plan::KernelOp>().empty() || succeeded(pm.run(module));
}

/// Reads the text of a stage as the input of the compile, which continues from that stage. Tests of
/// single stages use such inputs.
bool readText(Compilation &c) {
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openRegular(c.options.modelPath, why);
  if (!file) {
    c.diagnostics.error("can't read " + c.options.modelPath + ": " + why);
    return false;
  }
  // Parses a copy of the text, because the lexer needs a terminating zero.
  auto module =
      parseSourceString<ModuleOp>(file->getBuffer().str(), ParserConfig(c.context.get()), c.options.modelPath);
  if (!module || !isWellFormed(c, *module) || !hasAllConstants(c, *module))
    return false;
  c.cases.list.push_back({{}, std::move(module), ""});
  return true;
}

bool import(Compilation &c, Explanation *explanation) {
  Timer timer(c, "import");
  if (llvm::sys::path::extension(c.options.modelPath) == ".mlir")
    return readText(c);
  importer::ImportOptions options = importOptions(c);
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
  c.cases = importer::importModel(*c.context, options, c.weights, c.diagnostics);
  return !c.cases.list.empty();
}

/// Returns the first stage whose passes have not been applied to the module.
Stage firstStage(ModuleOp module) {
  if (!module.getOps<plan::KernelOp>().empty())
    return Loops;
  bool launches = module->walk([](plan::LaunchOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return launches ? Plan : Graph;
}

/// Returns true, with an error, if the user has cancelled the compile.
bool isCancelled(Compilation &c) {
  if (!c.options.isCancelled || !c.options.isCancelled())
    return false;
  if (!c.diagnostics.hasErrors())
    c.diagnostics.error("the compilation was cancelled");
  return true;
}

/// Skips all passes of `context` that begin after the user has cancelled the compile.
void skipPassesIfCancelled(MLIRContext &context, const std::function<bool()> &isCancelled) {
  if (isCancelled)
    context.registerActionHandler([&isCancelled](function_ref<void()> execute, const tracing::Action &action) {
      // rewrite drivers do not expect that one of their own actions is skipped
      if (!isa<PassExecutionAction>(action) || !isCancelled())
        execute();
    });
}

bool runStage(Compilation &c, const StageInfo &stage, const PipelineOptions &options, ModuleOp module) {
  PassManager pm(c.context.get());
  pm.enableVerifier(true);
  stage.build(pm, options);
  bool isDone = succeeded(pm.run(module));
  if (isCancelled(c))
    return false;
  if (isDone)
    return true;
  if (!c.diagnostics.hasErrors())
    c.diagnostics.error("internal error in stage '" + stage.name + "'");
  return false;
}

/// Creates a module for each combination of target and case, because passes add attributes that
/// depend on both.
void splitVariants(Compilation &c) {
  bool severalMachines = c.machines.size() > 1;
  bool sharesFloats = severalMachines && llvm::any_of(c.machines, [](const codegen::TargetSpec &machine) {
                        return !machine.hasHalfConversions;
                      });
  for (const codegen::TargetSpec &machine : c.machines)
    for (importer::Case &one : c.cases.list) {
      if (!one.module)
        continue;
      std::string title = severalMachines ? machine.name : "";
      if (c.cases.list.size() > 1)
        title += (title.empty() ? "where " : ", where ") + one.condition();
      bool isLast = &machine == &c.machines.back();
      c.variants.push_back({&machine, &one, isLast ? std::move(one.module) : one.module->clone(), title});
      ModuleOp module = *c.variants.back().module;
      setTarget(c, module, machine);
      if (c.numSizes() > 1)
        module->setAttr(plan::kPacksForAnyRowsAttr, UnitAttr::get(c.context.get()));
      if (severalMachines)
        module->setAttr(plan::kPackingLanesAttr,
                        Builder(c.context.get()).getI64IntegerAttr(c.machines.front().vectorBytes / 4));
      if (sharesFloats)
        module->setAttr(plan::kSharesFloatsAttr, UnitAttr::get(c.context.get()));
    }
}

/// Runs the graph stage, with the options of a quantizing compile if this is a step of one.
bool runGraphStage(Compilation &c, PipelineOptions options, ModuleOp module) {
  if (const QuantizeStep *step = c.options.step) {
    options.quantization = &step->wanted;
    options.quantized = step->done;
    options.exposed = step->exposed;
    options.shifts = step->shifts;
    options.trial = step->trial;
    options.evidence = step->evidence;
  }
  return runStage(c, stages[Graph], options, module);
}

/// Runs the stages up to the plan, or up to the stage whose text is requested. Stages after the
/// graph stage depend on the target. Their decisions are recorded in `explanation` if it is not
/// null.
bool runStages(Compilation &c, Explanation *explanation) {
  PipelineOptions options = pipelineOptions(c, c.weights);
  options.sharesWeights = c.cases.list.size() > 1;
  options.tensorRanks = c.partition.tensor;
  options.stages = c.partition.stages;
  options.microBatches = c.partition.microBatches;
  options.orderedSums = c.partition.orderedSums;
  options.lines = c.partition.lines;
  options.rowCosts = c.rowCosts;
  unsigned s = c.cases.list.size() > 1 ? unsigned(Graph) : unsigned(firstStage(*c.cases.list.front().module));
  if (s == Graph) {
    Timer timer(c, stages[s].name);
    for (auto [number, one] : llvm::enumerate(c.cases.list)) {
      options.rank = int64_t(number / c.numSizes());
      // All targets share the graph stage. If there is only one target, the graph stage can already
      // convert 8-bit integers to the signedness that its instructions require.
      if (one.module && c.machines.size() == 1)
        setTarget(c, *one.module, c.machines.front());
      if (one.module && !runGraphStage(c, options, *one.module))
        return false;
    }
    if (c.options.step && c.options.step->check && !c.options.step->check())
      return false;
    ++s;
  }
  splitVariants(c);
  for (const PlannedModule &variant : c.variants)
    if (explanation)
      explanation->variants.push_back({variant.title});
  if (c.options.emit == stages[Graph].name)
    return true;
  for (; s < Behind; ++s) {
    Timer timer(c, stages[s].name);
    for (const PlannedModule &variant : c.variants) {
      c.remarks.variant = variant.title;
      options.machine = target::identity(*variant.machine);
      if (!runStage(c, stages[s], options, *variant.module))
        return false;
      if (explanation && s == Kernels) {
        ExplainedVariant &explained = explanation->variants[size_t(&variant - c.variants.data())];
        explainKernels(*variant.module, explained);
        explainGraph(*variant.module, explained);
      }
    }
    if (c.options.emit == stages[s].name)
      return true;
  }
  return true;
}

/// Merges launches into the persistent kernels that the plan stage has decided on.
bool formPersistentKernels(Compilation &c) {
  for (const PlannedModule &variant : c.variants) {
    PassManager pm(c.context.get());
    buildPersistentKernelStage(pm);
    if (variant.machine->device && failed(pm.run(*variant.module))) {
      if (!isCancelled(c) && !c.diagnostics.hasErrors())
        c.diagnostics.error("internal error while forming persistent kernels");
      return false;
    }
  }
  return true;
}

/// Completes the explanation after the plan stage and returns its text or JSON.
std::string explain(Compilation &c, Explanation &explanation) {
  explanation.target = c.options.target;
  explanation.machines = identitiesOf(c.machines);
  for (const importer::Case &one : c.cases.list)
    if (c.cases.list.size() > 1)
      explanation.cases.push_back({one.condition(), one.refusal});
  // Removes names that are no nodes: locations of folded constants may contain the names of
  // initializers.
  auto isNoNode = [&](const std::string &name) { return !explanation.nodes.contains(name); };
  for (auto [variant, explained] : llvm::zip(c.variants, explanation.variants)) {
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
    explainArena(*variant.module, explanation.nodes, explained);
    explainWeights(*variant.module, explained);
    if (c.partition.ranks() > 1)
      explainTransfers(*variant.module, int64_t(size_t(variant.of - c.cases.list.data()) / c.numSizes()), explained);
    explainTime(*variant.module, explained);
  }
  explanation.stageSeconds = c.result.stageSeconds;
  if (c.options.emit == kExplain) {
    explanation.remarks = c.remarks.summary();
    return explanation.text();
  }
  std::string remarks;
  llvm::raw_string_ostream os(remarks);
  c.remarks.writeJson(os);
  explanation.allRemarks = std::move(*llvm::cantFail(llvm::json::parse(remarks)).getAsArray());
  return jsonDocument(explanation.json());
}

/// Prints all modules, with MLIR's split marker between them.
std::string printModules(Compilation &c) {
  std::string text;
  // after the graph stage, a case has the same module for all targets, so it is printed once
  bool isSame = c.options.emit == stages[Graph].name;
  for (const PlannedModule &variant : c.variants) {
    if (isSame && variant.machine != &c.machines.front())
      continue;
    if (!variant.title.empty() && !(isSame && c.cases.list.size() == 1))
      text += (text.empty() ? "// " : "// -----\n// ") + (isSame ? "where " + variant.of->condition() : variant.title) +
              "\n";
    text += printModule(*variant.module);
  }
  return text;
}

/// Writes the missed-optimization remarks to the file that the user requested.
bool writeRemarks(Compilation &c) {
  const std::string &path = c.options.remarks;
  if (path.empty())
    return true;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::sys::path::extension(path) == ".json" ? c.remarks.writeJson(os) : c.remarks.writeYaml(os);
  if (llvm::Error error = writeFile(path, text)) {
    c.diagnostics.error(llvm::toString(std::move(error)));
    return false;
  }
  c.result.files.push_back(path);
  return true;
}

bool run(Compilation &c) {
  if (!checkOptions(c))
    return false;
  ArtifactCache cache(c);
  if (c.options.remarks.empty() && !c.options.explain && cache.restore())
    return true;
  target::initialize();
  DialectRegistry registry;
  registry.insert<handle::HandleDialect, graph::GraphDialect, plan::PlanDialect>();
  codegen::registerLoweringDialects(registry);
  target::registerDialects(registry);
  c.context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  if (c.options.jobs != 1) {
    c.pool =
        std::make_unique<llvm::DefaultThreadPool>(llvm::hardware_concurrency(unsigned(std::max(c.options.jobs, 0))));
    c.context->setThreadPool(*c.pool);
  }
  c.context->loadAllAvailableDialects();
  skipPassesIfCancelled(*c.context, c.options.isCancelled);
  CollectDiagnostics collect(*c.context, c.diagnostics);
  std::optional<CollectRemarks> collectRemarks;
  std::optional<Explanation> explanation;
  if (c.options.emit == kExplain || c.options.emit == kExplainJson || c.options.explain)
    explanation.emplace();
  if (!c.options.remarks.empty() || explanation)
    collectRemarks.emplace(*c.context, c.remarks);
  if (!c.options.cluster.empty()) {
    std::optional<PartitionPlan> plan = planPartition(c);
    if (!plan)
      return false;
    if (isExplained(c.options))
      return deliver(c, c.options.emit == kExplain ? plan->text()
                                                   : jsonDocument(json::Object{{"partition", plan->json()}}));
    c.partition.tensor = plan->splits.front().tensor;
    c.partition.stages = plan->splits.front().stages;
    c.rowCosts = rowCosts(plan->cluster, c.partition.tensor);
  }
  Explanation *explains = explanation ? &*explanation : nullptr;
  if (!import(c, explains)) {
    if (!c.diagnostics.hasErrors())
      c.diagnostics.error("the model can't be read");
    return false;
  }
  WeightGrowth growth;
  for (const importer::Case &one : c.cases.list)
    if (one.module)
      growth.noteModel(*one.module);
  if (!addRanks(c) || !runStages(c, explains) || !writeRemarks(c))
    return false;
  for (const StageInfo &stage : stages)
    if (c.options.emit == stage.name)
      return deliver(c, printModules(c));
  if (explanation && !c.options.explain)
    return deliver(c, explain(c, *explanation));
  if (explanation) // collects the data now, before kernels are lowered to code
    c.result.text = explain(c, *explanation);
  Timer timer(c, "emit");
  for (const PlannedModule &variant : c.variants)
    growth.noteArtifact(*variant.module);
  if (!formPersistentKernels(c) || isCancelled(c) || !emitArtifact(c))
    return false;
  // The steps of a quantizing compile and the ranks of a partition have other weights by intent.
  std::string grown = c.options.step || c.partition.ranks() > 1 ? "" : growth.warning(c.result.weightsBytes);
  if (!grown.empty() && c.options.emit.empty())
    c.diagnostics.warning(grown);
  cache.keep();
  return true;
}

} // namespace

importer::ImportOptions importOptions(Compilation &c) {
  importer::ImportOptions options;
  options.path = c.options.modelPath;
  options.bytes = c.options.modelBytes;
  options.folder = c.options.modelFolder;
  options.dims = c.dims;
  options.dimNaming = c.dimNaming;
  options.limits = c.limits;
  options.customOps = &c.customOps;
  return options;
}

PipelineOptions pipelineOptions(Compilation &c, WeightStore &weights) {
  PipelineOptions options;
  options.optimize = c.options.optimize;
  options.precision = c.precision;
  options.weights = &weights;
  options.maxFoldedOps = c.limits.folding;
  options.tuning = c.tuning.size() > 0 ? &c.tuning : nullptr;
  options.evaluate = [&c, &weights](OwningOpRef<ModuleOp> module) {
    codegen::CodeOptions code;
    code.threads = unsigned(std::max(c.options.jobs, 0));
    code.cacheDir = c.options.cacheDir;
    code.store = c.options.codeStore;
    code.namesByContent = code.store;
    code.isCancelled = c.options.isCancelled;
    return evaluate(std::move(module), weights, code);
  };
  return options;
}

void setTarget(Compilation &c, ModuleOp module, const codegen::TargetSpec &machine) {
  module->setAttr(plan::kTargetAttr, target::attribute(c.context.get(), machine, c.precision));
}

std::vector<std::string> compileTargets() { return target::names(); }

ArrayRef<StringRef> emitStages() {
  static const StringRef names[] = {"graph", "kernels", "loops",  "plan",   "llvm",
                                    "asm",   "ptx",     "header", kExplain, kExplainJson};
  return names;
}

/// Adds a file to the list of files that the artifact depends on. Ignores options that contain the
/// text of a file instead of its path.
static void addInput(CompileResult &result, StringRef path) {
  if (!path.empty() && !path.starts_with("{") && !llvm::is_contained(result.inputs, path))
    result.inputs.push_back(path.str());
}

static void addInputs(Compilation &c) {
  const CompileOptions &options = c.options;
  addInput(c.result, options.modelPath);
  for (const auto &mapping : c.weights.mappedFiles())
    addInput(c.result, mapping->getBufferIdentifier());
  for (const std::vector<std::string> &list : {options.customOps, c.customOps.code, options.tunings})
    for (const std::string &path : list)
      addInput(c.result, path);
  addInput(c.result, options.cluster);
}

CompileResult compileOnce(const CompileOptions &options, Diagnostics &diagnostics) {
  CompileResult result;
  Compilation compilation(options, diagnostics, result);
  // Converts an internal error of LLVM to a diagnostic of the compile. Errors of the model or the
  // options do not get here: they are reported where they are found.
  llvm::Error error = codegen::guardLLVM([&] {
    result.ok = run(compilation);
    return llvm::Error::success();
  });
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &e) {
    result.ok = false;
    diagnostics.error(e.message());
  });
  if (!result.ok && !diagnostics.hasErrors())
    diagnostics.error("internal error: the compile failed without a diagnostic");
  addInputs(compilation);
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
