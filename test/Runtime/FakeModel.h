// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TEST_RUNTIME_FAKEMODEL_H
#define HEWN_TEST_RUNTIME_FAKEMODEL_H

/// \file
/// Model descriptors and `run` functions written by hand, as the compiler emits them.

#include "hewn/services.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// A model of `total[batch, 3] = left[batch, 3] + right[batch, 3] + weights[3]` and of `rows[n]
/// (int64)`, which are the rows i with left[i, 0] > right[i, 0]. `batch` is in 1..64. The model
/// uses the arena, parallel_for and rt_alloc. If left[0, 0] is negative, the run fails with an
/// index out of range.
class FakeModel {
public:
  FakeModel();
  FakeModel(const FakeModel &) = delete;

  hewn_model model{};
  hewn_variant variant{};
  hewn_tensor_info inputs[2]{};
  hewn_tensor_info outputs[2]{};
  hewn_symbol symbols[1]{};
  hewn_weights_state state{};
};

/// A model with one output and without inputs and symbols. Its `run` function calls `body`.
class BodyModel {
public:
  using Body = std::function<int32_t(hewn_context *, const hewn_frame *)>;
  explicit BodyModel(Body body);
  BodyModel(const BodyModel &) = delete;
  /// Creates a context with `options` (null: default options), runs the model in it, and returns
  /// the status code.
  int32_t run(const hewn_context_options *options = nullptr);
  /// Runs the model in an existing context.
  int32_t runIn(hewn_context *context);
  /// Runs the model by hewn_run_pointers, without inputs.
  int32_t runIn(hewn_context *context, void **outputs);
  /// Runs the model with one input, which the test has added to it. The output is written to `out`.
  int32_t runIn(hewn_context *context, DLTensor in, DLTensor out);

  hewn_model model{};
  hewn_variant variant{};
  hewn_tensor_info output{};
  Body body;
  std::string message; ///< message of the last run
};

/// A DLTensor with its storage.
template <typename T> class Tensor {
public:
  Tensor(std::vector<int64_t> dims, std::vector<T> values) : shape(std::move(dims)), data(std::move(values)) {}
  DLTensor view(DLDataType dtype) {
    DLTensor tensor{};
    tensor.data = data.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = dtype;
    tensor.shape = shape.data();
    return tensor;
  }
  std::vector<int64_t> shape;
  std::vector<T> data;
};

inline constexpr DLDataType float32{kDLFloat, 32, 1};
inline constexpr DLDataType int64{kDLInt, 64, 1};

/// The services of models in these tests, as generated code defines them.
inline const hewn_services allServices = {sizeof(hewn_services), 0, &hewn_rt_platform, &hewn_rt_pool, &hewn_rt_weights,
                                          &hewn_rt_ranks};

/// Returns options with only `size` set.
inline hewn_context_options defaultOptions() {
  hewn_context_options options{};
  options.size = sizeof(options);
  return options;
}

/// Returns the contents of the weights file that FakeModel expects: header and data.
std::string weightsBytes(const hewn_model &model);

#endif // HEWN_TEST_RUNTIME_FAKEMODEL_H
