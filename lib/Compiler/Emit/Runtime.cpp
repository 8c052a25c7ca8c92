// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Emit/Runtime.h"
#include "lib/Compiler/Compiler.h"
#include "lib/Support/Files/OwnBinary.h"
#include "lib/Target/Targets.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hewn {

std::string findRuntime(const codegen::TargetSpec &machine) {
  const std::string own = ownBinary();
  const std::string beside = target::runtimeFolder(machine);
  auto in = [&](StringRef folder, StringRef place) {
    SmallString<256> path(folder);
    sys::path::append(path, place, beside, "libhewn_runtime.a");
    sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    return sys::fs::exists(path) ? path.str().str() : "";
  };
  for (StringRef place : {"../lib", "../lib64", ""})
    if (std::string path = own.empty() ? "" : in(sys::path::parent_path(own), place); !path.empty())
      return path;
  // HEWN_RUNTIME_ARCHIVE is empty in a release build, whose bytes must not depend on the build
  // folder
  StringRef built = HEWN_RUNTIME_ARCHIVE;
  return built.empty() ? "" : in(sys::path::parent_path(built), "");
}

std::string runtimeFor(StringRef target) {
  auto machines = target::findAll(target);
  if (machines)
    return findRuntime(target::baseTarget(machines->front()));
  consumeError(machines.takeError());
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
