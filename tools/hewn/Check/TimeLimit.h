// SPDX-License-Identifier: Apache-2.0
//
// Ends a command whose compiles or runs take longer than the user allows. A compiled model cannot
// be interrupted while it runs, so the process ends.
#ifndef HEWN_TOOLS_HEWN_CHECK_TIMELIMIT_H
#define HEWN_TOOLS_HEWN_CHECK_TIMELIMIT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace hewn::tool {

/// Calls a report on a thread of its own when the limit passes, removes the scratch folders, and
/// ends the process with the exit status that the report returned. Without a limit, does nothing.
class TimeLimit {
public:
  /// `seconds`: the time from now, or nullopt for no limit. `report` is called at most once, while
  /// no `change` runs, and must not call the functions of this object.
  TimeLimit(std::optional<double> seconds, std::function<int()> report);
  TimeLimit(const TimeLimit &) = delete;
  ~TimeLimit() { stop(); }
  /// Runs `make`, which changes state that the report reads.
  void change(llvm::function_ref<void()> make);
  /// Lifts the limit. Does not return if the report has begun.
  void stop();

private:
  void wait(double seconds);

  std::function<int()> report;
  std::mutex mutex;
  std::condition_variable ended;
  bool stops = false;
  std::thread watch;
};

} // namespace hewn::tool

#endif
