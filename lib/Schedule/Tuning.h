// SPDX-License-Identifier: Apache-2.0
//
// A tuning: schedules that were measured, by machine and kernel. Rows are found by what a decision depends on, never by names, so that a
// tuning of one model serves others, and two are merged by putting their rows together (docs/tutorials/tuning.md).
#ifndef HEWN_LIB_SCHEDULE_TUNING_H
#define HEWN_LIB_SCHEDULE_TUNING_H

#include "lib/Support/Diagnostics.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>

namespace hewn::plan {

/// The best schedule that was found for a kernel on a machine, and the model's own.
struct TuningRow {
  /// The machine that code was made for (target::identity), and what the kernel is (codegen::Tunable::key).
  std::string machine, kernel;
  /// Attributes of a kernel, as MLIR has them. They are equal where nothing was faster.
  std::string schedule, model;
  /// Microseconds of a run that the kernel took by each of them.
  double microseconds = 0, modelMicroseconds = 0;
  /// How many schedules were measured, the model's among them, and the processor's name.
  int64_t tried = 1;
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
  /// Of two rows for one kernel of one machine the one stays that gained more, whichever came first.
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
