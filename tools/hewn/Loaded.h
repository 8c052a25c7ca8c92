// SPDX-License-Identifier: Apache-2.0
//
// A compiled library, loaded; a model is compiled to a temporary one first.
#ifndef HEWN_TOOLS_HEWN_LOADED_H
#define HEWN_TOOLS_HEWN_LOADED_H

#include "hewn/runtime.h"
#include "tools/hewn/Npy.h"
#include <memory>

namespace hewn::tool {

class Loaded {
public:
  /// `path`: a .so, or a model to compile. The flag --variant says which code of it to run, if not the machine's choice.
  /// Null after an error was printed.
  /// `trace` hears of every launch.
  static std::unique_ptr<Loaded> open(const std::string &path, int threads, hewn_trace_hook trace = {});
  ~Loaded();

  const hewn_model &model() const { return *descriptor; }
  /// The code that runs.
  const hewn_variant &variant() const { return *descriptor->runtime->model_variant(descriptor); }
  /// The input of this name; -1 where there is none.
  int inputNamed(const std::string &name) const;
  /// One array an input, in order. False after an error was printed. Outputs live until the next run.
  bool run(const std::vector<Array> &inputs, std::vector<Array> &outputs);

private:
  Loaded() = default;
  bool force(const std::string &variant);
  std::string folder;
  hewn_library *library = nullptr;
  const hewn_model *descriptor = nullptr;
  /// The library's descriptor with one variant alone, where the user chose it: the runtime has no switch for that.
  hewn_model forced = {};
  hewn_context *context = nullptr;
};

/// Arrays for all inputs: those given as name=file.npy or file.npz, the others (where `fill`) with numbers of a fixed
/// generator, symbols at 1. False after an error was printed.
bool gatherInputs(const Loaded &loaded, const std::vector<std::string> &given, bool fill, std::vector<Array> &inputs);

} // namespace hewn::tool

#endif
