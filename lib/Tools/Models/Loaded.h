// SPDX-License-Identifier: Apache-2.0
//
// Loads a compiled library. An ONNX model is first compiled to a temporary library.
#ifndef HEWN_LIB_TOOLS_MODELS_LOADED_H
#define HEWN_LIB_TOOLS_MODELS_LOADED_H

#include "lib/Tools/Models/CompileModel.h"
#include "lib/Tools/Models/Npy.h"
#include "lib/Tools/Models/Ranks.h"
#include <memory>
#include <optional>

namespace hewn::tool {

/// Options of the tools that run a model, named after the flags of the command line. An empty
/// `variant`: the loader selects one.
struct RunFlags {
  std::string variant, deviceCache, transport = "host";
  int device = 0;
  bool verify = false, copyWeights = false;
};

class Loaded {
public:
  struct Opening {
    /// Called for each kernel launch of a run. If `tracesTasks` is set and the runtime of the
    /// library supports it, also called for the tasks of each thread, into which launches are
    /// divided.
    hewn_trace_hook trace = {};
    /// Called with the times of kernels that run on a device.
    hewn_device_hook device = {};
    /// For a model that is split over ranks: `transfers` is called for each transfer and each
    /// synchronization of this rank; `witness` is called around the runs of all ranks except rank
    /// 0.
    hewn_transfer_hook transfers = {};
    RunWitness *witness = nullptr;
    bool tracesTasks = false;
    /// If not null, receives the sizes given by --dim. In this case, --dim is also allowed for a
    /// .so and gives the sizes of its inputs.
    std::vector<std::string> *sizes = nullptr;
    /// If not null, receives the compiler's explanation of a compiled model
    /// (docs/reference/json.md, explain). Stays empty for a .so.
    std::string *explanation = nullptr;
    /// The given flags that only apply to compilation, which a compiled library refuses.
    std::vector<std::string> givenFlags = {};
  };
  /// Opens a .so, or compiles a model and opens the result. Returns null after printing an error.
  /// All messages of the object go to `messages`, which must outlive it.
  static std::unique_ptr<Loaded> open(const std::string &path, const CompileFlags &flags, const RunFlags &run,
                                      Opening opening, llvm::raw_ostream &messages);
  /// Compiles a model and loads it. Returns null after an error; stores the error in `problem`, or
  /// prints it if `problem` is null.
  static std::unique_ptr<Loaded> compile(const CompileJob &job, const CompileFlags &flags, llvm::raw_ostream &messages,
                                         std::string *problem);
  /// Opens a compiled library. Returns null after printing an error.
  static std::unique_ptr<Loaded> openLibrary(const std::string &path, int threads, hewn_trace_hook trace,
                                             llvm::raw_ostream &messages);
  ~Loaded();

  /// Returns the stream of the messages.
  llvm::raw_ostream &stream() const { return *messages; }
  const hewn_model &model() const { return library->model(); }
  /// Returns the variant of the library that runs on this machine.
  const hewn_variant &variant() const { return library->variant(); }
  int threads() const { return numThreads; }
  /// Returns the number of bytes that this rank transferred in all runs; nullopt if the model is
  /// not split.
  std::optional<uint64_t> movedBytes() const;
  /// Returns the number of ranks that the model is split over; 0 if it is not split.
  int ranks() const { return model().num_ranks; }
  /// `keepRun` makes the other ranks store the record of their last run. `askRanks` returns these
  /// records in the order of the ranks, or false after printing an error. Both do nothing if the
  /// model is not split.
  void keepRun();
  bool askRanks(std::vector<std::string> &told);
  /// Returns the values of --dim with which the model was compiled.
  llvm::ArrayRef<std::string> bindings() const { return bound; }
  /// Returns the index of the input, or -1 if the model has no input with this name.
  int inputNamed(const std::string &name) const { return library->inputNamed(name); }
  /// Runs the model on one array per input, in the order of the inputs. Returns false after
  /// printing an error.
  bool run(const std::vector<Array> &inputs, std::vector<Array> &outputs);
  /// Total time and number of the kernel launches of a run, measured by the device.
  struct DeviceTime {
    double kernelMilliseconds = 0;
    int64_t launches = 0;
  };
  /// Returns the device time of the fastest of 10 runs, if the model has device code. These runs
  /// use a separate context, which launches the kernels one by one. Returns nullopt for models
  /// without device code, and after printing an error.
  std::optional<DeviceTime> timeOnDevice(const std::vector<Array> &inputs);
  /// Runs the model like `run`, but returns the status of a failed run instead of printing it.
  hewn_status tryRun(const std::vector<Array> &inputs, std::vector<Array> &outputs);

private:
  explicit Loaded(llvm::raw_ostream &messages) : messages(&messages) {}
  /// Stores an error in `problem`, or prints it if `problem` is null. Returns false.
  bool fail(const std::string &why, std::string *problem) const;
  /// Compiles to a library in a scratch folder. Returns the path, or an empty string after an
  /// error.
  std::string make(const CompileJob &job, const CompileFlags &flags, std::string *problem,
                   std::string *explanation = nullptr);
  bool load(const std::string &path, const std::string &variant, const hewn_context_options &options,
            std::string *problem);
  llvm::raw_ostream *messages;
  std::string folder;
  /// The options with which the library was loaded.
  std::string libraryPath, chosenVariant, deviceCache, transport = "host";
  hewn_context_options options = {};
  int numThreads = 1;
  /// Null if the model is not split. Declared before `library`, because the context of the library
  /// must be destroyed first.
  std::unique_ptr<Ranks> group;
  hewn_transfer_hook transferHook = {};
  RunWitness *witness = nullptr;
  std::vector<std::string> bound;
  std::unique_ptr<LoadedLibrary> library;
};

/// Reads the arrays of --input (name=file.npy or file.npz). Returns false after printing errors.
bool readArrays(const std::vector<std::string> &given, std::vector<std::pair<std::string, Array>> &arrays,
                llvm::raw_ostream &messages);

/// Reads the arrays of --input in the order of the model's inputs. `have` receives which inputs
/// were given; if `have` is null, all inputs are required. Returns false after printing errors.
bool gatherInputs(const Loaded &loaded, const std::vector<std::string> &given, std::vector<Array> &inputs,
                  std::vector<bool> *have = nullptr);

/// Returns an array of valid values for any model: ones for integers, uniform in [-1, 1) with a
/// fixed seed for float32, zeros for other floats.
Array filledArray(DLDataType type, std::vector<int64_t> shape);

} // namespace hewn::tool

#endif
