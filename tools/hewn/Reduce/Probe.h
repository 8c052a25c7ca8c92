// SPDX-License-Identifier: Apache-2.0
//
// What a model shows when it is compiled and run: in a process of its own, by its file, as a user would.
#ifndef HEWN_TOOLS_HEWN_REDUCE_PROBE_H
#define HEWN_TOOLS_HEWN_REDUCE_PROBE_H

#include "tools/hewn/Check/CheckParts.h"
#include "tools/hewn/Reduce/ChildProcess.h"

namespace hewn::tool {

struct Symptom {
  enum class Kind {
    None,        // it compiles, runs, and gives what the reference gives
    Wrong,       // an output differs from the reference's
    Crash,       // a signal
    Hang,        // longer than the bound
    Error,       // a message: of the compiler, or of a run
    SlowRun,     // above the bound that was given
    SlowCompile, // the same
    Command,     // the user's command says yes
    Unusable,    // nothing can be told, and why
  } kind = Kind::None;
  /// Where: "compile", "run"; or of the reference, "reference", "judge".
  std::string phase;
  int signal = 0;
  /// The message as it was, and without what names and counts.
  std::string message, gist;
  /// The outputs that differ.
  Names outputs;
  /// Milliseconds of a run, seconds of a compile; the reference's milliseconds.
  double measured = 0, reference = 0;

  bool isLike(const Symptom &other) const;
  /// "crashes when it is compiled (signal 11)"
  std::string text() const;
};

/// "wrong", "crash", ...
const char *nameOf(Symptom::Kind kind);

/// What is looked for and by which means.
struct Question {
  CompileFlags flags;
  Tolerance tolerance;
  uint64_t seed = 0;
  int64_t memory = 0;
  /// A candidate's seconds.
  double timeout = 0;
  /// Bounds; 0: none. A run's in milliseconds, or in times of the reference's.
  double runMilliseconds = 0, runTimes = 0, compileSeconds = 0;
  /// A shell's command, in which {} is the model's file; empty: hewn itself is looked at.
  std::string command;
  /// Part of an error's text; empty: the whole gist.
  std::string message;

  bool isTimed() const { return runMilliseconds > 0 || runTimes > 0; }
};

class Probe {
public:
  Probe(Question question, std::string folder) : question(std::move(question)), folder(std::move(folder)) {}

  /// Where a model's inputs are, beside it.
  static std::string arraysBeside(const std::string &model);
  /// The command that is run on a file.
  std::string commandFor(const std::string &model) const;

  /// Compiles and runs the model in `path`, on the arrays beside it, which are completed there. `wanted`: what is looked for, null where that is not
  /// known. Nothing where it was stopped.
  std::optional<Symptom> look(const std::string &path, const Symptom *wanted, llvm::function_ref<bool()> stop) const;

  /// Forms and values of what the first nodes of `graph` give, as the reference has them, as many nodes as that can be had of: put into `parts`
  /// and `values`. `inputs`: those that are there already.
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
