// SPDX-License-Identifier: Apache-2.0
//
// ELF, the object format of Linux.
#ifndef HEWN_LIB_TARGET_LINKERS_ELFLINKER_H
#define HEWN_LIB_TARGET_LINKERS_ELFLINKER_H

#include "lib/Codegen/Emit/LinkerTool.h"

namespace hewn::target {

/// Links shared libraries that depend on libraries of glibc 2.17 or later.
class ElfLinker : public codegen::LinkerTool {
public:
  llvm::StringRef name() const override { return "ELF"; }
  llvm::ArrayRef<codegen::ArtifactKind> kinds() const override;
  llvm::ArrayRef<llvm::StringRef> ownSymbols() const override;
  llvm::Error writeWeights(const codegen::Weights &weights, llvm::StringRef path, llvm::StringRef symbol,
                           llvm::StringRef object) const override;
  llvm::StringRef programOptions() const override { return "-lm -pthread"; }
  codegen::BinaryKind binaryKind(llvm::StringRef content) const override;
  void storeDescription(llvm::Module &module, llvm::StringRef text) const override;
  llvm::Error readDescriptions(const llvm::object::Binary &binary,
                               llvm::function_ref<llvm::Error(llvm::StringRef)> visit) const override;

protected:
  llvm::Error linkLibrary(const codegen::LinkJob &job, llvm::StringRef name, const std::string &to,
                          const codegen::ScratchFolder &scratch) const override;
  llvm::Error linkRelocatable(llvm::ArrayRef<std::string> objects, const std::string &to) const override;
};

} // namespace hewn::target

#endif
