// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_INSTANCE_H
#define HEWN_INTEGRATIONS_TRITON_INSTANCE_H

/// \file
/// An instance of a model: a context of its own, over the library and weights that all instances share.

#include "integrations/triton/Request.h"

namespace hewn::triton {

class Instance {
public:
  static Error create(TRITONBACKEND_ModelInstance *handle, Model &model, std::unique_ptr<Instance> &created);
  Instance(const Instance &) = delete;
  ~Instance();

  /// Answers and releases all requests: those that fit together in one run, a wrong one by itself. What is thrown within is the error of
  /// a request, so that each is answered.
  void execute(std::span<Request> requests);

private:
  Instance(TRITONBACKEND_ModelInstance *handle, Model &model) : handle(handle), model(model) {}

  /// steady_clock, in nanoseconds: what Triton's statistics are made of.
  struct Times {
    uint64_t begin = 0, computeBegin = 0, computeEnd = 0;
  };
  /// An output of a run: where it is written, and how large it is, where that is known before (`isSized`).
  struct Target {
    const hewn_tensor_info *info = nullptr;
    std::vector<int64_t> dims;
    /// The response has it already, at `room` (NULL where it has no byte); and whether the run writes it there.
    bool isInResponse = false, isInPlace = false;
    void *room = nullptr;
    bool isSized = false;
    uint64_t bytes = 0;
  };

  void answer(std::span<Request *> group);
  Error run(std::span<Request *> group, Times &times);
  Error bindInput(std::span<Request *> group, size_t input, int64_t rows, DLTensor &tensor);
  Error bindOutputs(std::span<Request *> group, int64_t rows, std::vector<DLTensor> &tensors);
  bool mayBeInPlace(const Request &request, size_t output) const;
  Error deliver(Request &request, size_t output, const DLTensor &tensor, int64_t firstRow, int64_t allRows);
  void finish(std::span<Request *const> group, const Times &times);

  TRITONBACKEND_ModelInstance *handle;
  Model &model;
  hewn_context *context = nullptr;
  std::vector<Buffer> inputBuffers, outputBuffers;
  std::vector<Strings> strings;
  std::vector<std::vector<int64_t>> inputDims;
  std::vector<Target> targets;
};

} // namespace hewn::triton

#endif
