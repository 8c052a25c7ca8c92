// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_CUSTOM_H
#define HEWN_CUSTOM_H

/// \file
/// API for the implementation of custom ops: ops that hewn does not have and that the user
/// implements (docs/custom-ops.md). C99, usable from C++. The only dependency is DLPack's header;
/// no library of hewn is linked.
///
///     int32_t double_it(hewn_custom_call *call) {
///       const float *x = hewn_custom_data(call->inputs[0]);
///       float *y = hewn_custom_data(call->outputs[0]);
///       for (int64_t i = 0, n = hewn_custom_elements(call->outputs[0]); i < n; ++i)
///         y[i] = 2 * x[i];
///       return HEWN_OK;
///     }
///
/// The function is called by the thread that runs the model. Contexts that run at the same time
/// call it concurrently, so it must lock state that it keeps between calls. It must not throw.

#include "hewn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Type of an attribute's value.
enum hewn_custom_kind {
  /// The attribute has no value: the node does not set it, and the definition has no default.
  HEWN_CUSTOM_ABSENT = 0,
  HEWN_CUSTOM_INT = 1,
  HEWN_CUSTOM_FLOAT = 2,
  HEWN_CUSTOM_STRING = 3,
  HEWN_CUSTOM_INTS = 4,
  HEWN_CUSTOM_FLOATS = 5,
  HEWN_CUSTOM_STRINGS = 6,
  HEWN_CUSTOM_TENSOR = 7
};

/// An attribute of the node, or its default. Members that do not belong to `kind` are zero. All
/// pointers are valid until the call returns.
typedef struct hewn_custom_attribute {
  int32_t kind; ///< a hewn_custom_kind
  int32_t reserved;
  int64_t count; ///< length of a list, or of a string in bytes, without the zero byte at its end
  int64_t i;
  double f;
  const char *s;
  const int64_t *ints;
  const float *floats;
  const char *const *strings;
  const DLTensor *tensor;
} hewn_custom_attribute;

typedef struct hewn_custom_call hewn_custom_call;
typedef struct hewn_custom_services hewn_custom_services;

/// One call of a custom op. Tensors are in CPU memory, row-major (strides are set), with
/// `byte_offset` 0; no output overlaps an input. Later versions may append members; `size` is the
/// size of the caller's version.
struct hewn_custom_call {
  size_t size;
  const char *node; ///< name of the node in the model; may be NULL
  int32_t num_inputs;
  int32_t num_outputs; ///< 0 in a shape function
  int32_t num_attributes;
  int32_t num_sizes;
  /// Inputs in the definition's order. NULL for an optional input that the node omits. Their data
  /// is read-only.
  const DLTensor *const *inputs;
  /// All outputs of the definition, including those that the node does not use. Each output is
  /// allocated with the dims that the definition declares; a dim that is one of `sizes` is
  /// allocated with its upper bound.
  DLTensor *const *outputs;
  const hewn_custom_attribute *attributes; ///< attributes in the definition's order
  /// Values of the sizes that the definition declares: dims that the op computes. The shape
  /// function must write all of them, or, if there is none, the op's function. Otherwise the op's
  /// function may read them. An output whose final dims are smaller than its upper bounds must be
  /// dense and row-major in the final dims.
  int64_t *sizes;
  const hewn_custom_services *services;
};

/// Type of the functions of a custom op. Returns HEWN_OK, or the result of hewn_custom_fail.
typedef int32_t hewn_custom_fn(hewn_custom_call *call);

/// Pointers to the functions that the runtime offers to custom ops. They are passed with each call,
/// so that the op's code does not depend on how it is linked. Use the inline functions of this
/// header instead of these pointers.
struct hewn_custom_services {
  size_t size;
  int32_t (*fail)(hewn_custom_call *call, const char *message, int64_t a, int64_t b);
  void *(*scratch)(hewn_custom_call *call, int64_t bytes);
  void *(*keep)(hewn_custom_call *call, int64_t bytes);
  int32_t (*parallel_for)(hewn_custom_call *call, int64_t n, hewn_task task, void *arg);
  int32_t (*threads)(const hewn_custom_call *call);
};

/// Fails the run with HEWN_OP_FAILED and a message that begins with the node's name. `{a}` and
/// `{b}` in `message` are replaced by the numbers. Returns the code that the op's function must
/// return.
///
///     return hewn_custom_fail(call, "a window of {a} in {b} samples", window, n);
static inline int32_t hewn_custom_fail(hewn_custom_call *call, const char *message, int64_t a, int64_t b) {
  return call->services->fail(call, message, a, b);
}

/// Allocates memory, aligned to 64 bytes, from the context's allocator. It is valid until the call
/// returns. Returns NULL on failure, after recording it: the op's function must then return. Must
/// not be called from a task.
static inline void *hewn_custom_scratch(hewn_custom_call *call, int64_t bytes) {
  return call->services->scratch(call, bytes);
}

/// Allocates memory for the strings of an output. It is valid until the end of the context's next
/// run. Returns NULL on failure, after recording it. Must not be called from a task.
static inline void *hewn_custom_keep(hewn_custom_call *call, int64_t bytes) {
  return call->services->keep(call, bytes);
}

/// Calls `task` for disjoint ranges that cover [0, n), on the context's threads, and returns when
/// all calls have returned.
static inline int32_t hewn_custom_parallel_for(hewn_custom_call *call, int64_t n, hewn_task task, void *arg) {
  return call->services->parallel_for(call, n, task, arg);
}

/// Returns the number of threads of hewn_custom_parallel_for.
static inline int32_t hewn_custom_threads(const hewn_custom_call *call) { return call->services->threads(call); }

/// Returns the address of a tensor's first element.
static inline void *hewn_custom_data(const DLTensor *tensor) { return (char *)tensor->data + tensor->byte_offset; }

/// Returns the number of elements of a tensor.
static inline int64_t hewn_custom_elements(const DLTensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; ++d)
    count *= tensor->shape[d];
  return count;
}

#ifdef __cplusplus
}
#endif

#endif // HEWN_CUSTOM_H
