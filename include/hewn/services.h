// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_SERVICES_H
#define HEWN_SERVICES_H

/// \file
/// Functions of the runtime that generated code calls while a model runs. They are not for
/// applications, which use runtime.h. The symbols are hidden; every artifact contains its own copy.

#include "hewn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEWN_RT __attribute__((visibility("hidden")))
#else
#define HEWN_RT
#endif

/// The runtime's function table. `hewn_model.runtime` of a generated descriptor points to it.
extern HEWN_RT const hewn_runtime_table hewn_rt_table;

/// Calls `task` for disjoint ranges that cover [0, n), on the context's threads, and returns when
/// all calls have returned. Runs on the calling thread alone if the context has one thread, if n <=
/// 1, or if it is called from a task. Returns the run's status code so far, which is not HEWN_OK if
/// a task has failed.
HEWN_RT int32_t hewn_rt_parallel_for(hewn_context *context, int64_t n, hewn_task task, void *arg);

/// Returns the number of threads of `hewn_rt_parallel_for`, including the calling thread.
HEWN_RT int32_t hewn_rt_threads(const hewn_context *context);

/// Allocates memory whose size depends on data. It is freed at the end of the run at the latest.
/// May be called only by the thread that runs the model, not by a task. `align` is a power of two;
/// the memory is aligned to at least 64 bytes. Returns NULL on failure, after recording it. For
/// `bytes` = 0 the returned pointer must not be dereferenced.
HEWN_RT void *hewn_rt_alloc(hewn_context *context, int64_t bytes, int64_t align);

/// Frees memory that `hewn_rt_alloc` allocated. Generated code calls it to free the memory before
/// the end of the run, for example in each iteration of a loop. `memory` may be NULL.
HEWN_RT void hewn_rt_free(hewn_context *context, void *memory);

/// Sets the dims of an output whose shape depends on data, and returns its memory: the caller's
/// memory if it is large enough, else memory of the context's allocator. Also writes
/// `frame->outputs[index]`. Returns NULL on failure, after recording it, in particular if the
/// caller's memory is too small. Never returns NULL on success, even for 0 bytes.
HEWN_RT void *hewn_rt_alloc_output(hewn_context *context, int32_t index, int32_t rank, const int64_t *dims);

/// Allocates memory for strings and for the tensors of sequences. The context owns it until the end
/// of its next run. May be called only by the thread that runs the model. Returns NULL on failure,
/// after recording it.
HEWN_RT void *hewn_rt_keep(hewn_context *context, int64_t bytes);

/// Keeps memory that `hewn_rt_alloc` allocated beyond the end of the run: until the context is
/// destroyed, or until `hewn_rt_free` frees it.
HEWN_RT void hewn_rt_hold(hewn_context *context, void *memory);

/// Returns a pointer to a slot in which a runtime function keeps an object for all runs of a
/// context, such as a compiled pattern. `part` (the address of any object of the runtime function)
/// and `text` identify the slot. A new slot contains NULL. Returns NULL if out of memory, after
/// recording the failure.
HEWN_RT void **hewn_rt_place(hewn_context *context, const void *part, const char *text);

/// Records a failure and returns `code`. `node` is the name of the ONNX node, or NULL. `{a}` and
/// `{b}` in `message` are replaced by the numbers. May be called by any thread; the context keeps
/// the first failure of a run.
///
///     return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, "/embed/Gather",
///                         "index {a} is outside [-{b}, {b})", index, size);
HEWN_RT int32_t hewn_rt_fail(hewn_context *context, int32_t code, const char *node, const char *message, int64_t a,
                             int64_t b);

/// Returns the run's status code so far.
HEWN_RT int32_t hewn_rt_code(const hewn_context *context);

/// Calls the trace hook, if there is one. `phase` is a hewn_trace_phase.
HEWN_RT void hewn_rt_trace(hewn_context *context, int32_t phase, const char *kernel);

/// Begins a kernel: calls the trace hook with HEWN_TRACE_BEGIN, after `hewn_rt_check_cancel`, whose
/// code it returns. Generated code ends the run if the code is not HEWN_OK.
HEWN_RT int32_t hewn_rt_begin_kernel(hewn_context *context, const char *kernel);

/// Returns HEWN_CANCELLED, after recording it, if the context's cancel hook requires it, else
/// HEWN_OK. Generated code calls it in each step of a loop.
HEWN_RT int32_t hewn_rt_check_cancel(hewn_context *context);

/// Returns the number of earlier calls of this function for this context. Random number generators
/// without a seed start from this number, so that each run, and each iteration of a loop, has
/// different numbers. May be called only by the thread that runs the model.
HEWN_RT uint64_t hewn_rt_draw_index(hewn_context *context);

/// Returns the variant of the model that runs on this machine. This function is the implementation
/// of `hewn_model_variant` in the runtime that the generated code is linked with.
HEWN_RT const hewn_variant *hewn_rt_variant(const hewn_model *model);

//===----------------------------------------------------------------------===//
// Services, which only some models use and only some platforms have
//===----------------------------------------------------------------------===//

/// Functions that every platform provides to the core (runtime/platform).
typedef struct hewn_platform_table {
  /// Allocator of contexts whose options have none. NULL: callers must pass an allocator.
  const hewn_allocator *allocator;
  /// Returns the HEWN_CPU_* bits of this machine. Takes some microseconds: on x86, CPUID
  /// instructions are slow in virtual machines. The first call requests permission for AMX.
  uint64_t (*cpu_features)(void);
  /// Returns the name of a HEWN_CPU_* bit, for messages. The string is a constant.
  const char *(*cpu_feature_name)(uint64_t bit);
  /// Returns the time of a monotonic clock in nanoseconds. NULL if there is no clock.
  int64_t (*nanoseconds)(void);
  /// Returns the address of the calling thread's errno, whose value the core preserves. NULL if
  /// there is no errno.
  int *(*error_number)(void);
} hewn_platform_table;

struct hewn_pool;

/// Creation and destruction of a context's thread pool. `create` returns NULL if out of memory, or
/// if a thread cannot be started.
typedef struct hewn_pool_table {
  struct hewn_pool *(*create)(const hewn_allocator *allocator, int32_t threads);
  void (*destroy)(const hewn_allocator *allocator, struct hewn_pool *pool);
} hewn_pool_table;

/// Weights that are not embedded in the binary. `acquire` sets the context's weights from
/// `options.weights` or, if the platform has files, from the weights file. It returns a hewn_code,
/// after recording a failure. `release` may be NULL.
typedef struct hewn_weights_table {
  int32_t (*acquire)(hewn_context *context, const hewn_context_options *options);
  void (*release)(hewn_context *context);
} hewn_weights_table;

/// Partitioned models (runtime/ranks/group.c).
typedef struct hewn_ranks_table {
  /// Stores the communicator in the context, and checks that all ranks have the same artifact.
  int32_t (*join)(hewn_context *context, hewn_communicator *group);
  /// Returns the largest arena size that any rank needs, or a negative value on overflow. All ranks
  /// allocate arenas of this size.
  int64_t (*arena_bytes)(hewn_context *context);
  /// Allocates the arena from the communicator. Returns NULL on failure, after recording it.
  void *(*allocate)(hewn_context *context, int64_t bytes);
} hewn_ranks_table;

/// The services of a model (`hewn_model.services`). Generated code defines this table and sets only
/// the members that the model needs. Nothing else refers to a service, so that a linker with
/// --gc-sections drops the others.
struct hewn_services {
  uint32_t struct_bytes; ///< size of this struct, sizeof(hewn_services)
  uint32_t reserved;
  const hewn_platform_table *platform; ///< `&hewn_rt_platform`; never NULL
  const hewn_pool_table *pool;         ///< NULL: the context has no threads of its own
  const hewn_weights_table *weights;   ///< NULL: the model has no weights, or embeds them
  const hewn_ranks_table *ranks;       ///< NULL: the model is not partitioned
};

/// The services of the platform for which the runtime was built. Platforms without threads lack
/// `hewn_rt_pool` and `hewn_rt_ranks`.
extern HEWN_RT const hewn_platform_table hewn_rt_platform;
extern HEWN_RT const hewn_pool_table hewn_rt_pool;
extern HEWN_RT const hewn_weights_table hewn_rt_weights;
extern HEWN_RT const hewn_ranks_table hewn_rt_ranks;

//===----------------------------------------------------------------------===//
// CPU features
//===----------------------------------------------------------------------===//

/// Bits of `hewn_rt_cpu`: the instruction sets that select between variants of a model. A bit is
/// set if the CPU has the instructions and the operating system enables them.
#define HEWN_CPU_X86_64_V2 (UINT64_C(1) << 0)
#define HEWN_CPU_X86_64_V3 (UINT64_C(1) << 1)
#define HEWN_CPU_X86_64_V4 (UINT64_C(1) << 2)
#define HEWN_CPU_AVX_VNNI (UINT64_C(1) << 3)
#define HEWN_CPU_AVX512_VNNI (UINT64_C(1) << 4)
#define HEWN_CPU_AVX512_BF16 (UINT64_C(1) << 5)
#define HEWN_CPU_AVX512_FP16 (UINT64_C(1) << 6)
#define HEWN_CPU_AMX_INT8 (UINT64_C(1) << 7)
#define HEWN_CPU_AMX_BF16 (UINT64_C(1) << 8)
/// AVX-512 extensions of Ice Lake: VBMI, VBMI2, IFMA, BITALG and VPOPCNTDQ.
#define HEWN_CPU_AVX512_VBMI (UINT64_C(1) << 9)
#define HEWN_CPU_GFNI (UINT64_C(1) << 10)
/// AArch64: FP16 arithmetic, SDOT and UDOT, I8MM (8-bit matrix multiply, USDOT), and BF16.
#define HEWN_CPU_AARCH64_FP16 (UINT64_C(1) << 32)
#define HEWN_CPU_AARCH64_DOTPROD (UINT64_C(1) << 33)
#define HEWN_CPU_AARCH64_I8MM (UINT64_C(1) << 34)
#define HEWN_CPU_AARCH64_BF16 (UINT64_C(1) << 35)
#define HEWN_CPU_WASM_RELAXED_SIMD (UINT64_C(1) << 48)

/// Returns the CPU features of this machine, which the context queried when it was created.
HEWN_RT uint64_t hewn_rt_cpu(const hewn_context *context);

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// A kernel in the device code of a model.
typedef struct hewn_device_kernel {
  /// Name of the kernel in the device code.
  const char *name;
  /// Number of threads per block.
  int32_t threads;
  /// Bytes of dynamic shared memory per block.
  int32_t shared_bytes;
  /// Nonzero if the kernel has grid-wide barriers: all of its blocks must be resident at once.
  int32_t meets;
  /// Number of 32-bit counters that the kernel needs (hewn_device_counters).
  int32_t counters;
} hewn_device_kernel;

/// State of the runtime for a model on its devices. Generated code defines one in writable memory,
/// initialized to zero.
typedef struct hewn_device_state {
  uint64_t opaque[68];
} hewn_device_state;

/// A device API: the functions that a context calls on creation, destruction, and for
/// hewn_context_set_stream.
typedef struct hewn_device_table {
  int32_t (*create)(hewn_context *context, const hewn_context_options *options);
  void (*destroy)(hewn_context *context);
  int32_t (*set_stream)(hewn_context *context, void *stream);
} hewn_device_table;

/// The kernels of a model (`hewn_model.device`).
struct hewn_device_code {
  const hewn_device_table *table;
  const char *text;     ///< the device code as text; ends with a zero byte
  const char *language; ///< language of the text, with its version: "PTX 7.0"
  int32_t num_kernels;
  uint32_t reserved;
  const hewn_device_kernel *kernels;
  hewn_device_state *state;
};

/// The device API for NVIDIA GPUs. It uses the CUDA driver, which is loaded when a context is
/// created.
extern HEWN_RT const hewn_device_table hewn_device_cuda;

/// Begins a run on the device. Writes the device addresses of the arena and of the weights, which
/// the host must not dereference. After HEWN_OK, the caller must call `hewn_device_end`.
HEWN_RT int32_t hewn_device_begin(hewn_context *context, void **arena, void **weights);

/// Ends a run. Waits for the device unless the run is on a caller's stream and all outputs are in
/// device memory. Returns `code` if it is not HEWN_OK, else the status of the work on the device.
HEWN_RT int32_t hewn_device_end(hewn_context *context, int32_t code);

/// Return device memory that contains input `index`, or that will contain output `index`: the
/// caller's memory where possible, else a buffer of the context. Return NULL on failure, after
/// recording it.
HEWN_RT void *hewn_device_input(hewn_context *context, int32_t index, int64_t bytes);
HEWN_RT void *hewn_device_output(hewn_context *context, int32_t index, int64_t bytes);

/// Returns host memory that contains input `index`: the caller's memory, or a copy if the caller's
/// tensor is on the device. Returns NULL on failure, after recording it.
HEWN_RT const void *hewn_device_host_input(hewn_context *context, int32_t index, int64_t bytes);

/// Captures or launches the CUDA graph of a run. For programs whose launches depend only on the
/// symbols. Called after `hewn_device_input` and `hewn_device_output`, before the first launch. If
/// a graph for these symbols and addresses exists, launches it, copies the outputs and returns
/// HEWN_DEVICE_DONE. Otherwise returns HEWN_DEVICE_GO_ON, usually after starting to capture the
/// following launches. Returns HEWN_DEVICE_FAILED after recording a failure.
enum hewn_device_play { HEWN_DEVICE_FAILED = -1, HEWN_DEVICE_GO_ON = 0, HEWN_DEVICE_DONE = 1 };
HEWN_RT int32_t hewn_device_replay(hewn_context *context);

/// Copies output `index` of the model from the device memory at `from` to the caller's memory.
/// Generated code calls it after the last kernel launch of a run.
HEWN_RT int32_t hewn_device_give(hewn_context *context, int32_t index, const void *from, int64_t bytes);
/// Copies output `index` of the model from the host memory at `from` to the caller's memory.
HEWN_RT int32_t hewn_device_give_host(hewn_context *context, int32_t index, const void *from, int64_t bytes);

/// Allocate and free device memory whose size depends on data. Memory that is not freed earlier is
/// freed at the end of the run. Allocation returns NULL on failure, after recording it.
HEWN_RT void *hewn_device_alloc(hewn_context *context, int64_t bytes);
HEWN_RT void hewn_device_free(hewn_context *context, void *memory);

enum hewn_device_direction { HEWN_DEVICE_WITHIN = 0, HEWN_DEVICE_FROM_HOST = 1, HEWN_DEVICE_TO_HOST = 2 };

/// Copies `bytes` bytes between host and device memory, in stream order with the kernel launches. A
/// copy to the host returns when it is complete.
HEWN_RT int32_t hewn_device_copy(hewn_context *context, void *to, const void *from, int64_t bytes, int32_t direction);

/// A TMA descriptor (CUtensorMap), which is a kernel argument. Must be aligned to 64 bytes.
typedef struct hewn_device_box {
  uint64_t opaque[16];
} hewn_device_box;
/// Encodes the TMA descriptor of a tensor in device memory. `sizes` contains the `rank` extents of
/// the tensor (innermost dim first), then the strides in bytes of all dims but the innermost, then
/// the `rank` extents of the TMA tile. Extents count elements of `element_bytes` bytes. If one of
/// the sizes is 0, the descriptor is all zero. If `rounds` is not 0, the elements must be float32,
/// and TMA loads round them to TF32.
HEWN_RT int32_t hewn_device_describe(hewn_context *context, hewn_device_box *box, void *memory, int32_t element_bytes,
                                     int32_t rounds, int32_t rank, const int64_t *sizes);

/// Returns the context's 32-bit counters in device memory: as many as the kernel that needs the
/// most. All counters are 0 when the context is created. After a kernel, all of them but the first
/// one have the values that they had before. Returns NULL if no kernel has counters.
HEWN_RT void *hewn_device_counters(hewn_context *context);

/// Partitioned models: connects the `ranks` consecutive ranks that begin with rank `first`, for
/// transfers of device memory (`ranks` = 0: all ranks, for sends and receives). Called for each
/// group of ranks that the program uses, before hewn_device_replay.
HEWN_RT int32_t hewn_device_meet(hewn_context *context, int32_t first, int32_t ranks);

/// Launches a kernel with `blocks` blocks; does nothing if `blocks` is 0 or less. A kernel with
/// grid-wide barriers is launched cooperatively, with at most as many blocks as are resident at
/// once. `arguments` are pointers to the kernel's arguments.
HEWN_RT int32_t hewn_device_launch(hewn_context *context, int32_t kernel, int64_t blocks, void **arguments);

//===----------------------------------------------------------------------===//
// Runtime functions: ops that are not generated as loops, one object file each
//===----------------------------------------------------------------------===//

/// An operand of a runtime function. An absent optional operand has data = NULL and dtype = 0. On
/// entry, the dims of an output are upper bounds, and `data` has space for that many elements; the
/// function writes the actual dims.
typedef struct hewn_part_tensor {
  void *data;
  int32_t dtype; ///< ONNX TensorProto.DataType
  int32_t rank;
  int64_t *dims;
} hewn_part_tensor;

/// Type of every runtime function. `node` is the name of the ONNX node, for messages. `params` are
/// the op's attributes, in the order given at each function; a float is passed as its 32 bits in
/// the low half of the parameter. Returns a hewn_code.
typedef int32_t hewn_part_fn(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params);

/// Calls a runtime function whose operands and results (at most one each) are in device memory, in
/// stream order with the launches. If the context's communicator supports only host memory, the
/// operand and the result are copied to the host and back.
HEWN_RT int32_t hewn_device_part(hewn_context *context, hewn_part_fn *part, const char *node, int32_t num_inputs,
                                 const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                 const int64_t *params);

/// TopK(X[, K]) -> Values, Indices. params: axis, largest, sorted. K is the size of the outputs
/// along `axis`. Of equal values, the one with the lower index comes first.
HEWN_RT hewn_part_fn hewn_part_topk;

/// NonZero(X) -> the coordinates of the nonzero elements, int64 [rank(X), n]. The upper bound of n
/// is the number of elements of X.
HEWN_RT hewn_part_fn hewn_part_nonzero;

/// Require(condition): fails the run if the condition is false. params: the message, as bytes that
/// end with a zero byte.
HEWN_RT hewn_part_fn hewn_part_require;

/// CheckIndices(indices, extents): fails the run if an index or length is out of range. `indices`
/// are int32 or int64. `extents` are int64. Of rank 1, they have an extent n for all indices, or
/// one for each index along the last dim of `indices`; valid are [-n, n). Of shape [1, 2], they are
/// the lowest and the highest valid index. No params.
HEWN_RT hewn_part_fn hewn_part_checkindices;

/// Compress(X, condition) -> Y: the slices of X along an axis (or its elements) for which the
/// condition is true. params: has_axis, axis.
HEWN_RT hewn_part_fn hewn_part_compress;

/// Det(X [.., n, n]) -> Y [..]: the determinants of square matrices of a float type. No params.
HEWN_RT hewn_part_fn hewn_part_det;

/// PairwiseProbabilities(X [n, k (k - 1) / 2]) -> Y [n, k]: probabilities of k classes, from the
/// probability of class i against class j for each i < j, in float32. No params. See
/// runtime/ops/pairwiseprobabilities.c.
HEWN_RT hewn_part_fn hewn_part_pairwiseprobabilities;

/// DFT(X [.., n, .., 1 or 2], length) -> Y: discrete Fourier transforms along an axis, of float32
/// or float64, as in ONNX. X is cropped to `length` elements along the axis, or padded with zeros.
/// params: axis (not negative), inverse, onesided. See runtime/ops/fourier/fourier.h.
HEWN_RT hewn_part_fn hewn_part_dft;

/// ScatterElements(data, indices, updates) -> Y, as in ONNX. params: axis, reduction (0 none, 1
/// add, 2 mul, 3 max, 4 min).
HEWN_RT hewn_part_fn hewn_part_scatterelements;

/// ScatterND(data, indices, updates) -> Y, as in ONNX. params: reduction (numbered as for
/// ScatterElements).
HEWN_RT hewn_part_fn hewn_part_scatternd;

/// Communication between the ranks of a partitioned model (communicator.h). All ranks make these
/// calls in the same order.
/// - AllReduce(X) -> the sum of the ranks' X. params: first rank, number of ranks.
/// - AllGather(X) -> the ranks' X, concatenated along a new first dim. params: first rank, number
///   of ranks.
/// - ReduceScatter(X) -> this rank's shard of the sum of the ranks' X along the first dim. params:
///   first rank, number of ranks.
/// - Send(X) -> no result. params: destination rank.
/// - Receive() -> Y. params: source rank.
HEWN_RT hewn_part_fn hewn_part_allreduce;
HEWN_RT hewn_part_fn hewn_part_allgather;
HEWN_RT hewn_part_fn hewn_part_reducescatter;
HEWN_RT hewn_part_fn hewn_part_send;
HEWN_RT hewn_part_fn hewn_part_receive;
/// Begin and end a transfer in a runtime function: `what`, `first`, `ranks` and `bytes` are those
/// of hewn_transfer. `hewn_rt_transferred` calls the context's transfer hook if `code` is HEWN_OK,
/// else records the communicator's message as the failure. It returns `code`.
HEWN_RT void hewn_rt_transfer(hewn_context *context, const char *what, int32_t first, int32_t ranks, int64_t bytes);
HEWN_RT int32_t hewn_rt_transferred(hewn_context *context, const char *node, int32_t code);
/// Returns the communicator that connects the context's rank to the other ranks.
HEWN_RT const hewn_communicator *hewn_rt_communicator(const hewn_context *context);
/// Returns the device transport of the current runtime call, and writes its CUstream to `*stream`.
/// Returns NULL if the operands are in host memory.
HEWN_RT const struct hewn_device_transport *hewn_rt_transport(const hewn_context *context, void **stream);
/// Records the communicator's message as a failure of `node` (may be NULL) and returns `code`.
HEWN_RT int32_t hewn_ranks_fail(hewn_context *context, const char *node, int32_t code);

/// RoiAlign(X, rois, batch_indices) -> Y. params: half_pixel, max (1: max, 0: average),
/// sampling_ratio, spatial_scale. The pooled size is given by the dims of Y.
HEWN_RT hewn_part_fn hewn_part_roialign;

/// MaxRoiPool(X, rois) -> Y. params: spatial_scale. The pooled size is given by the dims of Y.
HEWN_RT hewn_part_fn hewn_part_maxroipool;

/// Unique(X) -> Y, indices, inverse_indices, counts (the last three may be
/// absent). params: sorted, has_axis, axis.
HEWN_RT hewn_part_fn hewn_part_unique;

/// NonMaxSuppression(boxes, scores[, max_output_boxes_per_class,
/// iou_threshold, score_threshold]) -> int64 [n, 3]. params: center_point_box.
HEWN_RT hewn_part_fn hewn_part_nonmaxsuppression;

/// Random numbers are generated by Philox4x32-10, one counter per element, so that a seed gives the
/// same numbers on every machine. Without a seed, each call has different numbers, and `seed` only
/// distinguishes the nodes of a model.

/// RandomNormal, RandomNormalLike -> Y (float types).
/// params: has_seed, seed, mean, scale.
HEWN_RT hewn_part_fn hewn_part_randomnormal;

/// RandomUniform, RandomUniformLike -> Y (float types).
/// params: has_seed, seed, low, high.
HEWN_RT hewn_part_fn hewn_part_randomuniform;

/// Bernoulli(X: probabilities) -> Y: random zeros and ones (any numeric type or bool). params:
/// has_seed, seed.
HEWN_RT hewn_part_fn hewn_part_bernoulli;

/// Multinomial(X: unnormalized log-probabilities [batch, classes]) ->
/// int32 or int64 [batch, samples]. params: has_seed, seed.
HEWN_RT hewn_part_fn hewn_part_multinomial;

/// Mersenne() -> float64, uniform in [0, 1). params: seed (only the lower 32 bits are used). See
/// runtime/ops/random/mersenne.c.
HEWN_RT hewn_part_fn hewn_part_mersenne;

/// Forest(X [rows, features] of float32 or float64, nodes, trees[, starts, targets, weights]) -> Y
/// [rows, targets] of X's type: evaluates an ensemble of decision trees. params: aggregate (0 sum,
/// 1 min, 2 max), plain (1 if every node tests whether the feature is less than or equal to the
/// split value, which is false for NaN), the highest feature index of a node. See
/// runtime/ops/forest.c.
HEWN_RT hewn_part_fn hewn_part_forest;

/// Lookup(X, keys, slots) -> int64 of X's shape: the index of each element among the keys, or the
/// number of keys if it is not among them. `slots` is a hash table of the keys' indices, see
/// hewn/hash.h. params: text (1 if the elements are strings).
HEWN_RT hewn_part_fn hewn_part_lookup;

/// Ngrams(X [rows, words] of int64, pool, starts, columns, slots, weights) -> Y [rows, columns] of
/// float32: how often the n-grams of the pool occur in each row. params: the least and most words
/// of an n-gram that counts, the most words to skip between two words, once (1 if an n-gram counts
/// once a row). See runtime/ops/ngrams.c.
HEWN_RT hewn_part_fn hewn_part_ngrams;

/// A string is passed as an int64: the address of bytes that end with a zero byte. Address 0 is the
/// empty string. Operands of type uint8 that contain text (delimiters, patterns) also end with a
/// zero byte.

/// Text(bytes, starts) -> strings: for each offset in `starts`, the address of the string that
/// begins at this offset of `bytes`.
HEWN_RT hewn_part_fn hewn_part_text;

/// TextEqual(A, B) -> bool, and TextConcat(A, B) -> strings. A and B have the same shape.
HEWN_RT hewn_part_fn hewn_part_textequal;
HEWN_RT hewn_part_fn hewn_part_textconcat;

/// TextParse(X) -> numbers parsed from the strings, as float32, float64, int64 or uint64.
/// TextFormat(X) -> strings of such numbers, which parse to the same numbers.
HEWN_RT hewn_part_fn hewn_part_textparse;
HEWN_RT hewn_part_fn hewn_part_textformat;

/// TextFields(X, delimiter) -> int64, the number of substrings of each string. TextSplit(X,
/// delimiter) -> the substrings, along one more dim. params: maximum number of splits, or -1 for no
/// limit. An empty delimiter splits at runs of white space.
HEWN_RT hewn_part_fn hewn_part_textfields;
HEWN_RT hewn_part_fn hewn_part_textsplit;

/// TextNormalize(X [n], dropped) -> strings [1 to n]: without the `dropped` strings, and with the
/// case changed. params: change (0 none, 1 lower case, 2 upper case), case_sensitive.
HEWN_RT hewn_part_fn hewn_part_textnormalize;

/// TextMatch(X, pattern) -> bool: true for strings that a PCRE2 regular expression matches in full.
HEWN_RT hewn_part_fn hewn_part_textmatch;
/// Returns 1 if TextMatch accepts `pattern`. Otherwise returns 0 and writes the offset of the error
/// to `*where` and its description to `message`. The compiler links this function, too.
HEWN_RT int32_t hewn_part_textpattern(const char *pattern, int64_t *where, char *message, size_t bytes);

/// A sequence or optional value is passed as the address of a hewn_list (runtime/core/list.h) in
/// an int64 of rank 0. Address 0 is an empty sequence or an absent optional value.

/// ListMake(elements...) -> list that contains copies of the tensors. params: text (1 if the
/// tensors contain strings).
HEWN_RT hewn_part_fn hewn_part_listmake;

/// ListInsert(list, element, position) -> list; position INT64_MAX appends. params: text.
/// ListErase(list, position) -> list.
HEWN_RT hewn_part_fn hewn_part_listinsert;
HEWN_RT hewn_part_fn hewn_part_listerase;

/// ListLength(list) -> the number of tensors in the list, as int64.
HEWN_RT hewn_part_fn hewn_part_listlength;

/// ListDims(list, position) -> int64 [rank], the dims of the tensor. params: rank. ListAt(list,
/// position) -> the tensor, of these dims.
HEWN_RT hewn_part_fn hewn_part_listdims;
HEWN_RT hewn_part_fn hewn_part_listat;

/// ListJointDims(list) -> int64 [rank, or rank + 1], the dims of ListJoin's result. params: rank,
/// axis, fresh. ListJoin(list) -> the concatenation of the tensors, of these dims. params: axis,
/// fresh (1: stack the tensors along a new dim).
HEWN_RT hewn_part_fn hewn_part_listjointdims;
HEWN_RT hewn_part_fn hewn_part_listjoin;

/// ImageDecode(bytes of an image file) -> list with one tensor [height, width, channels], which is
/// empty if the file cannot be decoded. params: channel order (0 RGB, 1 BGR, 2 grayscale).
HEWN_RT hewn_part_fn hewn_part_imagedecode;

/// ListSplit(X, sizes) -> list of the tensors into which X is split along an axis. params: axis,
/// drop (1: remove the dim `axis` of each tensor, whose size is 1), text (1 if X contains strings).
HEWN_RT hewn_part_fn hewn_part_listsplit;

/// How a call of a custom op handles the op's dynamic sizes.
/// - HEWN_CUSTOM_COUNTS: the op's function writes the sizes.
/// - HEWN_CUSTOM_TELLS: the call is to the shape function, which writes the sizes.
/// - HEWN_CUSTOM_IS_TOLD: the op's function reads the sizes that the shape function wrote before.
enum hewn_custom_form { HEWN_CUSTOM_COUNTS = 0, HEWN_CUSTOM_TELLS = 1, HEWN_CUSTOM_IS_TOLD = 2 };

/// Custom(attribute tensors..., [sizes,] inputs...) -> outputs..., or the sizes as int64 for a
/// shape function: calls a user's function (custom.h). params, in this order:
/// - the function's address;
/// - the number of attributes, of sizes, and of operands before the inputs;
/// - the hewn_custom_form;
/// - for each operand and each output, 1 if it contains strings;
/// - for each dim of each output, the index of its size, or -1;
/// - for each attribute, its kind, its count, and packed words with its value: an operand index for
///   a tensor; for strings, the number of words, then the strings with a zero byte after each.
HEWN_RT hewn_part_fn hewn_part_custom;

#ifdef __cplusplus
}
#endif

#endif // HEWN_SERVICES_H
