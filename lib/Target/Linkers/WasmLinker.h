// SPDX-License-Identifier: Apache-2.0
//
// WebAssembly's object format. An object is a module with a linking section (WebAssembly tool
// conventions, "Linking.md").
#ifndef HEWN_LIB_TARGET_LINKERS_WASMLINKER_H
#define HEWN_LIB_TARGET_LINKERS_WASMLINKER_H

#include "lib/Codegen/Emit/LinkerTool.h"

namespace hewn::target {

/// Links modules that export their memory, the functions of the model and an allocator. The
/// description is a custom section, as one line of JSON for each model.
class WasmLinker : public codegen::LinkerTool {
public:
  llvm::StringRef name() const override { return "WebAssembly"; }
  llvm::ArrayRef<codegen::ArtifactKind> kinds() const override;
  llvm::ArrayRef<llvm::StringRef> ownSymbols() const override;
  llvm::Error writeWeights(const codegen::Weights &weights, llvm::StringRef path, llvm::StringRef symbol,
                           llvm::StringRef object) const override;
  llvm::StringRef programOptions() const override { return ""; }
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
