// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TEST_RUNTIME_FAKEMODEL_H
#define HEWN_TEST_RUNTIME_FAKEMODEL_H

/// \file
/// Descriptors and `run` functions written by hand: what the compiler emits,
/// small enough to see through.

#include "hewn/services.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// `total[batch, 3] = left[batch, 3] + right[batch, 3] + weights[3]`, and
/// `rows[n] (int64)`: the rows in which left[i, 0] > right[i, 0]. batch is in
/// 1..64. Uses the arena, parallel_for, and, with `scratch`, rt_alloc.
/// A negative left[0, 0] fails, as an index out of range would.
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

/// A model of one output, whose `run` is `body`; no inputs, no symbols.
class BodyModel {
public:
  using Body = std::function<int32_t(hewn_context *, const hewn_frame *)>;
  explicit BodyModel(Body body);
  BodyModel(const BodyModel &) = delete;
  /// Makes a context of default options, runs, and returns the code.
  int32_t run(const hewn_context_options *options = nullptr);
  /// The same in a context that there is.
  int32_t runIn(hewn_context *context);
  /// The same where a test has given the model an input; the output goes to `out`.
  int32_t runIn(hewn_context *context, DLTensor in, DLTensor out);

  hewn_model model{};
  hewn_variant variant{};
  hewn_tensor_info output{};
  Body body;
  std::string message; ///< of the last `run`
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

/// Options with only their size set.
inline hewn_context_options defaultOptions() {
  hewn_context_options options{};
  options.size = sizeof(options);
  return options;
}

/// The weights that FakeModel expects in a file: header and data.
std::string weightsBytes(const hewn_model &model);

#endif // HEWN_TEST_RUNTIME_FAKEMODEL_H
