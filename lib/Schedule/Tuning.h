// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes tuning files, which contain measured schedules by target and kernel. A kernel is
// identified by the properties that the choice of its schedule depends on, not by its name. The
// tuning of one model therefore applies to other models with such kernels, and files are merged by
// concatenating their rows (docs/tutorials/tuning.md).
#ifndef HEWN_LIB_SCHEDULE_TUNING_H
#define HEWN_LIB_SCHEDULE_TUNING_H

#include "lib/Support/Diagnostics.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace hewn::plan {

/// The set of those candidate schedules of a kernel that `hewn tune` has measured. Candidates are
/// identified by their index in the compiler's list. The cost model's choice has index 0 and is
/// always in the set.
class TriedCandidates {
public:
  TriedCandidates() = default;
  /// Creates a set of the first `count` candidate schedules, at least one.
  explicit TriedCandidates(int64_t count) : first(std::max<int64_t>(count, 1)) {}
  void add(int64_t place);
  void add(const TriedCandidates &other);
  bool has(int64_t place) const { return place < first || beyond.count(place) > 0; }
  int64_t count() const { return first + int64_t(beyond.size()); }
  /// Which candidate schedules were measured. `withoutGap`: number of candidates before the first
  /// one that was not measured. `behindGaps`: indices of the measured candidates after it. A search
  /// that is divided over several runs leaves gaps.
  int64_t withoutGap() const { return first; }
  const std::set<int64_t> &behindGaps() const { return beyond; }

private:
  int64_t first = 1;
  std::set<int64_t> beyond; // contains only indices above `first`
};

/// A row of a tuning file: the fastest known schedule of a kernel on a target, and the schedule
/// that the cost model chooses.
struct TuningRow {
  /// Identifiers of the target (target::identity) and of the kernel (codegen::Tunable::key).
  std::string machine, kernel;
  /// The fastest schedule and the cost model's choice, as attributes in MLIR's syntax. The two are
  /// equal if no other candidate was faster.
  std::string schedule, model;
  /// Measured times of the kernel with `schedule` and with `model`, in microseconds.
  double microseconds = 0, modelMicroseconds = 0;
  TriedCandidates tried;
  /// Name of the CPU or GPU on which the times were measured.
  std::string processor;

  /// Returns the time of the row's schedule divided by the time of the cost model's choice, at most
  /// 1.
  double ratio() const { return microseconds / modelMicroseconds; }
  /// Returns the row as a line of the tuning file.
  std::string text() const;
};

class Tuning {
public:
  /// Adds the rows of a tuning file. `given` is the text of the file if it starts with a brace,
  /// otherwise its path. Returns false after an error, which names the line. Errors are invalid
  /// JSON, an invalid row or schedule, and an impossible time: 0, or less than a thousandth of the
  /// time of the cost model's choice.
  bool read(llvm::StringRef given, Diagnostics &diagnostics);
  /// Adds a row to the tuning. If there is already a row for this kernel and target, the one with
  /// the lower ratio of times is kept, and gets the measured candidates of both. The result does
  /// not depend on the order of additions.
  void add(TuningRow row);
  /// Adds all rows of another tuning file.
  void add(const Tuning &other);
  /// Returns the tuning row of a kernel on a target, or null if there is none.
  const TuningRow *find(llvm::StringRef machine, llvm::StringRef kernel) const;
  /// Returns the targets that occur in the tuning rows, each once.
  std::vector<std::string> machines() const;
  size_t size() const { return rows.size(); }
  /// Returns the text of the tuning file. The text does not depend on the order in which rows were
  /// added.
  std::string text() const;

private:
  std::map<std::pair<std::string, std::string>, TuningRow> rows;
};

} // namespace hewn::plan

#endif
