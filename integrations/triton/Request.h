// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_REQUEST_H
#define HEWN_INTEGRATIONS_TRITON_REQUEST_H

/// \file A request. Its inputs are checked against the model before a run, so that an invalid
/// request doesn't affect the others of a batch.

#include "integrations/triton/Model.h"

namespace hewn::triton {

/// An input in the memory of Triton: one or more parts at arbitrary addresses.
struct InputView {
  std::vector<int64_t> dims;
  int64_t count = 0; ///< number of elements
  std::vector<std::span<const unsigned char>> parts;
};

class Request {
public:
  /// Takes both handles. The caller must call `send`, then `release`; or only `leave`.
  Request(TRITONBACKEND_Request *handle, TRITONBACKEND_Response *response) : handle(handle), response(response) {}

  /// Reads and checks the inputs and the names of the requested outputs. The error is that of this
  /// request.
  Error read(const Model &model);
  /// Makes `send` respond with this error. Only the first error is kept.
  void fail(Error error);
  bool hasFailed() const { return failure != nullptr; }

  /// Whether both requests can be batched into one run: only their batch sizes may differ.
  bool fits(const Request &other, const Model &model) const;
  int64_t rows(const Model &model) const;
  bool wants(size_t output) const { return wanted[output]; }
  /// Whether the shapes of the inputs determine the values of all symbols.
  bool knowsSymbols() const;

  /// Adds an output to the response and sets `room` to its buffer, which is in host memory.
  Error outputRoom(const hewn_tensor_info &output, std::span<const int64_t> dims, uint64_t bytes, void *&room);
  /// Creates a new state of the sequence and sets `room` to its buffer, which is in host memory.
  /// `send` makes it the current state unless the request has failed.
  Error stateRoom(const char *name, const hewn_tensor_info &output, std::span<const int64_t> dims, uint64_t bytes,
                  void *&room);

  /// Sends the response: the outputs, or the error.
  void send();
  void release();
  /// Deletes the response without sending it, and returns ownership of the request to Triton.
  void leave();

  TRITONBACKEND_Request *triton() const { return handle; }
  const std::vector<InputView> &inputs() const { return views; }
  const std::vector<int64_t> &symbols() const { return values; }

private:
  Error readInput(const Model &model, size_t input, InputView &view);
  Error readParts(const hewn_tensor_info &info, TRITONBACKEND_Input *input, uint32_t buffers, InputView &view);
  Error checkDims(const hewn_tensor_info &info, const hewn_model &model, std::span<const int64_t> dims);
  Error readWanted(const Model &model);

  TRITONBACKEND_Request *handle;
  TRITONBACKEND_Response *response;
  std::vector<InputView> views;
  std::vector<int64_t> values; ///< values of the symbols; negative if unknown
  std::vector<bool> wanted;
  std::vector<TRITONBACKEND_State *> states;
  Error failure;
};

} // namespace hewn::triton

#endif
