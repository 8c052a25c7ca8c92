// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_H
#define HEWN_RUNTIME_H

/// \file
/// The C API that runs compiled models, and the descriptor of a compiled model. C99, usable from
/// C++. The only dependency is DLPack's header.
///
///     hewn_context *context;
///     hewn_status status = hewn_context_create(&resnet50, NULL, &context);
///     if (status.code == HEWN_OK)
///       status = hewn_run(&resnet50, context, inputs, outputs);
///     if (status.code != HEWN_OK)
///       puts(status.message);
///     hewn_context_destroy(context);
///
/// A process may have any number of contexts of any number of models; contexts of one model share
/// its code and weights.
///
/// Threads: every function may be called on any thread. Calls on different contexts and libraries
/// may overlap, including those that create, destroy, open and close. Calls on one context must
/// not: a run, hewn_context_reserve or hewn_context_set_stream that overlaps another one returns
/// HEWN_BUSY. hewn_output_release may be called at any time before the context is destroyed.
/// Destroy a context only when no other call on it is in progress.
///
/// Callbacks (allocators, hooks, communicators) must return normally: no exception and no longjmp
/// may leave them.
///
/// After fork, the child may use and destroy contexts that were idle at the time of the fork: the
/// thread pool restarts its threads in the child. A context whose run was in progress stays busy in
/// the child forever. Models for a GPU cannot be used in the child (a rule of the CUDA driver).
///
/// No function prints or aborts, and none changes errno or the locale.
///
/// The functions that generated code calls are in services.h.

#include <dlpack/dlpack.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The functions of this header have default visibility, so that a shared library that links the
/// runtime can export them. All other symbols of the runtime are hidden.
#if defined(__GNUC__)
#define HEWN_API __attribute__((visibility("default")))
#else
#define HEWN_API
#endif

/// Version of the structs in this header. It changes with every incompatible change of one of them.
#define HEWN_ABI_VERSION 3

/// Name of the symbol under which a generated shared library exports its descriptor, in addition to
/// the model's own name. A loader that knows only the file finds the descriptor by this name.
#define HEWN_MODEL_SYMBOL "hewn_model_main"

/// Section, owner and type of the ELF note that describes an artifact as JSON. Libraries, objects,
/// and programs that link them contain the note. `hewn info` reads it without running any code of
/// the file.
#define HEWN_NOTE_SECTION ".note.hewn"
#define HEWN_NOTE_NAME "hewn"
#define HEWN_NOTE_DESCRIPTION 1

//===----------------------------------------------------------------------===//
// Status
//===----------------------------------------------------------------------===//

/// Values of `hewn_status.code`. The values never change.
enum hewn_code {
  HEWN_OK = 0,
  /// A tensor, an option or the value of a symbol is not valid for the model.
  HEWN_INVALID_ARGUMENT = 1,
  /// The allocator returned NULL, or the caller's arena is too small.
  HEWN_OUT_OF_MEMORY = 2,
  /// An index (an operand of Gather, Scatter or a similar op) is out of bounds.
  HEWN_INDEX_OUT_OF_RANGE = 3,
  /// The weights file is missing, truncated, or belongs to another model.
  HEWN_IO = 4,
  /// This machine, or this version of the runtime, cannot run the model.
  HEWN_UNSUPPORTED = 5,
  /// An internal error: a defect of hewn, not of the model or the caller.
  HEWN_INTERNAL = 6,
  /// A custom op reported a failure, or violated its definition (see custom.h).
  HEWN_OP_FAILED = 7,
  /// For a model that is partitioned over ranks: another rank has exited, runs another artifact,
  /// makes a different call, or did not respond within the time limit.
  HEWN_PEER_FAILED = 8,
  /// Another call uses the context at the moment. The call had no effect.
  HEWN_BUSY = 9,
  /// The cancel hook of the context ended the run. The content of outputs is unspecified.
  HEWN_CANCELLED = 10
};

/// Result of every call that can fail. `message` is never NULL; it is "" on success. On failure it
/// names the expected and the actual value. The context (or library) of the call stores the
/// message: the next call on this context overwrites it, and destroying the context frees it. Copy
/// the message to keep it longer.
typedef struct hewn_status {
  int32_t code;
  const char *message;
} hewn_status;

/// Returns the name of a hewn_code, such as "HEWN_IO", or "unknown hewn_code" for other values. The
/// string is a constant.
HEWN_API const char *hewn_code_name(int32_t code);

//===----------------------------------------------------------------------===//
// The descriptor of a model: a constant that the compiler emits
//===----------------------------------------------------------------------===//

typedef struct hewn_context hewn_context;
typedef struct hewn_model hewn_model;
typedef struct hewn_runtime_table hewn_runtime_table;
typedef struct hewn_device_code hewn_device_code;   ///< see services.h
typedef struct hewn_services hewn_services;         ///< see services.h
typedef struct hewn_communicator hewn_communicator; ///< see communicator.h

/// `DLDataType.code` of ONNX's bool (bits = 8): kDLBool of DLPack 1, which older DLPack headers
/// lack. For a bool tensor of the model, a uint8 tensor is accepted, too.
#define HEWN_DL_BOOL 6
/// `DLDataType.code` of the 8-bit floats (bits = 8), with the values of DLPack 1.
#define HEWN_DL_FLOAT8_E4M3FN 10
#define HEWN_DL_FLOAT8_E4M3FNUZ 11
#define HEWN_DL_FLOAT8_E5M2 12
#define HEWN_DL_FLOAT8_E5M2FNUZ 13
#define HEWN_DL_FLOAT8_E8M0FNU 14
/// `DLDataType.code` of the 4-bit float (bits = 4), with the value of DLPack 1.
#define HEWN_DL_FLOAT4_E2M1FN 17

/// Category of an input or output: a tensor, a sequence or an optional value.
///
/// The `DLDataType` of strings is {kDLOpaqueHandle, 64, 1}: each element is a hewn_handle of UTF-8
/// text that ends with a zero byte; 0 is the empty string. The strings of an output belong to the
/// context and stay valid until the end of its next run, or are constants of the model, or are the
/// strings of an input.
///
/// A value that is not a tensor is passed as a tensor of rank 0 with one such element, which is the
/// handle of an object of the type given here.
enum hewn_kind {
  HEWN_KIND_TENSOR = 0,
  HEWN_KIND_SEQUENCE = 1,         ///< a hewn_sequence
  HEWN_KIND_OPTIONAL = 2,         ///< a hewn_sequence with one tensor; handle 0 if absent
  HEWN_KIND_OPTIONAL_SEQUENCE = 3 ///< a hewn_sequence; handle 0 if absent
};

/// The address of a string or sequence as an element of a tensor. It has 64 bits on every target,
/// so that tensors have the same layout everywhere. If pointers have 64 bits, a handle has the
/// representation of the pointer: an array of `const char *` is then an array of handles.
typedef uint64_t hewn_handle;

/// Return the handle of an object, and the object of a handle. Handle 0 corresponds to NULL.
static inline hewn_handle hewn_handle_of(const void *object) { return (hewn_handle)(uintptr_t)object; }
static inline const void *hewn_handle_object(hewn_handle handle) { return (const void *)(uintptr_t)handle; }

/// Role of a tensor that represents a map together with a neighboring tensor. An ONNX input or
/// output `x` that is a map is two tensors of the model: `x_keys`, directly followed by `x_values`.
/// The keys [k] are int64 or strings. The values are [k] for a map, and [n, k] for a sequence of n
/// maps that all have these keys.
enum hewn_role { HEWN_ROLE_NONE = 0, HEWN_ROLE_MAP_KEYS = 1, HEWN_ROLE_MAP_VALUES = 2 };

/// A sequence of tensors in CPU memory, each row-major. A sequence that is an output, with
/// everything it points to, belongs to the context and stays valid until the end of its next run,
/// or is the sequence of an input.
typedef struct hewn_sequence {
  int64_t length;
  const DLTensor *elements;
} hewn_sequence;

/// Encoding of a dim in `hewn_tensor_info.dims`. A value that is not negative is a fixed size. The
/// value HEWN_DIM_SYMBOL(s) means that the size is the value of the symbol with index s.
#define HEWN_DIM_SYMBOL(s) (-1 - (int64_t)(s))
/// Encoding of a dim whose size depends on data. The size of such an output dim is available only
/// after a run; the size of such an input dim is not checked.
#define HEWN_DIM_DYNAMIC INT64_MIN
/// Encoding of a dim whose size is an expression over several symbols. Call `output_dims` of the
/// model to evaluate the expression.
#define HEWN_DIM_FORMULA (INT64_MIN + 1)

/// Description of one input or output.
typedef struct hewn_tensor_info {
  const char *name;
  DLDataType dtype;
  int32_t rank;
  const int64_t *dims; ///< `rank` entries; may be NULL when rank is 0
  /// `rank` entries: the expression of each HEWN_DIM_FORMULA dim as text, NULL for the other dims.
  /// NULL if no dim is an expression.
  const char *const *formulas;
  int32_t kind; ///< category of the value, a hewn_kind
  /// For a sequence or optional value: the element type and the rank of its tensors (negative: any
  /// rank). Zero for a tensor.
  DLDataType element;
  int32_t element_rank;
  uint32_t role; ///< whether the tensor is the keys or the values of a map, a hewn_role
} hewn_tensor_info;

/// A specialization of the model for some values of its symbols. A model has cases if the symbols
/// decide more than sizes (for example, a Squeeze of a dim that is 1 changes the rank), or if it
/// was compiled for particular sizes.
typedef struct hewn_case {
  const char *condition; ///< the condition as text: "n = 1, m != 1"
  /// The reason why the model cannot run in this case, or NULL if it can.
  const char *refusal;
  /// Descriptions of the model's outputs in this case: `num_outputs` entries. NULL if `refusal` is
  /// set.
  const hewn_tensor_info *outputs;
} hewn_case;

/// One symbolic dimension. `min` and `max` are inclusive; INT64_MAX means no upper bound.
typedef struct hewn_symbol {
  const char *name;
  int64_t min;
  int64_t max;
} hewn_symbol;

/// An entry of a model's metadata. Both texts end with a zero byte.
typedef struct hewn_metadata_entry {
  const char *key;
  const char *value;
} hewn_metadata_entry;

/// State of the runtime for a model's mapped weights file. Generated code defines one next to the
/// descriptor, in writable memory and initialized to zero.
typedef struct hewn_weights_state {
  uint64_t opaque[4];
} hewn_weights_state;

/// The header of a weights file (64 bytes). The data follows directly. Integers are little-endian.
typedef struct hewn_weights_header {
  char magic[6];       ///< "HEWNW\0"
  uint16_t version;    ///< HEWN_WEIGHTS_VERSION
  uint64_t data_bytes; ///< size of the data after this header; equals model.weights_bytes
  char digest[40];     ///< equals model.weights_digest, padded with zeros
  uint64_t checksum;   ///< checksum of the data, see HEWN_CHECKSUM_FOLD
} hewn_weights_header;

#define HEWN_WEIGHTS_VERSION 2

/// The checksum of the weights is the XXH64 hash (seed 0) of each block of HEWN_CHECKSUM_BLOCK
/// bytes (the last block may be shorter), combined in order by HEWN_CHECKSUM_FOLD, starting with 0.
#define HEWN_CHECKSUM_BLOCK ((uint64_t)1 << 20)
#define HEWN_CHECKSUM_FOLD(sum, hash) (((sum) ^ (hash)) * UINT64_C(0x9E3779B185EBCA87) + 1)

/// Arguments of a model's `run` function. Each array has one entry per input, output or symbol.
typedef struct hewn_frame {
  const void *const *inputs;
  const int64_t *const *input_dims;
  /// The entry of a data-dependent output is NULL until generated code calls
  /// `hewn_rt_alloc_output`, which sets it.
  void **outputs;
  /// Dims of each output. The runtime sets them before the run, except for dims that depend on
  /// data, which the generated code sets.
  int64_t *const *output_dims;
  const int64_t *symbols;
  unsigned char *arena;         ///< 64-byte aligned, at least arena_bytes(symbols) bytes
  const unsigned char *weights; ///< 64-byte aligned; NULL if the model has no weights
} hewn_frame;

/// A model's code for one instruction set. All variants of a model have the same inputs, outputs,
/// symbols and weights.
typedef struct hewn_variant {
  const char *target; ///< e.g. "x86-64-v3"
  /// HEWN_CPU_* bits (services.h) of the CPU features that the code requires.
  uint64_t cpu_features;
  /// Returns the exact size of the arena in bytes, or a negative value on overflow.
  int64_t (*arena_bytes)(const int64_t *symbols);
  /// Runs the model and returns a hewn_code. A failure is recorded with `hewn_rt_fail` before `run`
  /// returns.
  int32_t (*run)(hewn_context *context, const hewn_frame *frame);
} hewn_variant;

/// The descriptor of a compiled model.
struct hewn_model {
  uint32_t abi_version;  ///< HEWN_ABI_VERSION
  uint32_t struct_bytes; ///< size of this struct, sizeof(hewn_model)
  const char *name;
  const char *digest; ///< hash of the code, the weights and the interface, in hex
  const char *target; ///< the compiler's --target, for example "portable"
  /// Function table of the runtime that is linked into the artifact: `&hewn_rt_table`.
  const hewn_runtime_table *runtime;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_symbols;
  int32_t num_variants;
  const hewn_tensor_info *inputs;
  const hewn_tensor_info *outputs;
  const hewn_symbol *symbols;
  /// The model's variants, sorted from the most to the least specialized instruction set. A context
  /// uses the first variant whose CPU features are all available.
  const hewn_variant *variants;
  /// File name of the weights file, without a folder. The runtime looks for it in the folder of the
  /// binary (program or library) that contains this descriptor, after resolving symbolic links,
  /// then in the folder of the link by which the binary was loaded, if it was loaded by an absolute
  /// path. NULL if the model has no weights, or if they are embedded.
  const char *weights_file;
  const char *weights_digest;        ///< at most 40 hex digits
  uint64_t weights_bytes;            ///< size of the data, without the file's header
  const unsigned char *weights;      ///< embedded weights (64-byte aligned), or NULL
  hewn_weights_state *weights_state; ///< required if weights_file is set
  /// Writes the dims of every output to `dims`; HEWN_DIM_DYNAMIC for a dim that depends on data.
  void (*output_dims)(const int64_t *symbols, int64_t *const *dims);
  /// Device code with the model's kernels, if they run on a device. NULL if the host runs all
  /// kernels.
  const hewn_device_code *device;
  /// The cases of the model: `num_cases` entries, or NULL if there is only one case. If a model has
  /// cases, the rank of an entry of `outputs` is the largest rank of this output over all cases,
  /// and `output_dims` writes as many dims as the output has in the current case.
  const hewn_case *cases;
  /// Returns the index of the case that the values of the symbols select. NULL if the model has
  /// only one case.
  int32_t (*case_of)(const int64_t *symbols);
  int32_t num_cases; ///< 0 if there is only one case
  /// Number of ranks over which the model is partitioned, or 0 if it is not. Each rank runs the
  /// model in a context with a communicator (communicator.h). The last symbol is then the rank; the
  /// context sets it, and ignores the value that a caller passes.
  int32_t num_ranks;
  /// The metadata of the ONNX model, sorted by key: `num_metadata` entries. NULL if it has none.
  /// Descriptors of hewn 0.2 lack these members: call hewn_metadata_entries.
  const hewn_metadata_entry *metadata;
  int32_t num_metadata;
  uint32_t reserved;
  /// The services of the runtime that the model uses. Descriptors of hewn 0.2 end before this
  /// member; only the runtime that is linked with the descriptor reads it.
  const hewn_services *services;
};

/// Returns the value of an entry of the model's metadata, or NULL if there is no such entry. The
/// keys are those of `metadata_props` in the ONNX model, and "onnx.producer_name",
/// "onnx.producer_version", "onnx.domain", "onnx.model_version", "onnx.doc_string",
/// "onnx.graph_name" and "onnx.graph_doc_string" for those of these fields that the model sets. The
/// text belongs to the model.
HEWN_API const char *hewn_metadata(const hewn_model *model, const char *key);

/// Returns all entries of the model's metadata, and writes their number to `*count`. Returns NULL
/// and writes 0 if the model has none.
HEWN_API const hewn_metadata_entry *hewn_metadata_entries(const hewn_model *model, int32_t *count);

/// Return the index of the input or output with this name, or -1 if there is none.
HEWN_API int32_t hewn_input_index(const hewn_model *model, const char *name);
HEWN_API int32_t hewn_output_index(const hewn_model *model, const char *name);

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// A loaded shared library that hewn compiled.
typedef struct hewn_library hewn_library;

/// Loads the library file that is at `path` now. If another file was loaded from the same path
/// before and has been replaced since, the process then has both libraries (dlopen alone would
/// return the old one). Loading a library runs its code: load only trusted files.
///
/// On failure, `*library` is either NULL or a library without a model that stores the status'
/// message. In both cases, as after success, the caller must pass `*library` to hewn_library_close,
/// which accepts NULL.
HEWN_API hewn_status hewn_library_open(const char *path, hewn_library **library);

/// Returns the library's model, which is valid until the library is closed. Returns NULL if loading
/// failed.
HEWN_API const hewn_model *hewn_library_model(const hewn_library *library);

/// Unloads the library. All contexts of its model must have been destroyed before. `library` may be
/// NULL.
HEWN_API void hewn_library_close(hewn_library *library);

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// An allocator. `allocate` returns NULL on failure; `alignment` is a power of two. `release` is
/// called with pointers that `allocate` returned.
typedef struct hewn_allocator {
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*release)(void *user, void *memory);
  void *user;
} hewn_allocator;

/// A task of parallel work: processes the indices [begin, end).
typedef void (*hewn_task)(void *arg, int64_t begin, int64_t end);

/// Runs parallel work on the caller's threads. `parallel_for` calls `task` for disjoint ranges that
/// cover [0, n), from any threads, and returns when all calls have returned. Kernels need up to 512
/// KiB of stack, on these threads and on the thread that calls hewn_run. The default of musl, 128
/// KiB, is too small: use pthread_attr_setstacksize.
typedef struct hewn_thread_hook {
  void (*parallel_for)(void *user, int64_t n, hewn_task task, void *arg);
  void *user;
} hewn_thread_hook;

/// Events of a trace hook: begin and end of a kernel and, with HEWN_TRACE_TASKS, of each task of a
/// kernel.
enum hewn_trace_phase { HEWN_TRACE_BEGIN = 0, HEWN_TRACE_END = 1, HEWN_TRACE_TASK_BEGIN = 2, HEWN_TRACE_TASK_END = 3 };

/// Receives trace events. The hook is called for each kernel by the thread that runs the model. It
/// is called for each task by the thread that runs the task, possibly by several threads at the
/// same time. `kernel` is the kernel's name, or NULL for a task that runs outside of a kernel.
typedef struct hewn_trace_hook {
  void (*event)(void *user, int32_t phase, const char *kernel);
  void *user;
} hewn_trace_hook;

/// Receives the device times of a GPU model's kernels. After each run, the thread that called
/// `hewn_run` calls `kernel` once for each launch, in launch order. `begin` and `end` are
/// microseconds on the device since the start of the run's work there, measured with CUDA events
/// (resolution about 0.5 us). The library owns the name. With this hook, kernels are launched one
/// by one instead of as one CUDA graph, and each run waits for its end, also on a caller's stream.
typedef struct hewn_device_hook {
  void (*kernel)(void *user, const char *kernel, double begin, double end);
  void *user;
} hewn_device_hook;

/// One transfer between the ranks of a partitioned model: a collective, a send or a receive.
typedef struct hewn_transfer {
  size_t size;      ///< size of this struct, sizeof(hewn_transfer)
  const char *what; ///< "all-reduce", "reduce-scatter", "all-gather", "send" or "receive"
  const char *node; ///< name of the ONNX node that the transfer belongs to, or ""; never NULL
  /// Collectives: the `ranks` consecutive ranks from `first` on, which include this rank. "send"
  /// and "receive": `first` is the other rank.
  int32_t first;
  int32_t ranks;
  uint64_t bytes; ///< size of this rank's operand; for "receive", of the received data
  uint64_t moved; ///< bytes moved by this rank, see hewn_communicator.moved
  /// Begin and end of the transfer in microseconds: of the clock CLOCK_MONOTONIC, or, if
  /// `on_device` is set, relative to the run's begin on the device, as in hewn_device_hook.
  double begin;
  double end;
  /// Part of the time from `begin` to `end`, in microseconds, in which this rank waited for other
  /// ranks. Negative if the transport does not measure it.
  double waited;
  int32_t on_device;
  uint32_t reserved;
} hewn_transfer;

/// Receives the transfers of a partitioned model. The thread that runs the model calls `transfer`
/// for each transfer of this rank that succeeded: after each transfer in host memory, and after the
/// run for transfers in device memory. With this hook, a run on a device is not launched as a CUDA
/// graph (see hewn_device_hook).
typedef struct hewn_transfer_hook {
  void (*transfer)(void *user, const hewn_transfer *transfer);
  void *user;
} hewn_transfer_hook;

/// Cancels runs. The thread that runs the model calls `is_cancelled` before each kernel and each
/// step of a loop. If it returns a nonzero value, the run ends with HEWN_CANCELLED; the context can
/// run again. The call must be cheap: usually it reads an atomic variable that another thread sets.
/// A kernel that has started runs to its end. Models for a GPU: the hook is called before each
/// launch; a loop may be one persistent kernel, and a run may be one launch of a CUDA graph.
/// Partitioned models: the other ranks get HEWN_PEER_FAILED, and the contexts of the group cannot
/// be used any more.
typedef struct hewn_cancel_hook {
  int32_t (*is_cancelled)(void *user);
  void *user;
} hewn_cancel_hook;

/// Bits of `hewn_context_options.flags`.
enum hewn_context_flags {
  /// Compares the weights with the checksum in their file, which reads all of them; fails with
  /// HEWN_IO if they differ. Without this flag, only the header (digest of the model, sizes) is
  /// checked. If another context has loaded the weights, both these and the file at `weights_path`
  /// are compared. Weights that are embedded in the binary have no checksum.
  HEWN_VERIFY_WEIGHTS = 1,
  /// Reads the weights into private memory instead of mapping the file. If a mapped file is
  /// truncated, the process receives SIGBUS when it reads the missing part; if it is overwritten,
  /// the weights change. A copy avoids both. Contexts of one model share its weights, so the first
  /// context must set this flag.
  HEWN_COPY_WEIGHTS = 2,
  /// Calls the trace hook for tasks, in addition to kernels. A library whose runtime lacks this
  /// flag rejects it.
  HEWN_TRACE_TASKS = 4
};

/// Options of a context. All members but `size` are optional: zero means one thread, memory from
/// malloc, and the weights file of the model. A library with an older runtime, which has fewer
/// members, accepts the struct if the additional members are zero.
typedef struct hewn_context_options {
  size_t size; ///< size of this struct, sizeof(hewn_context_options)
  /// Number of threads. 0 or 1: only the calling thread. n > 1: the calling thread and n - 1
  /// threads of the runtime's pool, or the threads of `thread_hook` if that is set. On a platform
  /// without threads (WebAssembly, bare metal) there is no pool: only the calling thread.
  int32_t threads;
  uint32_t flags; ///< bits of hewn_context_flags
  /// Memory for the arena, 64-byte aligned, owned by the caller, used until the context is
  /// destroyed. If it is set, the context never allocates an arena, and a run that needs more
  /// memory fails with HEWN_OUT_OF_MEMORY.
  void *arena;
  size_t arena_bytes;
  hewn_allocator allocator;
  hewn_thread_hook thread_hook;
  hewn_trace_hook trace_hook;
  /// Path of the weights file if it is not in the folder of the model's binary. An error if the
  /// model has no weights file. If another context of the model has loaded the weights already,
  /// they are shared, and the file is read only to check it with HEWN_VERIFY_WEIGHTS.
  const char *weights_path;
  /// GPU models: the device's ordinal, as in CUDA and DLPack. Contexts on one device share code and
  /// weights. Ignored if one of the next two members selects the device.
  int32_t device;
  uint32_t reserved_device;
  /// GPU models: the CUstream for runs. NULL for a stream of the context. See hewn_run for when a
  /// run returns. While the stream is being captured, runs fail.
  void *device_stream;
  /// GPU models: the CUcontext to use, which must outlive this context. NULL: the context of
  /// `device_stream`, or the primary context of the device.
  void *device_context;
  /// GPU models: a folder in which compiled device code (cubin) is cached for later processes. File
  /// names are digests of what the code depends on, and files appear atomically, so several
  /// processes may share the folder. NULL disables the cache. `device_cache_bytes` limits its size
  /// (0: 256 MiB); the least recently used files are deleted first.
  const char *device_cache;
  uint64_t device_cache_bytes;
  /// Partitioned models: the connection to the other ranks, which also determines this context's
  /// rank. It must outlive the context. All ranks must create their contexts at the same time:
  /// creation waits for the other ranks.
  hewn_communicator *communicator;
  /// Hook that receives the device times of kernels. Ignored if the model has no code for a device.
  hewn_device_hook device_hook;
  /// Hook that receives the transfers between ranks. Ignored if the model is not partitioned.
  hewn_transfer_hook transfer_hook;
  /// The content of the weights file in the caller's memory, instead of the file: its 64-byte
  /// header and the data, `weights_bytes` in total. Required on a platform without files. The
  /// address is a multiple of 64. The header (digest of the model, sizes) is checked like that of a
  /// file; with HEWN_VERIFY_WEIGHTS, the data too. The memory belongs to the caller and is used in
  /// place, so it must stay valid and unchanged until the last context that was created from it is
  /// destroyed. The context does not share weights that other contexts have loaded from a file.
  /// NULL: the weights are read from the file.
  const void *weights;
  size_t weights_bytes;
  /// Hook that ends runs of the context before their end.
  hewn_cancel_hook cancel_hook;
} hewn_context_options;

/// Returns the variant that runs on this machine, or NULL if the machine lacks CPU features for all
/// variants. Queries the CPU, which takes some microseconds.
HEWN_API const hewn_variant *hewn_model_variant(const hewn_model *model);

/// Creates a context: selects the variant, maps the weights, allocates the arena if its size does
/// not depend on symbols, and starts the threads. `options` may be NULL.
///
/// On failure, `*context` is either NULL or a context that stores the status' message and whose
/// calls all fail with this status. In both cases, as after success, the caller must pass
/// `*context` to hewn_context_destroy, which accepts NULL.
HEWN_API hewn_status hewn_context_create(const hewn_model *model, const hewn_context_options *options,
                                         hewn_context **context);

/// Stops the threads and frees everything the context owns. `context` may be NULL.
HEWN_API void hewn_context_destroy(hewn_context *context);

/// Allocates the arena for runs with these values of the symbols (an array of `num_symbols`), so
/// that such runs do not allocate it.
HEWN_API hewn_status hewn_context_reserve(hewn_context *context, const int64_t *symbols);

/// GPU models: enqueues later runs on `stream` (a CUstream of the context's CUcontext), ordered
/// after the runs that were enqueued before. NULL selects the stream that the context owns.
HEWN_API hewn_status hewn_context_set_stream(hewn_context *context, void *stream);

/// Returns the message of the last call on this context, "" after success. The context owns the
/// string.
HEWN_API const char *hewn_context_message(const hewn_context *context);

/// Returns the exact size of the arena in bytes for these symbols on this machine. Returns a
/// negative value if a symbol is out of range, if the size overflows, or if this machine cannot run
/// the model.
HEWN_API int64_t hewn_arena_bytes(const hewn_model *model, const int64_t *symbols);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Runs the model. `inputs` has `num_inputs` tensors and `outputs` has `num_outputs` tensors: in
/// CPU memory, row-major, aligned to their element size. All checks are made before the first
/// kernel starts; if one fails, the outputs are unchanged. The memory of outputs must not overlap
/// that of inputs.
///
/// Tensors of a GPU model may also be in memory of the context's device (kDLCUDA). Their data must
/// be complete before the call, and outputs are complete when the call returns. With a caller's
/// stream they need to be complete only in stream order: if all outputs are in device memory, the
/// call returns when the work is enqueued, and a later call returns the status of a failure on the
/// device. Device tensors whose addresses are the same in every run (and multiples of 64 bytes) are
/// used directly; others are copied on the device.
///
/// For an output whose rank depends on symbols, `ndim` must be the rank in the current case (see
/// hewn_case). If the context allocates the output, it writes `ndim`, and `shape` must have space
/// for the largest rank, which is the rank in the descriptor.
///
/// An output whose `data` is not NULL is written there, and `shape` must be its exact shape. If the
/// shape depends on data, `shape` is that of the memory at `data`: the output must not have more
/// elements. The call then writes the output's own shape to `shape`.
///
/// An output whose `data` is NULL is allocated by the call, with the context's allocator: the call
/// writes dtype, ndim, shape and data, and `shape` must point to space for `rank` entries. The
/// caller releases the memory with hewn_output_release before it destroys the context.
HEWN_API hewn_status hewn_run(const hewn_model *model, hewn_context *context, const DLTensor *inputs,
                              DLTensor *outputs);

/// Runs the model like `hewn_run`, after checking `num_inputs` and `num_outputs` against the model.
HEWN_API hewn_status hewn_run_counted(const hewn_model *model, hewn_context *context, const DLTensor *inputs,
                                      int32_t num_inputs, DLTensor *outputs, int32_t num_outputs);

/// Runs the model for the typed functions of generated headers: inputs and outputs are pointers
/// whose sizes follow from `symbols`. Checks that each symbol is in range, and that no pointer of a
/// non-empty tensor is NULL. An output whose shape depends on data is allocated: the call writes
/// its address to `outputs[i]`, and the caller releases it with hewn_output_release. The call
/// writes the dims of output i to `output_dims[i]`; `output_dims` and its entries may be NULL.
HEWN_API hewn_status hewn_run_pointers(const hewn_model *model, hewn_context *context, const void *const *inputs,
                                       void **outputs, int64_t *const *output_dims, const int64_t *symbols);

/// Frees the memory of an output that a run allocated. `data` may be NULL.
HEWN_API void hewn_output_release(hewn_context *context, void *data);

/// Function table of the runtime that is linked into a binary. The functions above call through the
/// table of their model or context, so that a program linked with one version of the runtime can
/// load models that contain another version.
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
