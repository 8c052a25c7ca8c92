// SPDX-License-Identifier: Apache-2.0
//
// Work in a process of its own: what crashes there, or never ends, ends nothing here.
#ifndef HEWN_TOOLS_HEWN_REDUCE_CHILDPROCESS_H
#define HEWN_TOOLS_HEWN_REDUCE_CHILDPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace hewn::tool {

struct ChildEnd {
  enum class How { Exited, Signal, Timeout, Stopped, NotStarted } how = How::NotStarted;
  /// The status or the signal; of what could not be started, errno.
  int number = 0;
  /// What it told, and the begin of what it wrote to its standard error.
  std::string told, errors;
};

/// Sends a text to the parent.
using Tell = std::function<void(llvm::StringRef)>;

/// Calls `work` in a copy of this process, which has no other thread and no standard input; its temporary files are in `folder`, which is made and
/// removed. It is killed, with what it has started, after `seconds`, when `stop` says so, and when this process ends. `work` may exec.
/// To be called before this process has compiled anything: what other threads hold is held forever in the copy.
ChildEnd runInChild(double seconds, const std::string &folder, llvm::function_ref<void(const Tell &)> work,
                    llvm::function_ref<bool()> stop);

} // namespace hewn::tool

#endif
