// SPDX-License-Identifier: Apache-2.0
//
// Loads a compiled library into this process and runs it on arrays.
#ifndef HEWN_LIB_COMPILER_LOAD_LOADEDLIBRARY_H
#define HEWN_LIB_COMPILER_LOAD_LOADEDLIBRARY_H

#include "hewn/runtime.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hewn {

class WasmLibrary;

/// A row-major tensor in host memory.
struct Array {
  DLDataType type = {kDLFloat, 32, 1};
  std::vector<int64_t> shape;
  std::vector<char> bytes;
  int64_t elementBytes() const { return (type.bits + 7) / 8; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : shape)
      count *= dim;
    return count;
  }
};

/// Returns the dims of an array as text, such as "2x3", or "scalar" if the array has rank 0.
std::string shapeText(const Array &array);
/// Returns the element type of an array as text, such as "float32".
std::string dataTypeText(DLDataType type);

class LoadedLibrary {
public:
  /// Sets the rank-specific options of a context for a partitioned model, such as the communicator.
  /// Returns false after an error, with the reason in `problem`.
  using RanksOf = std::function<bool(const hewn_model &model, hewn_context_options &options, std::string &problem)>;

  /// Returns true if the path has the extension of a file that `open` loads: a library for this
  /// machine, or a WebAssembly module.
  static bool loads(const std::string &path);

  /// Sets the path of the library of wasmtime, which runs WebAssembly modules. By default, the
  /// system searches for libwasmtime.so.
  static void setWasmEngine(std::string path);

  /// Loads the library at `path`. Selects the variant named `variant`; if the name is empty,
  /// selects the best variant for this CPU. If `options` has no allocator, a default one is used.
  /// If the model is partitioned, `ranks` must be set. Returns null after an error, with the reason
  /// in `problem`.
  static std::unique_ptr<LoadedLibrary> open(const std::string &path, const std::string &variant,
                                             hewn_context_options options, std::string &problem,
                                             const RanksOf &ranks = nullptr);
  LoadedLibrary(const LoadedLibrary &) = delete;
  ~LoadedLibrary();

  const hewn_model &model() const { return *descriptor; }
  /// Returns the variant of the model that `run` executes.
  const hewn_variant &variant() const;
  /// Returns the index of the input with this name, or -1 if there is none.
  int inputNamed(const std::string &name) const;
  /// Runs the model. `inputs` has one array for each input, in the model's order. The results are
  /// stored in `outputs`.
  hewn_status run(const std::vector<Array> &inputs, std::vector<Array> &outputs);

private:
  LoadedLibrary() = default;
  std::string force(const std::string &variant);

  hewn_library *library = nullptr;
  const hewn_model *descriptor = nullptr;
  /// A copy of the model's descriptor that contains only the variant that the user chose. The
  /// runtime has no option to force a variant.
  hewn_model forced = {};
  hewn_context *context = nullptr;
  /// The model if it is a WebAssembly module. Its descriptor has no functions.
  std::unique_ptr<WasmLibrary> module;
  std::string message; ///< of the last run of the module
};

} // namespace hewn

#endif
