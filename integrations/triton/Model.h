// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_MODEL_H
#define HEWN_INTEGRATIONS_TRITON_MODEL_H

/// \file A model of the repository: its library, which all instances share, and the settings of its
/// config.pbtxt.

#include "integrations/triton/Types.h"

#include <atomic>
#include <string>
#include <vector>

namespace hewn::triton {

/// Settings of the config other than tensors. `parameters` of the model take precedence over
/// `--backend-config=hewn,KEY=VALUE` of the server.
struct Settings {
  int64_t maxBatch = 0;
  /// Number of threads of each instance (parameter "threads").
  int32_t threads = 1;
  /// HEWN_VERIFY_WEIGHTS and HEWN_COPY_WEIGHTS (parameters "verify_weights" and "copy_weights").
  uint32_t flags = 0;
  std::string file = "model.so";
};

class Model {
public:
  /// Loads the library from the version folder of the model and checks that it matches the config.
  static Error load(TRITONBACKEND_Model *model, std::unique_ptr<Model> &loaded);
  Model(const Model &) = delete;
  ~Model();

  const hewn_model &descriptor() const { return *compiled; }
  const Settings &settings() const { return config; }
  std::span<const hewn_tensor_info> inputs() const;
  std::span<const hewn_tensor_info> outputs() const;
  const std::string &name() const { return title; }

  /// The symbol that is the batch dim (the first dim of all inputs and outputs), or -1 if requests
  /// are not batched.
  int32_t batchSymbol() const { return batch; }
  /// Maximum number of rows (batch size) of one run; 0 if requests are not batched.
  int64_t mostRows() const;
  /// Name of the implicit state of Triton that stores this output, or NULL.
  const char *stateOf(size_t output) const;
  /// Dims of the initial state of a sequence for this input as the config gives them, with a
  /// leading 1 for the batch dim. The vector is empty if the config gives none.
  std::span<const int64_t> firstStateOf(size_t input) const { return firstStates[input]; }
  /// Whether the config lists the output, so that clients may request it.
  bool isAnswer(size_t output) const { return answers[output]; }

  /// Adds the threads of an instance (negative to remove them). Logs a warning, once, if all
  /// instances together have more threads than there are processors.
  void countThreads(int32_t threads);

private:
  Model() = default;
  Error readConfig(TRITONBACKEND_Model *model, std::string &text);
  Error openLibrary(const std::string &path);
  Error checkTypes() const;
  Error checkTensors(const std::string &text);
  Error findBatch();

  std::string title;
  Settings config;
  hewn_library *library = nullptr;
  const hewn_model *compiled = nullptr;
  int32_t batch = -1;
  std::vector<bool> answers;
  /// For each output, the name of the Triton state that stores it, or "" if no state does.
  std::vector<std::string> states;
  std::vector<std::vector<int64_t>> firstStates;
  std::atomic<int64_t> threadsInUse = 0;
  std::atomic<bool> hasWarned = false;
};

/// Returns the output descriptors that apply for these symbol values: those of the case that
/// `case_of` selects if it has its own (ranks may differ between cases), otherwise `outputs` of the
/// model.
const hewn_tensor_info *outputsFor(const hewn_model &model, const int64_t *symbols);

} // namespace hewn::triton

#endif
