// SPDX-License-Identifier: Apache-2.0
//
// Tunes a model: measures schedules of its kernels on this machine and writes those that are faster
// than the compiler's choice to a tuning file (lib/Schedule/Tuning.h).
#ifndef HEWN_LIB_TOOLS_TUNE_TUNE_H
#define HEWN_LIB_TOOLS_TUNE_TUNE_H

#include "lib/Tools/Tune/Search.h"
#include "llvm/Support/JSON.h"

namespace hewn::tool {

struct TuneOptions {
  /// Path of the model.
  std::string model;
  /// Arrays for inputs, as "name=file.npy" or "file.npz". Other inputs have fixed values.
  std::vector<std::string> inputs;
  /// `flags.tunings` are tuning files whose search is continued. `flags.remarks` must be empty.
  CompileFlags flags;
  /// Path of the tuning file to write, or empty.
  std::string output;
  /// Duration of the search.
  double seconds = 60;
  SearchPart part;
};

struct TuneResult : SearchResult {
  SearchPart part;
  /// Returns the result in JSON (docs/reference/json.md, tune).
  llvm::json::Object record() const;
  /// Writes the result as text.
  void print(llvm::raw_ostream &os) const;
};

/// Tunes a model until the time is over or `stop` returns true. Writes progress and warnings to
/// `messages`, and the tuning file at the end. A search that is stopped before its first
/// measurement keeps the existing file. Forks, so this process must not have compiled anything
/// before (ChildProcess.h). Returns an `OptionError` if the options do not allow to tune the model
/// here, and a failure if a file cannot be read or written or nothing could be measured.
llvm::Expected<TuneResult> tune(const TuneOptions &options, llvm::function_ref<bool()> stop,
                                llvm::raw_ostream &messages);

struct MergeResult {
  std::vector<std::string> merged;
  size_t rows = 0;
  /// Returns the result in JSON (docs/reference/json.md, tune).
  llvm::json::Object record() const;
};

/// Merges tuning files into the file `output`, which keeps the best schedule of each kernel. Writes
/// warnings about the files to `messages`. Returns the errors of all files.
llvm::Expected<MergeResult> mergeTunings(const std::vector<std::string> &files, const std::string &output,
                                         llvm::raw_ostream &messages);

} // namespace hewn::tool

#endif
