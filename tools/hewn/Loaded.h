// SPDX-License-Identifier: Apache-2.0
//
// A compiled library, loaded; a model is compiled to a temporary one first.
#ifndef HEWN_TOOLS_HEWN_LOADED_H
#define HEWN_TOOLS_HEWN_LOADED_H

#include "tools/hewn/Arrays/Npy.h"
#include "tools/hewn/Ranks/Ranks.h"
#include "tools/hewn/Subcommands.h"
#include <memory>
#include <optional>

namespace hewn::tool {

class Loaded {
public:
  struct Opening {
    /// Hears of every launch and, where `tracesTasks` and the library's runtime can tell, of what each thread does.
    hewn_trace_hook trace = {};
    /// Hears of a device's times.
    hewn_device_hook device = {};
    /// Of a model that is split: hears of what this rank does with others, and is, on all but the first rank, around their runs.
    hewn_transfer_hook transfers = {};
    RunWitness *witness = nullptr;
    bool tracesTasks = false;
    /// Null, or: --dim may be given for a .so too, to be taken for the sizes of its inputs; it holds those then.
    std::vector<std::string> *sizes = nullptr;
    /// Null, or takes what the compiler says of a model that is compiled (docs/reference/json.md, explain); it stays empty for a .so.
    std::string *explanation = nullptr;
  };
  /// `path`: a .so, or a model to compile. The flag --variant says which code of it to run, if not the machine's choice. Null after an error
  /// was printed.
  static std::unique_ptr<Loaded> open(const std::string &path, Opening opening);
  /// Compiles a model and loads it. Null, and why in `problem`; or, where that is null, after it was printed.
  static std::unique_ptr<Loaded> compile(const CompileJob &job, const CompileFlags &flags, std::string *problem);
  /// A library that is compiled already. Null after an error was printed.
  static std::unique_ptr<Loaded> openLibrary(const std::string &path, int threads, hewn_trace_hook trace);
  ~Loaded();

  const hewn_model &model() const { return library->model(); }
  /// The code that runs.
  const hewn_variant &variant() const { return library->variant(); }
  int threads() const { return numThreads; }
  /// Of a model that is split: bytes that this rank has moved in all runs; nullopt: it is not split.
  std::optional<uint64_t> movedBytes() const;
  /// Over how many ranks the model is split; 0: it is not.
  int ranks() const { return model().num_ranks; }
  /// The other ranks keep what they have written down of the last run, and, in their order from the first one on, tell it. Nothing happens where
  /// the model is not split. False after an error was printed.
  void keepRun();
  bool askRanks(std::vector<std::string> &told);
  /// What --dim said of the model that was compiled for this.
  llvm::ArrayRef<std::string> bindings() const { return bound; }
  /// The input of this name; -1 where there is none.
  int inputNamed(const std::string &name) const { return library->inputNamed(name); }
  /// One array an input, in order. False after an error was printed.
  bool run(const std::vector<Array> &inputs, std::vector<Array> &outputs);
  /// Kernels of a run by the device's own clock.
  struct DeviceTime {
    double kernelMilliseconds = 0;
    int64_t launches = 0;
  };
  /// Of a model with code for a device: the fastest of some runs in a context of their own, whose kernels are launched one by one. Nothing of
  /// other models, or after an error was printed.
  std::optional<DeviceTime> timeOnDevice(const std::vector<Array> &inputs);
  /// The same, with the status of a run that fails for the caller.
  hewn_status tryRun(const std::vector<Array> &inputs, std::vector<Array> &outputs);

private:
  Loaded() = default;
  /// Compiles to a library in a folder of its own; its path, or empty after an error.
  std::string make(const CompileJob &job, const CompileFlags &flags, std::string *problem,
                   std::string *explanation = nullptr);
  bool load(const std::string &path, const std::string &variant, const hewn_context_options &options,
            std::string *problem);
  std::string folder;
  /// What the library was loaded with.
  std::string libraryPath, chosenVariant, deviceCache;
  hewn_context_options options = {};
  int numThreads = 1;
  /// Of a model that is split; null: it is not. Before the library, whose context ends first.
  std::unique_ptr<Ranks> group;
  hewn_transfer_hook transferHook = {};
  RunWitness *witness = nullptr;
  std::vector<std::string> bound;
  std::unique_ptr<LoadedLibrary> library;
};

/// Reads the arrays of --input, as name=file.npy or file.npz. False after errors were printed.
bool readArrays(const std::vector<std::string> &given, std::vector<std::pair<std::string, Array>> &arrays);

/// The arrays of --input at the places of the model's inputs, and in `have` which of them there are; without `have` all must be. False after errors
/// were printed.
bool gatherInputs(const Loaded &loaded, const std::vector<std::string> &given, std::vector<Array> &inputs,
                  std::vector<bool> *have = nullptr);

/// Numbers of a fixed generator that any model can take: ones for integers, in [-1, 1) for float32, else zeros.
Array filledArray(DLDataType type, std::vector<int64_t> shape);

} // namespace hewn::tool

#endif
