// SPDX-License-Identifier: Apache-2.0
//
// hewn reduce: from a model that shows something to the smallest one that still does.
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Importer/ONNX/Protos/ModelEdits.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Measure/Interrupt.h"
#include "tools/hewn/Record.h"
#include "tools/hewn/Reduce/PartSearch.h"
#include "tools/hewn/Reduce/Probe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace cl = llvm::cl;

namespace hewn::tool {

static cl::opt<std::string> reducedModel(cl::Positional, cl::Required, cl::value_desc("model.onnx"),
                                         cl::sub(reduceCommand()));
static cl::opt<std::string> reducedOutput("o", cl::value_desc("file.onnx"),
                                          cl::desc("The smallest model that was found, and its inputs beside it as "
                                                   ".npz; reduced.onnx unless told"),
                                          cl::init("reduced.onnx"), cl::sub(reduceCommand()));
static cl::opt<std::string> command("if", cl::value_desc("command"),
                                    cl::desc("What is looked for is what this command of a shell ends with status 0 "
                                             "on; {} in it is the model's file, beside which its inputs are as .npz"),
                                    cl::sub(reduceCommand()));
static cl::opt<std::string> slowerThan("slower-than", cl::value_desc("milliseconds|factorx"),
                                       cl::desc("Look for a run that takes longer: 5, or 0.5x of -O0's time"),
                                       cl::sub(reduceCommand()));
static cl::opt<double, false, SecondsParser> compileSlowerThan("compile-slower-than", cl::init(0),
                                                               cl::value_desc("seconds"),
                                                               cl::desc("Look for a compile that takes longer"),
                                                               cl::sub(reduceCommand()));
static cl::opt<std::string> message("message", cl::value_desc("text"),
                                    cl::desc("Of messages, those that hold this text are the same"),
                                    cl::sub(reduceCommand()));
static cl::opt<double, false, SecondsParser> timeout("timeout", cl::init(60), cl::value_desc("seconds"),
                                                     cl::desc("What takes longer hangs; 60 unless told"),
                                                     cl::sub(reduceCommand()));
static cl::opt<double, false, SecondsParser>
    timeLimit("time-limit", cl::init(600), cl::value_desc("seconds"),
              cl::desc("Stop then, with the smallest one so far; 600 unless told"), cl::sub(reduceCommand()));
static cl::list<std::string> reducedInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                           cl::desc("An input, or several from an .npz; others are drawn"),
                                           cl::sub(reduceCommand()));
static cl::opt<unsigned> reducedSeed("seed", cl::init(0), cl::value_desc("number"), cl::desc("Draws other inputs"),
                                     cl::sub(reduceCommand()));
static cl::opt<std::string> reducedBound("tolerance", cl::value_desc("relative[,absolute]"),
                                         cl::desc("What an element may be off: as check has it"),
                                         cl::sub(reduceCommand()));

namespace {
using importer::ModelEdits;
using Kind = Symptom::Kind;
using Clock = std::chrono::steady_clock;

/// Values of more bytes than this are drawn anew for each candidate instead of being the model's own.
constexpr int64_t kMemory = int64_t(1) << 30;

int refuse(const std::string &why) {
  printMessage("error: " + why);
  return 1;
}

/// What the command line said, before a compile resets it.
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

  /// Of the model, as far as they are known.
  Values values;
  Symptom wanted;
  /// The smallest so far, and its arrays, those of its inputs that can be in a file.
  std::string best;
  Values feeds;
  size_t bestNodes = 0;
  int tried = 0;
  std::set<uint64_t> seen;
  std::string problem;
};

void Reduction::progress() const {
  if (isatty(STDERR_FILENO))
    llvm::errs() << "\r\033[Khewn: " << bestNodes << (bestNodes == 1 ? " node, " : " nodes, ") << tried << " tried ...";
}

/// What the bytes of a model show. Nothing where that was not found out.
std::optional<Symptom> Reduction::show(const std::string &bytes, const Values &given, const Symptom *like) {
  std::string why, arrays = Probe::arraysBeside(candidateFile());
  // Of those that it still has.
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

/// Takes a candidate for the smallest, and writes it: whatever ends this program, it is there.
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
    llvm::sys::fs::remove(Probe::arraysBeside(said.output)); // of a larger one, whose inputs are gone
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

/// Makes single nodes of it smaller, and bodies.
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
      i -= std::min(i, before - std::min(before, edits->count())); // what was the next one
    }
  }
}

/// The array without the elements behind a dim's new size.
Array cut(const Array &from, int64_t size, int64_t other) {
  Array made = from;
  std::vector<int64_t> kept = ModelEdits::keptElements(made.shape, size, other);
  int64_t bytes = from.elementBytes();
  made.bytes.resize(kept.size() * size_t(bytes));
  for (size_t i = 0; i < kept.size(); ++i)
    std::memcpy(made.bytes.data() + int64_t(i) * bytes, from.bytes.data() + kept[i] * bytes, size_t(bytes));
  return made;
}

/// Makes dims smaller: all that have one size, in all that has it.
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
    bytes = best; // dims that only the arrays have
  }
  uint64_t key = llvm::xxh3_64bits(bytes);
  for (const auto &[name, array] : smaller)
    key = key * 31 + llvm::xxh3_64bits(llvm::StringRef(array.bytes.data(), array.bytes.size()));
  if (!seen.insert(key).second)
    return false;
  std::optional<Symptom> symptom = show(bytes, smaller, &wanted);
  return symptom && symptom->isLike(wanted) && keep(bytes, *symptom);
}

/// What shows it again.
std::string Reduction::again() const {
  std::string model = shellWord(said.output), arrays = shellWord(Probe::arraysBeside(said.output));
  if (wanted.kind == Kind::Command)
    return probe.commandFor(said.output);
  CompileFlags flags = said.question.flags;
  llvm::erase_if(flags.dims, [&](const std::string &binding) { // of dims that are gone
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
  if (isatty(STDERR_FILENO))
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
                 << (interrupt.happened() ? "; it was interrupted"
                     : isLate()           ? "; --time-limit was reached, there may be a smaller one"
                                          : "")
                 << "\nagain: " << again() << "\n";
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
    return refuse("no node makes an output of the model: there is nothing to reduce");
  if (!graph->serialize(parts.whole(outputs), /*whole=*/true, nullptr, bytes, problem))
    return refuse(problem);
  // A command gets all inputs that can be had, from the begin.
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
               ? (interrupt.happened() ? kInterrupted : refuse("--time-limit was reached before anything was found"))
               : refuse(problem);
  if (first->kind == Kind::Unusable)
    return refuse(printable(first->text()));
  if (first->kind == Kind::None) {
    if (!said.question.command.empty())
      return refuse("the command does not end with status 0 on the model: there is nothing to reduce");
    return refuse("the model " + printable(first->text()) + ": there is nothing to reduce");
  }
  Kind asked = said.question.isTimed()            ? Kind::SlowRun
               : said.question.compileSeconds > 0 ? Kind::SlowCompile
                                                  : first->kind;
  if (first->kind != asked)
    return refuse("the model " + printable(first->text()) + ": what it takes can't be told");
  if (!said.question.message.empty() && (first->kind != Kind::Error || first->gist != said.question.message))
    return refuse("the model " + printable(first->text()) + ", where --message wants '" +
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

/// False after an error: what --slower-than says.
bool readBounds(const std::string &text, Question &question) {
  if (text.empty())
    return true;
  llvm::StringRef number = text;
  double &bound = number.consume_back("x") ? question.runTimes : question.runMilliseconds;
  number.consume_back("ms");
  if (!number.getAsDouble(bound) && bound > 0)
    return true;
  llvm::errs() << "error: --slower-than wants milliseconds, or a factor of -O0's time as 0.5x, not '" << text << "'\n";
  return false;
}

/// What is wrong with files that are written; empty where nothing is.
std::string whyNotWritten(const ReduceArguments &said) {
  if (llvm::sys::path::extension(said.output) == ".npz")
    return "-o wants a file for a model; '" + said.output + "' is one for arrays";
  for (const std::string &written : {said.output, Probe::arraysBeside(said.output)}) {
    if (std::string why = whyNotWritable(written); !why.empty())
      return "can't write '" + written + "': " + why;
    std::vector<std::string> read = {said.path};
    for (const std::string &input : said.inputs)
      read.push_back(
          llvm::StringRef(input).rsplit('=').second.empty() ? input : llvm::StringRef(input).rsplit('=').second.str());
    for (const std::string &file : read)
      if (file == written || llvm::sys::fs::equivalent(file, written))
        return "-o would write over '" + file + "', which is read";
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
    llvm::errs() << "error: --tolerance wants RELATIVE or RELATIVE,ABSOLUTE, not '" << said.bound << "'\n";
    return 2;
  }
  question.tolerance.productStep = productStep(parsePrecision(question.flags.precision).value_or(Precision::Highest));
  if (!readBounds(said.slower, question))
    return 2;
  if (!question.command.empty() && !llvm::StringRef(question.command).contains("{}")) {
    llvm::errs() << "error: --if wants {} in its command, where the model's file goes\n";
    return 2;
  }
  if (int(!question.command.empty()) + int(question.isTimed()) + int(question.compileSeconds > 0) +
          int(!question.message.empty()) >
      1) {
    llvm::errs()
        << "error: --if, --slower-than, --compile-slower-than and --message each say what is looked for: give one\n";
    return 2;
  }
  if (std::string why = whyNotWritten(said); !why.empty())
    return refuse(why);
  if (llvm::sys::path::extension(said.path) == ".mlir")
    return refuse("reduce takes ONNX models, not the text of a stage: mlir-reduce is for that");
  std::vector<std::pair<std::string, Array>> arrays;
  if (!readArrays(said.inputs, arrays))
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
