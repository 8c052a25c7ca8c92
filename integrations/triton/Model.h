// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_MODEL_H
#define HEWN_INTEGRATIONS_TRITON_MODEL_H

/// \file
/// A model of the repository: its library, loaded once for all instances, and what its config.pbtxt says.

#include "integrations/triton/Types.h"

#include <atomic>
#include <string>
#include <vector>

namespace hewn::triton {

/// What the config says beside tensors. `parameters` of the model win over `--backend-config=hewn,KEY=VALUE` of the server.
struct Settings {
  int64_t maxBatch = 0;
  /// parameters "threads": of each instance.
  int32_t threads = 1;
  /// parameters "verify_weights", "copy_weights": HEWN_VERIFY_WEIGHTS, HEWN_COPY_WEIGHTS.
  uint32_t flags = 0;
  std::string file = "model.so";
};

class Model {
public:
  /// Loads what lies in the model's version folder, and holds it to the config.
  static Error load(TRITONBACKEND_Model *model, std::unique_ptr<Model> &loaded);
  Model(const Model &) = delete;
  ~Model();

  const hewn_model &descriptor() const { return *compiled; }
  const Settings &settings() const { return config; }
  std::span<const hewn_tensor_info> inputs() const;
  std::span<const hewn_tensor_info> outputs() const;
  const std::string &name() const { return title; }

  /// The symbol that is the first dim of everything; -1 where requests are run one by one.
  int32_t batchSymbol() const { return batch; }
  /// How many rows a run may have.
  int64_t mostRows() const;
  /// Whether an output goes into Triton's implicit state, whose name is this; NULL: it does not.
  const char *stateOf(size_t output) const;
  /// The dims that the config gives to the state that a sequence begins with, the batch's 1 among them; empty: none.
  std::span<const int64_t> firstStateOf(size_t input) const { return firstStates[input]; }
  /// Whether clients may ask for it.
  bool isAnswer(size_t output) const { return answers[output]; }

  /// Counts the threads of an instance; warns, once, where there are more than processors.
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
  /// By output; empty: none.
  std::vector<std::string> states;
  std::vector<std::vector<int64_t>> firstStates;
  std::atomic<int64_t> threadsInUse = 0;
  std::atomic<bool> hasWarned = false;
};

/// Which of the case's outputs' ranks holds for these symbols: `outputs` of the descriptor, or of its case.
const hewn_tensor_info *outputsFor(const hewn_model &model, const int64_t *symbols);

} // namespace hewn::triton

#endif
