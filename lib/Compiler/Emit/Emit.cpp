// SPDX-License-Identifier: Apache-2.0
//
// Creates the files of an artifact from planned modules: compiles kernels and programs to objects,
// links them, and writes the weights file and the header next to the library.
#include "lib/Compiler/Emit/Emit.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Compiler/Emit/Generate.h"
#include "lib/Compiler/Emit/Runtime.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <future>

using namespace mlir;
using llvm::createStringError;
using llvm::Error;

namespace hewn {

namespace {

class ArtifactWriter {
public:
  ArtifactWriter(Session &session, const Request &request, Artifact &artifact, CompileResult &result)
      : session(session), request(request), artifact(artifact), result(result), options(request.options),
        base(target::baseTarget(request.machines.front())), linker(base.platform->linker) {}
  bool write();
  /// The files that were written.
  std::vector<OutputFile> files;

private:
  bool report(Error error) {
    if (!error)
      return true;
    llvm::handleAllErrors(
        std::move(error), [](const ReportedError &) {},
        [&](const llvm::ErrorInfoBase &e) { session.diagnostics.error(e.message()); });
    return false;
  }
  std::string stem();
  std::string beside(StringRef file);
  std::string weightsName();
  /// Writes the C header. Warns if it replaces a header with other content, which other artifacts
  /// in the folder may use.
  void writeHeader(llvm::raw_ostream &os);
  codegen::CodeOptions codeOptions();
  Error link();
  Error emitDeviceCode();
  /// Writes the weights as an object file for the linker and returns its path.
  llvm::Expected<std::string> embedWeights(const codegen::ScratchFolder &scratch);

  Error whyNoRuntime();
  /// Returns an error if the weights, an input, an output or the arena cannot be in the target's
  /// memory. Sizes that depend on symbols are checked when the model runs.
  Error checkMemory();

  Session &session;
  const Request &request;
  Artifact &artifact;
  CompileResult &result;
  const CompileOptions &options;
  /// The instruction set that all targets support. Code that runs before a variant is selected is
  /// compiled for it.
  const codegen::TargetSpec base;
  const codegen::LinkerTool &linker;
  GeneratedCode generated;
};

Error ArtifactWriter::whyNoRuntime() {
  if (target::isForThisMachine(base))
    return createStringError("libhewn_runtime.a is neither in the compiler's folder nor in ../lib");
  StringRef package = target::supportOf(base).package;
  return createStringError("'" + options.target + "' has no runtime: hewn was built without " +
                           (package.empty()
                                ? "the archive " + target::runtimeFolder(base) + "/libhewn_runtime.a"
                                : "the C library for " + base.family->architecture() + " (Debian's " + package + ")")
                               .str() +
                           "; an object (-o .o) needs none");
}

Error ArtifactWriter::checkMemory() {
  if (!llvm::Triple(base.triple).isArch32Bit())
    return Error::success();
  std::string problems;
  auto check = [&](const std::string &what, uint64_t bytes) {
    if (bytes > uint64_t(INT32_MAX)) // PTRDIFF_MAX
      problems += (problems.empty() ? "" : ", ") + what + " " + std::to_string(bytes) + " bytes";
  };
  check("the weights have", generated.weights.size());
  auto tensors = [&](StringRef kind, ArrayRef<codegen::TensorInterface> list) {
    for (const codegen::TensorInterface &tensor : list) {
      std::optional<codegen::ElementCodes> codes = codegen::elementCodes(tensor.elementType);
      std::optional<int64_t> count = graph::numElements(tensor.dims).constant();
      if (codes && count)
        check((kind + " '" + tensor.name + "' has").str(),
              llvm::SaturatingMultiply(uint64_t(*count), uint64_t(codes->dlBits)) / 8);
    }
  };
  tensors("input", generated.interface.inputs);
  tensors("output", generated.interface.outputs);
  for (const codegen::VariantInterface &variant : generated.interface.variants)
    for (const codegen::ProgramCode &program : variant.programs)
      if (std::optional<int64_t> bytes = program.arena.bytes.constant())
        check("the arena has", uint64_t(*bytes));
  return problems.empty() ? Error::success()
                          : createStringError("'" + options.target +
                                              "' has 32-bit memory, with at most 2 GiB for one block: " + problems);
}

/// Returns the artifact's file name without its prefix ("lib") and without its extension.
std::string ArtifactWriter::stem() {
  StringRef path = !options.output.empty() ? StringRef(options.output) : StringRef(options.modelPath);
  StringRef stem = llvm::sys::path::stem(path);
  if (const codegen::ArtifactKind *kind = linker.artifactKind(path))
    stem.consume_front(kind->prefix);
  return stem.empty() ? "model" : stem.str();
}

std::string ArtifactWriter::beside(StringRef file) {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(options.output));
  llvm::sys::path::append(path, file);
  return path.str().str();
}

/// Returns the name of the weights file. Different artifacts in a folder have different weights
/// files. For libmodel.so it is model.weights, because linkers know the library as "model". For
/// other names it is the full name with an extension: model.so.weights, model.a.weights. The text
/// of a stage contains the name for a shared library.
std::string ArtifactWriter::weightsName() {
  StringRef file = llvm::sys::path::filename(options.output);
  const codegen::ArtifactKind *kind = linker.artifactKind(file);
  bool isForLinkers = kind && kind->form == codegen::ArtifactForm::Library && !kind->prefix.empty() &&
                      file.starts_with(kind->prefix) && file.size() > kind->prefix.size() + kind->extension.size();
  if (!kind || (isForLinkers && !linker.artifactKind(stem())))
    return stem() + ".weights";
  return (file + ".weights").str();
}

/// Returns the text of a C header without the lines that list the targets and the ranges of dims.
/// Artifacts of one model share the header even if their targets or ranges differ.
static std::string withoutTargets(StringRef header) {
  std::string rest;
  for (StringRef line : llvm::split(header, '\n'))
    if (!line.contains(codegen::kHeaderTargets) && !line.contains(codegen::kHeaderRange))
      rest += (line + "\n").str();
  return rest;
}

/// libmodel.so, model.so and model.a have one header in common, model.h, because C code uses these
/// artifacts in the same way. Each compile overwrites it.
void ArtifactWriter::writeHeader(llvm::raw_ostream &os) {
  std::string text = codegen::headerText(generated.interface), path = beside(stem() + ".h");
  os << text;
  // a device or a FIFO at the header's path cannot be a previous header, so it is not read
  std::string reason;
  std::unique_ptr<llvm::MemoryBuffer> before = openRegular(path, reason);
  if (!before || withoutTargets(before->getBuffer()) == withoutTargets(text))
    return;
  std::vector<std::string> others;
  for (const codegen::ArtifactKind &kind : linker.kinds()) {
    std::string file = stem() + kind.extension.str();
    for (const std::string &name : {kind.prefix.str() + file, file})
      if (name != llvm::sys::path::filename(options.output) && !llvm::is_contained(others, name) &&
          llvm::sys::fs::exists(beside(name)))
        others.push_back(name);
  }
  if (!others.empty())
    session.diagnostics.warning("'" + path + "' is now the header of " + llvm::sys::path::filename(options.output) +
                                " and differs from the previous one: compile " + llvm::join(others, " and ") +
                                " again, or keep artifacts of different models in separate folders");
}

codegen::CodeOptions ArtifactWriter::codeOptions() {
  codegen::CodeOptions code;
  // At -O0, multiplications and additions are not combined to FMAs, so that each op is rounded as
  // ONNX defines it.
  code.fuseProducts = options.optimize;
  code.threads = unsigned(std::max(options.jobs, 0));
  code.cacheDir = options.cacheDir;
  code.store = options.codeStore;
  code.namesByContent = options.namesByContent;
  code.isCancelled = options.isCancelled;
  if (options.emit == "llvm")
    code.form = codegen::CodeForm::LLVM;
  else if (options.emit == "asm")
    code.form = codegen::CodeForm::Assembly;
  return code;
}

llvm::Expected<std::string> ArtifactWriter::embedWeights(const codegen::ScratchFolder &scratch) {
  if (generated.weights.size() > uint64_t(1) << 30)
    return createStringError("weights of more than 1 GiB cannot be embedded: leave --embed-weights out");
  std::string object = scratch.path("weights.o");
  if (Error error = linker.writeWeights(generated.weights, object, generated.interface.name + "_weights",
                                        generated.code.front().code))
    return std::move(error);
  return object;
}

Error ArtifactWriter::link() {
  llvm::Expected<codegen::ScratchFolder> scratch = codegen::ScratchFolder::create();
  if (!scratch)
    return scratch.takeError();
  codegen::LinkJob job;
  job.model = generated.interface.name;
  job.triple = llvm::Triple(base.triple);
  job.symbolVersion = target::supportOf(base).symbolVersion;
  job.runtime = options.runtime.empty() ? findRuntime(base) : options.runtime;
  const codegen::ArtifactForm form = linker.artifactKind(options.output)->form; // readRequest has checked it
  if (job.runtime.empty() && form != codegen::ArtifactForm::Object)
    return whyNoRuntime();
  job.userCode = request.customOps.code;
  job.addresses = options.customFunctions;
  for (auto [i, object] : llvm::enumerate(generated.code)) {
    llvm::Expected<std::string> file = scratch->write(std::to_string(i) + ".o", object.code);
    if (!file)
      return file.takeError();
    job.objects.push_back(*file);
  }
  auto begin = [&](const std::string &path, bool executable) {
    llvm::Expected<OutputFile> file = OutputFile::create(path, executable);
    if (file)
      files.push_back(std::move(*file));
    return file.takeError();
  };
  files.reserve(3);
  // Writes the weights, which may have hundreds of megabytes, in another thread while this one
  // links the library.
  std::future<void> written;
  result.weightsBytes = generated.weights.size();
  if (generated.weights.size() != 0 && options.embedWeights) {
    llvm::Expected<std::string> object = embedWeights(*scratch);
    if (!object)
      return object.takeError();
    job.weights = *object;
  } else if (generated.weights.size() != 0) {
    if (Error error = begin(beside(weightsName()), /*executable=*/false))
      return error;
    written = std::async(std::launch::async, [&os = files.back().stream(), this] { generated.weights.writeFile(os); });
  }
  if (form != codegen::ArtifactForm::Object) {
    job.parts = findParts(job.runtime);
    if (Error error = codegen::LinkerTool::chooseParts(job))
      return error;
  }
  if (Error error = begin(options.output, /*executable=*/form == codegen::ArtifactForm::Library))
    return error;
  Error linked = linker.link(job, form, files.back(), *scratch);
  if (written.valid())
    written.wait();
  if (linked)
    return linked;
  if (Error error = begin(beside(stem() + ".h"), /*executable=*/false))
    return error;
  writeHeader(files.back().stream());
  return publish(options, files, result);
}

/// Emits the code of the device kernels alone, without the host program.
Error ArtifactWriter::emitDeviceCode() {
  codegen::CodeOptions code = codeOptions();
  code.form = options.emit == "llvm" ? codegen::CodeForm::LLVM : codegen::CodeForm::Assembly;
  const codegen::TargetSpec &machine = request.machines.front();
  size_t numCases = artifact.cases().size();
  std::vector<codegen::Variant> modules;
  for (ModuleOp variant : artifact.programs())
    modules.push_back({variant, machine, casePrefix(generated.interface.name, "_", caseOf(variant), numCases)});
  llvm::Expected<codegen::CompiledKernels> kernels = codegen::compileKernels(modules, code);
  if (!kernels)
    return kernels.takeError();
  result.numKernels = kernels->units.size();
  std::vector<StringRef> texts;
  for (const codegen::CompiledUnit &unit : kernels->units)
    texts.push_back(unit.code);
  std::string text = options.emit == "llvm" ? llvm::join(texts, "\n") : machine.device->join(texts);
  return deliver(options, text, session.diagnostics, result) ? Error::success()
                                                             : createStringError("nothing was written");
}

bool ArtifactWriter::write() {
  std::vector<ModelCase> all = artifact.cases();
  std::vector<codegen::CaseProgram> cases;
  for (const ModelCase &one : all)
    cases.push_back({one.facts, {}, one.refusal});
  SmallVector<ModuleOp> programs = artifact.programs();
  for (ModuleOp variant : llvm::reverse(programs)) // all targets have the same interface
    cases[caseOf(variant)].program = variant.lookupSymbol<func::FuncOp>(plan::kProgramName);
  std::string name = options.name.empty() ? stem() : options.name;
  FailureOr<codegen::ProgramInterface> read = cases.size() > 1 ? codegen::readInterface(artifact.tree(), cases, name)
                                                               : codegen::readInterface(cases.front().program, name);
  if (failed(read))
    return false;
  codegen::ProgramInterface &interface = generated.interface = std::move(*read);
  interface.target = options.target;
  if (request.partition.ranks() > 1)
    interface.partition = request.partition.text();
  result.name = interface.name;
  std::vector<PlannedTarget> variants;
  for (const codegen::TargetSpec &machine : request.machines) {
    variants.push_back({machine, {}});
    variants.back().cases.resize(all.size());
    interface.variants.push_back({machine.name, machine.cpuFeatures, {}, machine.cpu});
    for (ModuleOp variant : programs)
      if (targetNameOf(variant) == machine.name)
        variants.back().cases[caseOf(variant)] = variant;
  }
  if (options.emit == "header")
    return deliver(options, codegen::headerText(interface), session.diagnostics, result);
  const codegen::Device *device = request.machines.front().device;
  if (device && (options.emit == device->stage() || options.emit == "llvm"))
    return report(codegen::guardLLVM([&] { return emitDeviceCode(); }));
  // Without a name, the descriptor refers to the symbol of the weights that `link` embeds.
  std::string weightsFile = options.embedWeights ? "" : weightsName();
  if (!report(codegen::guardLLVM([&] { return generate(variants, base, codeOptions(), weightsFile, generated); })))
    return false;
  result.numKernels = generated.numKernels;
  if (!report(checkMemory()))
    return false;
  if (!options.emit.empty()) {
    std::string text;
    for (const codegen::CompiledUnit &unit : generated.code)
      text += unit.code + "\n";
    return deliver(options, text, session.diagnostics, result);
  }
  return report(link());
}

} // namespace

Error publish(const CompileOptions &options, std::vector<OutputFile> &files, CompileResult &result) {
  if (Error error = publishAll(files, /*durable=*/!options.transient))
    return error;
  for (const OutputFile &file : files)
    result.files.push_back(file.path());
  return Error::success();
}

bool deliver(const CompileOptions &options, const std::string &text, Diagnostics &diagnostics, CompileResult &result) {
  if (options.output.empty() || options.output == "-") {
    result.text = text;
    return true;
  }
  if (Error error = writeFile(options.output, text)) {
    diagnostics.error(llvm::toString(std::move(error)));
    return false;
  }
  result.files.push_back(options.output);
  return true;
}

std::optional<std::vector<OutputFile>> emitArtifact(Session &session, const Request &request, Artifact &artifact,
                                                    CompileResult &result) {
  ArtifactWriter writer(session, request, artifact, result);
  if (!writer.write())
    return std::nullopt;
  return std::move(writer.files);
}

} // namespace hewn
