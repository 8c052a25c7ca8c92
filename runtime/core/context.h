// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CONTEXT_H
#define HEWN_RUNTIME_CONTEXT_H

/// \file
/// The context, and functions that the runtime's files share. Only runtime/ includes this header:
/// applications and generated code use an opaque pointer.

#include "hewn/services.h"

#define HEWN_MESSAGE_BYTES 512
#define HEWN_ALIGNMENT 64

/// Header of a block of `hewn_rt_alloc`, directly before the caller's bytes.
typedef struct hewn_block {
  struct hewn_block *previous;
  struct hewn_block *next;
  void *memory; ///< pointer that the allocator returned
} hewn_block;

/// State of one output during a run.
typedef struct hewn_output_state {
  int64_t capacity;  ///< size of the caller's memory in bytes; -1 if the run allocates the output
  void *given;       ///< the caller's memory, or NULL
  uint8_t allocated; ///< 1 if this run allocated the output: it is released if the run fails
  uint8_t dynamic;   ///< 1 if a dim depends on data
  uint8_t on_device; ///< 1 if the caller's memory is device memory
} hewn_output_state;

typedef struct hewn_pool hewn_pool;

struct hewn_context {
  /// First member in every version of the runtime: api.c of other versions reads it.
  const hewn_runtime_table *table;
  const hewn_model *model;
  const hewn_variant *variant;

  hewn_allocator allocator;
  hewn_thread_hook thread_hook;
  hewn_trace_hook trace_hook;
  hewn_device_hook device_hook;
  hewn_transfer_hook transfer_hook;
  hewn_cancel_hook cancel_hook;
  hewn_transfer transfer; ///< current transfer; its `what` is NULL if the runtime call makes none
  /// connection to the other ranks; NULL if the model is not partitioned
  hewn_communicator *communicator;
  /// Device transport of the current runtime call, or NULL if its operands are in host memory.
  const struct hewn_device_transport *transport;
  void *transport_stream;
  hewn_pool *pool; ///< NULL if the context has one thread or a thread hook
  int32_t threads;
  uint32_t parallel;    ///< 1 while tasks run: a nested parallel_for is serial
  uint32_t busy;        ///< 1 while a call is in progress
  uint8_t traces_tasks; ///< 1 if the flag HEWN_TRACE_TASKS is set
  const char *kernel;   ///< name of the running kernel; set only if traces_tasks
  int32_t broken;       ///< status code of the failure that makes the context unusable, or HEWN_OK
  uint64_t cpu;
  uint64_t draws; ///< number of calls of random number generators without a seed

  unsigned char *arena;
  int64_t arena_bytes;
  uint8_t arena_is_callers;
  uint8_t holds_weights; ///< 1 if this context is counted in the model's weights state
  const unsigned char *weights;

  void *device;          ///< state of the device API (cuda_state), or NULL
  int32_t device_number; ///< ordinal of the context's device

  /// Descriptions of the outputs in the current case: `model->outputs`, or those of a hewn_case.
  const hewn_tensor_info *output_infos;
  int64_t *symbols;
  int32_t *bound_by; ///< index of the input that bound each symbol, or -1
  const void **input_data;
  const int64_t **input_dims;
  uint8_t *input_on_device; ///< 1 for each input whose tensor is in device memory
  int64_t *input_shapes;    ///< storage for the dims of all inputs, concatenated
  void **output_data;
  int64_t **output_dims;
  hewn_output_state *outputs;
  hewn_block *blocks; ///< blocks that are freed at the end of the run
  hewn_block *held;   ///< blocks that are freed with the context
  struct hewn_place *places;
  /// Memory of hewn_rt_keep from this run and from the previous run.
  struct hewn_kept *kept, *kept_before;

  int *error_number; ///< address of the caller's errno during a call; NULL if there is no errno
  int callers_errno;

  uint32_t failed; ///< 1 once a thread starts to write `message`
  int32_t code;
  char message[HEWN_MESSAGE_BYTES];
};

//===-- message.c ---------------------------------------------------------===//

/// Appends text to the fixed buffer of a message, and truncates text that does not fit. printf is
/// not used, because it reads the locale and may allocate.
typedef struct hewn_text {
  char *at;
  char *end;
} hewn_text;

void hewn_text_put(hewn_text *text, const char *string);
/// Appends a name in quotes to a message. A long name is shortened, so that the rest of the message
/// fits.
void hewn_text_name(hewn_text *text, const char *name);
void hewn_text_int(hewn_text *text, int64_t value);
void hewn_text_dims(hewn_text *text, int32_t rank, const int64_t *dims);
/// Appends the dims of a tensor's descriptor to a message: symbols by name, `?` for dims that
/// depend on data.
void hewn_text_spec(hewn_text *text, const hewn_model *model, const hewn_tensor_info *info);
void hewn_text_dtype(hewn_text *text, DLDataType dtype);

/// Starts the context's failure message. Returns false if an earlier failure of the run has already
/// written it. After success, call `hewn_text_close`.
int hewn_message_open(hewn_context *context, hewn_text *text);
int32_t hewn_text_close(hewn_context *context, int32_t code, hewn_text *text);

/// Records a failure with a constant message and returns `code`.
int32_t hewn_message_fail(hewn_context *context, int32_t code, const char *message);
/// Clears the context's status and the message of its last call.
void hewn_message_clear(hewn_context *context);
hewn_status hewn_message_status(const hewn_context *context);

//===-- variant.c ---------------------------------------------------------===//

/// Returns the services of a model. Returns NULL if its descriptor is older than this runtime.
const hewn_services *hewn_model_services(const hewn_model *model);
/// Selects the variant of the context's model for this machine.
int32_t hewn_variant_choose(hewn_context *context);

//===-- memory.c ----------------------------------------------------------===//

/// Allocates `bytes` bytes at a multiple of `alignment`, a power of two. Returns NULL if the
/// allocator does, if `bytes` is negative, or if it exceeds PTRDIFF_MAX, the largest size of an
/// object on a 32-bit target. All allocations of the runtime whose size is an int64 use this
/// function: a conversion to size_t would truncate the size on such a target.
void *hewn_allocate(const hewn_allocator *allocator, int64_t bytes, int64_t alignment);

/// Returns the size of a tensor in bytes. Returns -1 if a dim is negative, if the size overflows,
/// or if it exceeds PTRDIFF_MAX.
int64_t hewn_tensor_bytes(DLDataType dtype, int32_t rank, const int64_t *dims);
/// Frees the memory that `hewn_rt_alloc` allocated during the run.
void hewn_memory_end_run(hewn_context *context);
/// Frees the memory that the context keeps until it is destroyed.
void hewn_memory_forget(hewn_context *context);

//===-- keep.c ------------------------------------------------------------===//

/// Begins a run of the context. Memory that the previous run kept with hewn_rt_keep stays valid
/// until the end of this run, because callers may pass the previous run's outputs as inputs.
void hewn_keep_begin_run(hewn_context *context);
void hewn_keep_end_run(hewn_context *context);
/// Returns true if `data` points to memory that the previous run kept, which is freed at the end of
/// this run.
int hewn_keep_is_leaving(const hewn_context *context, const void *data);
/// Frees all memory that runs have kept with hewn_rt_keep.
void hewn_keep_forget(hewn_context *context);

//===-- sequence.c --------------------------------------------------------===//

/// Checks the sequence or optional value that the caller passes as input `index`, and sets the
/// input's entry of input_data. `data` points to the caller's handle.
int32_t hewn_sequence_take(hewn_context *context, int32_t index, const void *data);
/// Called after a run if the context has memory of the previous run, which is about to be freed:
/// copies those parts of the outputs that point to it.
int32_t hewn_sequence_keep_outputs(hewn_context *context);

//===-- bind.c ------------------------------------------------------------===//

/// Checks the caller's inputs, and sets the context's symbols, input_data and input_dims.
int32_t hewn_bind_inputs(hewn_context *context, const DLTensor *inputs);
/// Checks that the given values of symbols are in their ranges, sets the context's symbols and
/// selects the case.
int32_t hewn_bind_symbols(hewn_context *context, const int64_t *symbols);
/// Checks the caller's outputs against output_dims and sets the states of the outputs.
int32_t hewn_bind_outputs(hewn_context *context, const DLTensor *outputs);
/// Sets or allocates the memory of outputs whose shape does not depend on data.
int32_t hewn_bind_allocate(hewn_context *context);

//===-- context.c ---------------------------------------------------------===//

/// Grows the arena to the size that the context's symbols need.
int32_t hewn_context_grow(hewn_context *context);
/// Begins a call: marks the context as busy. Returns false if another thread uses it.
int hewn_context_enter(hewn_context *context);
/// Ends the call that hewn_context_enter began, and returns its status.
hewn_status hewn_context_leave(hewn_context *context);
extern const char hewn_context_busy_message[];
/// If `code` is not HEWN_OK and the model is partitioned, announces the failure to the other ranks
/// and marks the context as broken, so that its calls cannot be paired with later calls of other
/// ranks.
void hewn_context_abandon(hewn_context *context, int32_t code);

hewn_status hewn_impl_context_create(const hewn_model *model, const hewn_context_options *options,
                                     hewn_context **context);
void hewn_impl_context_destroy(hewn_context *context);
hewn_status hewn_impl_context_reserve(hewn_context *context, const int64_t *symbols);
hewn_status hewn_impl_context_set_stream(hewn_context *context, void *stream);
const char *hewn_impl_context_message(const hewn_context *context);

//===-- run.c -------------------------------------------------------------===//

hewn_status hewn_impl_run(const hewn_model *model, hewn_context *context, const DLTensor *inputs, int32_t num_inputs,
                          DLTensor *outputs, int32_t num_outputs);
hewn_status hewn_impl_run_pointers(const hewn_model *model, hewn_context *context, const void *const *inputs,
                                   void **outputs, int64_t *const *output_dims, const int64_t *symbols);
void hewn_impl_output_release(hewn_context *context, void *data);

//===-- ranks/group.c -----------------------------------------------------===//

/// Returns the communicator's functions for device memory, or NULL.
const struct hewn_device_transport *hewn_ranks_transport(const hewn_context *context);
/// Checks that all ranks run with the same symbols. `digests` has space for one entry per rank.
int32_t hewn_ranks_agree(hewn_context *context, uint64_t *digests);

#endif // HEWN_RUNTIME_CONTEXT_H
