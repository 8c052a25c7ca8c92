// SPDX-License-Identifier: Apache-2.0
//
// Links objects into an artifact: a shared library, an archive or a single object. Needs no
// compiler or linker on the machine: lld is linked into hewn.
#ifndef HEWN_LIB_CODEGEN_EMIT_LINK_H
#define HEWN_LIB_CODEGEN_EMIT_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hewn {
class OutputFile;
}

namespace hewn::codegen {

/// A temporary folder of this process, removed with its content on destruction.
class ScratchFolder {
public:
  static llvm::Expected<ScratchFolder> create();
  ScratchFolder(ScratchFolder &&other) : folder(std::move(other.folder)) { other.folder.clear(); }
  ScratchFolder &operator=(ScratchFolder &&) = delete;
  ~ScratchFolder();
  std::string path(llvm::StringRef name) const;
  /// Writes a file into the folder and returns its path.
  llvm::Expected<std::string> write(llvm::StringRef name, llvm::StringRef content) const;

private:
  explicit ScratchFolder(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};

struct LinkJob {
  /// Target triple of all objects.
  std::string triple;
  std::vector<std::string> objects;
  /// Path of the object with embedded weights, or empty. In an archive, this object is a separate
  /// member.
  std::string weights;
  /// Path of libhewn_runtime.a.
  std::string runtime;
  /// Archives of runtime functions that depend on third-party libraries. chooseParts removes those
  /// that the objects do not need.
  std::vector<std::string> parts = {};
  /// Code of custom ops: objects, archives and shared libraries that the user supplies. linkObject
  /// does not include this code.
  std::vector<std::string> userCode = {};
  /// Symbols that the linker defines as fixed addresses in this process, by name.
  std::vector<std::pair<std::string, uint64_t>> addresses = {};
  /// The model's name, from which the exported symbols are derived.
  std::string model;
};

/// Removes the archives from `job.parts` whose runtime functions no object calls. Returns an error
/// if a called function is in no archive, because hewn was built without the library that it
/// depends on.
llvm::Error chooseParts(LinkJob &job);
/// Writes a shared library that exports only the model's symbols and depends on libraries of glibc
/// (2.17 or newer) and the shared libraries in `job.userCode`. Returns an error for a symbol that
/// none of these defines.
llvm::Error linkShared(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch);
/// Writes a single relocatable object. It does not contain the runtime, which the user links to it.
llvm::Error linkObject(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch);
/// Writes an archive of one object with all code, the weights' object, and the objects of the
/// runtime and of `job.userCode` (without shared libraries).
llvm::Error writeArchive(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch);

} // namespace hewn::codegen

#endif
