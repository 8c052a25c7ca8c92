// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CONTEXT_H
#define HEWN_RUNTIME_CONTEXT_H

/// \file
/// The context and what the runtime's files share. Nobody outside runtime/
/// includes this: applications and generated code see an opaque pointer.

#include "hewn/services.h"
#include "threads/pool.h"

#define HEWN_MESSAGE_BYTES 512
#define HEWN_ALIGNMENT 64

/// A block of `hewn_rt_alloc`: this header precedes the caller's bytes.
typedef struct hewn_block {
  struct hewn_block *previous;
  struct hewn_block *next;
  void *memory; ///< what the allocator returned
} hewn_block;

/// What a context knows about one output during a run.
typedef struct hewn_output_state {
  int64_t capacity;  ///< bytes in the caller's memory; -1: to be allocated
  void *given;       ///< the caller's memory
  uint8_t allocated; ///< this run allocated it: released if the run fails
  uint8_t dynamic;   ///< some dim depends on data
  uint8_t on_device; ///< the caller's memory is the device's
} hewn_output_state;

struct hewn_context {
  /// First in every version of the runtime: door.c of another version reads it.
  const hewn_runtime_table *table;
  const hewn_model *model;
  const hewn_variant *variant;

  hewn_allocator allocator;
  hewn_thread_hook thread_hook;
  hewn_trace_hook trace_hook;
  hewn_device_hook device_hook;
  hewn_transfer_hook transfer_hook;
  hewn_transfer transfer;          ///< of the part that is being called; its `what` is NULL: it does none
  hewn_communicator *communicator; ///< NULL: the model is not split
  /// Of the part that is being called; NULL: its operands are the host's.
  const struct hewn_device_transport *transport;
  void *transport_stream;
  hewn_pool *pool; ///< NULL: one thread, or a thread hook
  int32_t threads;
  uint32_t parallel;    ///< a task runs: what it calls runs serially
  uint32_t busy;        ///< a call is in progress
  uint8_t traces_tasks; ///< HEWN_TRACE_TASKS
  const char *kernel;   ///< that runs; kept up where traces_tasks
  int32_t broken;       ///< creation failed with this code
  uint64_t cpu;
  uint64_t draws; ///< of random numbers without a seed

  unsigned char *arena;
  int64_t arena_bytes;
  uint8_t arena_is_callers;
  uint8_t holds_weights; ///< counted in the model's weights state
  const unsigned char *weights;

  void *device;          ///< what the model's device table keeps; NULL: nothing
  int32_t device_number; ///< of the device that the context is on

  /// The outputs as the run's case gives them: the model's, or of other ranks.
  const hewn_tensor_info *output_infos;
  int64_t *symbols;
  int32_t *bound_by; ///< per symbol: the input that set it, -1 for none
  const void **input_data;
  const int64_t **input_dims;
  uint8_t *input_on_device; ///< the caller's memory is the device's
  int64_t *input_shapes;    ///< room for all inputs' dims, one after the other
  void **output_data;
  int64_t **output_dims;
  hewn_output_state *outputs;
  hewn_block *blocks; ///< of the run
  hewn_block *held;   ///< of all runs
  struct hewn_place *places;
  struct hewn_kept *kept, *kept_before; ///< what this run and the one before have left for their callers

  uint32_t failed; ///< somebody is writing, or has written, `message`
  int32_t code;
  char message[HEWN_MESSAGE_BYTES];
};

//===-- message.c ---------------------------------------------------------===//

/// Appends to a fixed buffer; what does not fit is cut off. There is no printf
/// here: it reads the locale and may allocate.
typedef struct hewn_text {
  char *at;
  char *end;
} hewn_text;

void hewn_text_put(hewn_text *text, const char *string);
/// In quotes; a long name is shortened so that the rest of a message survives.
void hewn_text_name(hewn_text *text, const char *name);
void hewn_text_int(hewn_text *text, int64_t value);
void hewn_text_dims(hewn_text *text, int32_t rank, const int64_t *dims);
/// Dims of a descriptor: symbols by name, `?` for what depends on data.
void hewn_text_spec(hewn_text *text, const hewn_model *model, const hewn_tensor_info *info);
void hewn_text_dtype(hewn_text *text, DLDataType dtype);

/// Opens the context's message; false if an earlier failure has it already.
/// Close it with `hewn_text_close`.
int hewn_message_open(hewn_context *context, hewn_text *text);
int32_t hewn_text_close(hewn_context *context, int32_t code, hewn_text *text);

/// A failure with a plain message.
int32_t hewn_message_fail(hewn_context *context, int32_t code, const char *message);
/// Forgets the last call's failure.
void hewn_message_clear(hewn_context *context);
hewn_status hewn_message_status(const hewn_context *context);

//===-- variant.c ---------------------------------------------------------===//

/// The bits of HEWN_CPU_* that this processor has, and the name of one.
uint64_t hewn_cpu_query(void);
const char *hewn_cpu_name(uint64_t bit);
/// Finds the variant of the context's model for this machine.
int32_t hewn_variant_choose(hewn_context *context);

//===-- memory.c ----------------------------------------------------------===//

extern const hewn_allocator hewn_default_allocator;

/// Bytes of a tensor, -1 on overflow or a negative dim.
int64_t hewn_tensor_bytes(DLDataType dtype, int32_t rank, const int64_t *dims);
/// Frees what `hewn_rt_alloc` gave out during the run.
void hewn_memory_end_run(hewn_context *context);
/// Frees what stays for all runs.
void hewn_memory_forget(hewn_context *context);

//===-- keep.c ------------------------------------------------------------===//

/// What the last run has kept stays until this one is over: callers may feed it back.
void hewn_keep_begin_run(hewn_context *context);
void hewn_keep_end_run(hewn_context *context);
/// Whether what lies at `data` goes when this run is over.
int hewn_keep_is_leaving(const hewn_context *context, const void *data);
/// Frees all that was kept.
void hewn_keep_forget(hewn_context *context);

//===-- sequence.c --------------------------------------------------------===//

/// Checks the sequence or optional value that input `index` points to, and sets input_data.
int32_t hewn_sequence_take(hewn_context *context, int32_t index, const void *data);
/// After a run: outputs that point to what the run before has kept get copies of it.
int32_t hewn_sequence_keep_outputs(hewn_context *context);

//===-- bind.c ------------------------------------------------------------===//

/// Checks the inputs and sets symbols, input_data and input_dims.
int32_t hewn_bind_inputs(hewn_context *context, const DLTensor *inputs);
/// Checks the symbols' ranges.
int32_t hewn_bind_symbols(hewn_context *context, const int64_t *symbols);
/// Checks the outputs, with output_dims computed, and sets their states.
int32_t hewn_bind_outputs(hewn_context *context, const DLTensor *outputs);
/// Finds memory for the outputs whose shape does not depend on data.
int32_t hewn_bind_allocate(hewn_context *context);

//===-- context.c ---------------------------------------------------------===//

/// Grows the arena for the context's symbols.
int32_t hewn_context_grow(hewn_context *context);
/// Claims the context for a call; a failure when another thread has it.
int hewn_context_enter(hewn_context *context);
void hewn_context_leave(hewn_context *context);
extern const char hewn_context_busy_message[];

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

//===-- weights.c ---------------------------------------------------------===//

/// Maps or reads the model's weights, or counts one more user of them. `flags`
/// are hewn_context_options'.
int32_t hewn_weights_acquire(hewn_context *context, const char *path, uint32_t flags);
void hewn_weights_release(hewn_context *context);

//===-- ranks/group.c -----------------------------------------------------===//

/// Takes the communicator of a model that is split, and meets the other ranks.
int32_t hewn_ranks_join(hewn_context *context, hewn_communicator *group);
/// Tells the other ranks that this one has failed with `code`: it does not run any more, so that no run of its meets another one of theirs.
void hewn_ranks_abandon(hewn_context *context, int32_t code);
/// Gives the communicator back.
void hewn_ranks_leave(hewn_context *context);
/// What the context's communicator does with memory of devices; NULL: nothing.
const struct hewn_device_transport *hewn_ranks_transport(const hewn_context *context);
/// That all ranks run with the same symbols. `digests`: room for one a rank.
int32_t hewn_ranks_agree(hewn_context *context, uint64_t *digests);
/// Sets the symbol that is the rank.
void hewn_ranks_bind(hewn_context *context);
/// What the rank that needs most does; all ranks have arenas of that size.
int64_t hewn_ranks_arena_bytes(hewn_context *context);
void *hewn_ranks_allocate(hewn_context *context, int64_t bytes);
void hewn_ranks_release(hewn_context *context, void *memory);

//===-- checksum.c --------------------------------------------------------===//

/// hewn_weights_header's checksum of the data.
uint64_t hewn_weights_checksum(const unsigned char *data, uint64_t bytes);

//===-- load.c ------------------------------------------------------------===//

/// In the text by which the loader knows a library that was loaded by its
/// descriptor, behind its folder and the way up from there.
#define HEWN_LOADED_BY_FILE "/proc/self/fd"

#endif // HEWN_RUNTIME_CONTEXT_H
