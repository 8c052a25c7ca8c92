// SPDX-License-Identifier: Apache-2.0
//
// `hewn check`: compiles a model and compares its values to those of a reference (-O0 or given
// arrays).
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/Check/CheckInputs.h"
#include "tools/hewn/Check/CheckReport.h"
#include "tools/hewn/Check/TimeLimit.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Json.h"
#include "tools/hewn/Reduce/PartSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace cl = llvm::cl;

namespace hewn::tool {

static cl::opt<std::string> checkedModel(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                         cl::sub(checkCommand()));
static cl::opt<bool> compileOnly("compile-only", cl::desc("Only check that the model compiles; do not run it"),
                                 cl::sub(checkCommand()));
static cl::list<std::string> checkedInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                           cl::desc("Array for an input, or an .npz file with several. Other inputs "
                                                    "are random. May be repeated"),
                                           cl::sub(checkCommand()));
static cl::opt<unsigned> seed("seed", cl::init(0), cl::value_desc("number"),
                              cl::desc("Seed of the random inputs (default: 0)"), cl::sub(checkCommand()));
static cl::opt<std::string> reference("reference", cl::value_desc("file.npz|folder"),
                                      cl::desc("Compare with these values (NAME.npy in a folder) instead of with -O0. "
                                               "Inputs are also read from there"),
                                      cl::sub(checkCommand()));
static cl::opt<std::string>
    bound("tolerance", cl::value_desc("relative[,absolute]"),
          cl::desc("Maximum error of an element (default: depends on the type and on the sensitivity of the value "
                   "to rounding)"),
          cl::sub(checkCommand()));
static cl::opt<bool> outputsOnly("outputs-only", cl::desc("Compare only the model's outputs, not those of every node"),
                                 cl::sub(checkCommand()));
static cl::opt<bool> verbose("verbose", cl::desc("List all compared values"), cl::sub(checkCommand()));
static cl::opt<std::string> reduced("reduce", cl::value_desc("file.onnx"),
                                    cl::desc("Write the smallest subgraph that differs, and its inputs as an .npz file "
                                             "of the same name"),
                                    cl::sub(checkCommand()));
static cl::opt<int, false, CountParser> memory("memory", cl::init(1024), cl::value_desc("MiB"),
                                               cl::desc("Memory for values that are held at once (default: 1024)"),
                                               cl::sub(checkCommand()));

namespace {

/// The flags of `hewn check`, copied before it compiles: the linker, the last step of a
/// compilation, resets all flags of the process.
struct CheckArguments {
  CompileFlags flags = compileFlags();
  std::string path = checkedModel, from = reference, bound = tool::bound, reduced = tool::reduced;
  std::vector<std::string> inputs = checkedInputs;
  bool compileOnly = tool::compileOnly, outputsOnly = tool::outputsOnly, verbose = tool::verbose;
  unsigned seed = tool::seed;
  int64_t memory = int64_t(tool::memory) << 20;
  bool isJson = wantsJson();
  /// The value of `--limit seconds=`, which `flags.limits` does not contain.
  std::optional<double> seconds;
};

enum Status { Fine = 0, Failed = 1, Wrong = 2, Differs = 3 };

/// Returns the path of the .npz file with the inputs of a reduced model.
std::string besideReduced(const std::string &model) {
  llvm::SmallString<128> beside(model);
  llvm::sys::path::replace_extension(beside, ".npz");
  return beside.str().str();
}

int complain(const std::string &why) {
  printMessage("error: " + why);
  return Failed;
}

/// Replaces the line that shows what `hewn check` is doing, if the standard error is a terminal.
void showStep(const std::string &what) {
  if (llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "\r\033[K" << (what.empty() ? "" : "hewn: " + what + " ...");
}

class Checker;

/// The state that the report of an exceeded time limit describes. Changes only in
/// TimeLimit::change.
struct Progress {
  std::string step = "compiling the model";
  const Checker *checker = nullptr; // null before the comparison begins
};

class Checker {
public:
  Checker(const CheckArguments &said, std::unique_ptr<Loaded> artifact, std::unique_ptr<ModelGraph> graph,
          const Tolerance &tolerance, Values given, TimeLimit &limit, Progress &progress)
      : said(said), artifact(std::move(artifact)), graph(std::move(graph)), given(std::move(given)),
        parts(*this->graph, said.flags, tolerance, said.from.empty() ? nullptr : &this->given, said.seed), limit(limit),
        progress(progress) {
    found.path = said.path;
    found.against = said.from.empty() ? "-O0" : said.from;
    found.given = said.from.empty() ? nullptr : &this->given;
    found.outputsOnly = said.outputsOnly;
  }

  int run(const std::vector<std::pair<std::string, Array>> &arrays);
  /// Prints what was compared so far. Returns the exit status.
  int reportLate() const;

private:
  void tell(const std::string &what);
  int prepare(const std::vector<std::pair<std::string, Array>> &arrays);
  bool compareOutputs();
  bool draw();
  std::unique_ptr<Loaded> expose(const Names &names, Names &good);
  bool exposeAll(bool all);
  bool compareGroup(const Names &group);
  bool compareAll();
  bool take(std::optional<Judgement> judgement, const std::string &problem, Judgement &into);
  std::vector<Names> groups() const;
  bool reduce(const std::optional<Window> &window);
  std::optional<Window> findWindow(bool narrow);

  const CheckArguments &said;
  std::unique_ptr<Loaded> artifact;
  std::unique_ptr<ModelGraph> graph;
  Values given;
  Parts parts;

  // The reference program, whose outputs are all values of the model.
  std::unique_ptr<Loaded> reference;
  TimeLimit &limit;
  Progress &progress;
  Values inputs, results; // inputs and results of the compiled model
  bool hasInputs = false; // `inputs` does not change any more
  std::map<std::string, int64_t> bytes;
  Findings found;
  /// Files that --reduce wrote, as a line of text and as JSON.
  std::string reducedText;
  llvm::json::Value reducedRecord = nullptr;
};

/// Shows the step, and notes it for the report of an exceeded time limit.
void Checker::tell(const std::string &what) {
  limit.change([&] { progress.step = what; });
  showStep(what);
}

int Checker::prepare(const std::vector<std::pair<std::string, Array>> &arrays) {
  const hewn_model &made = artifact->model();
  limit.change([&] {
    parts.learn(*artifact);
    progress.checker = this;
  });
  for (int i = 0; i < made.num_inputs; ++i)
    if (!parts.info(made.inputs[i].name)->isTensor)
      return complain("input " + quoted(made.inputs[i].name) +
                      " is a string tensor, a sequence or an optional value, which cannot be generated or read: "
                      "nothing was compared; use --compile-only");
  for (auto &[name, array] : arrays) {
    if (artifact->inputNamed(name) < 0)
      return complain("the model has no input " + quoted(name));
    inputs[name] = array;
  }
  for (int i = 0; i < made.num_inputs; ++i)
    if (auto found = given.find(made.inputs[i].name); found != given.end())
      inputs.insert(*found);
  // Values of another engine can only be compared with those for its inputs.
  for (int i = 0; !said.from.empty() && i < made.num_inputs; ++i)
    if (!inputs.count(made.inputs[i].name))
      return complain(said.from + " has no array for input " + quoted(made.inputs[i].name) +
                      ", which its values depend on: add it to the reference, or pass it by --input");
  limit.change([&] {
    for (std::string name : graph->outputs()) {
      // Instead of a map, compares the tensor from which a node makes the map.
      if (const ValueInfo *values = parts.info(name + "_values"); values && graph->maker(name) >= 0) {
        name = graph->nodes()[size_t(graph->maker(name))].inputs.front();
        parts.learn(name, *values);
      }
      if (parts.info(name) && parts.info(name)->isTensor && !llvm::is_contained(found.outputs, name))
        found.outputs.push_back(name);
    }
  });
  if (found.outputs.empty())
    return complain("no output is a numeric tensor: nothing was compared");

  if (!exposeAll(/*all=*/!said.outputsOnly))
    return Failed;
  return draw() ? Fine : Failed;
}

/// Generates inputs that the reference accepts, and computes the reference's results: all values if
/// they fit in --memory, else only the outputs.
bool Checker::draw() {
  tell("the reference");
  std::string problem;
  std::unique_ptr<Loaded> plain;
  auto choose = [&](const Values &inputs) -> Loaded * {
    int64_t left = said.memory;
    bytes = outputBytes(*reference, inputs);
    for (auto &[name, size] : bytes)
      left -= std::min(size, said.memory);
    if (left >= 0)
      return reference.get();
    if (!plain)
      plain = parts.compile(parts.whole(found.outputs), /*naive=*/true, 0, problem);
    return plain.get();
  };
  Values wanted;
  if (!drawInputs(parts, artifact->model(), choose, said.seed, inputs, wanted, problem)) {
    complain("found no inputs that the model accepts; the first error: " + problem +
             "\nnote: set inputs by --input and sizes of dims by --dim");
    return false;
  }
  reference.reset();
  parts.know(inputs);
  parts.know(std::move(wanted));
  limit.change([&] { hasInputs = true; });
  return true;
}

bool Checker::take(std::optional<Judgement> judgement, const std::string &problem, Judgement &into) {
  if (!judgement) {
    complain(problem);
    return false;
  }
  limit.change([&] {
    into.found.merge(judgement->found);
    into.random.merge(judgement->random);
    into.asNaive.merge(judgement->asNaive);
    llvm::append_range(into.refusedMoves, judgement->refusedMoves);
  });
  return true;
}

bool Checker::compareOutputs() {
  tell("the outputs");
  hewn_status status = parts.run(*artifact, inputs, 0, results);
  if (status.code != HEWN_OK) {
    complain("the compiled model fails on inputs that the reference accepts: " + std::string(status.message));
    return false;
  }
  std::string problem;
  artifact.reset();
  return take(parts.judge(parts.whole(found.outputs), inputs, results, problem), problem, found.ofOutputs);
}

/// Appends to `good` those values of `names` that can be outputs. If some cannot, finds them by
/// bisection. Returns the reference program with all of `names` as outputs, or null if it does not
/// compile.
std::unique_ptr<Loaded> Checker::expose(const Names &names, Names &good) {
  std::string problem;
  std::unique_ptr<Loaded> loaded = parts.compile(parts.whole(names), /*naive=*/true, 0, problem);
  if (loaded) {
    good.insert(good.end(), names.begin(), names.end());
  } else if (names.size() == 1) {
    limit.change([&] { found.refused[names.front()] = problem; });
  } else {
    auto middle = names.begin() + std::ptrdiff_t(names.size() / 2);
    expose({names.begin(), middle}, good);
    expose({middle, names.end()}, good);
  }
  return loaded;
}

/// Compiles the reference. Its outputs are the outputs of the model, or all values.
bool Checker::exposeAll(bool all) {
  tell("the reference of " + counted(graph->nodes().size(), "node"));
  Names names = found.outputs, good;
  for (const ModelGraph::Node &node : graph->nodes())
    for (const std::string &value : node.outputs)
      if (all && !graph->isConstant(value) && !llvm::is_contained(found.outputs, value))
        names.push_back(value);
  reference = expose(names, good);
  for (const std::string &name : found.outputs)
    if (auto why = found.refused.find(name); why != found.refused.end()) {
      complain("the reference cannot be compiled: " + why->second);
      return false;
    }
  std::string problem;
  if (!reference)
    reference = parts.compile(parts.whole(good), /*naive=*/true, 0, problem);
  if (!reference) {
    complain("the reference cannot be compiled: " + problem);
    return false;
  }
  limit.change([&] { parts.learn(*reference); });
  llvm::StringSet<> exposed;
  for (const std::string &name : good)
    exposed.insert(name);
  limit.change([&] {
    for (const ModelGraph::Node &node : graph->nodes())
      for (const std::string &value : node.outputs)
        if (exposed.contains(value) && !graph->isConstant(value) && parts.info(value)->isTensor &&
            (said.from.empty() || given.count(value)))
          found.values.push_back(value);
  });
  return true;
}

/// Divides the values into groups of consecutive values, each of which fits in --memory.
std::vector<Names> Checker::groups() const {
  std::vector<Names> list;
  int64_t sum = 0;
  for (const std::string &name : found.values) {
    int64_t size = bytes.at(name);
    if (list.empty() || size > said.memory - sum) {
      list.push_back({});
      sum = 0;
    }
    list.back().push_back(name);
    sum = std::min(sum + size, said.memory);
  }
  return list;
}

bool Checker::compareGroup(const Names &group) {
  std::string problem;
  ModelGraph::Part part = parts.whole(group);
  Values got;
  std::unique_ptr<Loaded> optimized = parts.compile(part, /*naive=*/false, 0, problem);
  if (!optimized)
    return take(std::nullopt, problem, found.ofValues);
  hewn_status status = parts.run(*optimized, inputs, 0, got);
  if (status.code != HEWN_OK)
    return take(std::nullopt, status.message, found.ofValues);
  optimized.reset();
  return take(parts.judge(part, inputs, got, problem), problem, found.ofValues);
}

bool Checker::compareAll() {
  tell("the values of " + counted(graph->nodes().size(), "node"));
  limit.change([&] {
    llvm::erase_if(found.values, [&](const std::string &name) {
      if (bytes.at(name) <= said.memory)
        return false;
      found.refused[name] = "it has " + std::to_string(bytes[name] >> 20) + " MiB, more than --memory";
      return true;
    });
  });
  const std::vector<Names> all = groups();
  parts.keepAll(all.size() == 1);
  for (const Names &group : all)
    if (!compareGroup(group))
      return false;
  return true;
}

/// Maximum number of subgraphs to compile and run when --reduce removes single nodes.
constexpr size_t kMaxSingle = 64;

std::optional<Window> Checker::findWindow(bool narrow) {
  PartSearch search(
      parts,
      [&](const ModelGraph::Part &part) -> std::optional<Shown> {
        std::string ignored; // the error of a subgraph that does not run, which is skipped
        std::optional<Judgement> judgement = parts.judge(part, ignored);
        if (!judgement || !judgement->differs())
          return std::nullopt;
        Names differing;
        for (auto &[name, difference] : judgement->found)
          if (difference.kind == Difference::Kind::Differs)
            differing.push_back(name);
        return Shown{std::move(differing), std::move(*judgement)};
      },
      kMaxSingle);
  auto dropOthers = [&](Window &window) {
    search.dropBegin(window);
    search.dropAny(window, /*cutsFixed=*/false);
  };
  if (said.outputsOnly) { // the comparison so far needed no types and dims of the nodes' values
    if (!exposeAll(/*all=*/true))
      return std::nullopt;
    reference.reset();
    limit.change([&] { found.values.clear(); });
  }
  if (std::string name = found.ofValues.first(found.values); !name.empty())
    // `all` returns nullopt if the value differs only in a subgraph that also has other outputs.
    if (std::optional<Window> window = search.all({name})) {
      if (narrow)
        dropOthers(*window);
      return window;
    }
  Names differing;
  for (auto &[name, difference] : found.ofOutputs.found)
    if (difference.kind == Difference::Kind::Differs && graph->maker(name) >= 0)
      differing.push_back(name);
  std::optional<Window> window = search.all(differing);
  if (window)
    search.dropEnd(*window);
  if (window && narrow)
    dropOthers(*window);
  return window;
}

/// Writes the subgraph to a file, after checking that the written model still differs from the
/// reference.
bool Checker::reduce(const std::optional<Window> &window) {
  std::string written, problem;
  if (!window)
    return complain("no subgraph differs when compiled alone: nothing was written") == Fine;
  ModelGraph::Part part = parts.cut(window->nodes, window->outputs);
  Values feeds;
  if (!graph->serialize(part, /*whole=*/true, nullptr, written, problem) || !parts.feedsOf(part, feeds, problem))
    return complain(problem) == Fine;
  std::optional<Judgement> judgement = parts.judgeWritten(part, written, feeds, problem);
  if (!judgement || !judgement->differs())
    return complain("the subgraph does not differ when compiled from its own file: nothing was written" +
                    (problem.empty() ? "" : "; " + problem)) == Fine;
  std::vector<std::pair<std::string, Array>> arrays;
  for (const ModelGraph::Feed &feed : part.feeds)
    arrays.push_back({feed.name, feeds.at(feed.name)});
  if (!said.from.empty())
    for (const std::string &name : part.outputs)
      arrays.push_back({name, given.at(name)});
  std::string beside = besideReduced(said.reduced);
  if (llvm::Error error = writeFile(said.reduced, written))
    problem = llvm::toString(std::move(error));
  if (!problem.empty() || !writeNpz(beside, arrays, problem))
    return complain(problem) == Fine;
  std::string again = "hewn check " + shellWord(said.reduced) + (said.from.empty() ? " --input " : " --reference ") +
                      shellWord(beside) + flagsText(parts.flagsFor(part, said.flags.naive));
  if (!said.bound.empty())
    again += " --tolerance " + shellWord(said.bound);
  reducedText = "wrote " + std::to_string(part.nodes.size()) + " of " + counted(graph->nodes().size(), "node") +
                ", which differ when compiled alone: " + again + "\n";
  reducedRecord = llvm::json::Object{{"model", jsonText(said.reduced)},
                                     {"arrays", jsonText(beside)},
                                     {"nodes", int64_t(part.nodes.size())},
                                     {"command", jsonText(again)}};
  return true;
}

int Checker::reportLate() const {
  bool differs = found.ofValues.differs() || found.ofOutputs.differs();
  Report report(*graph, parts, found);
  const Values none, &drawn = hasInputs ? inputs : none;
  if (said.isJson) {
    llvm::json::Object record = report.record(std::nullopt, drawn, said.seed);
    record["reduced"] = nullptr;
    record["ended"] = "time limit";
    printRecord("check", said.path, std::move(record));
  } else {
    if (said.verbose)
      report.listValues();
    if (differs)
      report.difference(std::nullopt);
    else if (!found.ofOutputs.found.empty())
      report.allEqual();
    if (hasInputs)
      report.inputs(inputs, said.seed);
  }
  return differs ? Differs : Failed;
}

int Checker::run(const std::vector<std::pair<std::string, Array>> &arrays) {
  int status = prepare(arrays);
  if (status == Fine && !(compareOutputs() && (said.outputsOnly || compareAll())))
    status = Failed;
  if (status != Fine) {
    tell("");
    return status;
  }
  bool valuesDiffer = found.ofValues.differs(), differs = valuesDiffer || found.ofOutputs.differs();
  std::optional<Window> window;
  if (differs && (!valuesDiffer || !said.reduced.empty())) {
    tell("the smallest part that differs");
    window = findWindow(/*narrow=*/!said.reduced.empty());
  }
  tell("");
  limit.stop();
  bool isWritten = !differs || said.reduced.empty() || reduce(window);
  Report report(*graph, parts, found);
  if (said.isJson) {
    llvm::json::Object record = report.record(window, inputs, said.seed);
    record["reduced"] = std::move(reducedRecord);
    record["ended"] = "complete";
    printRecord("check", said.path, std::move(record));
  } else {
    if (said.verbose)
      report.listValues();
    if (differs)
      report.difference(window);
    else
      report.allEqual();
    report.inputs(inputs, said.seed);
    report.notCompared(said.verbose);
    llvm::outs() << reducedText;
  }
  return !isWritten ? Failed : differs ? Differs : Fine;
}

/// Reads the values of --reference: all arrays of an .npz file, or the .npy files of a folder that
/// are named like values of the graph, with '_' for each slash.
bool readReference(const std::string &from, const ModelGraph &graph, Values &given) {
  std::string problem;
  if (!llvm::sys::fs::is_directory(from)) {
    std::vector<std::pair<std::string, Array>> arrays;
    if (!readNpz(from, arrays, problem))
      return complain(problem), false;
    for (auto &[name, array] : arrays)
      given[name] = std::move(array);
  } else {
    Names names(graph.inputs());
    for (const ModelGraph::Node &node : graph.nodes())
      llvm::append_range(names, node.outputs);
    for (const std::string &name : names) {
      std::string file = name;
      std::replace(file.begin(), file.end(), '/', '_');
      file = from + "/" + file + ".npy";
      if (llvm::sys::fs::exists(file) && !readNpy(file, given[name], problem))
        return complain(problem), false;
    }
  }
  if (llvm::none_of(given, [&](const auto &one) { return graph.maker(one.first) >= 0; }))
    return complain(from + " has no array with the name of a value of the model"), false;
  return true;
}

/// Removes `seconds=N` from the limits of the compiler and stores N in `said.seconds`. Returns
/// false after printing an error.
bool takeSeconds(CheckArguments &said) {
  bool isValid = true;
  llvm::erase_if(said.flags.limits, [&](const std::string &text) {
    auto [name, value] = llvm::StringRef(text).split('=');
    if (name.trim() != "seconds")
      return false;
    double seconds;
    if (value.trim().getAsDouble(seconds) || !(seconds > 0 && seconds < 1e9)) {
      complain("'" + text + "' is not a valid limit: 'seconds' must be a number above 0");
      isValid = false;
    }
    said.seconds = seconds;
    return true;
  });
  return isValid;
}

/// Reports that the time limit passed, and what was compared so far. Returns the exit status.
int reportLate(const CheckArguments &said, const Progress &progress) {
  showStep("");
  std::string seconds;
  llvm::raw_string_ostream(seconds) << llvm::format("%g", *said.seconds);
  bool begins = progress.checker != nullptr;
  int status = complain("the limit of " + seconds + " s (--limit seconds=NUMBER raises it) ended the check" +
                        (progress.step.empty() ? "" : " during this step: " + progress.step) +
                        (begins ? "" : "; nothing was compared"));
  return begins ? progress.checker->reportLate() : status;
}

} // namespace

static int checkValues(const CheckArguments &said, const Tolerance &tolerance) {
  std::vector<std::pair<std::string, Array>> arrays;
  if (!readArrays(said.inputs, arrays, llvm::errs()))
    return Failed;
  Progress progress;
  TimeLimit limit(said.seconds, [&] { return reportLate(said, progress); });
  // Compile the model before the reference, because this reports all invalid flags and unsupported
  // nodes.
  CompileJob job;
  job.path = said.path;
  job.name = "model";
  std::unique_ptr<Loaded> artifact = Loaded::compile(job, said.flags, llvm::errs(), nullptr);
  if (!artifact)
    return Failed;
  Diagnostics diagnostics;
  std::unique_ptr<ModelGraph> graph = ModelGraph::load(said.path, diagnostics);
  diagnostics.print(llvm::errs());
  Values given;
  if (!graph || (!said.from.empty() && !readReference(said.from, *graph, given)))
    return Failed;
  Checker checker(said, std::move(artifact), std::move(graph), tolerance, std::move(given), limit, progress);
  int status = checker.run(arrays);
  limit.stop(); // before the checker, which the report reads, is destroyed
  return status;
}

int checkMain() {
  CheckArguments said;
  if (!takeSeconds(said))
    return Wrong;
  Tolerance tolerance;
  if (!said.bound.empty() && !parseTolerance(said.bound, tolerance)) {
    llvm::errs() << "error: --tolerance expects RELATIVE or RELATIVE,ABSOLUTE, got '" << said.bound << "'\n";
    return Wrong;
  }
  tolerance.productStep = productStep(parsePrecision(said.flags.precision).value_or(Precision::Highest));
  if (!said.reduced.empty())
    for (const std::string &written : {said.reduced, besideReduced(said.reduced)}) {
      if (std::string why = whyNotWritable(written); !why.empty())
        return complain("can't write '" + written + "': " + why);
      std::vector<std::string> read = {said.path, said.from};
      for (const std::string &input : said.inputs)
        read.push_back(llvm::StringRef(input).rsplit('=').second.str());
      for (const std::string &file : read)
        if (!file.empty() && (file == written || llvm::sys::fs::equivalent(file, written)))
          return complain("--reduce would overwrite the input file '" + file + "'");
      if (llvm::sys::path::extension(said.reduced) == ".npz")
        return complain("--reduce requires a model file, got the array file '" + said.reduced + "'");
    }
  bool isText = llvm::sys::path::extension(said.path) == ".mlir";
  if (!said.compileOnly && !isText)
    return checkValues(said, tolerance);
  CompileJob job;
  job.path = said.path;
  job.stage = "plan";
  CompileTexts texts;
  Progress progress;
  TimeLimit limit(said.seconds, [&] { return reportLate(said, progress); });
  if (!compileModel(job, said.flags, llvm::errs(), &texts))
    return Failed;
  limit.stop();
  if (said.isJson)
    printRecord("check", said.path, llvm::json::Object{{"compiles", true}});
  else
    llvm::outs() << said.path << ": compiles" << (isText ? "; values are only compared for ONNX models" : "") << "\n";
  return Fine;
}

} // namespace hewn::tool
