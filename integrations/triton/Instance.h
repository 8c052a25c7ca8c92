// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_INSTANCE_H
#define HEWN_INTEGRATIONS_TRITON_INSTANCE_H

/// \file
/// An instance of a model. It has its own context; all instances share the library and the weights.

#include "integrations/triton/Request.h"

namespace hewn::triton {

class Instance {
public:
  static Error create(TRITONBACKEND_ModelInstance *handle, Model &model, std::unique_ptr<Instance> &created);
  Instance(const Instance &) = delete;
  ~Instance();

  /// Responds to and releases all requests. Compatible requests are batched into one run; an
  /// invalid request gets an error of its own. An exception becomes the error of a request, so that
  /// each request gets a response.
  void execute(std::span<Request> requests);

private:
  Instance(TRITONBACKEND_ModelInstance *handle, Model &model) : handle(handle), model(model) {}

  /// Times of steady_clock in nanoseconds, for Triton's statistics.
  struct Times {
    uint64_t begin = 0, computeBegin = 0, computeEnd = 0;
  };
  /// An output of a run: its destination, and its size if that is known before the run (`isSized`).
  struct Target {
    const hewn_tensor_info *info = nullptr;
    std::vector<int64_t> dims;
    /// isInResponse: the output has been added to the response, with the buffer `room` (NULL if it
    /// has 0 bytes). isInPlace: the run writes directly into `room`.
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
