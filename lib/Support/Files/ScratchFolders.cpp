// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/ScratchFolders.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include <mutex>

using namespace llvm;

namespace hewn {

namespace {
struct Made {
  std::mutex mutex;
  StringSet<> folders;
};
Made &made() {
  static Made *all = new Made; // threads may outlive statics
  return *all;
}
} // namespace

Expected<std::string> makeScratchFolder() {
  std::lock_guard<std::mutex> lock(made().mutex);
  SmallString<128> path;
  if (std::error_code error = sys::fs::createUniqueDirectory("hewn", path))
    return createStringError("can't make a temporary folder: " + error.message());
  made().folders.insert(path);
  return path.str().str();
}

void removeScratchFolder(StringRef folder) {
  std::lock_guard<std::mutex> lock(made().mutex);
  (void)sys::fs::remove_directories(folder);
  made().folders.erase(folder);
}

void removeScratchFolders() {
  std::lock_guard<std::mutex> lock(made().mutex);
  for (const auto &entry : made().folders)
    (void)sys::fs::remove_directories(entry.first());
  made().folders.clear();
}

} // namespace hewn
