// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/OwnBinary.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <dlfcn.h>

using namespace llvm;

namespace hewn {

std::string ownBinary() {
  Dl_info info;
  SmallString<256> real;
  if (dladdr(reinterpret_cast<void *>(&ownBinary), &info) && info.dli_fname) {
    if (StringRef(info.dli_fname).contains('/') && !sys::fs::real_path(info.dli_fname, real) &&
        StringRef(info.dli_fname).contains(".so"))
      return real.str().str();
    if (!sys::fs::real_path("/proc/self/exe", real))
      return real.str().str();
  }
  return "";
}

} // namespace hewn
