// SPDX-License-Identifier: Apache-2.0
//
// Objects to artifacts: a shared library, an archive, one object. No compiler and no linker is needed on the machine:
// lld is a part of us.
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

/// A folder of this process's own, removed with its content.
class ScratchFolder {
public:
  static llvm::Expected<ScratchFolder> create();
  ScratchFolder(ScratchFolder &&other) : folder(std::move(other.folder)) { other.folder.clear(); }
  ScratchFolder &operator=(ScratchFolder &&) = delete;
  ~ScratchFolder();
  std::string path(llvm::StringRef name) const;
  /// Writes a file and returns its path.
  llvm::Expected<std::string> write(llvm::StringRef name, llvm::StringRef content) const;

private:
  explicit ScratchFolder(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};

struct LinkJob {
  /// What all of it is for.
  std::string triple;
  std::vector<std::string> objects;
  /// The object of embedded weights; empty: none. In an archive it is a member of its own.
  std::string weights;
  /// libhewn_runtime.a.
  std::string runtime;
  /// Archives of parts that stand on libraries of others; those that the objects need are taken.
  std::vector<std::string> parts = {};
  /// The code of custom ops: objects, archives and shared libraries of the user's. One object has none of it.
  std::vector<std::string> userCode = {};
  /// Functions that are at an address of this process.
  std::vector<std::pair<std::string, uint64_t>> addresses = {};
  /// The model's name: what is exported.
  std::string model;
};

/// Leaves in `job.parts` those archives alone that the objects call parts of. Fails where a part is in none of them, and not in the
/// runtime: hewn was built without the library that it stands on.
llvm::Error chooseParts(LinkJob &job);
/// A shared library that exports the model's names alone and needs libc and libm, and the shared libraries among `job.userCode`. Fails where
/// it wants a symbol that none of them has.
llvm::Error linkShared(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch);
/// One relocatable object of all; the runtime is linked in by whoever uses it.
llvm::Error linkObject(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch);
/// An archive of one object of all code, the weights', the runtime's and those of `job.userCode` but for shared libraries.
llvm::Error writeArchive(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch);

} // namespace hewn::codegen

#endif
