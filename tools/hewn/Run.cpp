// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Profile/Measure.h"
#include "lib/Tools/Profile/Roofline.h"
#include "lib/Tools/Profile/Suggestions.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Interrupt.h"
#include "tools/hewn/Json.h"
#include "tools/hewn/Loading.h"
#include "tools/hewn/Pages/Pages.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::opt<std::string> runModel(cl::Positional, cl::Required, cl::value_desc("model.onnx|libmodel.so|model.wasm"),
                                     cl::sub(runCommand()), cl::sub(benchCommand()));
static cl::opt<std::string> explained(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                      cl::sub(explainCommand()));
static cl::opt<std::string>
    explainedPage("html", cl::value_desc("file.html"),
                  cl::desc("Write an HTML page: kernels compared with the roofline, the arena, suggestions"),
                  cl::sub(explainCommand()));
static cl::list<std::string> runInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                       cl::desc("Array for an input, or an .npz file with several. May be repeated"),
                                       cl::sub(runCommand()), cl::sub(benchCommand()));
static cl::opt<std::string> outputDir("output-dir", cl::value_desc("folder"),
                                      cl::desc("Write each output to FOLDER/NAME.npy"), cl::sub(runCommand()));
static cl::opt<std::string>
    outputFile("output", cl::value_desc("file.npz|file.npy"),
               cl::desc("Write all outputs to an .npz file, or a single output to an .npy file"),
               cl::sub(runCommand()));
static cl::opt<double, false, SecondsParser> runSeconds("seconds", cl::init(2), cl::value_desc("seconds"),
                                                        cl::desc("Duration of the measurement (default: 2)"),
                                                        cl::sub(benchCommand()));

namespace {
/// The flags of the command, copied before it compiles: the linker, the last step of a compilation,
/// resets all flags of the process.
struct RunArguments {
  std::string modelPath = runModel, folder = outputDir, file = outputFile;
  std::vector<std::string> inputs = runInputs;
  double time = runSeconds;
  bool isJson = wantsJson();
};

struct Output {
  std::string name;
  Array array;
  /// Path of the written file, or an empty string if the output was not written.
  std::string file;
};
} // namespace

/// Writes the outputs to the requested files. Returns false after printing an error.
static bool writeOutputs(const RunArguments &said, std::vector<Output> &outputs) {
  std::string problem;
  if (llvm::sys::path::extension(said.file) == ".npy") {
    if (outputs.size() != 1)
      return printError("the model has " + std::to_string(outputs.size()) +
                        " outputs, but an .npy file holds one array: use --output FILE.npz or --output-dir FOLDER");
    if (!writeNpy(said.file, outputs.front().array, problem))
      return printError(problem);
    outputs.front().file = said.file;
  } else if (!said.file.empty()) {
    std::vector<std::pair<std::string, Array>> named;
    for (Output &output : outputs) {
      named.push_back({output.name, output.array});
      output.file = said.file;
    }
    if (!writeNpz(said.file, named, problem))
      return printError(problem);
  }
  if (said.folder.empty())
    return true;
  if (std::error_code error = llvm::sys::fs::create_directories(said.folder))
    return printError("can't create " + said.folder + ": " + error.message());
  for (Output &output : outputs) {
    std::string file = output.name;
    std::replace(file.begin(), file.end(), '/', '_'); // output names may contain slashes
    output.file = said.folder + "/" + file + ".npy";
    if (!writeNpy(output.file, output.array, problem))
      return printError(problem);
  }
  return true;
}

int runMain() {
  const RunArguments said;
  llvm::StringRef extension = llvm::sys::path::extension(said.file);
  if (!said.file.empty() && extension != ".npz" && extension != ".npy") {
    printError("--output expects FILE.npz or, for a single output, FILE.npy; got '" + said.file + "'");
    return 2;
  }
  std::unique_ptr<Loaded> loaded = openModel(said.modelPath, {});
  std::vector<Array> inputs, arrays;
  if (!loaded || !gatherInputs(*loaded, said.inputs, inputs) || !loaded->run(inputs, arrays))
    return 1;
  std::vector<Output> outputs;
  for (size_t i = 0; i < arrays.size(); ++i)
    outputs.push_back({loaded->model().outputs[i].name, std::move(arrays[i]), ""});
  if (!writeOutputs(said, outputs))
    return 1;
  if (said.isJson) {
    json::Array list;
    for (const Output &output : outputs) {
      list.push_back(recordOf(output.name, output.array));
      if (!output.file.empty())
        (*list.back().getAsObject())["file"] = jsonText(output.file);
    }
    json::Object record{
        {"target", loaded->variant().target}, {"threads", loaded->threads()}, {"outputs", std::move(list)}};
    if (std::optional<uint64_t> moved = loaded->movedBytes())
      record["moved_bytes"] = int64_t(*moved);
    printRecord("run", said.modelPath, std::move(record));
    return 0;
  }
  for (const Output &output : outputs)
    llvm::outs() << printable(output.name) << ": " << dataTypeText(output.array.type) << " " << shapeText(output.array)
                 << "\n";
  return 0;
}

int benchMain() {
  const RunArguments said;
  std::vector<std::string> sizes;
  std::unique_ptr<Loaded> loaded = openModel(said.modelPath, {.sizes = &sizes});
  MeasuredInputs inputs;
  std::vector<Array> outputs;
  if (!loaded || !measuredInputs(*loaded, said.inputs, sizes, inputs) || !loaded->run(inputs.arrays, outputs))
    return 1;
  Measurement measurement(*loaded, inputs);
  auto runOnce = [&] { return loaded->run(inputs.arrays, outputs); };
  if (InterruptStopsMeasuring interrupt;
      !measure(said.time, 3, measurement, [&] { return interrupt.happened(); }, runOnce))
    return 1;
  // The device time is not measured for split models, because a rank that runs alone would wait for
  // the other ranks.
  const bool timesDevice = loaded->model().device && loaded->model().num_ranks == 0 && !measurement.interrupted;
  if (timesDevice)
    measurement.device = loaded->timeOnDevice(inputs.arrays);
  if (said.isJson)
    printRecord("bench", said.modelPath, measurement.record());
  else
    llvm::outs() << measurement.text();
  if (timesDevice && !measurement.device)
    return 1; // the error was already printed
  return measurement.interrupted ? kInterrupted : 0;
}

/// Adds to the compiler's record what the page shows: the roofline of the machine, the lower bound
/// of each kernel's time, and suggestions.
static void addRoofline(json::Object &record, const CompileFlags &flags) {
  std::string machine = llvm::StringRef(flags.target).split(',').first.str();
  bool rounds = flags.precision != nameOf(Precision::Highest);
  Roofline roofline(machine, flags.threads, rounds);
  roofline.addTo(record);
  std::vector<json::Object> kernels;
  double total = 0;
  json::Array *variants = record.getArray("variants");
  for (json::Value &variant : *variants) {
    // Dynamic dims get the sizes that the diagram of the arena assumes.
    std::vector<std::pair<std::string, int64_t>> shown = picturedDims(*variant.getAsObject());
    if (json::Array *list = variant.getAsObject()->getArray("kernels"))
      for (json::Value &kernel : *list) {
        json::Object &one = *kernel.getAsObject();
        bindWork(one, shown);
        roofline.addLeastTime(one, one.getInteger("launches_per_run"));
        if (&variant == &variants->front()) {
          kernels.push_back(json::Object(one));
          total += one.getNumber("least_milliseconds").value_or(0);
        }
      }
  }
  SuggestionContext context = machineContext(machine, flags.threads);
  context.naive = flags.naive;
  context.quantized = !flags.quantize.empty();
  context.rounds = rounds;
  record["suggestions"] = toJson(suggest(record, kernels, total, context));
}

int explainMain() {
  CompileJob job;
  job.path = explained;
  const bool isJson = wantsJson();
  const std::string page = explainedPage;
  const CompileFlags flags = compileFlags();
  job.stage = isJson || !page.empty() ? "explain-json" : "explain";
  CompileTexts texts;
  if (!page.empty() && !flags.cluster.empty()) {
    llvm::errs() << "error: --html cannot be combined with --cluster\n";
    return 2;
  }
  if (!canWrite(page, {job.path, flags.remarks}) || !compileModel(job, flags, llvm::errs(), &texts))
    return 1;
  if (job.stage == "explain") {
    llvm::outs() << texts.stage;
    return 0;
  }
  llvm::Expected<json::Value> record = json::parse(texts.stage);
  if (!record) {
    llvm::errs() << "error: " << llvm::toString(record.takeError()) << "\n";
    return 1;
  }
  json::Object &object = *record->getAsObject();
  if (!page.empty()) {
    json::Object shown(object);
    addRoofline(shown, flags);
    if (llvm::Error error = writeFile(page, explainPage(shown, job.path)))
      return !printError(llvm::toString(std::move(error)));
    if (!isJson)
      llvm::errs() << "wrote " << printable(page) << "\n";
  }
  if (isJson)
    printRecord("explain", job.path, std::move(object));
  return 0;
}

} // namespace hewn::tool
