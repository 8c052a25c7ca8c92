// SPDX-License-Identifier: Apache-2.0
//
// hewn._hewn: the Python extension for the compiler and for compiled models. It passes addresses
// and shapes; hewn/__init__.py handles element types, names and arrays.
#include "hewn/compiler.h"
#include "hewn/runtime.h"
#include "python/interruption.h"
#include "python/ranks.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;
using hewn::python::Interruption;
using hewn::python::LargeThread;
using hewn::python::withoutLock;

namespace {

/// A diagnostic for Python: (node, op, domain, opset, reason, is warning, full text).
using Message = std::tuple<std::string, std::string, std::string, int64_t, std::string, bool, std::string>;

/// Converts paths and names, which are bytes. Python represents bytes that are not UTF-8 by
/// surrogates.
std::string textOf(nb::handle text) {
  PyObject *bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
  if (!bytes)
    throw nb::python_error();
  nb::bytes held = nb::steal<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}
nb::object pythonText(const char *text) {
  PyObject *object = PyUnicode_DecodeUTF8(text, Py_ssize_t(std::strlen(text)), "surrogateescape");
  if (!object)
    throw nb::python_error();
  return nb::steal(object);
}

/// Raises RuntimeError with the runtime's message, which may contain a path that is not UTF-8.
[[noreturn]] void fail(const char *message) {
  nb::object text = nb::steal(PyUnicode_DecodeUTF8(message, Py_ssize_t(std::strlen(message)), "backslashreplace"));
  PyErr_SetObject(PyExc_RuntimeError, text.ptr());
  throw nb::python_error();
}

/// Requests calibration samples from Python. `next` is a function without arguments that returns a
/// list of (name, array, type code, bits) with dense host arrays, or None at the end. An exception
/// ends the compilation and is stored.
class PythonSamples {
public:
  explicit PythonSamples(nb::object next) : next(std::move(next)) {}
  static int32_t give(void *user, hewn_sample *sample) {
    nb::gil_scoped_acquire locked;
    return static_cast<PythonSamples *>(user)->take(*sample);
  }
  /// Raises the stored exception, if there is one.
  void rethrow() {
    if (raised)
      raised->restore();
    if (raised)
      throw nb::python_error();
  }

private:
  int32_t take(hewn_sample &sample) {
    try {
      nb::object given = next();
      if (given.is_none())
        return 0;
      texts.clear();
      types.clear();
      arrays.clear();
      tensors.clear();
      for (nb::handle pair : given) {
        texts.push_back(textOf(pair[0]));
        arrays.push_back(nb::cast<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>>(pair[1]));
        types.push_back({nb::cast<uint8_t>(pair[2]), nb::cast<uint8_t>(pair[3]), 1});
      }
      names.clear();
      for (const std::string &text : texts)
        names.push_back(text.c_str());
      for (auto &array : arrays) {
        DLTensor &tensor = tensors.emplace_back();
        tensor = {};
        tensor.data = const_cast<void *>(array.data());
        tensor.device = {kDLCPU, 0};
        tensor.ndim = int32_t(array.ndim());
        tensor.dtype = types[tensors.size() - 1];
        tensor.shape = const_cast<int64_t *>(array.shape_ptr());
      }
      sample.names = names.data();
      sample.tensors = tensors.data();
      sample.num_tensors = tensors.size();
      return 1;
    } catch (nb::python_error &error) {
      raised.emplace(std::move(error));
    } catch (const std::exception &error) {
      problem = error.what();
    }
    sample.problem = problem.c_str();
    return -1;
  }

  nb::object next;
  std::vector<std::string> texts;
  std::vector<const char *> names;
  std::vector<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>> arrays;
  std::vector<DLDataType> types;
  std::vector<DLTensor> tensors;
  std::optional<nb::python_error> raised;
  std::string problem = "Python raised an exception";
};

/// Compiles a model. A signal whose Python handler raises an exception, such as Ctrl-C, cancels the
/// compilation and raises the exception. Handlers run on Python's main thread only, so another
/// thread compiles while this one waits. With calibration samples, which Python code computes on
/// the thread that compiles, this thread compiles, and that code receives the signals.
hewn_compilation *compileInterruptibly(hewn_compile_options &options) {
  hewn_compilation *compilation = nullptr;
  if (options.next_sample) {
    withoutLock([&] { compilation = hewn_compile(&options); });
    return compilation;
  }
  std::atomic<bool> isCancelled = false;
  options.is_cancelled = [](void *user) { return int32_t(*static_cast<std::atomic<bool> *>(user)); };
  options.is_cancelled_user = &isCancelled;
  std::promise<hewn_compilation *> promise;
  std::future<hewn_compilation *> done = promise.get_future();
  LargeThread thread([&] { promise.set_value(hewn_compile(&options)); });
  bool isReady = false, raises = false;
  while (!isReady) {
    withoutLock([&] { isReady = done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready; });
    if (!isReady && !raises && PyErr_CheckSignals() != 0)
      raises = isCancelled = true;
  }
  thread.join();
  compilation = done.get();
  if (!raises)
    return compilation;
  hewn_compilation_destroy(compilation);
  throw nb::python_error();
}

std::tuple<bool, std::vector<Message>, std::string, std::string>
compileModel(std::optional<nb::str> path, std::optional<nb::bytes> bytes, std::optional<nb::str> output,
             std::optional<std::string> emit, const nb::str &target, const std::vector<nb::str> &dims,
             const std::vector<nb::str> &limits, const nb::str &precision, const nb::str &quantize, bool optimize,
             const nb::str &cacheDir, const nb::str &remarks, bool transient, const std::vector<nb::str> &customOps,
             const std::vector<std::pair<std::string, uintptr_t>> &customFunctions, nb::object nextSample,
             double leastDecibels, double largestError, const std::vector<nb::str> &tunings, const nb::str &dimNames) {
  // Storage for the strings that the options point to.
  std::deque<std::string> kept;
  auto keep = [&](nb::handle text) {
    kept.push_back(textOf(text));
    return kept.back().c_str();
  };
  auto keepAll = [&](const std::vector<nb::str> &texts) {
    std::vector<const char *> all;
    for (const nb::str &text : texts)
      all.push_back(keep(text));
    return all;
  };
  std::vector<const char *> bindings = keepAll(dims), bounds = keepAll(limits), ops = keepAll(customOps),
                            measured = keepAll(tunings);
  std::vector<hewn_named_function> functions;
  for (const auto &[name, address] : customFunctions)
    functions.push_back({name.c_str(), reinterpret_cast<void (*)()>(address)});
  hewn_compile_options options = {};
  options.size = sizeof(options);
  options.model_path = path ? keep(*path) : nullptr;
  options.model_bytes = bytes ? bytes->data() : nullptr;
  options.model_size = bytes ? bytes->size() : 0;
  options.output = output ? keep(*output) : nullptr;
  options.emit = emit ? emit->c_str() : nullptr;
  options.target = keep(target);
  options.dims = bindings.data();
  options.num_dims = bindings.size();
  options.dim_names = keep(dimNames);
  options.limits = bounds.data();
  options.num_limits = bounds.size();
  options.precision = keep(precision);
  options.quantize = keep(quantize);
  options.remarks = keep(remarks);
  options.no_optimize = !optimize;
  options.cache_dir = keep(cacheDir);
  options.transient = transient;
  options.custom_ops = ops.data();
  options.num_custom_ops = ops.size();
  options.tunings = measured.data();
  options.num_tunings = measured.size();
  options.custom_functions = functions.data();
  options.num_custom_functions = functions.size();
  PythonSamples samples(nextSample);
  if (!nextSample.is_none())
    options.next_sample = PythonSamples::give;
  options.next_sample_user = &samples;
  options.least_decibels = leastDecibels;
  options.largest_error = largestError;
  hewn_compilation *compilation = compileInterruptibly(options);
  auto text = [](const char *s) { return std::string(s ? s : ""); };
  std::vector<Message> messages;
  for (size_t i = 0; i < hewn_compilation_num_messages(compilation); ++i) {
    const hewn_compile_message *m = hewn_compilation_message(compilation, i);
    messages.emplace_back(text(m->node), text(m->op), text(m->domain), m->opset, text(m->reason), m->is_warning != 0,
                          text(m->text));
  }
  size_t length = 0;
  const char *emitted = hewn_compilation_text(compilation, &length);
  std::tuple<bool, std::vector<Message>, std::string, std::string> result(
      hewn_compilation_ok(compilation) != 0, std::move(messages),
      emitted ? std::string(emitted, length) : std::string(), text(hewn_compilation_report(compilation)));
  hewn_compilation_destroy(compilation);
  samples.rethrow();
  return result;
}

/// Returns (name, type code, bits, dims, kind) for each input or output. The kind is that of
/// hewn_kind, or 4 and 5 for the keys and the values of a map. A dim is an int, the name
/// of a symbol, the text of a formula, or None if it depends on data. For sequences and optional
/// values, type and dims are those of the elements, and dims is None if their rank may vary.
nb::list describe(const hewn_model *model, const hewn_tensor_info *infos, int count) {
  nb::list all;
  for (int i = 0; i < count; ++i) {
    nb::list dims;
    if (infos[i].kind != HEWN_KIND_TENSOR) {
      for (int d = 0; d < infos[i].element_rank; ++d)
        dims.append(nb::none());
      nb::object shape = infos[i].element_rank < 0 ? nb::object(nb::none()) : nb::object(nb::tuple(dims));
      all.append(nb::make_tuple(pythonText(infos[i].name), infos[i].element.code, infos[i].element.bits, shape,
                                infos[i].kind));
      continue;
    }
    for (int d = 0; d < infos[i].rank; ++d) {
      int64_t dim = infos[i].dims[d];
      if (dim >= 0)
        dims.append(dim);
      else if (dim == HEWN_DIM_FORMULA && infos[i].formulas && infos[i].formulas[d])
        dims.append(pythonText(infos[i].formulas[d]));
      else if (dim == HEWN_DIM_DYNAMIC || dim == HEWN_DIM_FORMULA)
        dims.append(nb::none());
      else
        dims.append(pythonText(model->symbols[-1 - dim].name));
    }
    int kind = infos[i].role == HEWN_ROLE_NONE ? infos[i].kind : HEWN_KIND_OPTIONAL_SEQUENCE + int(infos[i].role);
    all.append(
        nb::make_tuple(pythonText(infos[i].name), infos[i].dtype.code, infos[i].dtype.bits, nb::tuple(dims), kind));
  }
  return all;
}

void *allocate(void *, size_t bytes, size_t alignment) {
  void *memory = nullptr;
  return posix_memalign(&memory, alignment < 64 ? 64 : alignment, bytes ? bytes : 1) == 0 ? memory : nullptr;
}
void release(void *, void *memory) { std::free(memory); }

/// Holds the buffer of a Python array while it is used. (numpy stores the shape outside of the
/// view, so the view may be moved.)
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer &&other) noexcept : view(std::exchange(other.view, {})) {}
  ~Buffer() {
    if (view.obj)
      PyBuffer_Release(&view);
  }
  const Py_buffer &open(nb::handle array, int flags = 0) {
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_C_CONTIGUOUS | flags) != 0)
      throw nb::python_error();
    return view;
  }

private:
  Py_buffer view = {};
};

/// A tensor on a device, passed by hewn/_device.py as (address, device number, shape). The caller
/// owns the memory.
class DeviceTensor {
public:
  static bool is(nb::handle given) { return PyTuple_Check(given.ptr()) && PyTuple_Size(given.ptr()) == 3; }
  explicit DeviceTensor(nb::handle given) {
    nb::tuple parts = nb::borrow<nb::tuple>(given);
    data = reinterpret_cast<void *>(nb::cast<uintptr_t>(parts[0]));
    device = nb::cast<int32_t>(parts[1]);
    for (nb::handle dim : nb::cast<nb::tuple>(parts[2]))
      shape.push_back(nb::cast<int64_t>(dim));
  }
  /// Returns a DLTensor that points to the shape in this object.
  DLTensor tensor(DLDataType dtype) {
    DLTensor made = {};
    made.data = data;
    made.device = {kDLCUDA, device};
    made.ndim = int32_t(shape.size());
    made.dtype = dtype;
    made.shape = shape.data();
    return made;
  }

private:
  void *data;
  int32_t device;
  std::vector<int64_t> shape;
};

/// Converts the inputs of a run and holds them while they are used. A numeric tensor is a
/// contiguous array with the buffer protocol and the required element size, or the tuple of a
/// `DeviceTensor`; a string tensor is (list of str or bytes, shape); a sequence is a list of these;
/// an absent optional value is None.
class Feed {
public:
  explicit Feed(size_t inputs) { numbers.reserve(inputs); }
  DLTensor input(nb::handle given, const hewn_tensor_info &info) {
    if (info.kind == HEWN_KIND_TENSOR)
      return tensor(given, info.dtype, info.name);
    if (!kept)
      kept = std::make_unique<Kept>();
    DLTensor handle = plain(info.dtype, kept->words.emplace_back());
    const void *&word = kept->words.back().front() = nullptr;
    if (!given.is_none()) {
      nb::list items = info.kind == HEWN_KIND_OPTIONAL ? listOf(given) : nb::cast<nb::list>(given);
      std::vector<DLTensor> &list = kept->lists.emplace_back();
      for (nb::handle item : items)
        list.push_back(tensor(item, info.element, info.name));
      word = &kept->sequences.emplace_back(hewn_sequence{int64_t(list.size()), list.data()});
    }
    return handle;
  }

private:
  static nb::list listOf(nb::handle item) {
    nb::list one;
    one.append(item);
    return one;
  }

  /// Returns a tensor of rank 0 whose element is an address.
  static DLTensor plain(DLDataType dtype, std::vector<const void *> &word) {
    word.resize(1);
    DLTensor made = {};
    made.data = word.data();
    made.device = {kDLCPU, 0};
    made.dtype = dtype;
    return made;
  }

  /// Returns the zero-terminated bytes of an element (str or bytes) of the input `name`. The bytes
  /// live as long as the element and this object.
  const char *stringOf(nb::handle item, const char *name) {
    Py_ssize_t size = 0;
    const char *text = nullptr;
    if (PyUnicode_Check(item.ptr())) {
      text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
      if (!text) { // the string has surrogates, which represent bytes that are not UTF-8
        PyErr_Clear();
        PyObject *bytes = PyUnicode_AsEncodedString(item.ptr(), "utf-8", "surrogateescape");
        if (!bytes) {
          std::string why = nb::cast<std::string>(nb::str(nb::python_error().value()));
          fail(("input '" + std::string(name) + "': " + why).c_str());
        }
        kept->encoded.append(nb::steal(bytes));
        text = PyBytes_AsString(bytes);
        size = PyBytes_Size(bytes);
      }
    } else if (PyBytes_Check(item.ptr())) {
      text = PyBytes_AsString(item.ptr());
      size = PyBytes_Size(item.ptr());
    } else {
      std::string type = nb::cast<std::string>(item.type().attr("__name__"));
      fail(("input '" + std::string(name) + "' has " + type + " elements, but the model expects strings").c_str());
    }
    if (std::memchr(text, 0, size_t(size)))
      fail(("input '" + std::string(name) + "' has a string that contains a zero byte").c_str());
    return text;
  }

  DLTensor tensor(nb::handle given, DLDataType dtype, const char *name) {
    DLTensor made = {};
    made.device = {kDLCPU, 0};
    made.dtype = dtype;
    if (dtype.code == kDLOpaqueHandle) {
      if (!kept)
        kept = std::make_unique<Kept>();
      nb::tuple text = nb::cast<nb::tuple>(given);
      std::vector<const void *> &pointers = kept->words.emplace_back();
      nb::list items = nb::cast<nb::list>(text[0]);
      pointers.reserve(items.size() + 1);
      for (nb::handle item : items)
        pointers.push_back(stringOf(item, name));
      pointers.push_back(nullptr); // an array without strings also needs a non-null data() pointer
      std::vector<int64_t> &shape = kept->shapes.emplace_back();
      for (nb::handle dim : nb::cast<nb::tuple>(text[1]))
        shape.push_back(nb::cast<int64_t>(dim));
      made.data = pointers.data();
      made.ndim = int32_t(shape.size());
      made.shape = shape.data();
      return made;
    }
    if (DeviceTensor::is(given)) {
      if (!kept)
        kept = std::make_unique<Kept>();
      return kept->devices.emplace_back(given).tensor(dtype);
    }
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t)); // the tensor uses the shape of the buffer
    const Py_buffer &view = numbers.emplace_back().open(given);
    made.data = view.buf;
    made.ndim = view.ndim;
    made.shape = reinterpret_cast<int64_t *>(view.shape);
    return made;
  }

  std::vector<Buffer> numbers;
  /// Storage for inputs that are not numeric host arrays; few runs have some.
  struct Kept {
    std::deque<DeviceTensor> devices;
    std::deque<std::vector<const void *>> words;
    std::deque<std::vector<int64_t>> shapes;
    std::deque<std::vector<DLTensor>> lists;
    std::deque<hewn_sequence> sequences;
    nb::list encoded; ///< bytes of strings that are not valid UTF-8
  };
  std::unique_ptr<Kept> kept;
};

nb::tuple shapeOf(const DLTensor &tensor, size_t &elements) {
  nb::list shape;
  elements = 1;
  for (int d = 0; d < tensor.ndim; ++d) {
    elements *= size_t(tensor.shape[d]);
    shape.append(tensor.shape[d]);
  }
  return nb::tuple(shape);
}

/// Converts an output tensor to the tuple (bytes, shape) or, for strings, (list of strings, shape).
/// Takes over the tensor's memory if it is `owned`, else copies it.
nb::object takeTensor(const DLTensor &tensor, bool owned) {
  size_t elements;
  nb::tuple shape = shapeOf(tensor, elements);
  const char *data = static_cast<const char *>(tensor.data) + tensor.byte_offset;
  if (tensor.dtype.code == kDLOpaqueHandle) {
    nb::list strings;
    for (size_t i = 0; i < elements; ++i) {
      const char *text = reinterpret_cast<const char *const *>(data)[i];
      PyObject *decoded =
          PyUnicode_DecodeUTF8(text ? text : "", text ? Py_ssize_t(strlen(text)) : 0, "surrogateescape");
      if (!decoded)
        throw nb::python_error();
      strings.append(nb::steal(decoded));
    }
    if (owned)
      std::free(tensor.data);
    return nb::make_tuple(strings, shape);
  }
  size_t bytes = elements * ((size_t(tensor.dtype.bits) + 7) / 8);
  void *memory = tensor.data;
  if (!owned) {
    memory = std::malloc(bytes ? bytes : 1);
    if (!memory)
      throw std::bad_alloc();
    if (bytes)
      std::memcpy(memory, data, bytes);
  }
  nb::capsule owner(memory, [](void *held) noexcept { std::free(held); });
  nb::ndarray<nb::numpy, uint8_t> array(memory, {bytes}, owner);
  return nb::make_tuple(array.cast(), shape);
}

/// Returns an output: the result of `takeTensor`, a list of them, or None.
nb::object takeOutput(const DLTensor &tensor, const hewn_tensor_info &info) {
  if (info.kind == HEWN_KIND_TENSOR)
    return takeTensor(tensor, true);
  const auto *sequence = *static_cast<const hewn_sequence *const *>(tensor.data);
  std::free(tensor.data);
  if (!sequence && info.kind != HEWN_KIND_SEQUENCE)
    return nb::none();
  nb::list items;
  for (int64_t i = 0; sequence && i < sequence->length; ++i)
    items.append(takeTensor(sequence->elements[i], false));
  return info.kind == HEWN_KIND_OPTIONAL ? nb::object(items[0]) : nb::object(items);
}

/// A loaded library and its context.
class Model {
public:
  Model(const nb::str &pathText, int threads, int device, const nb::str &cacheText, bool verify, bool copy,
        nb::object communicator, const nb::object &weights) {
    std::string path = textOf(pathText), cacheDir = textOf(cacheText);
    const Py_buffer bytes = weights.is_none() ? Py_buffer{} : weightsBuffer.open(weights);
    hewn_status status;
    withoutLock([&] { status = hewn_library_open(path.c_str(), &library); });
    if (status.code != HEWN_OK)
      refuse(status);
    model = hewn_library_model(library);
    hewn_context_options options = {};
    options.size = sizeof(options);
    options.threads = threads;
    options.flags = (verify ? HEWN_VERIFY_WEIGHTS : 0) | (copy ? HEWN_COPY_WEIGHTS : 0);
    options.allocator = {allocate, release, nullptr};
    options.device = device;
    options.device_cache = cacheDir.empty() ? nullptr : cacheDir.c_str();
    if (nb::isinstance<hewn::python::LocalRanks>(communicator))
      options.communicator = nb::cast<hewn::python::LocalRanks &>(communicator).table;
    else if (nb::isinstance<hewn::python::NcclRanks>(communicator))
      options.communicator = nb::cast<hewn::python::NcclRanks &>(communicator).table;
    else if (!communicator.is_none())
      options.communicator = &(ranks = std::make_unique<hewn::python::ObjectRanks>(communicator))->table;
    held = std::move(communicator);
    group = options.communicator;
    // A runtime of hewn 0.2 rejects options that it does not know.
    if (model && model->struct_bytes >= sizeof(hewn_model))
      options.cancel_hook = {Interruption::isCancelled, nullptr};
    options.weights = bytes.buf;
    options.weights_bytes = size_t(bytes.len);
    withoutLock([&] { status = model->runtime->context_create(model, &options, &context); });
    if (status.code != HEWN_OK)
      refuse(status);
  }
  ~Model() { close(); }
  Model(const Model &) = delete;

  /// Returns the number of bytes that this rank of a partitioned model transferred in all runs.
  uint64_t movedBytes() const { return group ? group->moved : 0; }
  nb::list inputs() const { return describe(model, model->inputs, model->num_inputs); }
  nb::list outputs() const { return describe(model, model->outputs, model->num_outputs); }
  /// Returns (condition, reason why the case cannot run or None, outputs of the case) for each
  /// case.
  nb::list cases() const {
    nb::list all;
    for (int i = 0; i < model->num_cases; ++i) {
      const hewn_case &one = model->cases[i];
      nb::object refusal = one.refusal ? nb::object(nb::str(one.refusal)) : nb::none();
      all.append(nb::make_tuple(one.condition, refusal,
                                one.outputs ? describe(model, one.outputs, model->num_outputs) : nb::list()));
    }
    return all;
  }
  /// Returns (key, value) for each entry of the model's metadata.
  nb::list metadata() const {
    nb::list all;
    int32_t count;
    const hewn_metadata_entry *entries = hewn_metadata_entries(model, &count);
    for (int32_t i = 0; i < count; ++i)
      all.append(nb::make_tuple(pythonText(entries[i].key), pythonText(entries[i].value)));
    return all;
  }
  const char *name() const { return model->name; }
  int32_t numRanks() const { return model->num_ranks; }
  std::vector<std::string> variants() const {
    std::vector<std::string> names;
    for (int i = 0; i < model->num_variants; ++i)
      names.push_back(model->variants[i].target);
    return names;
  }
  const char *variant() const { return model->runtime->model_variant(model)->target; }

  bool hasDevice() const { return model->device; }
  /// Sets the driver stream for later runs. With 0, runs use the context's own stream and wait for
  /// it.
  void setStream(uintptr_t stream) {
    hewn_status status = hewn_context_set_stream(context, reinterpret_cast<void *>(stream));
    if (status.code != HEWN_OK)
      fail(status.message);
  }
  /// Returns the shape of each output for inputs of these shapes (a tuple for each tensor, else
  /// None): a tuple, or None if the shape depends on data or the run would be rejected.
  nb::list outputShapes(const nb::list &inputShapes) const {
    std::vector<int64_t> symbols = symbolsOf(inputShapes);
    const bool isKnown = model->num_symbols == 0 || !symbols.empty();
    const hewn_tensor_info *infos = model->outputs;
    if (isKnown && model->num_cases > 0)
      infos = model->cases[model->case_of(symbols.data())].outputs;
    std::vector<std::vector<int64_t>> dims(model->num_outputs);
    std::vector<int64_t *> places;
    for (int i = 0; i < model->num_outputs; ++i) {
      dims[i].resize(model->outputs[i].rank + 1);
      places.push_back(dims[i].data());
    }
    if (isKnown && infos)
      model->output_dims(symbols.data(), places.data());
    nb::list shapes;
    for (int i = 0; i < model->num_outputs; ++i) {
      nb::list shape;
      bool isTold = isKnown && infos && infos[i].kind == HEWN_KIND_TENSOR;
      for (int d = 0; isTold && d < infos[i].rank; ++d) {
        isTold = dims[i][d] >= 0;
        shape.append(dims[i][d]);
      }
      shapes.append(isTold ? nb::object(nb::tuple(shape)) : nb::object(nb::none()));
    }
    return shapes;
  }

  /// `arrays` has one array for each input (see Feed). `into` has for each output None, or a buffer
  /// that the run writes in place: a writable array of the output's type and shape, or the tuple of
  /// a `DeviceTensor`. If `into` has another length than the outputs, all are None. Returns the
  /// result of `takeOutput` for each output, and None for those with a buffer.
  nb::list run(const nb::list &arrays, const nb::list &into) {
    if (arrays.size() != size_t(model->num_inputs))
      throw std::runtime_error("expected an array for each input");
    Feed feed(arrays.size());
    std::vector<DLTensor> in, out(model->num_outputs);
    in.reserve(arrays.size());
    for (size_t i = 0; i < arrays.size(); ++i)
      in.push_back(feed.input(arrays[i], model->inputs[i]));
    std::vector<std::vector<int64_t>> shapes(out.size());
    std::vector<Buffer> given(out.size());
    std::deque<DeviceTensor> devices;
    auto isGiven = [&](size_t i) { return into.size() == out.size() && !into[i].is_none(); };
    for (size_t i = 0; i < out.size(); ++i) {
      shapes[i].resize(model->outputs[i].rank + 1);
      out[i] = {};
      out[i].device = {kDLCPU, 0};
      out[i].shape = shapes[i].data();
      if (isGiven(i) && DeviceTensor::is(into[i]))
        out[i] = devices.emplace_back(into[i]).tensor(model->outputs[i].dtype);
      else if (isGiven(i))
        writeInto(out[i], given[i].open(into[i], PyBUF_WRITABLE), model->outputs[i].dtype);
    }
    std::vector<void *> places;
    for (const DLTensor &tensor : out)
      places.push_back(tensor.data);
    hewn_status status;
    Interruption interruption;
    withoutLock([&] {
      status = model->runtime->run(model, context, in.data(), int32_t(in.size()), out.data(), int32_t(out.size()));
    });
    interruption.rethrow();
    if (status.code != HEWN_OK)
      fail(status.message);
    nb::list results;
    for (size_t i = 0; i < out.size(); ++i)
      results.append(isGiven(i) ? nb::object(nb::none()) : takeOutput(out[i], model->outputs[i]));
    // If the buffer of an output has a null address (an array without elements), the run has
    // allocated memory for the output. Free this memory.
    for (size_t i = 0; i < out.size(); ++i)
      if (isGiven(i) && out[i].data != places[i])
        std::free(out[i].data);
    return results;
  }

private:
  /// Returns the values of the symbols for these input shapes, or an empty vector if the shapes do
  /// not match the model.
  std::vector<int64_t> symbolsOf(const nb::list &inputShapes) const {
    std::vector<int64_t> symbols(size_t(model->num_symbols), -1);
    for (int s = 0; s < model->num_symbols; ++s)
      if (model->symbols[s].min == model->symbols[s].max)
        symbols[s] = model->symbols[s].min;
    for (size_t i = 0; i < inputShapes.size() && i < size_t(model->num_inputs); ++i) {
      if (inputShapes[i].is_none())
        continue;
      nb::tuple shape = nb::cast<nb::tuple>(inputShapes[i]);
      if (shape.size() != size_t(model->inputs[i].rank))
        return {};
      for (size_t d = 0; d < shape.size(); ++d)
        if (int64_t dim = model->inputs[i].dims[d]; dim < 0 && dim != HEWN_DIM_DYNAMIC && dim != HEWN_DIM_FORMULA)
          symbols[size_t(-1 - dim)] = nb::cast<int64_t>(shape[d]);
    }
    if (model->num_ranks > 0) // the last symbol is the rank; no visible size depends on it
      symbols.back() = 0;
    for (int s = 0; s < model->num_symbols; ++s)
      if (symbols[s] < model->symbols[s].min || symbols[s] > model->symbols[s].max)
        return {};
    return symbols;
  }

  /// The communicator and the weights that the context uses; they must outlive the context.
  nb::object held;
  Buffer weightsBuffer;
  const hewn_communicator *group = nullptr;
  std::unique_ptr<hewn::python::ObjectRanks> ranks;
  hewn_library *library = nullptr;
  const hewn_model *model = nullptr;
  hewn_context *context = nullptr;

  static void writeInto(DLTensor &tensor, const Py_buffer &view, DLDataType dtype) {
    tensor.data = view.buf;
    tensor.ndim = view.ndim;
    tensor.shape = reinterpret_cast<int64_t *>(view.shape);
    tensor.dtype = dtype;
  }

  void close() {
    if (context)
      model->runtime->context_destroy(context);
    hewn_library_close(library);
  }
  [[noreturn]] void refuse(hewn_status status) {
    std::string why = status.message; // copied, because `close` destroys the message
    close();
    fail(why.c_str());
  }
};

} // namespace

NB_MODULE(_hewn, m) {
  // A run in a thread holds its module when Python exits. This is not an error of the program.
  nb::set_leak_warnings(false);
  Interruption::mainThread =
      nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  m.def("compile", &compileModel, nb::arg("path").none(), nb::arg("bytes").none(), nb::arg("output").none(),
        nb::arg("emit").none(), nb::arg("target"), nb::arg("dims"), nb::arg("limits"), nb::arg("precision"),
        nb::arg("quantize"), nb::arg("optimize"), nb::arg("cache_dir"), nb::arg("remarks"), nb::arg("transient"),
        nb::arg("custom_ops") = nb::list(), nb::arg("custom_functions") = nb::list(),
        nb::arg("next_sample") = nb::none(), nb::arg("least_decibels") = 0.0, nb::arg("largest_error") = 0.0,
        nb::arg("tunings") = nb::list(), nb::arg("dim_names") = "");
  m.def("version", &hewn_compiler_version);
  nb::class_<hewn::python::LocalRanks>(m, "LocalRanks",
                                       "Processes of one machine that run a partitioned model. All ranks of a group "
                                       "use the same, unique `name`. Waits at most `timeout` seconds for the other "
                                       "ranks, here and in each run.")
      .def(nb::init<const std::string &, int32_t, int32_t, double>(), nb::arg("name"), nb::arg("rank"),
           nb::arg("num_ranks"), nb::arg("timeout") = 30.0)
      .def_prop_ro("rank", &hewn::python::LocalRanks::rank)
      .def_prop_ro("num_ranks", &hewn::python::LocalRanks::ranks);
  nb::class_<hewn::python::NcclRanks>(m, "NcclRanks")
      .def(nb::init<nb::object, double>(), nb::arg("over"), nb::arg("timeout"))
      .def_prop_ro("rank", &hewn::python::NcclRanks::rank)
      .def_prop_ro("num_ranks", &hewn::python::NcclRanks::ranks);
  nb::class_<Model>(m, "Model")
      .def(nb::init<const nb::str &, int, int, const nb::str &, bool, bool, nb::object, const nb::object &>(),
           nb::arg("path"), nb::arg("threads"), nb::arg("device"), nb::arg("cache_dir"), nb::arg("verify"),
           nb::arg("copy_weights"), nb::arg("communicator").none() = nb::none(), nb::arg("weights").none() = nb::none())
      .def_prop_ro("ranks", &Model::numRanks)
      .def_prop_ro("moved_bytes", &Model::movedBytes)
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("variants", &Model::variants)
      .def_prop_ro("variant", &Model::variant)
      .def_prop_ro("inputs", &Model::inputs)
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("cases", &Model::cases)
      .def_prop_ro("metadata", &Model::metadata)
      .def_prop_ro("has_device", &Model::hasDevice)
      .def("set_stream", &Model::setStream, nb::arg("stream"))
      .def("output_shapes", &Model::outputShapes, nb::arg("input_shapes"))
      .def("run", &Model::run, nb::arg("arrays"), nb::arg("into") = nb::list());
}
