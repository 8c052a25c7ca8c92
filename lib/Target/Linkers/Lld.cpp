// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Linkers/Lld.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <mutex>

using namespace llvm;

namespace hewn::target {

/// Returns the likely reason of a link that failed without a message, as on a full disk.
static std::string whySilent(ArrayRef<std::string> arguments) {
  const auto *output = llvm::find(arguments, "-o");
  StringRef path = output == arguments.end() || output + 1 == arguments.end() ? "" : StringRef(output[1]);
  StringRef folder = sys::path::parent_path(path);
  ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(folder.empty() ? "." : folder);
  constexpr uint64_t little = uint64_t(16) << 20;
  if (space && space->available < little)
    return "the file system of '" + path.str() + "' has only " + std::to_string(space->available >> 10) + " kB left";
  return "the linker gave no reason";
}

/// lld keeps its state in globals, so a process links one output at a time. lld uses one thread: in
/// a forked child, lld would wait forever for threads that exist only in the parent.
Error runLld(const char *program, lld::DriverDef driver, const std::vector<std::string> &arguments) {
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);
  std::vector<const char *> list = {program, "--threads=1"};
  for (const std::string &argument : arguments)
    list.push_back(argument.c_str());
  std::string output;
  raw_string_ostream os(output);
  if (lld::lldMain(list, os, os, {driver}).retCode == 0)
    return Error::success();
  StringRef first = StringRef(output).split('\n').first;
  first.consume_front((program + Twine(": error: ")).str());
  return createStringError("linking failed: " + (first.empty() ? whySilent(arguments) : first.str()));
}

} // namespace hewn::target
