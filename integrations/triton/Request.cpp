// SPDX-License-Identifier: Apache-2.0
#include "integrations/triton/Request.h"

#include <algorithm>
#include <cstring>

namespace hewn::triton {

namespace {

bool isSymbol(int64_t dim) { return dim < 0 && dim > HEWN_DIM_FORMULA; }
size_t symbolOf(int64_t dim) { return size_t(-1 - dim); }

/// Returns the shape of a tensor of the model for messages, for example "[batch, 3]".
std::string shapeText(const hewn_tensor_info &info, const hewn_model &model) {
  std::string text = "[";
  for (int32_t i = 0; i < info.rank; ++i) {
    int64_t dim = info.dims[i];
    text += i ? ", " : "";
    text += isSymbol(dim) ? model.symbols[symbolOf(dim)].name : dim < 0 ? "?" : std::to_string(dim);
  }
  return text + "]";
}

/// Converts a shape to Triton's form: a scalar has the shape [1].
std::vector<int64_t> tritonShape(std::span<const int64_t> dims) {
  return dims.empty() ? std::vector<int64_t>{1} : std::vector<int64_t>(dims.begin(), dims.end());
}

Error wrongMemory(const std::string &what) {
  return makeError(TRITONSERVER_ERROR_UNSUPPORTED, what + " is in GPU memory, but this backend requires host memory");
}

} // namespace

Error Request::checkDims(const hewn_tensor_info &info, const hewn_model &model, std::span<const int64_t> dims) {
  auto wrong = [&](const std::string &why) {
    return invalid("input '" + std::string(info.name) + "' is " + triton::shapeText(dims) + ", but the model expects " +
                   shapeText(info, model) + why);
  };
  if (dims.size() != size_t(info.rank))
    return wrong("");
  for (int32_t i = 0; i < info.rank; ++i) {
    int64_t want = info.dims[i];
    if (want >= 0 && dims[i] != want)
      return wrong("");
    if (!isSymbol(want))
      continue;
    const hewn_symbol &symbol = model.symbols[symbolOf(want)];
    int64_t &value = values[symbolOf(want)];
    if (dims[i] < symbol.min || dims[i] > symbol.max)
      return wrong(" with '" + std::string(symbol.name) + "' at least " + std::to_string(symbol.min) +
                   (symbol.max == INT64_MAX ? "" : " and at most " + std::to_string(symbol.max)));
    if (value >= 0 && value != dims[i])
      return wrong(", where '" + std::string(symbol.name) + "' is already " + std::to_string(value));
    value = dims[i];
  }
  return nullptr;
}

Error Request::readParts(const hewn_tensor_info &info, TRITONBACKEND_Input *input, uint32_t buffers, InputView &view) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < buffers; ++i) {
    const void *part = nullptr;
    uint64_t bytes = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t memoryId = 0;
    if (Error error{TRITONBACKEND_InputBuffer(input, i, &part, &bytes, &memory, &memoryId)})
      return error;
    if (memory == TRITONSERVER_MEMORY_GPU)
      return wrongMemory("input '" + std::string(info.name) + "'");
    if (bytes)
      view.parts.emplace_back(static_cast<const unsigned char *>(part), bytes);
    all += bytes;
  }
  uint64_t want = 0;
  // Strings have no fixed size, and Strings::read checks the number of bytes.
  if (isString(info.dtype))
    return nullptr;
  if (__builtin_mul_overflow(uint64_t(view.count), uint64_t(bytesOf(info.dtype)), &want) || want != all)
    return invalid("input '" + std::string(info.name) + "' has " + std::to_string(all) + " bytes, but shape " +
                   triton::shapeText(view.dims) + " of " + TRITONSERVER_DataTypeString(typeOf(info.dtype)) +
                   " requires a different size");
  return nullptr;
}

Error Request::readInput(const Model &model, size_t place, InputView &view) {
  const hewn_tensor_info &info = model.inputs()[place];
  TRITONBACKEND_Input *input = nullptr;
  if (Error error{TRITONBACKEND_RequestInput(handle, info.name, &input)})
    return error;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t *shape = nullptr;
  uint32_t rank = 0, buffers = 0;
  uint64_t bytes = 0;
  if (Error error{TRITONBACKEND_InputProperties(input, nullptr, &type, &shape, &rank, &bytes, &buffers)})
    return error;
  if (type != typeOf(info.dtype))
    return invalid("input '" + std::string(info.name) + "' is " + TRITONSERVER_DataTypeString(type) +
                   ", but the model expects " + TRITONSERVER_DataTypeString(typeOf(info.dtype)));
  view.dims.assign(shape, shape + rank);
  if (info.rank == 0 && view.dims == std::vector<int64_t>{1})
    view.dims.clear();
  // For the initial state of a sequence, Triton reports dynamic dims as 1 but provides the bytes of
  // the dims in initial_state. Use those dims if the number of bytes matches them.
  int64_t told = 0, first = 0;
  std::span<const int64_t> begin = model.firstStateOf(place);
  if (!begin.empty() && countElements(view.dims, told) && countElements(begin, first) && told != first &&
      bytes == uint64_t(first) * bytesOf(info.dtype))
    view.dims.assign(begin.begin(), begin.end());
  if (Error error = checkDims(info, model.descriptor(), view.dims))
    return error;
  if (!countElements(view.dims, view.count))
    return invalid("input '" + std::string(info.name) + "' has shape " + triton::shapeText(view.dims) +
                   ", which is invalid");
  return readParts(info, input, buffers, view);
}

Error Request::readWanted(const Model &model) {
  wanted.assign(model.outputs().size(), false);
  uint32_t count = 0;
  if (Error error{TRITONBACKEND_RequestOutputCount(handle, &count)})
    return error;
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = "";
    if (Error error{TRITONBACKEND_RequestOutputName(handle, i, &name)})
      return error;
    for (size_t output = 0; output < wanted.size(); ++output)
      if (!std::strcmp(model.outputs()[output].name, name))
        wanted[output] = model.isAnswer(output);
  }
  return nullptr;
}

Error Request::read(const Model &model) {
  const hewn_model &descriptor = model.descriptor();
  values.assign(size_t(descriptor.num_symbols), -1);
  views.resize(model.inputs().size());
  for (size_t i = 0; i < views.size(); ++i)
    if (Error error = readInput(model, i, views[i]))
      return error;
  return readWanted(model);
}

void Request::fail(Error error) {
  if (!failure)
    failure = std::move(error);
}

bool Request::knowsSymbols() const {
  return std::ranges::none_of(values, [](int64_t value) { return value < 0; });
}

int64_t Request::rows(const Model &model) const { return model.batchSymbol() < 0 ? 1 : values[model.batchSymbol()]; }

bool Request::fits(const Request &other, const Model &model) const {
  const int32_t batch = model.batchSymbol();
  if (batch < 0)
    return false;
  for (size_t i = 0; i < values.size(); ++i)
    if (int32_t(i) != batch && values[i] != other.values[i])
      return false;
  for (size_t i = 0; i < views.size(); ++i)
    if (!std::ranges::equal(std::span(views[i].dims).subspan(1), std::span(other.views[i].dims).subspan(1)))
      return false;
  return true;
}

Error Request::outputRoom(const hewn_tensor_info &output, std::span<const int64_t> dims, uint64_t bytes, void *&room) {
  TRITONBACKEND_Output *made = nullptr;
  std::vector<int64_t> shape = tritonShape(dims);
  if (Error error{TRITONBACKEND_ResponseOutput(response, &made, output.name, typeOf(output.dtype), shape.data(),
                                               uint32_t(shape.size()))})
    return error;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memoryId = 0;
  if (Error error{TRITONBACKEND_OutputBuffer(made, &room, bytes, &memory, &memoryId)})
    return error;
  return memory == TRITONSERVER_MEMORY_GPU ? wrongMemory("the buffer of output '" + std::string(output.name) + "'")
                                           : nullptr;
}

Error Request::stateRoom(const char *name, const hewn_tensor_info &output, std::span<const int64_t> dims,
                         uint64_t bytes, void *&room) {
  TRITONBACKEND_State *state = nullptr;
  std::vector<int64_t> shape = tritonShape(dims);
  if (Error error{
          TRITONBACKEND_StateNew(&state, handle, name, typeOf(output.dtype), shape.data(), uint32_t(shape.size()))})
    return error;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memoryId = 0;
  if (Error error{TRITONBACKEND_StateBuffer(state, &room, bytes, &memory, &memoryId)})
    return error;
  if (memory == TRITONSERVER_MEMORY_GPU)
    return wrongMemory("state '" + std::string(name) + "'");
  states.push_back(state);
  return nullptr;
}

void Request::send() {
  // Makes the new states those of the sequence; a failed request discards them.
  for (TRITONBACKEND_State *state : states)
    if (!failure)
      fail(Error(TRITONBACKEND_StateUpdate(state)));
  logIfError(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
}

void Request::leave() { logIfError(TRITONBACKEND_ResponseDelete(response)); }

void Request::release() { logIfError(TRITONBACKEND_RequestRelease(handle, TRITONSERVER_REQUEST_RELEASE_ALL)); }

} // namespace hewn::triton
