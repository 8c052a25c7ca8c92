// SPDX-License-Identifier: Apache-2.0
//
// Runs work in a child process, so that a crash or a hang does not affect this process.
#ifndef HEWN_LIB_TOOLS_MODELS_CHILDPROCESS_H
#define HEWN_LIB_TOOLS_MODELS_CHILDPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace hewn::tool {

struct ChildEnd {
  enum class How { Exited, Signal, Timeout, Stopped, NotStarted } how = How::NotStarted;
  /// The exit status of the child process or the number of the signal that ended it, or errno if it
  /// could not be started.
  int number = 0;
  /// The text that the child sent to its parent, and the start of the child's standard error.
  std::string told, errors;
};

/// Sends a text from the child process to its parent.
using Tell = std::function<void(llvm::StringRef)>;

/// Calls `work` in a fork of this process with no other thread and no standard input. Its temporary
/// files are in `folder`, which is created and removed. The child and its processes are killed
/// after `seconds`, when `stop` returns true, and when this process ends. `work` may call exec.
/// Must be called before this process compiles anything: locks held by other threads would stay
/// locked in the child.
ChildEnd runInChild(double seconds, const std::string &folder, llvm::function_ref<void(const Tell &)> work,
                    llvm::function_ref<bool()> stop);

} // namespace hewn::tool

#endif
