// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Check/TimeLimit.h"
#include "lib/Support/Files/ScratchFolders.h"

#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstdlib>

namespace hewn::tool {

TimeLimit::TimeLimit(std::optional<double> seconds, std::function<int()> report) : report(std::move(report)) {
  if (seconds)
    watch = std::thread([this, seconds = *seconds] { wait(seconds); });
}

void TimeLimit::wait(double seconds) {
  std::unique_lock<std::mutex> lock(mutex);
  if (ended.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stops; }))
    return;
  // The mutex stays locked, so that no other thread continues beyond its next `change` or `stop`.
  int status = report();
  llvm::outs().flush();
  if (llvm::outs().has_error())
    llvm::errs() << "error: can't write to the standard output: " << llvm::outs().error().message() << "\n";
  removeScratchFolders();
  // _exit, because destructors of static objects would race with the threads that still run.
  std::_Exit(status);
}

void TimeLimit::change(llvm::function_ref<void()> make) {
  std::lock_guard<std::mutex> lock(mutex);
  make();
}

void TimeLimit::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stops = true;
  }
  ended.notify_all();
  if (watch.joinable())
    watch.join();
}

} // namespace hewn::tool
