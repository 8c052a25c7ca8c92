// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/ScratchFolders.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include <mutex>

namespace hewn {

namespace {
struct Made {
  std::mutex mutex;
  llvm::StringSet<> folders;
};
Made &made() {
  static Made *all = new Made; // threads may outlive statics
  return *all;
}
} // namespace

llvm::Expected<std::string> makeScratchFolder() {
  std::lock_guard<std::mutex> lock(made().mutex);
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("hewn", path))
    return llvm::createStringError("can't make a temporary folder: " + error.message());
  made().folders.insert(path);
  return path.str().str();
}

void removeScratchFolder(llvm::StringRef folder) {
  std::lock_guard<std::mutex> lock(made().mutex);
  (void)llvm::sys::fs::remove_directories(folder);
  made().folders.erase(folder);
}

void removeScratchFolders() {
  std::lock_guard<std::mutex> lock(made().mutex);
  for (const auto &entry : made().folders)
    (void)llvm::sys::fs::remove_directories(entry.first());
  made().folders.clear();
}

} // namespace hewn
