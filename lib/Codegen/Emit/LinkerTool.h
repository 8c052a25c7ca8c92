// SPDX-License-Identifier: Apache-2.0
//
// Object file formats: how artifacts are linked, and how weights and descriptions are stored in
// them. lib/Target/Linkers has one implementation for each format.
#ifndef HEWN_LIB_CODEGEN_EMIT_LINKERTOOL_H
#define HEWN_LIB_CODEGEN_EMIT_LINKERTOOL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/TargetParser/Triple.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace object {
class Binary;
} // namespace object
} // namespace llvm

namespace hewn {
class OutputFile;
}

namespace hewn::codegen {

class Weights;

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

/// The forms of an artifact: a library that a loader loads, an archive that a linker links into a
/// program, and an object without the runtime.
enum class ArtifactForm { Library, Archive, Object };

/// A kind of artifact, which the extension of the output file selects.
struct ArtifactKind {
  ArtifactForm form;
  /// Extension of the file with its dot, and the customary prefix of its name, which may be empty:
  /// libmodel.so.
  llvm::StringLiteral extension, prefix;
};

/// Contents of a binary file. A program is an executable; a library may be one, too.
enum class BinaryKind { None, Object, Library, Program };

struct LinkJob {
  /// Target triple of all objects.
  llvm::Triple triple;
  std::vector<std::string> objects;
  /// Path of the object with embedded weights, or empty. In an archive, this object is a separate
  /// member.
  std::string weights;
  /// Path of libhewn_runtime.a.
  std::string runtime;
  /// Archives of runtime functions that depend on third-party libraries. chooseParts removes those
  /// that the objects do not need.
  std::vector<std::string> parts = {};
  /// Code of custom ops: objects, archives and libraries that the user supplies. An artifact in the
  /// form of an object does not include this code.
  std::vector<std::string> userCode = {};
  /// Symbols that the linker defines as fixed addresses in this process, by name.
  std::vector<std::pair<std::string, uint64_t>> addresses = {};
  /// Oldest version of symbols of the C library for the architecture, such as "GLIBC_2.17". Empty
  /// if it is older than all versions that artifacts use.
  llvm::StringRef symbolVersion = {};
  /// The model's name, from which the exported symbols are derived.
  std::string model;
};

/// Links and reads files of one format. Needs no compiler or linker on the machine: lld is linked
/// into hewn. Instances have no state; all functions may be called by several threads.
class LinkerTool {
public:
  virtual ~LinkerTool() = default;
  /// Returns the name of the format, such as "ELF".
  virtual llvm::StringRef name() const = 0;
  virtual llvm::ArrayRef<ArtifactKind> kinds() const = 0;
  /// Returns the kind of artifact that the file name's extension selects, or null.
  const ArtifactKind *artifactKind(llvm::StringRef path) const;
  /// Returns true if the file name has the extension of this form of artifacts.
  bool is(ArtifactForm form, llvm::StringRef path) const;
  /// Returns the extensions of all kinds for a message: ".so, .a or .o".
  std::string extensions() const;

  /// Returns the undefined symbols of generated objects that the linker defines, and functions of
  /// the runtime that LLVM calls.
  virtual llvm::ArrayRef<llvm::StringRef> ownSymbols() const = 0;

  /// Removes the archives from `job.parts` whose runtime functions no object calls. Returns an
  /// error if a called function is in no archive, because hewn was built without the library that
  /// it depends on.
  static llvm::Error chooseParts(LinkJob &job);
  /// Writes an artifact to `output`. A library exports only the model's symbols. An archive
  /// contains one object with all code, the weights' object, and the objects of the runtime and of
  /// `job.userCode` (without libraries). Nothing is written if the link fails.
  llvm::Error link(const LinkJob &job, ArtifactForm form, OutputFile &output, const ScratchFolder &scratch) const;

  /// Writes a relocatable object with one read-only section, which defines the hidden symbol
  /// `symbol`. It has the architecture and ABI of `object`, the content of another object. The
  /// bytes are streamed into the object, because compiling them as an LLVM constant would take
  /// several times their size in memory.
  virtual llvm::Error writeWeights(const Weights &weights, llvm::StringRef path, llvm::StringRef symbol,
                                   llvm::StringRef object) const = 0;

  /// Returns the reason why a file of the user cannot be linked for the triple's architecture, or
  /// "" if it can. The file must be an object, an archive of objects or a library.
  std::string whyNotLinkable(llvm::MemoryBufferRef file, const llvm::Triple &triple) const;

  /// Returns the options for the linker of a program, in addition to an object and the runtime.
  virtual llvm::StringRef programOptions() const = 0;

  /// Returns what a file of this format contains, or None for a file of another format.
  virtual BinaryKind binaryKind(llvm::StringRef content) const = 0;
  /// Stores the description of the artifact (JSON) in the object of `module`, so that it remains in
  /// linked and stripped files and can be read without loading them.
  virtual void storeDescription(llvm::Module &module, llvm::StringRef text) const = 0;
  /// Calls `visit` with each description in a file of this format. Treats the content as untrusted.
  virtual llvm::Error readDescriptions(const llvm::object::Binary &binary,
                                       llvm::function_ref<llvm::Error(llvm::StringRef)> visit) const = 0;

protected:
  /// Links a library to the file `to`. `name` is the file name of the artifact.
  virtual llvm::Error linkLibrary(const LinkJob &job, llvm::StringRef name, const std::string &to,
                                  const ScratchFolder &scratch) const = 0;
  /// Links objects to one relocatable object, the file `to`.
  virtual llvm::Error linkRelocatable(llvm::ArrayRef<std::string> objects, const std::string &to) const = 0;

private:
  llvm::Error writeArchive(const LinkJob &job, OutputFile &output, const ScratchFolder &scratch) const;
  std::string whyNotFor(const llvm::Triple &triple, llvm::MemoryBufferRef file, const std::string &what) const;
  std::string whyNotArchive(const llvm::Triple &triple, llvm::MemoryBufferRef file) const;
};

} // namespace hewn::codegen

#endif
