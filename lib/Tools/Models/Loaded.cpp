// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Loaded.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "lib/Tools/Models/Messages.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <cstring>
#include <random>

namespace hewn::tool {

bool Loaded::fail(const std::string &why, std::string *problem) const {
  if (problem)
    *problem = why;
  else
    printMessage(*messages, "error: " + why);
  return false;
}

bool Loaded::load(const std::string &path, const std::string &variant, const hewn_context_options &options,
                  std::string *problem) {
  std::string why;
  bool byNccl = transport == "nccl";
  if (!byNccl && transport != "host")
    return fail("unknown transport '" + printable(transport) + "' for --transport; expected host or nccl", problem);
  libraryPath = path;
  chosenVariant = variant;
  this->options = options;
  numThreads = options.threads;
  if (group)
    group->stop();
  library.reset();
  group.reset();
  library = LoadedLibrary::open(
      path, variant, options, why, [&](const hewn_model &model, hewn_context_options &options, std::string &problem) {
        group = Ranks::join(model, byNccl ? Transport::Nccl : Transport::Host, options, problem);
        options.transfer_hook = transferHook;
        return group != nullptr;
      });
  if (group && !group->isLeader()) {
    if (!library) {
      group->endIfForked(1);
      group.reset();
      // This rank could not load the library; the group of ranks reports the error to rank 0.
      std::exit(1);
    }
    group->follow(std::move(library), witness, *messages);
  }
  return library || fail(why, problem);
}

void Loaded::keepRun() {
  if (group)
    group->keepRun();
}

bool Loaded::askRanks(std::vector<std::string> &told) {
  hewn_status status = group ? group->ask(told) : hewn_status{HEWN_OK, ""};
  return status.code == HEWN_OK || fail(status.message, nullptr);
}

std::optional<uint64_t> Loaded::movedBytes() const {
  return group ? std::optional(group->communicator()->moved) : std::nullopt;
}

hewn_status Loaded::tryRun(const std::vector<Array> &inputs, std::vector<Array> &outputs) {
  hewn_status status = group ? group->announce(inputs) : hewn_status{HEWN_OK, ""};
  return status.code == HEWN_OK ? library->run(inputs, outputs) : status;
}

static hewn_context_options plainOptions(int threads) {
  hewn_context_options options = {};
  options.threads = threads;
  return options;
}

std::unique_ptr<Loaded> Loaded::compile(const CompileJob &job, const CompileFlags &flags, llvm::raw_ostream &messages,
                                        std::string *problem) {
  std::unique_ptr<Loaded> loaded(new Loaded(messages));
  std::string library = loaded->make(job, flags, problem);
  if (library.empty() || !loaded->load(library, "", plainOptions(flags.threads), problem))
    return nullptr;
  return loaded;
}

std::string Loaded::make(const CompileJob &job, const CompileFlags &flags, std::string *problem,
                         std::string *explanation) {
  llvm::Expected<std::string> made = makeScratchFolder();
  if (!made) {
    fail(llvm::toString(made.takeError()), problem);
    return "";
  }
  folder = std::move(*made);
  CompileJob whole = job;
  whole.output = folder + "/model" + target::libraryExtension().str();
  whole.transient = true;
  whole.explain = explanation;
  CompileTexts texts;
  bool isMade = compileModel(whole, flags, *messages, &texts, problem);
  if (explanation)
    *explanation = std::move(texts.stage);
  return isMade ? whole.output : "";
}

/// Returns the error for a file that is neither a library nor a model, or an empty string.
static std::string whyNotRun(llvm::StringRef path) {
  for (const codegen::LinkerTool *linker : target::linkers())
    if (linker->artifactKind(path) && !LoadedLibrary::loads(path.str()))
      return path.str() + " cannot be run; link it into a program, or run a library (" +
             target::libraryExtension().str() + ") or a model";
  return "";
}

std::unique_ptr<Loaded> Loaded::open(const std::string &path, const CompileFlags &flags, const RunFlags &run,
                                     Opening opening, llvm::raw_ostream &messages) {
  std::unique_ptr<Loaded> loaded(new Loaded(messages));
  loaded->deviceCache = run.deviceCache;
  loaded->transport = run.transport;
  loaded->transferHook = opening.transfers;
  loaded->witness = opening.witness;
  hewn_context_options options = plainOptions(flags.threads);
  options.flags = (run.verify ? HEWN_VERIFY_WEIGHTS : 0) | (run.copyWeights ? HEWN_COPY_WEIGHTS : 0);
  options.trace_hook = opening.trace;
  options.device_hook = opening.device;
  options.device = run.device;
  options.device_cache = loaded->deviceCache.empty() ? nullptr : loaded->deviceCache.c_str();
  std::string library = path;
  if (std::string why = whyNotRun(path); !why.empty()) {
    loaded->fail(why, nullptr);
    return nullptr;
  }
  if (!LoadedLibrary::loads(path)) {
    CompileJob job;
    job.path = path;
    library = loaded->make(job, flags, nullptr, opening.explanation);
    if (library.empty())
      return nullptr;
    loaded->bound = flags.dims;
  } else if (llvm::ArrayRef<std::string> given = opening.givenFlags; !given.empty()) {
    messages << "error: " << path << " is already compiled: remove " << llvm::join(given, ", ") << "\n";
    return nullptr;
  } else if (opening.sizes) {
    *opening.sizes = flags.dims;
  }
  if (opening.tracesTasks) {
    hewn_context_options withTasks = options;
    withTasks.flags |= HEWN_TRACE_TASKS;
    // The runtime of an older library rejects this flag; then the trace has no tasks. `load` below
    // reports any other error.
    if (std::string why; loaded->load(library, run.variant, withTasks, &why))
      return loaded;
  }
  return loaded->load(library, run.variant, options, nullptr) ? std::move(loaded) : nullptr;
}

std::unique_ptr<Loaded> Loaded::openLibrary(const std::string &path, int threads, hewn_trace_hook trace,
                                            llvm::raw_ostream &messages) {
  std::unique_ptr<Loaded> loaded(new Loaded(messages));
  hewn_context_options options = plainOptions(threads);
  options.trace_hook = trace;
  return loaded->load(path, "", options, nullptr) ? std::move(loaded) : nullptr;
}

Loaded::~Loaded() {
  if (group)
    group->stop();
  library.reset();
  if (!folder.empty())
    removeScratchFolder(folder);
}

bool Loaded::run(const std::vector<Array> &inputs, std::vector<Array> &outputs) {
  hewn_status status = tryRun(inputs, outputs);
  return status.code == HEWN_OK || fail(status.message, nullptr);
}

std::optional<Loaded::DeviceTime> Loaded::timeOnDevice(const std::vector<Array> &inputs) {
  constexpr int runs = 10;
  if (!model().device)
    return std::nullopt;
  DeviceTime now, fastest;
  hewn_context_options timed = options;
  timed.device_hook = {[](void *user, const char *, double begin, double end) {
                         auto *time = static_cast<DeviceTime *>(user);
                         time->kernelMilliseconds += (end - begin) / 1e3;
                         ++time->launches;
                       },
                       &now};
  std::string why;
  std::unique_ptr<LoadedLibrary> beside = LoadedLibrary::open(libraryPath, chosenVariant, timed, why);
  if (!beside) {
    fail(why, nullptr);
    return std::nullopt;
  }
  std::vector<Array> outputs;
  for (int i = 0; i < runs; ++i) {
    now = {};
    if (hewn_status status = beside->run(inputs, outputs); status.code != HEWN_OK) {
      fail(status.message, nullptr);
      return std::nullopt;
    }
    if (i == 0 || now.kernelMilliseconds < fastest.kernelMilliseconds)
      fastest = now;
  }
  return fastest;
}

Array filledArray(DLDataType type, std::vector<int64_t> shape) {
  Array array;
  array.type = type;
  array.shape = std::move(shape);
  array.bytes.resize(size_t(array.elements() * array.elementBytes()));
  std::mt19937 random(0);
  if (type.code == kDLFloat && type.bits == 32) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < array.elements(); ++i) {
      float value = uniform(random);
      std::memcpy(&array.bytes[size_t(i) * 4], &value, 4);
    }
  } else if (type.code != kDLFloat && type.code != kDLBfloat) {
    for (int64_t i = 0; i < array.elements(); ++i)
      array.bytes[size_t(i * array.elementBytes())] = 1;
  }
  return array;
}

/// Checks that .npy files can hold all inputs and outputs, that is, that these are tensors of
/// numbers. Prints an error for each input or output of another type.
static bool takesNumbers(const hewn_model &model, llvm::raw_ostream &messages) {
  auto refuse = [&](const char *what, const hewn_tensor_info &info) {
    if (info.kind == HEWN_KIND_TENSOR && info.dtype.code != kDLOpaqueHandle)
      return false;
    messages << "error: " << what << " '" << info.name << "' is "
             << (info.kind == HEWN_KIND_TENSOR ? "a string tensor" : "a sequence or an optional value")
             << ", which the command line does not support: run the model from C or Python\n";
    return true;
  };
  bool fine = true;
  for (int i = 0; i < model.num_inputs; ++i)
    fine &= !refuse("input", model.inputs[i]);
  for (int i = 0; i < model.num_outputs; ++i)
    fine &= !refuse("output", model.outputs[i]);
  return fine;
}

bool readArrays(const std::vector<std::string> &given, std::vector<std::pair<std::string, Array>> &arrays,
                llvm::raw_ostream &messages) {
  bool fine = true;
  for (const std::string &text : given) {
    std::string problem;
    if (llvm::StringRef(text).ends_with(".npz") && text.find('=') == std::string::npos) {
      std::vector<std::pair<std::string, Array>> all;
      if (readNpz(text, all, problem))
        std::move(all.begin(), all.end(), std::back_inserter(arrays));
    } else {
      size_t equals = text.rfind('=');
      if (equals == std::string::npos) {
        messages << "error: --input expects NAME=FILE.npy or FILE.npz, got '" << text << "'\n";
        return false;
      }
      // The input counts as given even if its file is unreadable, so that it is not reported as
      // missing, too.
      arrays.push_back({text.substr(0, equals), {}});
      readNpy(text.substr(equals + 1), arrays.back().second, problem);
    }
    if (!problem.empty()) {
      printMessage(messages, "error: " + problem);
      fine = false;
    }
  }
  return fine;
}

bool gatherInputs(const Loaded &loaded, const std::vector<std::string> &given, std::vector<Array> &inputs,
                  std::vector<bool> *found) {
  const hewn_model &model = loaded.model();
  llvm::raw_ostream &messages = loaded.stream();
  if (!takesNumbers(model, messages))
    return false;
  std::vector<std::pair<std::string, Array>> arrays;
  bool fine = readArrays(given, arrays, messages);
  inputs.assign(model.num_inputs, {});
  std::vector<bool> have(model.num_inputs, false);
  for (auto &[name, array] : arrays) {
    int index = loaded.inputNamed(name);
    if (index < 0) {
      messages << "error: the model has no input '" << printable(name) << "'; its inputs are:";
      for (int i = 0; i < model.num_inputs; ++i)
        messages << (i ? ", '" : " '") << printable(model.inputs[i].name) << "'";
      messages << "\n";
      fine = false;
      continue;
    }
    inputs[index] = std::move(array);
    have[index] = true;
  }
  for (int i = 0; i < model.num_inputs && !found; ++i)
    if (!have[i]) {
      std::string name = printable(model.inputs[i].name);
      messages << "error: input '" << name << "' is missing: --input " << name << "=FILE.npy\n";
      fine = false;
    }
  if (found)
    *found = std::move(have);
  return fine;
}

} // namespace hewn::tool
