// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_H
#define HEWN_RUNTIME_H

/// \file
/// What an application calls to run a compiled model, and the descriptor that
/// every compiled model consists of. C99; usable from C++; needs DLPack's
/// header and nothing else.
///
///     hewn_context *context;
///     hewn_status status = hewn_context_create(&resnet50, NULL, &context);
///     if (status.code == HEWN_OK)
///       status = hewn_run(&resnet50, context, inputs, outputs);
///     if (status.code != HEWN_OK)
///       puts(status.message);
///     hewn_context_destroy(context);
///
/// A context is used by one thread at a time. Any number of contexts of one or
/// of several models live side by side; code and weights are shared.
///
/// A child of fork may use and destroy the contexts that were idle when it was
/// made: the threads of a pool are started anew there. A context whose run was
/// in progress is busy in the child for good, and a model for a GPU can't be
/// used there (the driver's rule).
/// Nothing here prints, aborts, or touches errno and the locale.
///
/// What generated code calls is in services.h.

#include <dlpack/dlpack.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Functions of this header are visible, so that whoever links a shared
/// library may export them. Everything else in the runtime is hidden.
#if defined(__GNUC__)
#define HEWN_API __attribute__((visibility("default")))
#else
#define HEWN_API
#endif

/// Changes with every incompatible change of a struct in this header.
#define HEWN_ABI_VERSION 3

/// A generated shared library exports its descriptor under the model's name,
/// and a second time under this one, for loaders that know only the file.
#define HEWN_MODEL_SYMBOL "hewn_model_main"

/// What an artifact says of itself is JSON in an ELF note of this section, owner
/// and type, in libraries, objects and the programs that they are linked into:
/// `hewn info` reads it, and no code of the file has to run for that.
#define HEWN_NOTE_SECTION ".note.hewn"
#define HEWN_NOTE_NAME "hewn"
#define HEWN_NOTE_DESCRIPTION 1

//===----------------------------------------------------------------------===//
// Status
//===----------------------------------------------------------------------===//

/// The kinds of failure. Values never change.
enum hewn_code {
  HEWN_OK = 0,
  /// A tensor, an option or a symbol does not fit the model.
  HEWN_INVALID_ARGUMENT = 1,
  /// The allocator said no, or the caller's arena is too small.
  HEWN_OUT_OF_MEMORY = 2,
  /// An index operand (Gather and its kin) points outside its tensor.
  HEWN_INDEX_OUT_OF_RANGE = 3,
  /// The weights file is missing, truncated, or belongs to another model.
  HEWN_IO = 4,
  /// This machine or this runtime cannot run the model.
  HEWN_UNSUPPORTED = 5,
  /// A defect in hewn.
  HEWN_INTERNAL = 6,
  /// A custom op says so, or breaks what its definition says: see custom.h.
  HEWN_OP_FAILED = 7,
  /// Of a model that is split over ranks: another rank is gone, runs another
  /// artifact, does something else, or lets this one wait too long.
  HEWN_PEER_FAILED = 8
};

/// The answer of every call that can fail. `message` is never NULL (it is ""
/// on success), names what was expected and what was found, and stays valid
/// until the next call on the same context, or until the context is destroyed.
typedef struct hewn_status {
  int32_t code;
  const char *message;
} hewn_status;

//===----------------------------------------------------------------------===//
// The descriptor of a model: emitted by the compiler, constant
//===----------------------------------------------------------------------===//

typedef struct hewn_context hewn_context;
typedef struct hewn_model hewn_model;
typedef struct hewn_runtime_table hewn_runtime_table;
typedef struct hewn_device_code hewn_device_code;   ///< see services.h
typedef struct hewn_communicator hewn_communicator; ///< see communicator.h

/// `DLDataType.code` of ONNX's bool (bits = 8): DLPack 1's kDLBool, which the
/// headers of older DLPack lack. Tensors of uint8 are accepted in its place.
#define HEWN_DL_BOOL 6
/// `DLDataType.code` of the 8-bit floats (bits = 8), DLPack 1's values.
#define HEWN_DL_FLOAT8_E4M3FN 10
#define HEWN_DL_FLOAT8_E4M3FNUZ 11
#define HEWN_DL_FLOAT8_E5M2 12
#define HEWN_DL_FLOAT8_E5M2FNUZ 13
#define HEWN_DL_FLOAT8_E8M0FNU 14
/// The same of the 4-bit float (bits = 4).
#define HEWN_DL_FLOAT4_E2M1FN 17

/// Of strings, `DLDataType` is {kDLOpaqueHandle, 64, 1}: each element is a
/// `const char *` to UTF-8 that a zero byte ends; NULL is "". Strings of
/// outputs lie in the context until the end of its next run, in the model's
/// constants, or are the input's own.
///
/// What is no tensor is one such element (rank 0) that points elsewhere.
enum hewn_kind {
  HEWN_KIND_TENSOR = 0,
  HEWN_KIND_SEQUENCE = 1,         ///< a `const hewn_sequence *`
  HEWN_KIND_OPTIONAL = 2,         ///< one of a single tensor; NULL: not there
  HEWN_KIND_OPTIONAL_SEQUENCE = 3 ///< NULL: not there
};

/// Tensors one after another, on the CPU and row-major. Sequences of outputs,
/// with all that they point to, lie in the context until the end of its next
/// run, or are the input's own.
typedef struct hewn_sequence {
  int64_t length;
  const DLTensor *elements;
} hewn_sequence;

/// In `hewn_tensor_info.dims`: d >= 0 is a fixed size; -1 - s is symbol s.
#define HEWN_DIM_SYMBOL(s) (-1 - (int64_t)(s))
/// The size depends on data. In an output: known only after a run. In an
/// input: not checked.
#define HEWN_DIM_DYNAMIC INT64_MIN
/// The size is a closed form over several symbols: ask `output_dims`.
#define HEWN_DIM_FORMULA (INT64_MIN + 1)

/// One input or output.
typedef struct hewn_tensor_info {
  const char *name;
  DLDataType dtype;
  int32_t rank;
  const int64_t *dims; ///< `rank` entries; may be NULL when rank is 0
  /// `rank` entries: the text of each dim that is a formula, else NULL. NULL
  /// where there is none.
  const char *const *formulas;
  int32_t kind; ///< hewn_kind
  /// Of what is no tensor: the type of its tensors, and their rank (negative:
  /// any). Zero otherwise.
  DLDataType element;
  int32_t element_rank;
  uint32_t reserved;
} hewn_tensor_info;

/// A model whose symbols decide more than sizes (a dim that is 1 is dropped, so
/// that the rank is another one) has code for each case, and so have sizes that
/// the model was compiled for in particular.
typedef struct hewn_case {
  const char *condition; ///< as text: "n = 1, m != 1"
  /// NULL, or why no run of this case is possible.
  const char *refusal;
  /// `num_outputs` entries, as this case gives them; NULL where it is refused.
  const hewn_tensor_info *outputs;
} hewn_case;

/// One symbolic dimension: `min` <= value <= `max` (INT64_MAX: unbounded).
typedef struct hewn_symbol {
  const char *name;
  int64_t min;
  int64_t max;
} hewn_symbol;

/// What the runtime remembers about a model's mapped weights file. Generated
/// code defines one, all zero, in writable memory, beside the descriptor.
typedef struct hewn_weights_state {
  uint64_t opaque[4];
} hewn_weights_state;

/// The first 64 bytes of a weights file; the data follows directly. Numbers
/// are little-endian.
typedef struct hewn_weights_header {
  char magic[6];       ///< "HEWNW\0"
  uint16_t version;    ///< HEWN_WEIGHTS_VERSION
  uint64_t data_bytes; ///< bytes after this header, == model.weights_bytes
  char digest[40];     ///< == model.weights_digest, padded with zeros
  uint64_t checksum;   ///< of the data: see below
} hewn_weights_header;

#define HEWN_WEIGHTS_VERSION 2

/// The checksum: XXH64 (seed 0) of each block of so many bytes, the last one
/// shorter, folded from 0 on.
#define HEWN_CHECKSUM_BLOCK ((uint64_t)1 << 20)
#define HEWN_CHECKSUM_FOLD(sum, hash) (((sum) ^ (hash)) * UINT64_C(0x9E3779B185EBCA87) + 1)

/// What a model's `run` is given. The arrays have an entry per input, output
/// or symbol.
typedef struct hewn_frame {
  const void *const *inputs;
  const int64_t *const *input_dims;
  /// Entries of data-dependent outputs are NULL until generated code calls
  /// `hewn_rt_alloc_output`, which fills them.
  void **outputs;
  /// Already filled in, but for data-dependent dims.
  int64_t *const *output_dims;
  const int64_t *symbols;
  unsigned char *arena;         ///< 64-byte aligned, arena_bytes(symbols) long
  const unsigned char *weights; ///< 64-byte aligned; NULL if there are none
} hewn_frame;

/// A model's code for one set of instructions. Inputs, outputs, symbols and
/// weights are the same for all.
typedef struct hewn_variant {
  const char *target; ///< e.g. "x86-64-v3"
  /// Bits of services.h's HEWN_CPU_* without which the code does not run.
  uint64_t cpu_features;
  /// The arena's exact size; negative on overflow.
  int64_t (*arena_bytes)(const int64_t *symbols);
  /// Returns a hewn_code; what fails has told `hewn_rt_fail` before.
  int32_t (*run)(hewn_context *context, const hewn_frame *frame);
} hewn_variant;

/// A compiled model.
struct hewn_model {
  uint32_t abi_version;  ///< HEWN_ABI_VERSION
  uint32_t struct_bytes; ///< sizeof(hewn_model)
  const char *name;
  const char *digest; ///< of the model and the compiler's options, in hex
  const char *target; ///< as given to the compiler, e.g. "portable"
  /// `&hewn_rt_table`: the runtime that the generated code was linked with.
  const hewn_runtime_table *runtime;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_symbols;
  int32_t num_variants;
  const hewn_tensor_info *inputs;
  const hewn_tensor_info *outputs;
  const hewn_symbol *symbols;
  /// The best first: a machine runs the first one whose instructions it has.
  const hewn_variant *variants;
  /// Name of the weights file, without a folder; it is looked for beside the
  /// binary that holds this descriptor. NULL: no weights, or embedded ones.
  const char *weights_file;
  const char *weights_digest;        ///< at most 40 hex digits
  uint64_t weights_bytes;            ///< of the data, without the file's header
  const unsigned char *weights;      ///< embedded (64-byte aligned), or NULL
  hewn_weights_state *weights_state; ///< needed where weights_file is set
  /// Writes every output's dims; HEWN_DIM_DYNAMIC where it depends on data.
  void (*output_dims)(const int64_t *symbols, int64_t *const *dims);
  /// The code for a device beside the host; NULL: the host does it all.
  const hewn_device_code *device;
  /// NULL: there is one case. Else `outputs` has the largest rank of each, and
  /// `output_dims` writes as many dims as the case has.
  const hewn_case *cases;
  /// The number of the case for these symbols; NULL: there is one.
  int32_t (*case_of)(const int64_t *symbols);
  int32_t num_cases; ///< 0: there is one
  /// The model is split over so many ranks, each of which runs it in a context
  /// with a communicator (communicator.h); 0: it is not. The last symbol is then
  /// the rank, which contexts know: whatever callers say of it is not looked at.
  int32_t num_ranks;
};

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// A shared library made by hewn, loaded.
typedef struct hewn_library hewn_library;

/// Loads the library that is at `path` now. Where another one was loaded from
/// there before, and the file was replaced since, both live side by side
/// (dlopen would give the old one again). Loading runs code: load what you
/// trust.
///
/// On failure `*library` may still be set: it then holds the message and must
/// be closed.
HEWN_API hewn_status hewn_library_open(const char *path, hewn_library **library);

/// The model in it, which lives as long as the library is open; NULL after a
/// failure.
HEWN_API const hewn_model *hewn_library_model(const hewn_library *library);

/// Unloads it. Its contexts must have been destroyed. NULL is allowed.
HEWN_API void hewn_library_close(hewn_library *library);

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// Where memory comes from. `allocate` returns NULL when it cannot;
/// `alignment` is a power of two. `release` gets what `allocate` returned.
typedef struct hewn_allocator {
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*release)(void *user, void *memory);
  void *user;
} hewn_allocator;

/// A range of parallel work: the items [begin, end).
typedef void (*hewn_task)(void *arg, int64_t begin, int64_t end);

/// The caller's own threads. `parallel_for` covers [0, n) by calls of `task`
/// with disjoint ranges, from any threads, and returns when all are done.
/// Kernels need up to 512 KB of a thread's stack, these threads' and the one's that calls hewn_run.
typedef struct hewn_thread_hook {
  void (*parallel_for)(void *user, int64_t n, hewn_task task, void *arg);
  void *user;
} hewn_thread_hook;

/// The phases that a trace hook hears of: a kernel's begin and end and, where
/// HEWN_TRACE_TASKS is asked for, those of each range of a kernel's work.
enum hewn_trace_phase { HEWN_TRACE_BEGIN = 0, HEWN_TRACE_END = 1, HEWN_TRACE_TASK_BEGIN = 2, HEWN_TRACE_TASK_END = 3 };

/// Called around every kernel, from the thread that runs the model; and around
/// every range of work in parallel, from the thread that does it, several at
/// once, with the kernel's name (NULL: no kernel runs).
typedef struct hewn_trace_hook {
  void (*event)(void *user, int32_t phase, const char *kernel);
  void *user;
} hewn_trace_hook;

/// Of models for a GPU: told, after each run, of its kernels in the order of their launches, by the thread that called `hewn_run`. `begin` and `end`
/// are microseconds on the device (of its events, half a microsecond fine), from where the run's work began there. The name is the library's. Kernels
/// are then launched one by one instead of as one recorded graph, and a run waits for its end also on a caller's stream.
typedef struct hewn_device_hook {
  void (*kernel)(void *user, const char *kernel, double begin, double end);
  void *user;
} hewn_device_hook;

/// What ranks of a model that is split did together, or handed on.
typedef struct hewn_transfer {
  size_t size;      ///< sizeof(hewn_transfer)
  const char *what; ///< "all-reduce", "reduce-scatter", "all-gather", "send" or "receive"
  const char *node; ///< the ONNX node that it belongs to, where there is one; never NULL
  /// So many ranks from the first one on, of which this is one. Of "send" and "receive": the other one.
  int32_t first;
  int32_t ranks;
  uint64_t bytes; ///< of this rank's operand; of "receive", of what has come
  uint64_t moved; ///< by this rank, as hewn_communicator.moved counts
  /// Microseconds: of CLOCK_MONOTONIC, or, `on_device`, as hewn_device_hook has them.
  double begin;
  double end;
  /// Microseconds of these in which it did nothing but wait for other ranks; negative: the transport can't tell.
  double waited;
  int32_t on_device;
  uint32_t reserved;
} hewn_transfer;

/// Of models that are split over ranks: told of each transfer of this rank that did not fail, by the thread that runs the model. What is on
/// devices is told after the run; its run is then no recorded graph (see hewn_device_hook).
typedef struct hewn_transfer_hook {
  void (*transfer)(void *user, const hewn_transfer *transfer);
  void *user;
} hewn_transfer_hook;

/// Bits of `hewn_context_options.flags`.
enum hewn_context_flags {
  /// Compares the weights with their file's checksum, which reads all of them:
  /// HEWN_IO where they differ. Without it their size is checked, and that they
  /// are this model's. Weights inside of the binary have no checksum.
  HEWN_VERIFY_WEIGHTS = 1,
  /// Reads the weights into memory of the process's own instead of mapping the
  /// file. A mapped file that somebody shortens ends the process (SIGBUS) when
  /// the missing part is read, and one that is written to changes the weights;
  /// a copy knows nothing of either. Contexts of a model share its weights: the
  /// first one must ask for the copy.
  HEWN_COPY_WEIGHTS = 2,
  /// The trace hook hears of ranges of work as well. Libraries whose runtime
  /// does not have it refuse it.
  HEWN_TRACE_TASKS = 4
};

/// All zero, apart from `size`, means: one thread, memory from malloc, weights
/// from where the model says. Every member is optional. A library whose runtime
/// is older, and knows fewer members, takes them where the others are zero.
typedef struct hewn_context_options {
  size_t size; ///< sizeof(hewn_context_options)
  /// 0 and 1: the calling thread alone. n: it and n - 1 of the runtime's own,
  /// unless `thread_hook` is set, which is then told to do the work.
  int32_t threads;
  uint32_t flags; ///< of hewn_context_flags
  /// Memory for the arena, 64-byte aligned, kept until the context is gone.
  /// A context that has it never allocates an arena: runs that need more fail.
  void *arena;
  size_t arena_bytes;
  hewn_allocator allocator;
  hewn_thread_hook thread_hook;
  hewn_trace_hook trace_hook;
  /// The weights file, if it is not beside the model. Weights that are mapped
  /// already for another context are shared, whatever their path.
  const char *weights_path;
  /// Of models for a GPU: its number, as the driver and DLPack count devices.
  /// Code and weights are kept once a device. Ignored where one of the next two
  /// is set: the context is then on theirs.
  int32_t device;
  uint32_t reserved_device;
  /// The driver's stream (CUstream) that runs go to; NULL: one of the context's
  /// own. See hewn_run for what a run then waits for. While it is recorded
  /// (captured for a graph), runs are refused.
  void *device_stream;
  /// The driver's context (CUcontext), which must outlive this one; NULL: the
  /// stream's, or the device's primary one.
  void *device_context;
  /// A folder for code that the driver has translated, for the next process:
  /// files are named by what they hold, written whole, and safe to share. NULL:
  /// nothing is kept. `device_cache_bytes`: at most so much, the least recently
  /// used go first; 0: 256 MiB.
  const char *device_cache;
  uint64_t device_cache_bytes;
  /// Of a model that is split over ranks: how this one reaches the others. It
  /// also says which rank the context is; it must outlive the context. All
  /// ranks create theirs at the same time: creation waits for them.
  hewn_communicator *communicator;
  /// Ignored where the model has no code for a device.
  hewn_device_hook device_hook;
  /// Ignored where the model is not split.
  hewn_transfer_hook transfer_hook;
} hewn_context_options;

/// The variant that runs on this machine; NULL where it has the instructions of
/// none. Asks the processor: some microseconds.
HEWN_API const hewn_variant *hewn_model_variant(const hewn_model *model);

/// Makes a context: chooses the variant of the code, maps the weights, starts the threads, and allocates the
/// arena if its size does not depend on symbols. `options` may be NULL.
///
/// On failure `*context` may still be set: it then holds the message and is
/// good for nothing but `hewn_context_destroy`, which must be called (NULL is
/// fine) in either case.
HEWN_API hewn_status hewn_context_create(const hewn_model *model, const hewn_context_options *options,
                                         hewn_context **context);

/// Stops the threads and frees what the context holds. NULL is allowed.
HEWN_API void hewn_context_destroy(hewn_context *context);

/// Makes the arena large enough for runs with these values of the symbols
/// (an array of `num_symbols`), so that those runs call no allocator.
HEWN_API hewn_status hewn_context_reserve(hewn_context *context, const int64_t *symbols);

/// Of models for a GPU: later runs go to this stream (CUstream) of the driver's
/// context that the context was made in, behind what earlier ones have begun;
/// NULL: to the context's own.
HEWN_API hewn_status hewn_context_set_stream(hewn_context *context, void *stream);

/// The message of the last call on this context, "" after success.
HEWN_API const char *hewn_context_message(const hewn_context *context);

/// The exact number of bytes of arena for these symbols on this machine;
/// negative if a symbol is outside its range, the size overflows, or this
/// machine cannot run the model.
HEWN_API int64_t hewn_arena_bytes(const hewn_model *model, const int64_t *symbols);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Runs the model on `num_inputs` tensors into `num_outputs` tensors: on the
/// CPU, row-major, aligned to their element. Everything is checked before the
/// first kernel starts, and outputs are untouched if a check fails. Memory of
/// outputs must not overlap that of inputs.
///
/// Tensors of a model for a GPU may be on the context's device (kDLCUDA). What
/// they hold must be complete before the call, and is when it returns. On the
/// caller's stream it is complete in the stream's order instead: where all
/// outputs are on the device, the call returns when all is enqueued, and what
/// fails then is the status of a later call. Tensors that lie at the same places
/// in every run (and at multiples of 64 bytes) are used where they are; others
/// are copied, on the device.
///
/// Of an output whose rank depends on symbols, `ndim` is that of the case (see
/// hewn_case); where the context allocates it, `ndim` is written, and `shape`
/// has room for the largest rank, which is the descriptor's.
///
/// An output whose `data` is set must have the right shape; where the shape
/// depends on data, `shape` says how much room there is and is overwritten.
/// An output whose `data` is NULL is allocated by the context's allocator and
/// is the caller's (see `hewn_output_release`): dtype, ndim, shape and data
/// are filled in, and `shape` must point to room for `rank` entries.
HEWN_API hewn_status hewn_run(const hewn_model *model, hewn_context *context, const DLTensor *inputs,
                              DLTensor *outputs);

/// `hewn_run` with the number of tensors that the caller has, checked first.
HEWN_API hewn_status hewn_run_counted(const hewn_model *model, hewn_context *context, const DLTensor *inputs,
                                      int32_t num_inputs, DLTensor *outputs, int32_t num_outputs);

/// The door for the typed functions of generated headers: inputs and outputs
/// are bare pointers, sized by `symbols`. Checks the symbols' ranges and that
/// no pointer is NULL where there are elements. Outputs that depend on data
/// are allocated, written to `outputs[i]`, and their dims to `output_dims[i]`;
/// `output_dims` and its entries may be NULL where nobody wants to know.
HEWN_API hewn_status hewn_run_pointers(const hewn_model *model, hewn_context *context, const void *const *inputs,
                                       void **outputs, int64_t *const *output_dims, const int64_t *symbols);

/// Gives back the memory of an output that a run allocated.
HEWN_API void hewn_output_release(hewn_context *context, void *data);

/// The runtime inside a binary. The functions above go through the table of
/// the model that they are given, so that a program may be linked with one
/// version of the runtime and load models that carry another.
struct hewn_runtime_table {
  uint32_t abi_version;
  uint32_t struct_bytes;
  hewn_status (*context_create)(const hewn_model *, const hewn_context_options *, hewn_context **);
  void (*context_destroy)(hewn_context *);
  hewn_status (*context_reserve)(hewn_context *, const int64_t *);
  const char *(*context_message)(const hewn_context *);
  hewn_status (*run)(const hewn_model *, hewn_context *, const DLTensor *, int32_t, DLTensor *, int32_t);
  hewn_status (*run_pointers)(const hewn_model *, hewn_context *, const void *const *, void **, int64_t *const *,
                              const int64_t *);
  void (*output_release)(hewn_context *, void *);
  const hewn_variant *(*model_variant)(const hewn_model *);
  hewn_status (*context_set_stream)(hewn_context *, void *);
};

#ifdef __cplusplus
}
#endif

#endif // HEWN_RUNTIME_H
