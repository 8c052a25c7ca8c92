// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Printable.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Loaded.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>

namespace cl = llvm::cl;

namespace hewn::tool {

static cl::opt<std::string> runModel(cl::Positional, cl::Required, cl::value_desc("model.onnx|libmodel.so"),
                                     cl::sub(runCommand()), cl::sub(benchCommand()));
static cl::opt<std::string> explained(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                      cl::sub(explainCommand()));
static cl::list<std::string> runInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                       cl::desc("An input, or all of them from an .npz"), cl::sub(runCommand()),
                                       cl::sub(benchCommand()));
static cl::opt<std::string> outputDir("output-dir", cl::value_desc("folder"),
                                      cl::desc("Write each output to FOLDER/NAME.npy"), cl::sub(runCommand()));
static cl::opt<std::string> outputFile("output", cl::value_desc("file.npz"), cl::desc("Write all outputs to one file"),
                                       cl::sub(runCommand()));
static cl::opt<double, false, SecondsParser> runSeconds("seconds", cl::init(2), cl::value_desc("seconds"),
                                                        cl::desc("How long to measure; 2 unless told"),
                                                        cl::sub(benchCommand()));

namespace {
/// What the command line said: the linker, which compiling a model ends with, resets all flags of the process.
struct RunArguments {
  std::string modelPath = runModel, folder = outputDir, file = outputFile;
  std::vector<std::string> inputs = runInputs;
  double time = runSeconds;
};
} // namespace

int runMain() {
  const RunArguments said;
  std::unique_ptr<Loaded> loaded = Loaded::open(said.modelPath);
  std::vector<Array> inputs, outputs;
  if (!loaded || !gatherInputs(*loaded, said.inputs, /*fill=*/false, inputs) || !loaded->run(inputs, outputs))
    return 1;
  std::vector<std::pair<std::string, Array>> named;
  for (size_t i = 0; i < outputs.size(); ++i)
    named.push_back({loaded->model().outputs[i].name, std::move(outputs[i])});
  std::string problem;
  if (!said.file.empty() && !writeNpz(said.file, named, problem)) {
    llvm::errs() << "error: " << problem << "\n";
    return 1;
  }
  if (!said.folder.empty()) {
    if (std::error_code error = llvm::sys::fs::create_directories(said.folder)) {
      llvm::errs() << "error: can't make " << said.folder << ": " << error.message() << "\n";
      return 1;
    }
    for (auto &[name, array] : named) {
      std::string file = name;
      std::replace(file.begin(), file.end(), '/', '_'); // names of outputs may hold slashes
      if (!writeNpy(said.folder + "/" + file + ".npy", array, problem)) {
        llvm::errs() << "error: " << problem << "\n";
        return 1;
      }
    }
  }
  for (auto &[name, array] : named)
    llvm::outs() << hewn::printable(name) << ": " << dataTypeText(array.type) << " " << shapeText(array) << "\n";
  return 0;
}

int benchMain() {
  const RunArguments said;
  std::unique_ptr<Loaded> loaded = Loaded::open(said.modelPath);
  std::vector<Array> inputs, outputs;
  if (!loaded || !gatherInputs(*loaded, said.inputs, /*fill=*/true, inputs) || !loaded->run(inputs, outputs))
    return 1;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  Clock::time_point begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < said.time || times.size() < 3) {
    Clock::time_point start = Clock::now();
    if (!loaded->run(inputs, outputs))
      return 1;
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  llvm::outs() << llvm::format("%zu runs: fastest %.4f ms, median %.4f ms, slowest %.4f ms, %s\n", times.size(),
                               times.front(), times[times.size() / 2], times.back(), loaded->variant().target);
  return 0;
}

int explainMain() {
  CompileJob job;
  job.path = explained;
  job.stage = "explain";
  CompileTexts texts;
  if (!compileModel(job, compileFlags(), &texts))
    return 1;
  llvm::outs() << texts.stage;
  return 0;
}

} // namespace hewn::tool
