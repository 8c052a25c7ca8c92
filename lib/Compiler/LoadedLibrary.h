// SPDX-License-Identifier: Apache-2.0
//
// A compiled library, loaded into this process and run on arrays.
#ifndef HEWN_LIB_COMPILER_LOADEDLIBRARY_H
#define HEWN_LIB_COMPILER_LOADEDLIBRARY_H

#include "hewn/runtime.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hewn {

/// A tensor in the host's memory: row-major, its bytes as a model has them.
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

/// "2x3", or "scalar".
std::string shapeText(const Array &array);
/// "float32"
std::string dataTypeText(DLDataType type);

class LoadedLibrary {
public:
  /// Gives a model that is split the communicator by which it reaches its other ranks, and what depends on which rank it is. False, and why
  /// in `problem`.
  using RanksOf = std::function<bool(const hewn_model &model, hewn_context_options &options, std::string &problem)>;

  /// Loads the library at `path`; of its variants `variant`, if that is not empty, else the machine's choice. Null, and why in `problem`.
  /// An allocator is there without one in `options`; a model that is split needs `ranks`.
  static std::unique_ptr<LoadedLibrary> open(const std::string &path, const std::string &variant,
                                             hewn_context_options options, std::string &problem,
                                             const RanksOf &ranks = nullptr);
  LoadedLibrary(const LoadedLibrary &) = delete;
  ~LoadedLibrary();

  const hewn_model &model() const { return *descriptor; }
  /// The code that runs.
  const hewn_variant &variant() const { return *descriptor->runtime->model_variant(descriptor); }
  /// The input of this name; -1 where there is none.
  int inputNamed(const std::string &name) const;
  /// One array an input, in order; `outputs` are made.
  hewn_status run(const std::vector<Array> &inputs, std::vector<Array> &outputs);

private:
  LoadedLibrary() = default;
  std::string force(const std::string &variant);

  hewn_library *library = nullptr;
  const hewn_model *descriptor = nullptr;
  /// The library's descriptor with one variant alone, where the user chose it: the runtime has no switch for that.
  hewn_model forced = {};
  hewn_context *context = nullptr;
};

} // namespace hewn

#endif
