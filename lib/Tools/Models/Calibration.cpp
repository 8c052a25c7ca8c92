// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Calibration.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace hewn::tool {

static bool isArrays(StringRef name) { return path::extension(name) == ".npy" || path::extension(name) == ".npz"; }

/// Appends the array files and folders in `folder`, sorted by name. Returns false with an error in
/// `problem` if the folder cannot be read.
static bool list(const std::string &folder, std::vector<std::string> &found, std::string &problem) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error))
    if (isArrays(it->path()) || fs::is_directory(it->path()))
      found.push_back(it->path());
  llvm::sort(found);
  if (error)
    problem = "can't read the calibration data in '" + folder + "': " + error.message();
  return !error;
}

bool CalibrationFolder::open(const std::string &given, std::string &problem) {
  folder = given;
  if (!list(folder, paths, problem))
    return false;
  if (paths.empty())
    problem = "'" + folder + "' has no calibration data: found no .npy, no .npz and no folder of .npy files";
  return !paths.empty();
}

bool CalibrationFolder::read(std::string &problem) {
  const std::string &from = paths[at];
  if (path::extension(from) == ".npz")
    return readNpz(from, arrays, problem);
  if (path::extension(from) == ".npy") {
    arrays.push_back({"", {}}); // an empty name means the only input
    return readNpy(from, arrays.back().second, problem);
  }
  std::vector<std::string> inside;
  if (!list(from, inside, problem))
    return false;
  for (const std::string &file : inside)
    if (path::extension(file) == ".npy") {
      arrays.push_back({path::stem(file).str(), {}});
      if (!readNpy(file, arrays.back().second, problem))
        return false;
    }
  if (arrays.empty())
    problem = "'" + from + "' has no calibration data: found no .npy";
  return !arrays.empty();
}

int32_t CalibrationFolder::next(void *user, hewn_sample *sample) {
  auto &self = *static_cast<CalibrationFolder *>(user);
  bool isSeen = llvm::sys::Process::StandardErrIsDisplayed();
  if (self.at == self.paths.size()) {
    if (isSeen)
      llvm::errs() << "\r\033[K";
    return 0;
  }
  if (isSeen)
    llvm::errs() << "\r\033[Khewn: sample " << self.at + 1 << " of " << self.paths.size();
  self.arrays.clear();
  self.names.clear();
  self.tensors.clear();
  if (!self.read(self.why)) {
    sample->problem = self.why.c_str();
    return -1;
  }
  ++self.at;
  for (auto &[name, array] : self.arrays) {
    self.names.push_back(name.c_str());
    DLTensor &tensor = self.tensors.emplace_back();
    tensor = {};
    tensor.data = array.bytes.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = int32_t(array.shape.size());
    tensor.dtype = array.type;
    tensor.shape = array.shape.data();
  }
  sample->names = self.names.data();
  sample->tensors = self.tensors.data();
  sample->num_tensors = self.tensors.size();
  return 1;
}

} // namespace hewn::tool
