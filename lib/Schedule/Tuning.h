// SPDX-License-Identifier: Apache-2.0
//
// A tuning: schedules that were measured, by machine and kernel. Rows are found by what a decision depends on, never by names, so that a
// tuning of one model serves others, and two are merged by putting their rows together (docs/tutorials/tuning.md).
#ifndef HEWN_LIB_SCHEDULE_TUNING_H
#define HEWN_LIB_SCHEDULE_TUNING_H

#include "lib/Support/Diagnostics.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace hewn::plan {

/// Which of a kernel's candidates were measured, by their places in the compiler's order; the model's choice has the place 0 and always was.
class TriedCandidates {
public:
  TriedCandidates() = default;
  /// The first ones, at least one.
  explicit TriedCandidates(int64_t count) : first(std::max<int64_t>(count, 1)) {}
  void add(int64_t place);
  void add(const TriedCandidates &other);
  bool has(int64_t place) const { return place < first || beyond.count(place) > 0; }
  int64_t count() const { return first + int64_t(beyond.size()); }
  /// So many from the first on, and the places of others behind them, which parts of a search leave.
  int64_t withoutGap() const { return first; }
  const std::set<int64_t> &behindGaps() const { return beyond; }

private:
  int64_t first = 1;
  std::set<int64_t> beyond; // never `first` itself, nor less
};

/// The best schedule that was found for a kernel on a machine, and the model's own.
struct TuningRow {
  /// The machine that code was made for (target::identity), and what the kernel is (codegen::Tunable::key).
  std::string machine, kernel;
  /// Attributes of a kernel, as MLIR has them. They are equal where nothing was faster.
  std::string schedule, model;
  /// Microseconds of a run that the kernel took by each of them.
  double microseconds = 0, modelMicroseconds = 0;
  TriedCandidates tried;
  /// The processor's name.
  std::string processor;

  /// Time by the schedule over time by the model's: 1 or less.
  double ratio() const { return microseconds / modelMicroseconds; }
  /// One line of a file.
  std::string text() const;
};

class Tuning {
public:
  /// Adds the rows of a file, or of the text of one, which begins with a brace. False after errors, which name the line: no JSON, no row, a
  /// schedule that can't be one, or times that can't be (of no length, or a thousand times faster than the model's choice).
  bool read(llvm::StringRef given, Diagnostics &diagnostics);
  /// Of two rows for one kernel of one machine the one stays that gained more, whichever came first; tried is what either has tried.
  void add(TuningRow row);
  /// The same for all rows of another.
  void add(const Tuning &other);
  /// Null where there is none.
  const TuningRow *find(llvm::StringRef machine, llvm::StringRef kernel) const;
  /// The machines of all rows, each once.
  std::vector<std::string> machines() const;
  size_t size() const { return rows.size(); }
  /// The whole file: the same bytes for the same rows, in whatever order they came.
  std::string text() const;

private:
  std::map<std::pair<std::string, std::string>, TuningRow> rows;
};

} // namespace hewn::plan

#endif
