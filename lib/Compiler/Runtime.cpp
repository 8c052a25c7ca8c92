// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Compilation.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace llvm;

namespace hewn {

/// The file that this code is in: the tool, or the Python extension.
static std::string ownPath() {
  Dl_info info;
  SmallString<256> real;
  if (dladdr(reinterpret_cast<void *>(&ownPath), &info) && info.dli_fname) {
    if (StringRef(info.dli_fname).contains('/') && !sys::fs::real_path(info.dli_fname, real) &&
        StringRef(info.dli_fname).contains(".so"))
      return real.str().str();
    if (!sys::fs::real_path("/proc/self/exe", real))
      return real.str().str();
  }
  return "";
}

std::string findRuntime() {
  std::string own = ownPath();
  StringRef folder = sys::path::parent_path(own);
  for (StringRef place : {"../lib/libhewn_runtime.a", "../lib64/libhewn_runtime.a", "libhewn_runtime.a"}) {
    SmallString<256> path(folder);
    sys::path::append(path, place);
    if (!own.empty() && sys::fs::exists(path))
      return path.str().str();
  }
  if (sys::fs::exists(HEWN_RUNTIME_ARCHIVE))
    return HEWN_RUNTIME_ARCHIVE;
  return "";
}

std::vector<std::string> findParts(StringRef runtime) {
  std::vector<std::string> found;
  for (StringRef name : {"libhewn_image.a", "libhewn_regex.a"}) {
    SmallString<256> path(sys::path::parent_path(runtime));
    sys::path::append(path, name);
    if (!runtime.empty() && sys::fs::exists(path))
      found.push_back(path.str().str());
  }
  return found;
}

} // namespace hewn
