// SPDX-License-Identifier: Apache-2.0
//
// Runs a model that is a WebAssembly module.
#ifndef HEWN_LIB_COMPILER_LOAD_WASMLIBRARY_H
#define HEWN_LIB_COMPILER_LOAD_WASMLIBRARY_H

#include "lib/Compiler/Load/LoadedLibrary.h"
#include "lib/Compiler/Load/WasmInstance.h"

#include <deque>

namespace hewn {

class WasmLibrary {
public:
  /// Returns true if the path has the extension of a WebAssembly module.
  static bool isModule(llvm::StringRef path) { return path.ends_with(".wasm"); }

  /// Loads the module at `path`, copies its weights file to its memory and creates a context. Only
  /// the flags of `options` apply. Fails if `options` has several threads or hooks.
  static llvm::Expected<std::unique_ptr<WasmLibrary>> open(const std::string &path,
                                                           const hewn_context_options &options);

  /// The model's descriptor: names, types and dims of inputs and outputs, symbols, and a variant.
  /// It has no functions, cases and metadata.
  hewn_model descriptor = {};

  /// Runs the model like LoadedLibrary::run.
  llvm::Error run(const std::vector<Array> &inputs, std::vector<Array> &outputs);

private:
  /// Tensors as the module sees them.
  struct Tensor;

  llvm::Error describe(llvm::StringRef name);
  llvm::Error describe(uint32_t address, int32_t count, const hewn_tensor_info *&infos);
  llvm::Error describeSymbols(uint32_t address);
  llvm::Error createContext(const std::string &path, uint32_t flags);
  llvm::Error putWeights(const std::string &path, uint32_t &address, uint32_t &size);
  llvm::Expected<const char *> keepText(uint32_t address);
  /// Calls a function that returns a status through its first argument.
  llvm::Error callStatus(llvm::StringRef name, llvm::ArrayRef<uint32_t> arguments);
  llvm::Expected<uint32_t> put(const void *data, uint64_t size, std::vector<uint32_t> &held);
  llvm::Error runWith(const std::vector<Array> &inputs, std::vector<Array> &outputs, std::vector<uint32_t> &held);
  llvm::Error take(const Tensor &tensor, const hewn_tensor_info &info, Array &output);

  std::unique_ptr<WasmInstance> instance;
  uint32_t model = 0, context = 0, status = 0;
  std::string weightsFile;
  /// Storage of the descriptor.
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> dims;
  std::deque<std::vector<const char *>> formulas;
  std::deque<std::vector<hewn_tensor_info>> infos;
  std::vector<hewn_symbol> symbols;
  hewn_variant variant = {};
};

} // namespace hewn

#endif
