// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/ScratchFolders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <mutex>
#include <string>
#include <vector>

namespace hewn {

namespace {
struct Made {
  std::mutex mutex;
  llvm::StringSet<> folders;
  std::vector<std::string> ofResults; // outer folders first
};
Made &made() {
  static Made *all = new Made; // never destroyed, because threads may outlive statics
  return *all;
}
} // namespace

llvm::Expected<std::string> makeScratchFolder() {
  std::lock_guard<std::mutex> lock(made().mutex);
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("hewn", path))
    return llvm::createStringError("can't create a temporary folder: " + error.message());
  made().folders.insert(path);
  return path.str().str();
}

llvm::Expected<std::string> makeScratchFolderIn(llvm::StringRef parent) {
  std::lock_guard<std::mutex> lock(made().mutex);
  llvm::SmallString<128> pattern(parent), path;
  llvm::sys::path::append(pattern, "hewn-%%%%%%%%");
  llvm::sys::fs::createUniquePath(pattern, path, /*MakeAbsolute=*/false);
  if (std::error_code error = llvm::sys::fs::create_directory(path, /*IgnoreExisting=*/false))
    return llvm::errorCodeToError(error);
  made().folders.insert(path);
  return path.str().str();
}

void awaitResultsIn(llvm::StringRef folder) {
  std::lock_guard<std::mutex> lock(made().mutex);
  made().ofResults.push_back(folder.str());
}

void endResultsIn(llvm::StringRef folder) {
  std::lock_guard<std::mutex> lock(made().mutex);
  llvm::erase(made().ofResults, folder);
  (void)llvm::sys::fs::remove(folder);
}

void removeScratchFolder(llvm::StringRef folder) {
  std::lock_guard<std::mutex> lock(made().mutex);
  (void)llvm::sys::fs::remove_directories(folder);
  made().folders.erase(folder);
}

void removeScratchFolders() {
  constexpr int attempts = 100;
  // Locks the mutex of the scratch folders and never unlocks it, so that other threads cannot
  // create scratch folders until the program ends.
  made().mutex.lock();
  for (const auto &entry : made().folders)
    // retries the removal, because another thread may write a file into the folder in the meantime
    for (int i = 0; i < attempts && llvm::sys::fs::exists(entry.first()); ++i)
      (void)llvm::sys::fs::remove_directories(entry.first());
  made().folders.clear();
  std::vector<std::string> &ofResults = made().ofResults;
  for (const std::string &folder : llvm::reverse(ofResults))
    (void)llvm::sys::fs::remove(folder);
  ofResults.clear();
}

} // namespace hewn
