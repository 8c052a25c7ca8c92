// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Request.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Compiler/Stages/Stages.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace hewn {

using llvm::StringRef;

bool Request::isStageText() const { return llvm::sys::path::extension(options.modelPath) == ".mlir"; }

bool Request::isExplained() const { return options.emit == kExplain || options.emit == kExplainJson; }

std::vector<std::string> Request::identities() const {
  std::vector<std::string> names;
  for (const codegen::TargetSpec &machine : machines)
    names.push_back(target::identity(machine));
  return names;
}

importer::ImportOptions Request::importOptions() const {
  importer::ImportOptions import;
  import.path = options.modelPath;
  import.bytes = options.modelBytes;
  import.folder = options.modelFolder;
  import.dims = dims;
  import.dimNaming = dimNaming;
  import.limits = limits;
  import.customOps = &customOps;
  return import;
}

namespace {

/// Reads all tuning files. Warns about a file that contains no entry for the targets of this
/// compile.
void readTunings(Request &request, Diagnostics &diagnostics) {
  for (const std::string &given : request.options.tunings) {
    plan::Tuning one;
    if (!one.read(given, diagnostics))
      continue;
    request.tuning.add(one);
    std::vector<std::string> known = one.machines(), wanted = request.identities();
    bool isUsed = llvm::any_of(wanted, [&](const std::string &machine) { return llvm::is_contained(known, machine); });
    if (!isUsed && !known.empty() && !wanted.empty())
      diagnostics.warning((StringRef(given).starts_with("{") ? "a tuning" : "'" + given + "'") +
                          " is ignored: its schedules are for " + llvm::join(known, ", ") +
                          ", and the code is compiled for " + llvm::join(wanted, ", "));
  }
  if (!request.options.tunings.empty() && !request.options.optimize)
    diagnostics.error("-O0 does not use schedules: leave --tuning out");
}

void checkCluster(Request &request, Diagnostics &diagnostics) {
  const CompileOptions &options = request.options;
  if (request.partition.isAuto && options.cluster.empty())
    diagnostics.error("--partition auto needs a cluster description: add --cluster FILE");
  if (!options.cluster.empty() && options.partition.empty())
    diagnostics.error("--cluster needs --partition auto, tensor=N or pipeline=N");
  if (!options.cluster.empty() && !request.partition.isAuto && !request.isExplained())
    diagnostics.error("--cluster is for --partition auto: '" + options.partition + "' is chosen already");
  if (!options.cluster.empty() && request.partition.microBatches > 1)
    diagnostics.error("--cluster does not support micro-batches: leave microbatches=N out of '" + options.partition +
                      "'");
  if (!options.cluster.empty() && request.partition.orderedSums)
    diagnostics.error("--cluster does not support ordered sums: leave sums=ordered out of '" + options.partition + "'");
  if (!options.cluster.empty() && request.isExplained() && !options.remarks.empty())
    diagnostics.error("explaining --cluster gives no remarks: leave --remarks out");
  if (!options.cluster.empty() && request.isStageText())
    diagnostics.error("--cluster is for models, and '" + options.modelPath + "' is the text of a stage");
}

/// Parses the options whose values are texts, and checks them.
void readValues(Request &request, Diagnostics &diagnostics) {
  const CompileOptions &options = request.options;
  auto refuse = [&](const llvm::Twine &why) { diagnostics.error(why); };
  if (!options.emit.empty() && !llvm::is_contained(emitStages(), options.emit))
    refuse("unknown stage '" + options.emit + "' for --emit; there are: " + llvm::join(emitStages(), ", "));
  if (auto machines = target::findAll(options.target)) {
    request.machines = std::move(*machines);
    const codegen::Device *device = request.machines.front().device;
    if (llvm::is_contained(target::deviceStages(), options.emit) && (!device || device->stage() != options.emit))
      refuse("--emit=" + options.emit + " is for GPUs; '" + options.target + "' is none");
    const codegen::Platform &platform = *request.machines.front().platform;
    if (!platform.hasThreads && !options.partition.empty())
      refuse("--partition needs processes that communicate, which the platform '" + platform.name + "' does not have");
    if (device && !options.optimize)
      refuse("-O0 has no code for GPUs: '" + options.target + "'");
  } else {
    refuse(llvm::toString(machines.takeError()));
  }
  if (std::optional<Precision> precision = parsePrecision(options.precision))
    request.precision = *precision;
  else
    refuse("unknown float32 precision '" + options.precision +
           "'; there are: " + llvm::join(llvm::make_second_range(precisions()), ", "));
  for (const std::string &text : options.dims)
    if (std::optional<importer::DimBinding> binding = importer::parseDimBinding(text, diagnostics))
      request.dims.push_back(*binding);
  if (options.dimNames == "strict")
    request.dimNaming = importer::DimNaming::Strict;
  else if (options.dimNames != "lenient")
    refuse("unknown use of dim names '" + options.dimNames + "'; there are: strict, lenient");
  for (const std::string &text : options.limits)
    parseLimit(text, request.limits, diagnostics);
  for (const std::string &given : options.customOps)
    (void)importer::readCustomOps(given, request.customOps, diagnostics);
  readTunings(request, diagnostics);
  if (!options.dims.empty() && request.isStageText())
    refuse("--dim is for models, and '" + options.modelPath + "' is the text of a stage");
  if (!options.partition.empty())
    (void)readPartition(options.partition, request.partition, diagnostics);
  checkCluster(request, diagnostics);
}

/// Checks that the files of the compile can be read and written.
void checkFiles(const Request &request, Diagnostics &diagnostics) {
  const CompileOptions &options = request.options;
  auto refuse = [&](const llvm::Twine &why) { diagnostics.error(why); };
  // Files of custom code that this compile links must exist and contain code for the target. An
  // object file (.o) is linked by the user later, so nothing is checked for it.
  std::optional<codegen::TargetSpec> base;
  if (!request.machines.empty())
    base = target::baseTarget(request.machines.front());
  const codegen::LinkerTool *linker = base ? &base->platform->linker : nullptr;
  if (linker && !linker->is(codegen::ArtifactForm::Object, options.output) && options.emit.empty())
    for (const std::string &path : request.customOps.code) {
      std::string why;
      std::unique_ptr<llvm::MemoryBuffer> code = openRegular(path, why);
      if (!code)
        refuse("can't read " + path + ", the code of custom ops: " + why);
      else if (why = linker->whyNotLinkable(*code, llvm::Triple(base->triple)); !why.empty())
        refuse("can't link " + path + ", the code of custom ops: " + why);
    }
  if (!options.customFunctions.empty() && !options.transient)
    refuse("custom ops given as functions of this process need an artifact for this process only");
  if (options.emit.empty() && linker && !linker->artifactKind(options.output))
    refuse("the output's extension must be " + linker->extensions() + " unless --emit is given, not that of '" +
           options.output + "'");
  if (!options.output.empty() && (options.output != "-" || options.emit.empty()))
    if (std::string why = whyNotWritable(options.output); !why.empty())
      refuse("can't write '" + options.output + "': " + why);
  if (!options.weights.empty() && !request.isStageText())
    refuse("--weights is for the text of a stage, and '" + options.modelPath + "' is a model");
  if (!options.saveWeights.empty()) {
    if (!isIRStage(options.emit))
      refuse("--save-weights needs --emit=import, graph, kernels, loops or plan");
    else if (options.saveWeights == options.output || options.saveWeights == "-")
      refuse("--save-weights needs a file of its own, not '" + options.saveWeights + "'");
    else if (std::string why = whyNotWritable(options.saveWeights); !why.empty())
      refuse("can't write '" + options.saveWeights + "': " + why);
  }
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
}

} // namespace

std::optional<Request> readRequest(const CompileOptions &options, Diagnostics &diagnostics) {
  Request request(options);
  readValues(request, diagnostics);
  checkFiles(request, diagnostics);
  return diagnostics.hasErrors() ? std::nullopt : std::optional(std::move(request));
}

} // namespace hewn
