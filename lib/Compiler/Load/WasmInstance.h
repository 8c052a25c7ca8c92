// SPDX-License-Identifier: Apache-2.0
//
// A WebAssembly module in wasmtime, through the C API that WebAssembly engines share (wasm.h). The
// engine's library is loaded when a module is opened.
#ifndef HEWN_LIB_COMPILER_LOAD_WASMINSTANCE_H
#define HEWN_LIB_COMPILER_LOAD_WASMINSTANCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace hewn {

/// An instance of an untrusted module. Functions take and return 32-bit integers only. Every access
/// to its memory is checked.
class WasmInstance {
public:
  /// Instantiates the module, which must not import anything. Fails if no engine is installed.
  static llvm::Expected<std::unique_ptr<WasmInstance>> create(llvm::StringRef content);
  virtual ~WasmInstance() = default;
  /// Sets the path of wasmtime's library, which the first `create` loads. By default, the system
  /// searches for libwasmtime.so.
  static void setEngine(std::string path);

  /// Returns the value of an exported global.
  virtual llvm::Expected<uint32_t> global(llvm::StringRef name) = 0;
  /// Calls an exported function. Returns 0 if it has no result. After a trap all calls fail,
  /// because the state of the module is undefined.
  virtual llvm::Expected<uint32_t> call(llvm::StringRef name, llvm::ArrayRef<uint32_t> arguments) = 0;
  /// Returns bytes of the memory, in place. They are valid until the next call.
  virtual llvm::Expected<llvm::MutableArrayRef<char>> bytes(uint64_t address, uint64_t size) = 0;

  /// Returns a copy of a struct in the memory.
  template <typename T> llvm::Expected<T> read(uint64_t address) {
    T value;
    llvm::Expected<llvm::MutableArrayRef<char>> found = bytes(address, sizeof(value));
    if (!found)
      return found.takeError();
    std::memcpy(&value, found->data(), sizeof(value));
    return value;
  }
  /// Returns the text that ends before the next zero byte.
  llvm::Expected<std::string> text(uint64_t address);
  /// Returns the address of new memory of the module, to be released with `hewn_wasm_release`.
  llvm::Expected<uint32_t> allocate(uint64_t size, uint32_t alignment = 16);
};

} // namespace hewn

#endif
