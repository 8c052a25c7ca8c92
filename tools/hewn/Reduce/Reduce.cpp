// SPDX-License-Identifier: Apache-2.0
//
// `hewn reduce`: reduces a model to the smallest one that shows the same symptom.
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Importer/ONNX/Protos/ModelEdits.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Interrupt.h"
#include "tools/hewn/Json.h"
#include "tools/hewn/Reduce/PartSearch.h"
#include "tools/hewn/Reduce/Probe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <chrono>
#include <cstring>

namespace cl = llvm::cl;

namespace hewn::tool {

static cl::opt<std::string> reducedModel(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                         cl::sub(reduceCommand()));
static cl::opt<std::string> reducedOutput("o", cl::value_desc("file.onnx"),
                                          cl::desc("Write the smallest model to this file (default: reduced.onnx), and "
                                                   "its inputs to an .npz file of the same name"),
                                          cl::init("reduced.onnx"), cl::sub(reduceCommand()));
static cl::opt<std::string> command("if", cl::value_desc("command"),
                                    cl::desc("Search for models on which this shell command exits with status 0. {} is "
                                             "the model file; its inputs are in an .npz file of the same name"),
                                    cl::sub(reduceCommand()));
static cl::opt<std::string> slowerThan("slower-than", cl::value_desc("milliseconds|factorx"),
                                       cl::desc("Search for a run that takes longer than this: 5 (milliseconds), or "
                                                "0.5x (of the time at -O0)"),
                                       cl::sub(reduceCommand()));
static cl::opt<double, false, SecondsParser> compileSlowerThan("compile-slower-than", cl::init(0),
                                                               cl::value_desc("seconds"),
                                                               cl::desc("Search for a compilation that takes longer"),
                                                               cl::sub(reduceCommand()));
static cl::opt<std::string> message("message", cl::value_desc("text"),
                                    cl::desc("Search for errors whose message contains this text"),
                                    cl::sub(reduceCommand()));
static cl::opt<double, false, SecondsParser> timeout("timeout", cl::init(60), cl::value_desc("seconds"),
                                                     cl::desc("Time after which a candidate counts as hanging "
                                                              "(default: 60)"),
                                                     cl::sub(reduceCommand()));
static cl::opt<double, false, SecondsParser>
    timeLimit("time-limit", cl::init(600), cl::value_desc("seconds"),
              cl::desc("Stop after this time with the smallest model so far (default: 600)"), cl::sub(reduceCommand()));
static cl::list<std::string> reducedInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                           cl::desc("Array for an input, or an .npz file with several. Other inputs "
                                                    "are random. May be repeated"),
                                           cl::sub(reduceCommand()));
static cl::opt<unsigned> reducedSeed("seed", cl::init(0), cl::value_desc("number"),
                                     cl::desc("Seed of the random inputs (default: 0)"), cl::sub(reduceCommand()));
static cl::opt<std::string> reducedBound("tolerance", cl::value_desc("relative[,absolute]"),
                                         cl::desc("Maximum error of an element, as in hewn check"),
                                         cl::sub(reduceCommand()));

namespace {
using importer::ModelEdits;
using Kind = Symptom::Kind;
using Clock = std::chrono::steady_clock;

/// If the values of the model have more bytes than this in total, candidates get random inputs
/// instead of these values.
constexpr int64_t kMemory = int64_t(1) << 30;

int refuse(const std::string &why) {
  printMessage("error: " + why);
  return 1;
}

/// The flags of `hewn reduce`, copied before it compiles: the linker, the last step of a
/// compilation, resets all flags of the process.
struct ReduceArguments {
  std::string path = reducedModel, output = reducedOutput, bound = reducedBound, slower = slowerThan;
  std::vector<std::string> inputs = reducedInputs;
  double limit = timeLimit;
  bool isJson = wantsJson();
  Question question;
};

class Reduction {
public:
  Reduction(const ReduceArguments &said, std::unique_ptr<ModelGraph> graph, std::string folder)
      : said(said), graph(std::move(graph)), folder(std::move(folder)), probe(said.question, this->folder),
        parts(*this->graph, said.question.flags, said.question.tolerance, nullptr, said.question.seed) {}

  int run(const std::vector<std::pair<std::string, Array>> &arrays);

private:
  bool stopped() const { return interrupt.happened() || isLate(); }
  bool isLate() const { return std::chrono::duration<double>(Clock::now() - begin).count() > said.limit; }
  void progress() const;
  std::string candidateFile() const { return folder + "/candidate.onnx"; }
  std::optional<Symptom> show(const ModelGraph::Part &part);
  std::optional<Symptom> show(const std::string &bytes, const Values &feeds, const Symptom *wanted);
  std::optional<Shown> test(const ModelGraph::Part &part);
  bool keep(const std::string &bytes, const Symptom &symptom);
  void edit();
  void shrink();
  bool resized(const ModelEdits &edits, int64_t size, int64_t other);
  std::string again() const;
  int report() const;

  const ReduceArguments &said;
  std::unique_ptr<ModelGraph> graph;
  std::string folder;
  Probe probe;
  Parts parts;
  InterruptStopsMeasuring interrupt;
  Clock::time_point begin = Clock::now();

  /// Values of the original model that the reference computed.
  Values values;
  Symptom wanted;
  /// The smallest model so far that shows the symptom, and those of its inputs that can be stored
  /// in a file.
  std::string best;
  Values feeds;
  size_t bestNodes = 0;
  int tried = 0;
  std::set<uint64_t> seen;
  std::string problem;
};

void Reduction::progress() const {
  if (llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "\r\033[Khewn: " << bestNodes << (bestNodes == 1 ? " node, " : " nodes, ") << tried << " tried ...";
}

/// Returns the symptom of a candidate, given as a serialized model, or nullopt after an error or an
/// interruption.
std::optional<Symptom> Reduction::show(const std::string &bytes, const Values &given, const Symptom *like) {
  std::string why, arrays = Probe::arraysBeside(candidateFile());
  // Passes only the inputs that the candidate has.
  std::unique_ptr<ModelEdits> candidate = ModelEdits::parse(bytes);
  std::vector<std::pair<std::string, Array>> list;
  for (const auto &[name, array] : given)
    if (!candidate || llvm::is_contained(candidate->inputs(), name))
      list.push_back({name, array});
  if (llvm::Error error = writeFile(candidateFile(), bytes))
    why = llvm::toString(std::move(error));
  if (!why.empty() || !writeNpz(arrays, list, why)) {
    problem = why;
    return std::nullopt;
  }
  ++tried;
  return probe.look(candidateFile(), like, [&] { return stopped(); });
}

/// Makes a candidate the smallest model so far and writes it, so that it exists even if this
/// program is killed.
bool Reduction::keep(const std::string &bytes, const Symptom &symptom) {
  std::vector<std::pair<std::string, Array>> arrays;
  std::string ignored;
  (void)readNpz(Probe::arraysBeside(candidateFile()), arrays, ignored);
  feeds.clear();
  for (auto &[name, array] : arrays)
    feeds[name] = std::move(array);
  best = bytes;
  wanted = symptom;
  std::unique_ptr<ModelEdits> counted = ModelEdits::parse(bytes);
  bestNodes = counted ? counted->nodes() : 0;
  std::vector<std::pair<std::string, Array>> list(feeds.begin(), feeds.end());
  if (llvm::Error error = writeFile(said.output, best))
    problem = llvm::toString(std::move(error));
  else if (!list.empty())
    (void)writeNpz(Probe::arraysBeside(said.output), list, problem);
  else
    llvm::sys::fs::remove(Probe::arraysBeside(said.output)); // inputs of an earlier, larger model
  progress();
  return problem.empty();
}

std::optional<Shown> Reduction::test(const ModelGraph::Part &part) {
  std::string bytes, ignored;
  if (stopped() || !problem.empty() || part.nodes.empty() ||
      !graph->serialize(part, /*whole=*/true, nullptr, bytes, ignored))
    return std::nullopt;
  if (!seen.insert(llvm::xxh3_64bits(bytes)).second)
    return std::nullopt;
  Values given;
  for (const ModelGraph::Feed &feed : part.feeds)
    if (auto value = values.find(feed.name); value != values.end())
      given.insert(*value);
  if (part.feeds.empty())
    for (const std::string &name : graph->inputs())
      if (auto value = values.find(name); value != values.end())
        given.insert(*value);
  std::optional<Symptom> symptom = show(bytes, given, &wanted);
  if (!symptom || !symptom->isLike(wanted) || !keep(bytes, *symptom))
    return std::nullopt;
  return Shown{symptom->kind == Kind::Wrong ? symptom->outputs : part.outputs, {}};
}

/// Simplifies single nodes, and the bodies of control-flow nodes and functions.
void Reduction::edit() {
  bool changed = true;
  while (changed && !stopped()) {
    changed = false;
    std::unique_ptr<ModelEdits> edits = ModelEdits::parse(best);
    for (size_t i = 0; edits && i < edits->count() && !stopped() && problem.empty();) {
      std::string bytes;
      ++i;
      if (!edits->apply(i - 1, bytes) || !seen.insert(llvm::xxh3_64bits(bytes)).second)
        continue;
      std::unique_ptr<ModelEdits> after = ModelEdits::parse(bytes);
      if (!after || after->nodes() == 0)
        continue;
      std::optional<Symptom> symptom = show(bytes, feeds, &wanted);
      if (!symptom || !symptom->isLike(wanted) || !keep(bytes, *symptom))
        continue;
      changed = true;
      size_t before = edits->count();
      edits = std::move(after);
      // The accepted edit, and others that depended on it, are no longer in the list: subtract
      // their number, so that the loop continues with the edit that followed.
      i -= std::min(i, before - std::min(before, edits->count()));
    }
  }
}

/// Returns the array with each dim of size `size` truncated to the size `other`.
Array cut(const Array &from, int64_t size, int64_t other) {
  Array made = from;
  std::vector<int64_t> kept = ModelEdits::keptElements(made.shape, size, other);
  int64_t bytes = from.elementBytes();
  made.bytes.resize(kept.size() * size_t(bytes));
  for (size_t i = 0; i < kept.size(); ++i)
    std::memcpy(made.bytes.data() + int64_t(i) * bytes, from.bytes.data() + kept[i] * bytes, size_t(bytes));
  return made;
}

/// Makes dims smaller: all dims of the same size at once, in the model and its inputs.
void Reduction::shrink() {
  for (bool changed = true; changed && !stopped();) {
    changed = false;
    std::unique_ptr<ModelEdits> edits = ModelEdits::parse(best);
    std::set<int64_t, std::greater<>> sizes;
    if (edits)
      for (int64_t size : edits->sizes())
        sizes.insert(size);
    for (const auto &[name, array] : feeds)
      for (int64_t dim : array.shape)
        if (dim > 1)
          sizes.insert(dim);
    for (int64_t size : sizes) {
      std::set<int64_t> others = {1, 2, 3, size / 2, size - 1};
      for (int64_t other : others)
        if (!changed && edits && other > 0 && other < size && !stopped() && problem.empty())
          changed = resized(*edits, size, other);
      if (changed)
        break;
    }
  }
}

bool Reduction::resized(const ModelEdits &edits, int64_t size, int64_t other) {
  Values smaller;
  bool isOther = false;
  for (const auto &[name, array] : feeds) {
    smaller[name] = cut(array, size, other);
    isOther |= smaller[name].shape != array.shape;
  }
  std::string bytes;
  if (!edits.resize(size, other, bytes)) {
    if (!isOther)
      return false;
    bytes = best; // the model itself stays unchanged if only its inputs have dims of this size
  }
  uint64_t key = llvm::xxh3_64bits(bytes);
  for (const auto &[name, array] : smaller)
    key = key * 31 + llvm::xxh3_64bits(llvm::StringRef(array.bytes.data(), array.bytes.size()));
  if (!seen.insert(key).second)
    return false;
  std::optional<Symptom> symptom = show(bytes, smaller, &wanted);
  return symptom && symptom->isLike(wanted) && keep(bytes, *symptom);
}

/// Returns the command that reproduces the symptom.
std::string Reduction::again() const {
  std::string model = shellWord(said.output), arrays = shellWord(Probe::arraysBeside(said.output));
  if (wanted.kind == Kind::Command)
    return probe.commandFor(said.output);
  CompileFlags flags = said.question.flags;
  // Leaves out --dim for dims that the reduction removed.
  llvm::erase_if(flags.dims, [&](const std::string &binding) {
    return !llvm::StringRef(best).contains(importer::dimNameOf(binding));
  });
  std::string input = feeds.empty() || wanted.phase == "compile" ? "" : " --input " + arrays;
  std::string bound = said.bound.empty() ? "" : " --tolerance " + shellWord(said.bound);
  switch (wanted.kind) {
  case Kind::Wrong:
    return "hewn check " + model + input + flagsText(flags) + bound;
  case Kind::SlowRun:
    return "hewn bench " + model + input + flagsText(flags);
  default:
    if (wanted.phase == "compile")
      return "hewn compile " + model + " -o " + shellWord(said.output + ".so") + flagsText(flags);
    return "hewn run " + model + input + flagsText(flags);
  }
}

int Reduction::report() const {
  if (llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "\r\033[K";
  if (!problem.empty())
    return refuse(problem);
  const std::string arrays = Probe::arraysBeside(said.output);
  const char *ended = interrupt.happened() ? "interrupted" : isLate() ? "time limit" : "smallest";
  if (said.isJson) {
    printRecord("reduce", said.path,
                llvm::json::Object{{"shows", nameOf(wanted.kind)},
                                   {"phase", wanted.phase},
                                   {"signal", wanted.signal},
                                   {"message", jsonText(wanted.message)},
                                   {"text", jsonText(wanted.text())},
                                   {"nodes_before", int64_t(graph->nodes().size())},
                                   {"nodes", int64_t(bestNodes)},
                                   {"model", jsonText(said.output)},
                                   {"arrays", feeds.empty() ? llvm::json::Value(nullptr) : jsonText(arrays)},
                                   {"again", jsonText(again())},
                                   {"tried", tried},
                                   {"ended", ended}});
  } else {
    llvm::outs() << said.path << ": " << printable(wanted.text()) << "\nwrote " << said.output
                 << (feeds.empty() ? "" : " and " + arrays) << ": " << bestNodes
                 << (bestNodes == 1 ? " node" : " nodes") << " of " << graph->nodes().size() << ", after " << tried
                 << " tries"
                 << (interrupt.happened() ? "; interrupted"
                     : isLate()           ? "; --time-limit was reached, there may be a smaller model"
                                          : "")
                 << "\nreproduce: " << again() << "\n";
  }
  return interrupt.happened() ? kInterrupted : 0;
}

int Reduction::run(const std::vector<std::pair<std::string, Array>> &arrays) {
  for (const auto &[name, array] : arrays) {
    if (!llvm::is_contained(graph->inputs(), name))
      return refuse("the model has no input '" + printable(name) + "'");
    values[name] = array;
  }
  Names outputs;
  for (const std::string &name : graph->outputs())
    if (graph->maker(name) >= 0 && !llvm::is_contained(outputs, name))
      outputs.push_back(name);
  std::string bytes;
  if (outputs.empty())
    return refuse("no output of the model is computed by a node: there is nothing to reduce");
  if (!graph->serialize(parts.whole(outputs), /*whole=*/true, nullptr, bytes, problem))
    return refuse(problem);
  // If a user's command detects the symptom, generate the inputs and compute the values of the
  // model before the first run of the command, so that the command gets inputs from the start.
  bool learnsFirst = !said.question.command.empty();
  if (learnsFirst)
    probe.learn(*graph, values, [&] { return stopped(); }, parts, values);
  Values given;
  for (const std::string &name : graph->inputs())
    if (auto value = values.find(name); value != values.end())
      given.insert(*value);
  std::optional<Symptom> first = show(bytes, given, nullptr);
  if (!first)
    return problem.empty()
               ? (interrupt.happened() ? kInterrupted : refuse("--time-limit was reached before a symptom was found"))
               : refuse(problem);
  if (first->kind == Kind::Unusable)
    return refuse(printable(first->text()));
  if (first->kind == Kind::None) {
    if (!said.question.command.empty())
      return refuse("the command does not exit with status 0 on the model: there is nothing to reduce");
    return refuse("the model " + printable(first->text()) + ": there is nothing to reduce");
  }
  Kind asked = said.question.isTimed()            ? Kind::SlowRun
               : said.question.compileSeconds > 0 ? Kind::SlowCompile
                                                  : first->kind;
  if (first->kind != asked)
    return refuse("the model " + printable(first->text()) + ": its time cannot be measured");
  if (!said.question.message.empty() && (first->kind != Kind::Error || first->gist != said.question.message))
    return refuse("the model " + printable(first->text()) + ", but --message searches for '" +
                  printable(said.question.message) + "'");
  if (!keep(bytes, *first))
    return report();
  for (const auto &[name, array] : feeds)
    values[name] = array;

  PartSearch search(parts, [&](const ModelGraph::Part &part) { return test(part); }, SIZE_MAX);
  Window window;
  window.outputs = wanted.kind == Kind::Wrong ? wanted.outputs : outputs;
  for (size_t i = 0; i < graph->nodes().size(); ++i)
    window.nodes.insert(int(i));
  search.dropOutputs(window);
  search.dropEnd(window);
  if (!learnsFirst)
    probe.learn(*graph, values, [&] { return stopped(); }, parts, values);
  search.dropBegin(window);
  search.dropAny(window, /*cutsFixed=*/false);
  search.dropOutputs(window);
  search.dropAny(window, /*cutsFixed=*/true);
  edit();
  shrink();
  return report();
}

/// Parses --slower-than. Returns false after printing an error.
bool readBounds(const std::string &text, Question &question) {
  if (text.empty())
    return true;
  llvm::StringRef number = text;
  double &bound = number.consume_back("x") ? question.runTimes : question.runMilliseconds;
  number.consume_back("ms");
  if (!number.getAsDouble(bound) && bound > 0)
    return true;
  llvm::errs() << "error: --slower-than expects milliseconds or a factor of -O0's time such as 0.5x, got '" << text
               << "'\n";
  return false;
}

/// Returns the error for the output files, or an empty string.
std::string whyNotWritten(const ReduceArguments &said) {
  if (llvm::sys::path::extension(said.output) == ".npz")
    return "-o requires a model file, got the array file '" + said.output + "'";
  for (const std::string &written : {said.output, Probe::arraysBeside(said.output)}) {
    if (std::string why = whyNotWritable(written); !why.empty())
      return "can't write '" + written + "': " + why;
    std::vector<std::string> read = {said.path};
    for (const std::string &input : said.inputs)
      read.push_back(
          llvm::StringRef(input).rsplit('=').second.empty() ? input : llvm::StringRef(input).rsplit('=').second.str());
    for (const std::string &file : read)
      if (file == written || llvm::sys::fs::equivalent(file, written))
        return "-o would overwrite the input file '" + file + "'";
  }
  return "";
}

} // namespace

int reduceMain() {
  ReduceArguments said;
  Question &question = said.question;
  question.flags = compileFlags();
  question.seed = reducedSeed;
  question.memory = kMemory;
  question.timeout = timeout;
  question.command = command;
  question.compileSeconds = compileSlowerThan;
  question.message = message;
  if (!said.bound.empty() && !parseTolerance(said.bound, question.tolerance)) {
    llvm::errs() << "error: --tolerance expects RELATIVE or RELATIVE,ABSOLUTE, got '" << said.bound << "'\n";
    return 2;
  }
  question.tolerance.productStep = productStep(parsePrecision(question.flags.precision).value_or(Precision::Highest));
  if (!readBounds(said.slower, question))
    return 2;
  if (!question.command.empty() && !llvm::StringRef(question.command).contains("{}")) {
    llvm::errs() << "error: --if requires {} in its command, in place of the model file\n";
    return 2;
  }
  if (int(!question.command.empty()) + int(question.isTimed()) + int(question.compileSeconds > 0) +
          int(!question.message.empty()) >
      1) {
    llvm::errs() << "error: only one of --if, --slower-than, --compile-slower-than and --message can be given\n";
    return 2;
  }
  if (std::string why = whyNotWritten(said); !why.empty())
    return refuse(why);
  if (llvm::sys::path::extension(said.path) == ".mlir")
    return refuse("hewn reduce requires an ONNX model; use mlir-reduce for the text of a stage");
  std::vector<std::pair<std::string, Array>> arrays;
  if (!readArrays(said.inputs, arrays, llvm::errs()))
    return 1;
  Diagnostics diagnostics;
  std::unique_ptr<ModelGraph> graph = ModelGraph::load(said.path, diagnostics);
  diagnostics.print(llvm::errs());
  if (!graph)
    return 1;
  llvm::Expected<std::string> folder = makeScratchFolder();
  if (!folder)
    return refuse(llvm::toString(folder.takeError()));
  int status = Reduction(said, std::move(graph), *folder).run(arrays);
  removeScratchFolder(*folder);
  return status;
}

} // namespace hewn::tool
