// SPDX-License-Identifier: Apache-2.0
#include "hewn/compiler.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Compiler/Compiler.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "lib/Tools/Models/Messages.h"
#include "lib/Tools/Models/Record.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Pages/QuantizeReport.h"
#include "tools/hewn/Serve/TritonRepository.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>

namespace cl = llvm::cl;
using llvm::StringRef;

namespace hewn::tool {

/// The subcommands that compile a model and accept the flags of compilation.
static cl::SubCommandGroup compiling = {&compileCommand(),  &checkCommand(),   &runCommand(),
                                        &benchCommand(),    &profileCommand(), &explainCommand(),
                                        &quantizeCommand(), &reduceCommand(),  &tuneCommand()};
static cl::opt<std::string> target(
    "target", cl::init("host"), cl::value_desc("target"),
    cl::desc(
        "Processor or GPU to compile for: host (default), a processor such as x86-64-v3 or neoverse-v1, or a GPU such "
        "as sm_90a. @PLATFORM may follow. A comma-separated list puts one variant per target into the library; the "
        "loader picks one. portable: x86-64-v2, -v3, -v4, and -v4 with VNNI and AMX. hewn help targets lists all "
        "targets and platforms"),
    cl::cat(targetFlags()), cl::sub(compiling));
static cl::opt<std::string> precision("float32-precision", cl::init(nameOf(Precision::Highest).str()),
                                      cl::value_desc("precision"),
                                      cl::desc("Precision of float32 matrix multiplication: highest (default), high "
                                               "or medium, with the meaning that they have in PyTorch"),
                                      cl::cat(precisionFlags()), cl::sub(compiling));
static cl::list<std::string>
    dims("dim", cl::value_desc("name=value|low..high"),
         cl::desc("Bind a symbolic dim to a size or a range: batch=1, seq=1..512. Sizes before a range get "
                  "specialized code: seq=1,128,1..512. The name ends at the last '='. With a compiled library: the "
                  "sizes that bench and profile run. May be repeated"),
         cl::cat(shapeFlags()), cl::sub(compiling));
static cl::opt<std::string>
    dimNames("dim-names", cl::init("lenient"), cl::value_desc("strict|lenient"),
             cl::desc("Dims of inputs for which the model declares the same name: lenient (default) requires equal "
                      "sizes only if an op of the model does, with a warning; strict (default with --triton) requires "
                      "them always"),
             cl::cat(shapeFlags()), cl::sub(compiling));
static cl::list<std::string>
    limits("limit", cl::value_desc("name=value"),
           cl::desc("Limit on what a model file can expand to. Defaults: nodes=65536 in the bodies of functions, "
                    "branches and loops, nesting=100 levels of them, bytes=268435456 of data that the file stores "
                    "in a shorter form, folding=268435456 operations of constant folding. hewn check also "
                    "takes seconds=N for its total time (default: unlimited). May be repeated"),
           cl::cat(shapeFlags()), cl::sub(compiling));
static cl::list<std::string> customOps("custom-ops", cl::value_desc("file.json"),
                                       cl::desc("Implement ops by C functions (docs/custom-ops.md). The file names "
                                                "code to run, so it must be trusted. May be repeated"),
                                       cl::cat(shapeFlags()), cl::sub(compiling));
static cl::list<std::string> tunings("tuning", cl::value_desc("file"),
                                     cl::desc("Use schedules measured by hewn tune (docs/tutorials/tuning.md). May "
                                              "be repeated"),
                                     cl::cat(targetFlags()), cl::sub(compiling));
static cl::opt<std::string> partition(
    "partition", cl::value_desc("tensor=N|pipeline=N|auto"),
    cl::desc("Split the model over ranks (docs/tutorials/partition.md): by shards of its layers (tensor), by stages "
             "of layers (pipeline), or by both, separated by a comma. pipeline=N,microbatches=M: process a batch in "
             "M microbatches, so that stages overlap. tensor=N,sums=ordered: add partial results in a fixed order, "
             "so that every transport gives the same bits. tensor=N,lines=PERCENT: replicate this share of the "
             "weights and shard the feature maps of their ops by rows. auto: the fastest partition for --cluster"),
    cl::cat(partitioningFlags()), cl::sub(compiling));
static cl::opt<std::string>
    cluster("cluster", cl::value_desc("file.yaml"),
            cl::desc("Description of the cluster that runs a split model (docs/reference/cluster.md). "
                     "--partition auto chooses by it, and explain estimates time, bytes and memory"),
            cl::cat(partitioningFlags()), cl::sub(compiling));
static cl::opt<int, false, CountParser>
    threads("threads", cl::init(1), cl::value_desc("count"),
            cl::desc("Number of threads that the model runs on (default: 1). The code does not depend on it"),
            cl::cat(targetFlags()), cl::sub(compiling));
static cl::opt<std::string> cacheDir("cache-dir", cl::value_desc("folder"),
                                     cl::desc("Cache artifacts and kernels in this folder for later compiles"),
                                     cl::cat(outputFlags()), cl::sub(compiling));
static cl::opt<std::string>
    remarks("remarks", cl::value_desc("file"),
            cl::desc("Write, for each node, the optimizations that were missed (fusion, layout, in-place execution, "
                     "integer arithmetic) and the reason: JSON if the file ends in .json, else YAML"),
            cl::cat(diagnosticsFlags()), cl::sub(compiling));
/// The commands that can also quantize. check and reduce compare a model to its own reference.
static cl::SubCommandGroup quantizing = {&compileCommand(), &runCommand(),      &benchCommand(), &profileCommand(),
                                         &explainCommand(), &quantizeCommand(), &tuneCommand()};
static cl::opt<std::string>
    quantize("quantize", cl::value_desc("scheme|file.json"),
             cl::desc("Compute contractions in integers, or only store their weights in a smaller type: int8, int4, "
                      "codebook16, codebook256, float16, bfloat16, float8, or a file that describes the scheme "
                      "(docs/quantization.md)"),
             cl::cat(quantizationFlags()), cl::sub(quantizing));
static cl::opt<std::string> calibrate("calibrate", cl::value_desc("folder"),
                                      cl::desc("Calibration samples, from which the ranges of activations are taken: "
                                               ".npz files, .npy files of the only input, or folders of NAME.npy"),
                                      cl::cat(quantizationFlags()), cl::sub(quantizing));
static cl::opt<double, false, DecibelsParser>
    leastDecibels("min-sqnr", cl::init(0), cl::value_desc("dB"),
                  cl::desc("Keep contractions in float32 until every output has this signal-to-noise ratio"),
                  cl::cat(quantizationFlags()), cl::sub(quantizing));
static cl::opt<double, false, ErrorParser>
    largestError("max-error", cl::init(0), cl::value_desc("number"),
                 cl::desc("Keep contractions in float32 until no output element has a larger absolute error"),
                 cl::cat(quantizationFlags()), cl::sub(quantizing));
static cl::opt<bool> naive("O0", cl::desc("Compile without fusion and vectorization, as a reference for results"),
                           cl::cat(diagnosticsFlags()), cl::sub(compiling));

static cl::opt<std::string> compiledModel(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                          cl::sub(compileCommand()));
static cl::opt<std::string> output("o", cl::value_desc("file"),
                                   cl::desc("Artifact to write: libmodel.so, libmodel.a or model.o"),
                                   cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::opt<std::string>
    emit("emit", cl::value_desc("stage"),
         cl::desc("Stop at a stage and print its text: import, graph, kernels, loops, plan, llvm, asm, ptx, header"),
         cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::opt<std::string> saveWeights("save-weights", cl::value_desc("file"),
                                        cl::desc("Write the weights of the text that --emit prints, so that "
                                                 "`hewn compile x.mlir --weights=FILE` can continue"),
                                        cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::opt<std::string> weights("weights", cl::value_desc("file"),
                                    cl::desc("Weights of the text of a stage (.mlir), written by --save-weights"),
                                    cl::sub(compileCommand()));
static cl::opt<std::string> name("name", cl::value_desc("name"),
                                 cl::desc("Name of the model in C (default: derived from the name of the output)"),
                                 cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::opt<std::string>
    report("report", cl::value_desc("file"),
           cl::desc("Write a report of the quantization (accuracy, size): JSON if the file ends in .json, a "
                    "page if it ends in .html, else text"),
           cl::cat(quantizationFlags()), cl::sub(compileCommand()), cl::sub(quantizeCommand()));
static cl::opt<std::string> quantized(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                      cl::sub(quantizeCommand()));
static cl::opt<std::string> chosen("o", cl::value_desc("file.json"),
                                   cl::desc("Write the chosen quantization, for --quantize of later compiles"),
                                   cl::cat(outputFlags()), cl::sub(quantizeCommand()));
static cl::opt<bool> embed("embed-weights", cl::desc("Store the weights in the library instead of a separate file"),
                           cl::cat(outputFlags()), cl::sub(compileCommand()));

static cl::opt<std::string> triton("triton", cl::value_desc("folder"),
                                   cl::desc("Instead of -o: add the model to a Triton Inference Server repository as "
                                            "FOLDER/NAME/config.pbtxt and FOLDER/NAME/1/model.so"),
                                   cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::list<std::string> tritonStates("triton-state", cl::value_desc("input=output"),
                                          cl::desc("State of a request sequence: the input takes the output of the "
                                                   "previous request, zeros in the first. May be repeated"),
                                          cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::opt<std::string> depfile("depfile", cl::value_desc("file"),
                                    cl::desc("Write the files that the output depends on, in the format of make: the "
                                             "model, its external data, tunings, custom ops, calibration samples"),
                                    cl::cat(outputFlags()), cl::sub(compileCommand()));
static cl::opt<bool> quiet("quiet", cl::desc("Do not print the names of the written files"),
                           cl::cat(diagnosticsFlags()), cl::sub(compileCommand()));

std::vector<std::string> givenCompileFlags(bool withDims) {
  std::vector<std::string> given;
  const cl::Option *flags[] = {&target,
                               &precision,
                               std::addressof(dims),
                               &dimNames,
                               std::addressof(limits),
                               std::addressof(customOps),
                               std::addressof(tunings),
                               &cacheDir,
                               &remarks,
                               &partition,
                               &cluster,
                               &naive,
                               &quantize,
                               &calibrate,
                               &leastDecibels,
                               &largestError};
  for (const cl::Option *flag : flags)
    if (flag->getNumOccurrences() > 0 && (withDims || flag != std::addressof(dims)))
      given.push_back((flag->ArgStr.size() > 2 ? "--" : "-") + flag->ArgStr.str());
  return given;
}

/// Returns the value of --dim-names. Triton batches requests along the first dim of every input, so
/// dims of one name are equal there.
static std::string chosenDimNames() {
  return dimNames.getNumOccurrences() == 0 && !triton.empty() ? "strict" : dimNames.getValue();
}

CompileFlags compileFlags() {
  return {target,   precision, dims,          limits,       customOps,        tunings,
          threads,  cacheDir,  remarks,       partition,    cluster,          naive,
          quantize, calibrate, leastDecibels, largestError, chosenDimNames(), quantize.getNumOccurrences() > 0};
}

bool canWrite(const std::string &path, llvm::ArrayRef<std::string> others) {
  llvm::Error error = expectWritable(path, others);
  bool isWritable = !error;
  printErrors(llvm::errs(), std::move(error));
  return isWritable;
}

/// Writes the report to `path` in the format of its extension. Returns false after printing an
/// error.
static bool tellReport(const std::string &path, const std::string &json) {
  std::string text = path.empty() ? "" : reportAs(llvm::sys::path::extension(path), json);
  llvm::Error error = path.empty() ? llvm::Error::success() : writeFile(path, text);
  return !error || printError(llvm::toString(std::move(error)));
}

/// Returns, for example, "wrote libmodel.so (233.1 kB), model.h, model.weights (562.0 kB)".
static std::string writtenText(llvm::ArrayRef<std::string> files) {
  std::string text;
  for (const std::string &file : files) {
    uint64_t bytes = 0;
    bool isFile = llvm::sys::fs::is_regular_file(file) && !llvm::sys::fs::file_size(file, bytes);
    if (!isFile) // a device or a FIFO
      continue;
    text += text.empty() ? "wrote " + file : ", " + llvm::sys::path::filename(file).str();
    if (llvm::sys::path::extension(file) != ".h")
      text += " (" + bytesText(double(bytes)) + ")";
  }
  return text;
}

/// Returns the form of the artifact with this file name. The compiler has accepted the name.
static codegen::ArtifactForm formOf(StringRef path) {
  for (const codegen::LinkerTool *linker : target::linkers())
    if (const codegen::ArtifactKind *kind = linker->artifactKind(path))
      return kind->form;
  return codegen::ArtifactForm::Library;
}

/// Returns a note on what to link with an object file.
static std::string linkingText(const std::string &object, const std::string &target) {
  std::string runtime = runtimeFor(target);
  // `compile` has accepted the target
  llvm::StringRef options = target::baseTarget(target::findAll(target)->front()).platform->linker.programOptions();
  return "note: " + llvm::sys::path::filename(object).str() +
         " must be linked with hewn's runtime (libraries and archives already contain it): " +
         (runtime.empty() ? "libhewn_runtime.a" : shellWord(runtime)) + (options.empty() ? "" : " " + options.str());
}

/// Shows the time of the compilation, the CPU that it was for and how to use the artifact, if the
/// standard error is a terminal.
static void showNextSteps(const std::string &artifact, const std::string &target, double seconds) {
  if (!llvm::sys::Process::StandardErrIsDisplayed())
    return;
  bool isHost = llvm::StringRef(target).take_until([](char c) { return c == '+' || c == '@'; }) == "host";
  llvm::errs() << "compiled in " << llvm::format("%.2f", seconds) << " s for " << printable(target)
               << (isHost ? " (" + llvm::sys::getHostCPUName().str() + "): use --target=portable for other machines"
                          : "")
               << "\n";
  codegen::ArtifactForm form = formOf(artifact);
  if (form == codegen::ArtifactForm::Library)
    llvm::errs() << "run it: hewn run " << shellWord(artifact) << " --input NAME=FILE.npy (hewn info "
                 << shellWord(artifact) << " lists the inputs)\n";
  else if (form == codegen::ArtifactForm::Archive)
    llvm::errs() << "link it: cc main.c " << shellWord(artifact) << " -I\"$PREFIX/include\" -lm\n";
}

/// Returns the error of the flags that select the output, or an empty string.
static std::string whyNoPlace() {
  const bool toTriton = triton.getNumOccurrences() > 0;
  if (toTriton && triton.empty())
    return "--triton requires a folder";
  if (toTriton && (!output.empty() || !emit.empty()))
    return "--triton cannot be combined with " + std::string(output.empty() ? "--emit" : "-o");
  if (!toTriton && !tritonStates.empty())
    return "--triton-state requires --triton FOLDER";
  for (const std::string &state : tritonStates)
    if (!StringRef(state).contains('='))
      return "--triton-state expects INPUT=OUTPUT, got '" + state + "'";
  if (!toTriton && output.empty() && emit.empty())
    return "no output given: -o libmodel.so (or .a, .o), --emit=STAGE, or --triton FOLDER";
  if (!depfile.empty() && output.empty())
    return "--depfile requires -o, the file whose dependencies it lists";
  if (!report.empty() && quantize.empty())
    return "--report requires --quantize, for example --quantize=int8";
  return "";
}

/// Compiles into a Triton repository. Returns false after printing an error.
static bool compileForTriton(CompileJob job, const CompileFlags &flags, CompileTexts &texts) {
  // Copied before compiling, because the linker resets all flags.
  const std::vector<std::string> states = tritonStates;
  const std::string called = job.name.empty() ? llvm::sys::path::stem(job.path).str() : job.name;
  TritonRepository repository;
  if (!repository.open(triton, called))
    return false;
  job.output = repository.library();
  if (job.name.empty()) {
    for (char c : called)
      job.name += llvm::isAlnum(c) ? c : '_';
    if (llvm::isDigit(job.name.front()))
      job.name = "_" + job.name;
  }
  if (!compileModel(job, flags, llvm::errs(), &texts))
    return false;
  texts.files.clear();
  return repository.finish(states, texts.files);
}

/// Returns the path as an absolute one in the syntax of make.
static std::string makePath(StringRef path) {
  llvm::SmallString<256> absolute(path);
  (void)llvm::sys::fs::make_absolute(absolute);
  std::string text;
  for (char c : absolute) {
    if (c == ' ' || c == '#')
      text += '\\';
    text += c == '$' ? "$$" : std::string(1, c);
  }
  return text;
}

/// Writes a rule of make without commands: `output` depends on the inputs of the compile. Returns
/// false after printing an error. An empty path writes nothing.
static bool writeDepfile(const std::string &path, const std::string &output, std::vector<std::string> inputs,
                         const std::string &samples) {
  if (path.empty())
    return true;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator file(samples, error), end; !samples.empty() && !error && file != end;
       file.increment(error))
    if (llvm::sys::fs::is_regular_file(file->path()))
      inputs.push_back(file->path());
  std::string text = makePath(output) + ":";
  for (const std::string &input : inputs)
    text += " \\\n  " + makePath(input);
  llvm::Error failed = writeFile(path, text + "\n");
  return !failed || printError(llvm::toString(std::move(failed)));
}

int compileMain() {
  if (std::string why = whyNoPlace(); !why.empty()) {
    llvm::errs() << "error: " << why << "\n";
    return 2;
  }
  // The flags are copied before the compilation, because its linker resets all flags.
  const std::string reportPath = report, depfilePath = depfile;
  const CompileFlags flags = compileFlags();
  const bool isQuiet = quiet, toTriton = !triton.empty();
  CompileJob job;
  job.path = compiledModel;
  job.output = output;
  job.stage = emit;
  job.weights = weights;
  job.saveWeights = saveWeights;
  job.name = name;
  job.embedWeights = embed;
  CompileTexts texts;
  const auto begin = std::chrono::steady_clock::now();
  if (!canWrite(reportPath, {job.path, job.output}) || !canWrite(depfilePath, {job.path, job.output, reportPath}) ||
      !(toTriton ? compileForTriton(job, flags, texts) : compileModel(job, flags, llvm::errs(), &texts)) ||
      !tellReport(reportPath, texts.report) ||
      !writeDepfile(depfilePath, job.output, std::move(texts.inputs), flags.calibrate))
    return 1;
  if (!isQuiet) {
    if (std::string written = writtenText(texts.files); !written.empty())
      llvm::errs() << written << "\n";
    if (job.stage.empty() && formOf(job.output) == codegen::ArtifactForm::Object)
      printMessage(linkingText(job.output, flags.target));
    if (job.stage.empty() && !toTriton)
      showNextSteps(job.output, flags.target,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  llvm::outs() << texts.stage;
  return 0;
}

int quantizeMain() {
  const std::string reportPath = report, chosenPath = chosen;
  CompileFlags flags = compileFlags();
  if (!flags.quantizes)
    flags.quantize = "int8";
  CompileJob job;
  job.path = quantized;
  job.stage = "graph"; // the earliest stage; its text is not used
  CompileTexts texts;
  if (!canWrite(chosenPath, {job.path}) || !canWrite(reportPath, {job.path, chosenPath}) ||
      !compileModel(job, flags, llvm::errs(), &texts) || !tellReport(reportPath, texts.report))
    return 1;
  if (!chosenPath.empty())
    if (llvm::Error error = writeFile(chosenPath, texts.quantization)) {
      printError(llvm::toString(std::move(error)));
      return 1;
    }
  if (reportPath.empty())
    llvm::outs() << reportAs("", texts.report);
  return 0;
}

} // namespace hewn::tool
