// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_HPP
#define HEWN_RUNTIME_HPP

/// \file
/// C++17 wrapper of runtime.h: owners of libraries, contexts and outputs, and exceptions.
///
///     hewn::Library library("./libresnet50.so");
///     hewn::ContextOptions options;
///     options.threads = 4;
///     hewn::Context context(library.model(), options);
///     context.run(inputs, outputs);                  // vectors of DLTensor
///
/// A context converts to `hewn_context *`, for the functions of generated headers:
///
///     hewn::Context context(sobel);                  // linked: #include "sobel.h"
///     hewn::check(sobel_run(context, image, edges));
///
/// All classes can be moved, and none can be copied. Their rules for threads are those of
/// runtime.h.

#include "hewn/runtime.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hewn {

/// A failed call. `what()` is the message of the status, and `code()` its hewn_code.
class Error : public std::runtime_error {
public:
  explicit Error(const hewn_status &status) : std::runtime_error(status.message), number(status.code) {}
  std::int32_t code() const noexcept { return number; }
  /// Returns the name of the code, such as "HEWN_IO".
  const char *codeName() const noexcept { return hewn_code_name(number); }

private:
  std::int32_t number;
};

/// Throws Error if the status is not HEWN_OK.
inline void check(const hewn_status &status) {
  if (status.code != HEWN_OK)
    throw Error(status);
}

/// Options of a context, with `size` set and all other members zero.
struct ContextOptions : hewn_context_options {
  ContextOptions() : hewn_context_options() { size = sizeof(hewn_context_options); }
};

/// Cancels runs from any thread: a run of a context with `hook()` ends with HEWN_CANCELLED soon
/// after `cancel`, as do later runs until `reset`. Must outlive the context.
///
///     hewn::CancelFlag flag;
///     hewn::ContextOptions options;
///     options.cancel_hook = flag.hook();
class CancelFlag {
public:
  CancelFlag() = default;
  CancelFlag(const CancelFlag &) = delete;
  CancelFlag &operator=(const CancelFlag &) = delete;
  void cancel() noexcept { isSet.store(true, std::memory_order_relaxed); }
  void reset() noexcept { isSet.store(false, std::memory_order_relaxed); }
  hewn_cancel_hook hook() noexcept {
    return {[](void *user) -> std::int32_t {
              return static_cast<CancelFlag *>(user)->isSet.load(std::memory_order_relaxed);
            },
            this};
  }

private:
  std::atomic<bool> isSet{false};
};

/// Returns the value of an entry of the model's metadata (see hewn_metadata), or nullopt.
inline std::optional<std::string_view> metadata(const hewn_model &model, const std::string &key) {
  const char *value = hewn_metadata(&model, key.c_str());
  return value ? std::optional<std::string_view>(value) : std::nullopt;
}

/// Return the index of the input or output with this name. Throw std::out_of_range if there is
/// none.
inline std::size_t inputIndex(const hewn_model &model, const std::string &name) {
  std::int32_t index = hewn_input_index(&model, name.c_str());
  if (index < 0)
    throw std::out_of_range("the model has no input '" + name + "'");
  return static_cast<std::size_t>(index);
}
inline std::size_t outputIndex(const hewn_model &model, const std::string &name) {
  std::int32_t index = hewn_output_index(&model, name.c_str());
  if (index < 0)
    throw std::out_of_range("the model has no output '" + name + "'");
  return static_cast<std::size_t>(index);
}

/// Returns the DLPack type of the elements of a C++ type: float, double, bool, or an integer.
template <typename T> constexpr DLDataType typeOf() {
  static_assert(std::is_arithmetic_v<T>, "DLPack has no type for these elements");
  constexpr auto code = std::is_same_v<T, bool>       ? HEWN_DL_BOOL
                        : std::is_floating_point_v<T> ? int(kDLFloat)
                        : std::is_signed_v<T>         ? int(kDLInt)
                                                      : int(kDLUInt);
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * sizeof(T)), 1};
}

/// Returns a row-major tensor in CPU memory. The tensor refers to `data` and `shape`, which must
/// outlive it. With `data` null, as in `tensor<float>(nullptr, shape)`, a run allocates this output
/// and writes `shape`, which then has space for the largest rank of the output.
template <typename T> DLTensor tensor(T *data, std::vector<std::int64_t> &shape) {
  DLTensor made{};
  made.data = const_cast<std::remove_const_t<T> *>(data);
  made.device = {kDLCPU, 0};
  made.ndim = static_cast<std::int32_t>(shape.size());
  made.dtype = typeOf<std::remove_const_t<T>>();
  made.shape = shape.data();
  return made;
}

/// Owns a library that hewn compiled. It must outlive the contexts of its model.
class Library {
public:
  /// Loads a library, which runs its code: load only trusted files.
  explicit Library(const std::string &path) : handle(nullptr, hewn_library_close) {
    hewn_library *opened = nullptr;
    hewn_status status = hewn_library_open(path.c_str(), &opened);
    handle.reset(opened);
    check(status);
  }
  const hewn_model &model() const & noexcept { return *hewn_library_model(handle.get()); }
  const hewn_model &model() const && = delete; // the model ends with the library
  hewn_library *get() const noexcept { return handle.get(); }

private:
  std::unique_ptr<hewn_library, void (*)(hewn_library *)> handle;
};

/// Owns a context. Memory, hooks and paths that the options name must outlive the context as
/// runtime.h states.
class Context {
public:
  explicit Context(const hewn_model &model, const hewn_context_options &options = ContextOptions())
      : handle(nullptr, hewn_context_destroy), descriptor(&model) {
    hewn_context *created = nullptr;
    hewn_status status = hewn_context_create(&model, &options, &created);
    handle.reset(created);
    check(status); // copies the message, which the context owns
  }

  /// Runs the model; see hewn_run.
  void run(const DLTensor *inputs, DLTensor *outputs) { check(hewn_run(descriptor, handle.get(), inputs, outputs)); }
  void run(const std::vector<DLTensor> &inputs, std::vector<DLTensor> &outputs) {
    check(hewn_run_counted(descriptor, handle.get(), inputs.data(), static_cast<std::int32_t>(inputs.size()),
                           outputs.data(), static_cast<std::int32_t>(outputs.size())));
  }
  /// Allocates the arena for runs with these values of the model's symbols.
  void reserve(const std::vector<std::int64_t> &symbols) {
    if (symbols.size() != static_cast<std::size_t>(descriptor->num_symbols))
      throw Error({HEWN_INVALID_ARGUMENT, "reserve needs one value for each symbol of the model"});
    check(hewn_context_reserve(handle.get(), symbols.data()));
  }

  const hewn_model &model() const noexcept { return *descriptor; }
  hewn_context *get() const noexcept { return handle.get(); }
  operator hewn_context *() const noexcept { return handle.get(); }

private:
  std::unique_ptr<hewn_context, void (*)(hewn_context *)> handle;
  const hewn_model *descriptor;
};

/// Releases the memory of an output that a run has allocated. The context must still exist.
struct OutputDeleter {
  hewn_context *context = nullptr;
  void operator()(void *data) const noexcept { hewn_output_release(context, data); }
};

/// Owns an output that a run has allocated, such as one whose shape depends on data.
template <typename T> using Output = std::unique_ptr<T[], OutputDeleter>;

/// Takes ownership of the address that a run of `context` wrote to a tensor or a pointer.
template <typename T> Output<T> take(const Context &context, T *data) {
  return Output<T>(data, OutputDeleter{context.get()});
}

} // namespace hewn

#endif // HEWN_RUNTIME_HPP
