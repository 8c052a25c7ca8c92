// SPDX-License-Identifier: Apache-2.0
#include "integrations/triton/Instance.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace hewn::triton {

namespace {

uint64_t now() {
  return uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

bool isAligned(const void *memory, DLDataType type) { return reinterpret_cast<uintptr_t>(memory) % bytesOf(type) == 0; }

DLTensor tensorOf(const hewn_tensor_info &info, void *data, std::vector<int64_t> &dims) {
  DLTensor tensor{};
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = int32_t(dims.size());
  tensor.dtype = info.dtype;
  tensor.shape = dims.data();
  return tensor;
}

/// Owns outputs that a run has allocated. The destructor gives them back to the context.
class Allocated {
public:
  explicit Allocated(hewn_context *context) : context(context) {}
  Allocated(const Allocated &) = delete;
  ~Allocated() {
    for (DLTensor *tensor : tensors)
      if (tensor->data)
        hewn_output_release(context, tensor->data);
  }
  void watch(DLTensor &tensor) { tensors.push_back(&tensor); }

private:
  hewn_context *context;
  std::vector<DLTensor *> tensors;
};

} // namespace

Error Instance::create(TRITONBACKEND_ModelInstance *handle, Model &model, std::unique_ptr<Instance> &created) {
  std::unique_ptr<Instance> made(new Instance(handle, model));
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  int32_t device = 0;
  if (Error error{TRITONBACKEND_ModelInstanceKind(handle, &kind)})
    return error;
  if (Error error{TRITONBACKEND_ModelInstanceDeviceId(handle, &device)})
    return error;
  hewn_context_options options{};
  options.size = sizeof(options);
  options.threads = model.settings().threads;
  options.flags = model.settings().flags;
  if (kind == TRITONSERVER_INSTANCEGROUPKIND_GPU)
    options.device = device;
  if (Error error = errorOf(hewn_context_create(&model.descriptor(), &options, &made->context)))
    return error;
  made->inputBuffers.resize(model.inputs().size());
  made->strings.resize(model.inputs().size());
  made->inputDims.resize(model.inputs().size());
  made->outputBuffers.resize(model.outputs().size());
  made->targets.resize(model.outputs().size());
  model.countThreads(options.threads);
  created = std::move(made);
  return nullptr;
}

Instance::~Instance() {
  // If `targets` is empty, `create` failed before it counted the instance's threads.
  if (!targets.empty())
    model.countThreads(-model.settings().threads);
  hewn_context_destroy(context);
}

void Instance::execute(std::span<Request> requests) {
  const uint64_t begin = now();
  std::vector<std::vector<Request *>> groups;
  auto place = [&](Request &request) -> Error {
    if (Error error = request.read(model))
      return error;
    auto takes = [&](const std::vector<Request *> &group) {
      int64_t rows = request.rows(model);
      for (const Request *other : group)
        if (__builtin_add_overflow(rows, other->rows(model), &rows))
          return false;
      return rows <= model.mostRows() && request.fits(*group.front(), model);
    };
    auto found = std::ranges::find_if(groups, takes);
    if (found != groups.end())
      found->push_back(&request);
    else
      groups.push_back({&request});
    return nullptr;
  };
  for (Request &request : requests)
    if (Error error = orThrown([&] { return place(request); })) {
      request.fail(std::move(error));
      finish(std::array{&request}, {begin, begin, begin});
    }
  for (std::vector<Request *> &group : groups)
    answer(group);
}

void Instance::answer(std::span<Request *> group) {
  const uint64_t begin = now();
  Times times{begin, begin, begin};
  Error error = orThrown([&] { return run(group, times); });
  // A request of the batch may be invalid: run each one separately, so that only the invalid one
  // fails.
  if (error && group.size() > 1) {
    for (Request *&request : group)
      answer({&request, 1});
    return;
  }
  if (error)
    group.front()->fail(std::move(error));
  finish(group, times);
}

Error Instance::run(std::span<Request *> group, Times &times) {
  int64_t rows = 0;
  for (const Request *request : group)
    rows += request->rows(model);
  std::vector<DLTensor> inputs(inputBuffers.size()), outputs(outputBuffers.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Error error = bindInput(group, i, rows, inputs[i]))
      return error;
  Allocated allocated(context);
  if (Error error = bindOutputs(group, rows, outputs))
    return error;
  for (DLTensor &output : outputs)
    if (!output.data)
      allocated.watch(output);
  times.computeBegin = now();
  hewn_status status = hewn_run_counted(&model.descriptor(), context, inputs.data(), int32_t(inputs.size()),
                                        outputs.data(), int32_t(outputs.size()));
  times.computeEnd = now();
  if (Error error = errorOf(status))
    return error;
  int64_t row = 0;
  for (Request *request : group) {
    for (size_t i = 0; i < outputs.size(); ++i)
      request->fail(orThrown([&] { return deliver(*request, i, outputs[i], row, rows); }));
    row += request->rows(model);
  }
  return nullptr;
}

/// Binds an input to the request's memory if it consists of one aligned part; otherwise copies the
/// parts of all requests one after another into a buffer of the instance.
Error Instance::bindInput(std::span<Request *> group, size_t input, int64_t rows, DLTensor &tensor) {
  const hewn_tensor_info &info = model.inputs()[input];
  std::vector<int64_t> &dims = inputDims[input];
  dims = group.front()->inputs()[input].dims;
  if (model.batchSymbol() >= 0)
    dims[0] = rows;
  std::vector<std::span<const unsigned char>> parts;
  size_t bytes = 0;
  for (const Request *request : group)
    for (std::span<const unsigned char> part : request->inputs()[input].parts) {
      parts.push_back(part);
      bytes += part.size();
    }
  if (!isString(info.dtype) && parts.size() == 1 && isAligned(parts[0].data(), info.dtype)) {
    tensor = tensorOf(info, const_cast<unsigned char *>(parts[0].data()), dims);
    return nullptr;
  }
  unsigned char *to = inputBuffers[input].room(bytes);
  tensor = tensorOf(info, to, dims);
  if (!isString(info.dtype)) {
    for (std::span<const unsigned char> part : parts)
      to = std::copy(part.begin(), part.end(), to);
    return nullptr;
  }
  Strings &texts = strings[input];
  texts.clear();
  for (const Request *request : group) {
    const InputView &view = request->inputs()[input];
    unsigned char *end = to;
    for (std::span<const unsigned char> part : view.parts)
      end = std::copy(part.begin(), part.end(), end);
    if (Error error = texts.read({to, end}, view.count, info.name))
      return error;
  }
  tensor.data = const_cast<const char **>(texts.pointers());
  if (!tensor.data) // the tensor is empty: the run does not read it
    tensor.data = to;
  return nullptr;
}

/// Chooses the memory of each output. If the size of the output is known and the batch has a single
/// request, which requests the output, this is the buffer of the response. Otherwise it is a buffer
/// of the instance, or memory that the run allocates if the size depends on data.
Error Instance::bindOutputs(std::span<Request *> group, int64_t rows, std::vector<DLTensor> &tensors) {
  const hewn_model &descriptor = model.descriptor();
  std::vector<int64_t> symbols = group.front()->symbols();
  if (model.batchSymbol() >= 0)
    symbols[model.batchSymbol()] = rows;
  const bool known = group.front()->knowsSymbols();
  const hewn_tensor_info *infos = known ? outputsFor(descriptor, symbols.data()) : descriptor.outputs;
  std::vector<int64_t *> dims;
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] = {&infos[i], std::vector<int64_t>(size_t(descriptor.outputs[i].rank))};
    dims.push_back(targets[i].dims.data());
  }
  if (known)
    descriptor.output_dims(symbols.data(), dims.data());
  for (size_t i = 0; i < targets.size(); ++i) {
    Target &target = targets[i];
    if (known)
      target.dims.resize(size_t(infos[i].rank));
    tensors[i] = tensorOf(infos[i], nullptr, target.dims);
    int64_t count = 0;
    uint64_t bytes = 0;
    if (!known || isString(infos[i].dtype) || std::ranges::count(target.dims, HEWN_DIM_DYNAMIC))
      continue;
    if (!countElements(target.dims, count) ||
        __builtin_mul_overflow(uint64_t(count), uint64_t(bytesOf(infos[i].dtype)), &bytes))
      return invalid("output '" + std::string(infos[i].name) + "' has shape " + shapeText(target.dims) +
                     ", which is invalid");
    if (group.size() == 1 && group.front()->wants(i)) {
      if (Error error = group.front()->outputRoom(infos[i], target.dims, bytes, target.room))
        return error;
      target.isInResponse = true;
    }
    target.isSized = true;
    target.bytes = bytes;
  }
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i].isSized) {
      targets[i].isInPlace = mayBeInPlace(*group.front(), i);
      tensors[i].data = targets[i].isInPlace ? targets[i].room : outputBuffers[i].room(size_t(targets[i].bytes));
    }
  return nullptr;
}

/// Whether a run may write an output directly into the buffer of the response. The buffer may be
/// shared memory of the client, which may be unaligned and may overlap an input or another output.
bool Instance::mayBeInPlace(const Request &request, size_t output) const {
  const Target &target = targets[output];
  if (!target.room || !isAligned(target.room, target.info->dtype))
    return false;
  auto meets = [&](const void *memory, uint64_t bytes) {
    const auto mine = reinterpret_cast<uintptr_t>(target.room), its = reinterpret_cast<uintptr_t>(memory);
    return bytes && target.bytes && (its <= mine ? mine - its < bytes : its - mine < target.bytes);
  };
  for (const InputView &input : request.inputs())
    for (std::span<const unsigned char> part : input.parts)
      if (meets(part.data(), part.size()))
        return false;
  for (const Target &other : targets)
    if (&other != &target && other.room && meets(other.room, other.bytes))
      return false;
  return true;
}

/// Copies a request's rows of an output into the request's response, if the client wants the output
/// and the run did not write it there, and into the state of the sequence that stores the output,
/// if there is one.
Error Instance::deliver(Request &request, size_t output, const DLTensor &tensor, int64_t firstRow, int64_t allRows) {
  const Target &target = targets[output];
  const char *state = model.stateOf(output);
  const bool isAnswered = request.wants(output) && !target.isInPlace;
  if (!isAnswered && !state)
    return nullptr;
  std::vector<int64_t> dims(tensor.shape, tensor.shape + tensor.ndim);
  int64_t count = 0, first = 0;
  countElements(dims, count); // the count does not overflow, since the tensor is in memory
  if (model.batchSymbol() >= 0) {
    if (dims.empty() || dims[0] != allRows)
      return makeError(TRITONSERVER_ERROR_INTERNAL, "output '" + std::string(target.info->name) + "' is " +
                                                        shapeText(dims) + " for a batch of " + std::to_string(allRows));
    int64_t row = allRows ? count / allRows : 0;
    dims[0] = request.rows(model);
    count = row * dims[0];
    first = row * firstRow;
  }
  const auto *from = static_cast<const unsigned char *>(tensor.data) + size_t(first) * bytesOf(tensor.dtype);
  const auto *texts = reinterpret_cast<const char *const *>(from);
  uint64_t bytes =
      isString(tensor.dtype) ? Strings::writtenBytes(texts, count) : uint64_t(count) * bytesOf(tensor.dtype);
  auto copy = [&](void *room) {
    if (isString(tensor.dtype))
      Strings::write(texts, count, static_cast<unsigned char *>(room));
    else if (bytes)
      std::memcpy(room, from, bytes);
  };
  void *room = target.room;
  if (isAnswered) {
    if (!target.isInResponse)
      if (Error error = request.outputRoom(*target.info, dims, bytes, room))
        return error;
    copy(room);
  }
  if (!state)
    return nullptr;
  if (Error error = request.stateRoom(state, *target.info, dims, bytes, room))
    return error;
  copy(room);
  return nullptr;
}

void Instance::finish(std::span<Request *const> group, const Times &times) {
  bool isAnyRight = false;
  int64_t rows = 0;
  for (Request *request : group)
    request->send();
  const uint64_t end = now();
  for (Request *request : group) {
    const bool isRight = !request->hasFailed();
    isAnyRight |= isRight;
    rows += isRight ? std::max<int64_t>(request->rows(model), 1) : 0;
    logIfError(TRITONBACKEND_ModelInstanceReportStatistics(handle, request->triton(), isRight, times.begin,
                                                           times.computeBegin, times.computeEnd, end));
    request->release();
  }
  if (isAnyRight)
    logIfError(TRITONBACKEND_ModelInstanceReportBatchStatistics(handle, uint64_t(rows), times.begin, times.computeBegin,
                                                                times.computeEnd, end));
}

} // namespace hewn::triton
