// SPDX-License-Identifier: Apache-2.0
//
// Determines the symptom of a model: compiles and runs its file in a child process.
#ifndef HEWN_TOOLS_HEWN_REDUCE_PROBE_H
#define HEWN_TOOLS_HEWN_REDUCE_PROBE_H

#include "lib/Tools/Models/ChildProcess.h"
#include "tools/hewn/Check/CheckParts.h"

namespace hewn::tool {

struct Symptom {
  enum class Kind {
    None,        // compiles, runs, and agrees with the reference
    Wrong,       // an output differs from the reference
    Crash,       // ended by a signal
    Hang,        // takes longer than --timeout
    Error,       // an error message of the compiler or of a run
    SlowRun,     // a run takes longer than --slower-than
    SlowCompile, // compilation takes longer than --compile-slower-than
    Command,     // the user's command succeeded
    Unusable,    // the symptom cannot be determined; `message` says why
  } kind = Kind::None;
  /// Phase in which the symptom appears: "compile" or "run" of the candidate; "reference" or
  /// "judge" if computing the reference or comparing the candidate with it failed.
  std::string phase;
  int signal = 0;
  /// The full error message, and its gist: the message without names and numbers.
  std::string message, gist;
  /// The names of the outputs that differ from the reference.
  Names outputs;
  /// Time of a run in milliseconds or of a compilation in seconds, and time of a run of the
  /// reference in milliseconds.
  double measured = 0, reference = 0;

  bool isLike(const Symptom &other) const;
  /// Returns a description, for example "crashes when it is compiled (signal 11)".
  std::string text() const;
};

/// Returns the name of a symptom: "wrong", "crash", ...
const char *nameOf(Symptom::Kind kind);

/// The symptom that the reduction preserves, and how to detect it.
struct Question {
  CompileFlags flags;
  Tolerance tolerance;
  uint64_t seed = 0;
  int64_t memory = 0;
  /// Time in seconds after which the compilation or run of a candidate counts as hanging.
  double timeout = 0;
  /// Time bounds, 0 for none: a run in milliseconds, a run as a multiple of the reference's time,
  /// and a compilation in seconds.
  double runMilliseconds = 0, runTimes = 0, compileSeconds = 0;
  /// Shell command, in which {} is the model file. If empty, hewn compiles and runs the model.
  std::string command;
  /// Substring of the error message that identifies the error. If it is empty, an error counts as
  /// the same if its gist, the message without names and numbers, is equal.
  std::string message;

  bool isTimed() const { return runMilliseconds > 0 || runTimes > 0; }
};

class Probe {
public:
  Probe(Question question, std::string folder) : question(std::move(question)), folder(std::move(folder)) {}

  /// Returns the path of the .npz file with the inputs of a model.
  static std::string arraysBeside(const std::string &model);
  /// Returns the user's command for a model file.
  std::string commandFor(const std::string &model) const;

  /// Compiles and runs the model in `path` on the inputs in its .npz file, to which missing inputs
  /// are added. `wanted` is the symptom to search for, or null. Returns nullopt if `stop` returned
  /// true.
  std::optional<Symptom> look(const std::string &path, const Symptom *wanted, llvm::function_ref<bool()> stop) const;

  /// Computes by the reference the types, dims and values of the nodes of `graph`, up to the first
  /// node for which that fails, and stores them in `parts` and `values`. `inputs` are the given
  /// inputs.
  void learn(const ModelGraph &graph, const Values &inputs, llvm::function_ref<bool()> stop, Parts &parts,
             Values &values) const;

private:
  std::optional<Symptom> lookOnce(const std::string &path, const Symptom *wanted, bool drawsAlone,
                                  llvm::function_ref<bool()> stop) const;
  void lookHere(const std::string &path, const Symptom *wanted, bool drawsAlone, const Tell &tell) const;
  void learnHere(const ModelGraph &graph, size_t nodes, const Values &inputs, const Tell &tell) const;
  std::string scratch() const { return folder + "/child"; }
  std::string valuesFile() const { return folder + "/values.npz"; }

  Question question;
  std::string folder;
};

} // namespace hewn::tool

#endif
