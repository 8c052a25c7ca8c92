// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Serve/TritonRepository.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/Artifacts.h"
#include "tools/hewn/CommandLine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace fs = llvm::sys::fs;
using llvm::StringRef;

namespace hewn::tool {

bool TritonRepository::refuse(const std::string &why) {
  printMessage("error: " + why);
  return false;
}

static std::string below(StringRef folder, StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

bool TritonRepository::open(const std::string &folder, const std::string &called) {
  name = called;
  if (std::string why = whyNoTritonName(name); !why.empty())
    return refuse("'" + printable(name) + "' is not a valid model name for Triton: " + why + "; set one by --name");
  model = below(folder, name);
  for (const std::string &path : {folder, model, below(model, "1")}) {
    const size_t before = made.size();
    for (StringRef one = path; !one.empty() && !fs::exists(one); one = llvm::sys::path::parent_path(one))
      made.insert(made.begin() + before, one.str());
    for (const std::string &one : llvm::drop_begin(made, before))
      awaitResultsIn(one);
    // The folders get all permissions that the umask allows, because a server runs as another user.
    if (std::error_code error = fs::create_directories(path, /*IgnoreExisting=*/true, fs::all_all))
      return refuse("can't write '" + printable(path) + "': " + error.message());
  }
  llvm::Expected<std::string> unique = makeScratchFolderIn(model); // Triton ignores folders whose name is not a number
  if (!unique)
    return refuse("can't write '" + printable(model) + "': " + llvm::toString(unique.takeError()));
  scratch = *unique;
  return true;
}

TritonRepository::~TritonRepository() {
  if (!scratch.empty())
    removeScratchFolder(scratch);
  for (const std::string &path : llvm::reverse(made))
    endResultsIn(path);
}

std::string TritonRepository::library() const { return below(scratch, "model.so"); }

bool TritonRepository::finish(llvm::ArrayRef<std::string> states, std::vector<std::string> &written) {
  auto file = llvm::MemoryBuffer::getFile(library());
  if (!file)
    return refuse("can't read " + library() + ": " + file.getError().message());
  llvm::Expected<ArtifactDescription> artifact = describeArtifact(**file);
  if (!artifact)
    return refuse(llvm::toString(artifact.takeError()));
  std::string why, config = tritonConfig(artifact->models.front(), name, states, why);
  if (!why.empty())
    return refuse(printable(why));
  if (llvm::Error error = writeFile(below(scratch, "config.pbtxt"), config))
    return refuse(llvm::toString(std::move(error)));
  // The library gets its final name after its weights do. A server that loads the model in between
  // gets the previous library, which rejects the new weights by their digest.
  const std::string version = below(model, "1");
  const std::pair<std::string, const char *> places[] = {
      {version, "model.so.weights"}, {version, "model.so"}, {model, "config.pbtxt"}};
  for (const auto &[folder, file] : places)
    // Reject a folder at the path of an output file before any file is replaced.
    if (fs::is_directory(below(folder, file)))
      return refuse("can't write '" + printable(below(folder, file)) +
                    "': " + std::make_error_code(std::errc::is_a_directory).message());
  const bool hasWeights = fs::exists(below(scratch, "model.so.weights"));
  for (const auto &[folder, file] : llvm::drop_begin(places, hasWeights ? 0 : 1)) {
    std::string to = below(folder, file);
    if (std::error_code error = fs::rename(below(scratch, file), to))
      return refuse("can't write '" + printable(to) + "': " + error.message());
    written.push_back(to);
  }
  if (hasWeights)
    std::swap(written[0], written[1]); // the list of written files begins with the library
  else
    fs::remove(below(version, "model.so.weights")); // weights of the replaced library
  return true;
}

} // namespace hewn::tool
