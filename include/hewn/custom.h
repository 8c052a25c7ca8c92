// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_CUSTOM_H
#define HEWN_CUSTOM_H

/// \file
/// What the code of a custom op includes: an op of a model that hewn does not
/// have, given by you (docs/custom-ops.md). C99; usable from C++; needs DLPack's
/// header and nothing else, and links against nothing of hewn's.
///
///     int32_t double_it(hewn_custom_call *call) {
///       const float *x = hewn_custom_data(call->inputs[0]);
///       float *y = hewn_custom_data(call->outputs[0]);
///       for (int64_t i = 0, n = hewn_custom_elements(call->outputs[0]); i < n; ++i)
///         y[i] = 2 * x[i];
///       return HEWN_OK;
///     }
///
/// Such a function is called on the thread that runs the model, and by several
/// contexts at once where several run: what it keeps between calls is its own to
/// lock. Nothing may be thrown through it.

#include "hewn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What an attribute holds.
enum hewn_custom_kind {
  HEWN_CUSTOM_ABSENT = 0, ///< the node has none, and the definition no default
  HEWN_CUSTOM_INT = 1,
  HEWN_CUSTOM_FLOAT = 2,
  HEWN_CUSTOM_STRING = 3,
  HEWN_CUSTOM_INTS = 4,
  HEWN_CUSTOM_FLOATS = 5,
  HEWN_CUSTOM_STRINGS = 6,
  HEWN_CUSTOM_TENSOR = 7
};

/// An attribute of the node, or its default. What does not belong to `kind` is
/// zero. All of it lives until the call returns.
typedef struct hewn_custom_attribute {
  int32_t kind; ///< of hewn_custom_kind
  int32_t reserved;
  int64_t count; ///< of a list; the bytes of a string, without the zero behind it
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

/// One call. Tensors are on the CPU, row-major (strides are set), with
/// `byte_offset` 0; no output overlaps an input. Members may be added at the
/// end: `size` says how far this one goes.
struct hewn_custom_call {
  size_t size;
  const char *node; ///< the node's name in the model; may be NULL
  int32_t num_inputs;
  int32_t num_outputs; ///< 0 in a shape function
  int32_t num_attributes;
  int32_t num_sizes;
  /// In the definition's order; NULL is an optional one that the node leaves
  /// out. What they point to is not to be written.
  const DLTensor *const *inputs;
  /// As large as the definition's dims say; of dims that are sizes, as large as
  /// these can be. All of the definition's outputs, whether the node has a use
  /// for them or not.
  DLTensor *const *outputs;
  const hewn_custom_attribute *attributes; ///< in the definition's order
  /// The definition's sizes. Who tells them (the shape function, else the
  /// function) writes each; elsewhere they are there to be read. An output whose
  /// dims are smaller than it had room for is dense, row-major in these dims.
  int64_t *sizes;
  const hewn_custom_services *services;
};

/// What every function of an op is. Returns HEWN_OK, or what hewn_custom_fail
/// has returned.
typedef int32_t hewn_custom_fn(hewn_custom_call *call);

/// By pointers, so that the code of an op is the same in a library, an archive
/// and a process. Use the functions below.
struct hewn_custom_services {
  size_t size;
  int32_t (*fail)(hewn_custom_call *call, const char *message, int64_t a, int64_t b);
  void *(*scratch)(hewn_custom_call *call, int64_t bytes);
  void *(*keep)(hewn_custom_call *call, int64_t bytes);
  int32_t (*parallel_for)(hewn_custom_call *call, int64_t n, hewn_task task, void *arg);
  int32_t (*threads)(const hewn_custom_call *call);
};

/// Ends the run with a status (HEWN_OP_FAILED) that has the node's name and this
/// message, in which `{a}` and `{b}` stand for the numbers.
///
///     return hewn_custom_fail(call, "a window of {a} in {b} samples", window, n);
static inline int32_t hewn_custom_fail(hewn_custom_call *call, const char *message, int64_t a, int64_t b) {
  return call->services->fail(call, message, a, b);
}

/// Memory until the call returns, aligned to 64 bytes; from the context's
/// allocator. NULL: there is none, and the failure is recorded: return. Not from
/// a task.
static inline void *hewn_custom_scratch(hewn_custom_call *call, int64_t bytes) {
  return call->services->scratch(call, bytes);
}

/// Memory until the end of the context's next run: for the strings that an
/// output points to. As above.
static inline void *hewn_custom_keep(hewn_custom_call *call, int64_t bytes) {
  return call->services->keep(call, bytes);
}

/// Covers [0, n) by calls of `task` on the context's threads, and returns when
/// all are done.
static inline int32_t hewn_custom_parallel_for(hewn_custom_call *call, int64_t n, hewn_task task, void *arg) {
  return call->services->parallel_for(call, n, task, arg);
}

/// How many threads that has.
static inline int32_t hewn_custom_threads(const hewn_custom_call *call) { return call->services->threads(call); }

/// Where a tensor's elements begin.
static inline void *hewn_custom_data(const DLTensor *tensor) { return (char *)tensor->data + tensor->byte_offset; }

/// How many there are.
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
