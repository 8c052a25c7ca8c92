// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_REQUEST_H
#define HEWN_INTEGRATIONS_TRITON_REQUEST_H

/// \file
/// One request: what it brings, held to the model before anything runs, so that a wrong one fails alone.

#include "integrations/triton/Model.h"

namespace hewn::triton {

/// An input where Triton has it: one part or several, at any address.
struct InputView {
  std::vector<int64_t> dims;
  int64_t count = 0; ///< of elements
  std::vector<std::span<const unsigned char>> parts;
};

class Request {
public:
  /// Both handles are taken: `send`, then `release`; or `leave`.
  Request(TRITONBACKEND_Request *handle, TRITONBACKEND_Response *response) : handle(handle), response(response) {}

  /// Reads all that there is. An error is the request's own.
  Error read(const Model &model);
  /// The request will be answered with this error; the first one counts.
  void fail(Error error);
  bool hasFailed() const { return failure != nullptr; }

  /// Whether both may be rows of one run: they differ in the batch's symbol alone.
  bool fits(const Request &other, const Model &model) const;
  int64_t rows(const Model &model) const;
  bool wants(size_t output) const { return wanted[output]; }
  /// Whether the inputs say the values of all symbols.
  bool knowsSymbols() const;

  /// Room of the response for an output, or of the sequence's state. The memory is the CPU's.
  Error outputRoom(const hewn_tensor_info &output, std::span<const int64_t> dims, uint64_t bytes, void *&room);
  /// The sequence goes on with it when the response is sent without an error.
  Error stateRoom(const char *name, const hewn_tensor_info &output, std::span<const int64_t> dims, uint64_t bytes,
                  void *&room);

  /// Sends the response: the outputs, or what failed.
  void send();
  void release();
  /// Deletes the response, unsent; the request is Triton's again.
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
  std::vector<int64_t> values; ///< of the symbols; negative: not known
  std::vector<bool> wanted;
  std::vector<TRITONBACKEND_State *> states;
  Error failure;
};

} // namespace hewn::triton

#endif
