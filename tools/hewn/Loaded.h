// SPDX-License-Identifier: Apache-2.0
//
// A compiled library, loaded; a model is compiled to a temporary one first.
#ifndef HEWN_TOOLS_HEWN_LOADED_H
#define HEWN_TOOLS_HEWN_LOADED_H

#include "tools/hewn/Npy.h"
#include "tools/hewn/Subcommands.h"
#include <memory>

namespace hewn::tool {

class Loaded {
public:
  /// `path`: a .so, or a model to compile. The flag --variant says which code of it to run, if not the machine's choice.
  /// Null after an error was printed.
  /// `trace` hears of every launch.
  static std::unique_ptr<Loaded> open(const std::string &path, hewn_trace_hook trace = {});
  /// Compiles a model and loads it. Null, and why in `problem`; or, where that is null, after it was printed.
  static std::unique_ptr<Loaded> compile(const CompileJob &job, const CompileFlags &flags, std::string *problem);
  ~Loaded();

  const hewn_model &model() const { return library->model(); }
  /// The code that runs.
  const hewn_variant &variant() const { return library->variant(); }
  /// The input of this name; -1 where there is none.
  int inputNamed(const std::string &name) const { return library->inputNamed(name); }
  /// One array an input, in order. False after an error was printed.
  bool run(const std::vector<Array> &inputs, std::vector<Array> &outputs);
  /// The same, with the status of a run that fails for the caller.
  hewn_status tryRun(const std::vector<Array> &inputs, std::vector<Array> &outputs) {
    return library->run(inputs, outputs);
  }

private:
  Loaded() = default;
  /// Compiles to a library in a folder of its own; its path, or empty after an error.
  std::string make(const CompileJob &job, const CompileFlags &flags, std::string *problem);
  bool load(const std::string &path, const std::string &variant, const hewn_context_options &options,
            std::string *problem);
  std::string folder;
  std::unique_ptr<LoadedLibrary> library;
};

/// Reads the arrays of --input, as name=file.npy or file.npz. False after errors were printed.
bool readArrays(const std::vector<std::string> &given, std::vector<std::pair<std::string, Array>> &arrays);

/// Arrays for all inputs: those given as name=file.npy or file.npz, the others (where `fill`) with numbers of a fixed
/// generator, symbols at 1. False after an error was printed.
bool gatherInputs(const Loaded &loaded, const std::vector<std::string> &given, bool fill, std::vector<Array> &inputs);

} // namespace hewn::tool

#endif
