// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Reduce/Probe.h"
#include "lib/Support/JsonWriter.h"
#include "tools/hewn/Check/CheckInputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <csignal>
#include <cstdlib>

namespace json = llvm::json;

namespace hewn::tool {

namespace {
using Kind = Symptom::Kind;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Returns the first line of a message, without quoted text and with all numbers replaced by 0.
/// Quoted names and numbers may differ when the model gets smaller, although the error is the same.
std::string gistOf(llvm::StringRef message) {
  std::string gist;
  bool quoted = false;
  char before = ' ';
  for (char c : message.split('\n').first) {
    // An apostrophe inside of a word does not start a quotation.
    bool isMark = c == '\'' && (quoted || !llvm::isAlnum(before));
    before = c;
    if (isMark)
      quoted = !quoted;
    else if (!quoted && (!llvm::isDigit(c) || !llvm::StringRef(gist).ends_with("0")))
      gist += llvm::isDigit(c) ? '0' : c;
  }
  return gist;
}

/// Parses one JSON object per line and merges them; later lines override earlier ones.
json::Object fieldsOf(llvm::StringRef told) {
  json::Object all;
  llvm::SmallVector<llvm::StringRef> lines;
  told.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    llvm::Expected<json::Value> value = json::parse(line); // the last line may be truncated
    if (!value)
      llvm::consumeError(value.takeError());
    else if (json::Object *object = value->getAsObject())
      for (auto &[key, field] : *object)
        all[key] = field;
  }
  return all;
}

void tellField(const Tell &tell, const std::string &key, json::Value value) {
  tell(llvm::formatv("{0}\n", json::Value(json::Object{{key, std::move(value)}})).str());
}

std::string whereText(const std::string &phase) {
  return phase == "compile" ? "when it is compiled" : phase == "run" ? "when it is run" : "in the reference";
}

} // namespace

const char *nameOf(Kind kind) {
  static const char *const names[] = {"none", "wrong",        "crash",   "hang",    "error",
                                      "slow", "slow compile", "command", "unusable"};
  return names[int(kind)];
}

bool Symptom::isLike(const Symptom &other) const {
  return kind == other.kind && phase == other.phase && signal == other.signal && gist == other.gist;
}

std::string Symptom::text() const {
  switch (kind) {
  case Kind::None:
    return "compiles, runs, and agrees with the reference";
  case Kind::Wrong:
    return "differs from -O0 in " + llvm::join(outputs, ", ");
  case Kind::Crash:
    return "crashes " + whereText(phase) + " (signal " + std::to_string(signal) + ", " + strsignal(signal) + ")" +
           (message.empty() ? "" : ": " + message);
  case Kind::Hang:
    return "does not end " + whereText(phase);
  case Kind::Error:
    return "fails " + whereText(phase) + ": " + message;
  case Kind::SlowRun:
    return llvm::formatv("takes {0:f3} ms a run", measured).str() +
           (reference > 0 ? llvm::formatv(", -O0 {0:f3} ms", reference).str() : "");
  case Kind::SlowCompile:
    return llvm::formatv("compiles in {0:f2} s", measured);
  case Kind::Command:
    return "matches the command";
  case Kind::Unusable:
    return message;
  }
  return "";
}

std::string Probe::arraysBeside(const std::string &model) {
  llvm::SmallString<128> beside(model);
  llvm::sys::path::replace_extension(beside, ".npz");
  return beside.str().str();
}

std::string Probe::commandFor(const std::string &model) const {
  std::string made, word = shellWord(model);
  llvm::StringRef rest = question.command;
  while (!rest.empty()) {
    auto [before, after] = rest.split("{}");
    made += before.str();
    if (before.size() != rest.size())
      made += word;
    rest = after;
  }
  return made;
}

//===------------------------------------------------------------------------------------------===//
// In the child
//===------------------------------------------------------------------------------------------===//

namespace {

/// Compiles and runs a candidate.
class Look {
public:
  Look(const Question &question, const std::string &path, const Symptom *wanted, bool drawsAlone, const Tell &tell)
      : question(question), path(path), wanted(wanted), drawsAlone(drawsAlone), tell(tell) {}
  void run();

private:
  void enter(const char *phase) { tellField(tell, "phase", phase); }
  void unusable(const std::string &why) { tellField(tell, "unusable", jsonText(why)); }
  bool findInputs(const hewn_model &made);
  void time();
  void judge();
  Loaded *naive(std::string &problem);

  const Question &question;
  const std::string &path;
  const Symptom *wanted;
  /// True if the compiled model, not the reference, decides which generated inputs a run accepts.
  bool drawsAlone;
  const Tell &tell;
  std::unique_ptr<ModelGraph> graph;
  std::optional<Parts> parts;
  std::unique_ptr<Loaded> artifact, reference;
  ModelGraph::Part part;
  Values inputs, results;
};

Loaded *Look::naive(std::string &problem) {
  if (!reference)
    reference = parts->compile(part, /*naive=*/true, 0, problem);
  return reference.get();
}

/// Generates the missing inputs, and writes all inputs to the .npz file of the model. Returns false
/// if no run accepts any of the generated inputs.
bool Look::findInputs(const hewn_model &made) {
  std::vector<std::pair<std::string, Array>> arrays;
  std::string problem, beside = Probe::arraysBeside(path);
  if (llvm::sys::fs::exists(beside) && !readNpz(beside, arrays, problem))
    return unusable(problem), false;
  for (auto &[name, array] : arrays)
    if (artifact->inputNamed(name) >= 0)
      inputs[name] = std::move(array);
  bool hasAll = true;
  for (int i = 0; i < made.num_inputs; ++i) {
    hasAll &= inputs.count(made.inputs[i].name) > 0;
    if (!parts->info(made.inputs[i].name)->isTensor)
      return unusable("input '" + std::string(made.inputs[i].name) +
                      "' is a string tensor, a sequence or an optional value, which cannot be generated or read"),
             false;
  }
  if (hasAll)
    return true;
  enter(drawsAlone ? "run" : "reference");
  auto keep = [&] {
    std::string why;
    arrays.clear();
    for (const auto &[name, array] : inputs)
      if (isStorable(array.type))
        arrays.push_back({name, array});
    return writeNpz(beside, arrays, why) || (unusable(why), false);
  };
  auto choose = [&](const Values &) -> Loaded * {
    if (!drawsAlone)
      return naive(problem);
    return keep() ? artifact.get() : nullptr; // writes the inputs before a run that may crash or hang
  };
  if (!drawInputs(*parts, made, choose, question.seed, inputs, results, problem))
    return unusable("found no inputs that the model accepts; the first error: " + problem), false;
  return keep();
}

void Look::run() {
  enter("compile");
  Clock::time_point begin = Clock::now();
  CompileJob job;
  job.path = path;
  job.name = "model";
  std::string problem;
  artifact = Loaded::compile(job, question.flags, llvm::errs(), &problem);
  tellField(tell, "compiled", since(begin));
  if (!artifact)
    return tellField(tell, "error", jsonText(problem));
  if (question.compileSeconds > 0 || (wanted && wanted->phase == "compile"))
    return;
  Diagnostics diagnostics;
  graph = ModelGraph::load(path, diagnostics);
  if (!graph)
    return unusable("the model cannot be read again");
  parts.emplace(*graph, question.flags, question.tolerance, nullptr, question.seed);
  parts->learn(*artifact);
  Names outputs;
  for (const std::string &name : graph->outputs())
    if (const ValueInfo *form = parts->info(name); form && form->isTensor && !llvm::is_contained(outputs, name))
      outputs.push_back(name);
  part = parts->whole(outputs);
  if (!findInputs(artifact->model()))
    return;
  enter("run");
  results.clear();
  hewn_status status = parts->run(*artifact, inputs, 0, results);
  if (status.code != HEWN_OK)
    return tellField(tell, "error", jsonText(status.message));
  if (question.isTimed())
    time();
  else if (!wanted || wanted->kind == Kind::Wrong)
    judge();
}

/// Returns the time in milliseconds of the fastest of several runs, because other load on the
/// machine only makes runs slower.
static double fastest(const Parts &parts, Loaded &loaded, const Values &inputs) {
  double best = 0;
  Clock::time_point begin = Clock::now();
  for (int i = 0; i < 3 || (i < 100 && since(begin) < 0.3); ++i) {
    Values results;
    Clock::time_point start = Clock::now();
    if (parts.run(loaded, inputs, 0, results).code != HEWN_OK)
      return 0;
    best = i == 0 ? since(start) : std::min(best, since(start));
  }
  return best * 1e3;
}

void Look::time() {
  tellField(tell, "milliseconds", fastest(*parts, *artifact, inputs));
  std::string problem;
  if (question.runTimes > 0) {
    enter("reference");
    Loaded *other = naive(problem);
    if (!other)
      return unusable(problem);
    tellField(tell, "reference", fastest(*parts, *other, inputs));
  }
}

void Look::judge() {
  enter("judge");
  std::string problem;
  std::optional<Judgement> judgement = parts->judge(part, inputs, results, problem);
  if (!judgement)
    return unusable("the reference fails on inputs that the compiled model accepts: " + problem);
  json::Array differing;
  for (const std::string &name : part.outputs)
    if (auto found = judgement->found.find(name);
        found != judgement->found.end() && found->second.kind == Difference::Kind::Differs)
      differing.push_back(jsonText(name));
  tellField(tell, "differs", std::move(differing));
}

} // namespace

void Probe::lookHere(const std::string &path, const Symptom *wanted, bool drawsAlone, const Tell &tell) const {
  if (question.command.empty()) {
    Look(question, path, wanted, drawsAlone, tell).run();
    return;
  }
  execl("/bin/sh", "sh", "-c", commandFor(path).c_str(), nullptr);
  std::_Exit(127);
}

/// Prefix of the JSON keys that hold the type and dims of a value.
static const std::string kForm = "form of ";

/// Computes the values of the first `nodes` nodes, writes them to a file, and reports their types
/// and dims.
void Probe::learnHere(const ModelGraph &graph, size_t nodes, const Values &given, const Tell &tell) const {
  Parts parts(graph, question.flags, question.tolerance, nullptr, question.seed);
  ModelGraph::Part part;
  for (size_t i = 0; i < nodes; ++i) {
    part.nodes.push_back(int(i));
    for (const std::string &value : graph.nodes()[i].outputs)
      if (!graph.isConstant(value))
        part.outputs.push_back(value);
  }
  std::string problem;
  std::unique_ptr<Loaded> all = parts.compile(part, /*naive=*/true, 0, problem);
  if (!all)
    return tellField(tell, "unusable", jsonText(problem));
  parts.learn(*all);
  Names names(graph.inputs());
  llvm::append_range(names, part.outputs);
  for (const std::string &name : names)
    if (const ValueInfo *form = parts.info(name)) {
      json::Array dims;
      for (const std::string &dim : form->dims)
        dims.push_back(jsonText(dim));
      tellField(tell, json::fixUTF8(kForm + name),
                json::Array{int(form->type.code), int(form->type.bits), form->isTensor, std::move(dims)});
    }
  auto choose = [&](const Values &inputs) -> Loaded * {
    int64_t left = question.memory;
    for (auto &[name, size] : outputBytes(*all, inputs))
      left -= std::min(size, question.memory);
    // Null if the values exceed the memory limit: then only their types and dims are reported.
    return left < 0 ? nullptr : all.get();
  };
  Values inputs = given, results;
  if (!drawInputs(parts, all->model(), choose, question.seed, inputs, results, problem))
    return;
  problem.clear();
  results.insert(inputs.begin(), inputs.end());
  std::vector<std::pair<std::string, Array>> arrays;
  for (auto &[name, array] : results)
    if (isStorable(array.type))
      arrays.push_back({name, std::move(array)});
  (void)writeNpz(valuesFile(), arrays, problem);
}

//===------------------------------------------------------------------------------------------===//
// In the parent
//===------------------------------------------------------------------------------------------===//

/// Returns the symptom that the child process reported.
static Symptom symptomOf(const Question &question, const json::Object &told) {
  Symptom symptom;
  symptom.phase = told.getString("phase").value_or("compile").str();
  double compiled = told.getNumber("compiled").value_or(0);
  if (auto why = told.getString("unusable")) {
    symptom.kind = Kind::Unusable;
    symptom.message = why->str();
  } else if (auto error = told.getString("error")) {
    symptom.kind = Kind::Error;
    symptom.message = error->ltrim().str();
    if (llvm::StringRef(symptom.message).starts_with("error: "))
      symptom.message.erase(0, strlen("error: "));
    bool isAsked = !question.message.empty() && llvm::StringRef(symptom.message).contains(question.message);
    symptom.gist = isAsked ? question.message : gistOf(symptom.message);
  } else if (question.compileSeconds > 0) {
    symptom.kind = compiled > question.compileSeconds ? Kind::SlowCompile : Kind::None;
    symptom.measured = compiled;
  } else if (question.isTimed()) {
    symptom.measured = told.getNumber("milliseconds").value_or(0);
    symptom.reference = told.getNumber("reference").value_or(0);
    bool isSlow = question.runTimes > 0
                      ? symptom.reference > 0 && symptom.measured > question.runTimes * symptom.reference
                      : symptom.measured > question.runMilliseconds;
    symptom.kind = isSlow ? Kind::SlowRun : Kind::None;
    symptom.phase = "run";
  } else if (const json::Array *differing = told.getArray("differs"); differing && !differing->empty()) {
    symptom.kind = Kind::Wrong;
    for (const json::Value &name : *differing)
      symptom.outputs.push_back(name.getAsString().value_or("").str());
  }
  return symptom;
}

std::optional<Symptom> Probe::look(const std::string &path, const Symptom *wanted,
                                   llvm::function_ref<bool()> stop) const {
  // The reference does not run if only the time matters, since it is many times slower. It does not
  // run for crashes and hangs either, since it may have them, too.
  bool drawsAlone = question.isTimed() || (wanted && (wanted->kind == Kind::Crash || wanted->kind == Kind::Hang));
  std::optional<Symptom> symptom = lookOnce(path, wanted, drawsAlone, stop);
  if (symptom && !wanted && !drawsAlone && symptom->kind == Kind::Unusable && symptom->phase == "reference")
    return lookOnce(path, wanted, /*drawsAlone=*/true, stop);
  return symptom;
}

std::optional<Symptom> Probe::lookOnce(const std::string &path, const Symptom *wanted, bool drawsAlone,
                                       llvm::function_ref<bool()> stop) const {
  ChildEnd end = runInChild(
      question.timeout, scratch(), [&](const Tell &tell) { lookHere(path, wanted, drawsAlone, tell); }, stop);
  if (end.how == ChildEnd::How::Stopped)
    return std::nullopt;
  Symptom symptom;
  if (end.how == ChildEnd::How::NotStarted) {
    symptom.kind = Kind::Unusable;
    symptom.message = std::string("cannot start a process: ") + strerror(end.number);
  } else if (!question.command.empty()) {
    bool exited = end.how == ChildEnd::How::Exited;
    symptom.kind = exited && end.number == 0 ? Kind::Command : Kind::None;
    // Statuses from 126 on mean that the shell cannot run the user's command.
    if (exited && end.number >= 126)
      symptom = {Kind::Unusable, "", 0, "the command cannot be run: " + gistOf(end.errors), "", {}, 0, 0};
  } else if (end.how == ChildEnd::How::Exited) {
    symptom = symptomOf(question, fieldsOf(end.told));
  } else {
    symptom.phase = fieldsOf(end.told).getString("phase").value_or("compile").str();
    bool ofReference = symptom.phase == "reference" || symptom.phase == "judge";
    bool isTimeout = end.how == ChildEnd::How::Timeout;
    symptom.kind = ofReference ? Kind::Unusable : isTimeout ? Kind::Hang : Kind::Crash;
    symptom.signal = isTimeout ? 0 : end.number;
    if (ofReference)
      symptom.message =
          std::string("the reference (-O0) ") + (isTimeout ? "takes longer than --timeout" : "crashes: try -O0");
    else if (symptom.signal == SIGABRT) { // the first line names the assertion
      symptom.message = llvm::StringRef(end.errors).split('\n').first.str();
      symptom.gist = gistOf(symptom.message);
    }
  }
  return symptom;
}

void Probe::learn(const ModelGraph &graph, const Values &inputs, llvm::function_ref<bool()> stop, Parts &parts,
                  Values &values) const {
  json::Object best;
  bool crashed = false;
  // Runs the reference for the first `nodes` nodes in a child process. Returns true if the child
  // reports the types and dims of their values and, if `asksValues` is true, also the values.
  auto isKnown = [&](size_t nodes, bool asksValues) {
    ChildEnd end =
        runInChild(question.timeout, scratch(), [&](const Tell &tell) { learnHere(graph, nodes, inputs, tell); }, stop);
    json::Object told = fieldsOf(end.told);
    // A child process reports types and dims before it runs the reference, so they are known even
    // if the run crashes.
    bool hasForms = !told.empty() && !told.get("unusable"), ran = end.how == ChildEnd::How::Exited;
    if (hasForms && !asksValues)
      best = std::move(told);
    crashed = !ran;
    std::vector<std::pair<std::string, Array>> arrays;
    std::string ignored;
    if (ran && llvm::sys::fs::exists(valuesFile()) && readNpz(valuesFile(), arrays, ignored))
      for (auto &[name, array] : arrays)
        values[name] = std::move(array);
    (void)llvm::sys::fs::remove(valuesFile());
    return asksValues ? ran : hasForms;
  };
  auto mostKnown = [&](size_t nodes, bool asksValues) {
    size_t known = 0, unknown = nodes;
    while (unknown - known > 1 && !stop()) {
      size_t middle = known + (unknown - known) / 2;
      (isKnown(middle, asksValues) ? known : unknown) = middle;
    }
    return known;
  };
  size_t nodes = graph.nodes().size();
  if (!isKnown(nodes, /*asksValues=*/false))
    nodes = mostKnown(nodes, /*asksValues=*/false);
  if (crashed)
    (void)mostKnown(nodes, /*asksValues=*/true);
  for (auto &[name, field] : best)
    if (const json::Array *form = field.getAsArray(); form && form->size() == 4) {
      ValueInfo info{
          {uint8_t((*form)[0].getAsInteger().value_or(0)), uint8_t((*form)[1].getAsInteger().value_or(0)), 1},
          {},
          (*form)[2].getAsBoolean().value_or(false)};
      if (const json::Array *dims = (*form)[3].getAsArray())
        for (const json::Value &dim : *dims)
          info.dims.push_back(dim.getAsString().value_or("").str());
      parts.learn(name.str().substr(kForm.size()), std::move(info));
    }
}

} // namespace hewn::tool
