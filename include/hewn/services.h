// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_SERVICES_H
#define HEWN_SERVICES_H

/// \file
/// What generated code calls while a model runs. Applications have no use for
/// it: see runtime.h. These symbols are hidden; every artifact has its own.

#include "hewn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEWN_RT __attribute__((visibility("hidden")))
#else
#define HEWN_RT
#endif

/// Generated descriptors point at it from `hewn_model.runtime`.
extern HEWN_RT const hewn_runtime_table hewn_rt_table;

/// Covers [0, n) by calls of `task` on the context's threads and returns when
/// all are done; serial on one thread, for n <= 1, and inside another task.
/// Returns the run's code so far: not HEWN_OK when a task has failed.
HEWN_RT int32_t hewn_rt_parallel_for(hewn_context *context, int64_t n, hewn_task task, void *arg);

/// How many threads `hewn_rt_parallel_for` has, the calling one among them.
HEWN_RT int32_t hewn_rt_threads(const hewn_context *context);

/// Memory whose size depends on data, for the rest of this run. Only from the
/// thread that runs the model, never from a task. `align` is a power of two.
/// NULL when there is none; the failure is then recorded already.
/// `bytes` = 0 gives a pointer that must not be read.
HEWN_RT void *hewn_rt_alloc(hewn_context *context, int64_t bytes, int64_t align);

/// Gives such memory back before the end of the run (in loops, say).
HEWN_RT void hewn_rt_free(hewn_context *context, void *memory);

/// Sets the dims of an output that depends on data and returns its memory: the
/// caller's where he gave enough, else from the allocator. Also writes
/// `frame->outputs[index]`. NULL on failure, which is then recorded already;
/// never NULL on success, even for 0 bytes.
HEWN_RT void *hewn_rt_alloc_output(hewn_context *context, int32_t index, int32_t rank, const int64_t *dims);

/// Memory for strings and for the tensors of sequences: it lies in the context until its next run. From the thread that
/// runs the model; NULL on failure, which is then recorded already.
HEWN_RT void *hewn_rt_keep(hewn_context *context, int64_t bytes);

/// Memory of hewn_rt_alloc stays until the context is destroyed, or it is given back by hewn_rt_free.
HEWN_RT void hewn_rt_hold(hewn_context *context, void *memory);

/// The place for what a part makes once for all runs of a context, such as a compiled pattern: found by the address of something of
/// the part's own and a text; it holds NULL at first. NULL when there is no memory; the failure is then recorded already.
HEWN_RT void **hewn_rt_place(hewn_context *context, const void *part, const char *text);

/// Records a failure and returns `code`. `node` is the name of the ONNX node,
/// or NULL. `{a}` and `{b}` in `message` stand for the numbers. Any thread may
/// call; the first one of a run is kept.
///
///     return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, "/embed/Gather",
///                         "index {a} is outside [-{b}, {b})", index, size);
HEWN_RT int32_t hewn_rt_fail(hewn_context *context, int32_t code, const char *node, const char *message, int64_t a,
                             int64_t b);

/// The run's code so far.
HEWN_RT int32_t hewn_rt_code(const hewn_context *context);

/// Tells the trace hook, if there is one. `phase`: hewn_trace_phase.
HEWN_RT void hewn_rt_trace(hewn_context *context, int32_t phase, const char *kernel);

/// How often this context was asked before: what generators of random numbers
/// without a seed start from, so that each run, and each trip of a loop in it,
/// has numbers of its own. Only from the thread that runs the model.
HEWN_RT uint64_t hewn_rt_draw_index(hewn_context *context);

/// `hewn_model_variant` of the runtime that the code was linked with.
HEWN_RT const hewn_variant *hewn_rt_variant(const hewn_model *model);

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// The bits that `hewn_rt_cpu` returns: the sets of instructions that choose
/// between variants of a kernel. A bit is set when the processor has them and
/// the system lets us use them (AMX is asked for on the first call).
#define HEWN_CPU_X86_64_V2 (UINT64_C(1) << 0)
#define HEWN_CPU_X86_64_V3 (UINT64_C(1) << 1)
#define HEWN_CPU_X86_64_V4 (UINT64_C(1) << 2)
#define HEWN_CPU_AVX_VNNI (UINT64_C(1) << 3)
#define HEWN_CPU_AVX512_VNNI (UINT64_C(1) << 4)
#define HEWN_CPU_AVX512_BF16 (UINT64_C(1) << 5)
#define HEWN_CPU_AVX512_FP16 (UINT64_C(1) << 6)
#define HEWN_CPU_AMX_INT8 (UINT64_C(1) << 7)
#define HEWN_CPU_AMX_BF16 (UINT64_C(1) << 8)
/// VBMI, VBMI2, IFMA, BITALG and VPOPCNTDQ: what AVX-512 gained with Ice Lake.
#define HEWN_CPU_AVX512_VBMI (UINT64_C(1) << 9)
#define HEWN_CPU_GFNI (UINT64_C(1) << 10)
/// On AArch64: arithmetic of float16, SDOT and UDOT, products of 8-bit
/// matrices with USDOT, and bfloat16.
#define HEWN_CPU_AARCH64_FP16 (UINT64_C(1) << 32)
#define HEWN_CPU_AARCH64_DOTPROD (UINT64_C(1) << 33)
#define HEWN_CPU_AARCH64_I8MM (UINT64_C(1) << 34)
#define HEWN_CPU_AARCH64_BF16 (UINT64_C(1) << 35)

/// The features of this machine. Found once per context; with NULL they are
/// found anew (on x86 some CPUID instructions: microseconds, more in virtual
/// machines).
HEWN_RT uint64_t hewn_rt_cpu(const hewn_context *context);

//===----------------------------------------------------------------------===//
// Devices: models whose kernels run beside the host
//===----------------------------------------------------------------------===//

/// A kernel: its name in the code, threads of a block, bytes of shared memory
/// that it is given when launched, whether its blocks wait for each other, and
/// how many counters of 32 bits it takes.
typedef struct hewn_device_kernel {
  const char *name;
  int32_t threads;
  int32_t shared_bytes;
  int32_t meets;
  int32_t counters;
} hewn_device_kernel;

/// What the runtime remembers about a model on its devices. Generated code
/// defines one, all zero, in writable memory.
typedef struct hewn_device_state {
  uint64_t opaque[68];
} hewn_device_state;

/// A kind of device: what contexts call when they begin and end.
typedef struct hewn_device_table {
  int32_t (*create)(hewn_context *context, const hewn_context_options *options);
  void (*destroy)(hewn_context *context);
  int32_t (*set_stream)(hewn_context *context, void *stream);
} hewn_device_table;

/// The kernels of a model, as `hewn_model.device` points at them.
struct hewn_device_code {
  const hewn_device_table *table;
  const char *text;     ///< ends with a zero byte
  const char *language; ///< of the text, with its version: "PTX 7.0"
  int32_t num_kernels;
  uint32_t reserved;
  const hewn_device_kernel *kernels;
  hewn_device_state *state;
};

/// NVIDIA's devices, through the driver that is found when a context is made.
extern HEWN_RT const hewn_device_table hewn_device_cuda;

/// Before anything else of a run: the device's memory for the arena, and where
/// its copy of the weights is. Pointers to a device's memory mean nothing to
/// the host. Once it returned HEWN_OK, `hewn_device_end` must be called.
HEWN_RT int32_t hewn_device_begin(hewn_context *context, void **arena, void **weights);

/// Waits for all that was begun, unless the caller's stream has it all; returns
/// `code`, or what went wrong meanwhile.
HEWN_RT int32_t hewn_device_end(hewn_context *context, int32_t code);

/// The device's memory with input `index`, and for output `index`. NULL on
/// failure, which is then recorded already.
HEWN_RT void *hewn_device_input(hewn_context *context, int32_t index, int64_t bytes);
HEWN_RT void *hewn_device_output(hewn_context *context, int32_t index, int64_t bytes);

/// Input `index` for the host, wherever the caller has it; NULL as above.
HEWN_RT const void *hewn_device_host_input(hewn_context *context, int32_t index, int64_t bytes);

/// For programs that do the same whenever their symbols are the same: begins to
/// record what is launched, or, where that was recorded for these symbols,
/// does it all, outputs included. After the inputs, before the first launch.
enum hewn_device_play { HEWN_DEVICE_FAILED = -1, HEWN_DEVICE_GO_ON = 0, HEWN_DEVICE_DONE = 1 };
HEWN_RT int32_t hewn_device_replay(hewn_context *context);

/// Output `index` is done, at `from` on the device: copies it to where the
/// caller wants it. After the last launch.
HEWN_RT int32_t hewn_device_give(hewn_context *context, int32_t index, const void *from, int64_t bytes);
/// The same for one that the host has made.
HEWN_RT int32_t hewn_device_give_host(hewn_context *context, int32_t index, const void *from, int64_t bytes);

/// Memory of the device whose size depends on data, for the rest of this run;
/// NULL as above.
HEWN_RT void *hewn_device_alloc(hewn_context *context, int64_t bytes);
HEWN_RT void hewn_device_free(hewn_context *context, void *memory);

enum hewn_device_direction { HEWN_DEVICE_WITHIN = 0, HEWN_DEVICE_FROM_HOST = 1, HEWN_DEVICE_TO_HOST = 2 };

/// Copies in the order of the launches around it; to the host it waits.
HEWN_RT int32_t hewn_device_copy(hewn_context *context, void *to, const void *from, int64_t bytes, int32_t direction);

/// Describes a tensor in the device's memory, from which a kernel fetches
/// boxes: what the kernel gets as an argument, at a multiple of 64 bytes.
/// `sizes`: `rank` extents, the innermost dim first, bytes from one to the next
/// along the other dims, and `rank` extents of a box, of elements of
/// `element_bytes`. A tensor without elements is described by nothing. `rounds`
/// is not 0: elements are float32s, and come with eleven significant bits.
typedef struct hewn_device_box {
  uint64_t opaque[16];
} hewn_device_box;
HEWN_RT int32_t hewn_device_describe(hewn_context *context, hewn_device_box *box, void *memory, int32_t element_bytes,
                                     int32_t rounds, int32_t rank, const int64_t *sizes);

/// Counters for the kernel that takes most of them, 0 when the context is made;
/// NULL as above. Kernels leave all but the first one as they were.
HEWN_RT void *hewn_device_counters(hewn_context *context);

/// Of a model that is split: its program asks for what these ranks do together (no
/// ranks: all of them), or hands something to one of them. Before hewn_device_replay.
HEWN_RT int32_t hewn_device_meet(hewn_context *context, int32_t first, int32_t ranks);

/// Starts a kernel on `blocks` blocks; none: nothing happens. Of one whose
/// blocks wait for each other there are at most as many as run at once.
/// `arguments` are pointers to its arguments.
HEWN_RT int32_t hewn_device_launch(hewn_context *context, int32_t kernel, int64_t blocks, void **arguments);

//===----------------------------------------------------------------------===//
// Parts: ops that no tensor code says well, one object file each
//===----------------------------------------------------------------------===//

/// An operand of a part. An absent optional operand has data = NULL, dtype 0.
/// The dims of an output are upper bounds on entry, and its data has room for
/// that many elements; the part writes the actual dims.
typedef struct hewn_part_tensor {
  void *data;
  int32_t dtype; ///< ONNX TensorProto.DataType
  int32_t rank;
  int64_t *dims;
} hewn_part_tensor;

/// The type of every part. `node` names the ONNX node in messages. `params`
/// are the op's attributes in the order given at each part; a float stands as
/// its 32 bits in the low half. Returns a hewn_code.
typedef int32_t hewn_part_fn(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params);

/// Calls a part that is made for operands and results on the device, of which there
/// is one at most, in the order of the launches around it; where the context's
/// communicator takes the host's memory alone, they are copied there and back.
HEWN_RT int32_t hewn_device_part(hewn_context *context, hewn_part_fn *part, const char *node, int32_t num_inputs,
                                 const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                 const int64_t *params);

/// TopK(X[, K]) -> Values, Indices. params: axis, largest, sorted. K is the
/// size of the outputs along `axis`. Equal values: the lower index first.
HEWN_RT hewn_part_fn hewn_part_topk;

/// NonZero(X) -> int64 [rank(X), n], bound n = elements of X.
HEWN_RT hewn_part_fn hewn_part_nonzero;

/// Require(condition): fails where it is false.
HEWN_RT hewn_part_fn hewn_part_require;

/// CheckIndices(indices, extents): fails where an index is outside of [-extent, extent). Extents are int64, one for all
/// indices or one for each along their last dim.
HEWN_RT hewn_part_fn hewn_part_checkindices;

/// Compress(X, condition) -> Y. params: has_axis, axis.
HEWN_RT hewn_part_fn hewn_part_compress;

/// Det(X [.., n, n]) -> Y [..] (float types). No params.
HEWN_RT hewn_part_fn hewn_part_det;

/// ScatterElements(data, indices, updates) -> Y. params: axis, reduction (0
/// none, 1 add, 2 mul, 3 max, 4 min).
HEWN_RT hewn_part_fn hewn_part_scatterelements;

/// ScatterND(data, indices, updates) -> Y. params: reduction.
HEWN_RT hewn_part_fn hewn_part_scatternd;

/// What the ranks of a model that is split do together (communicator.h), in the
/// same order on all: AllReduce(X) -> the sum of some ranks' X, of X's type;
/// ReduceScatter(X) -> of such a sum this rank's part along the first dim;
/// AllGather(X) -> their X along a new first dim; params of these: the first of these
/// ranks, how many. Send(X) -> nothing, params: to. Receive() -> Y, params: from.
HEWN_RT hewn_part_fn hewn_part_allreduce;
HEWN_RT hewn_part_fn hewn_part_allgather;
HEWN_RT hewn_part_fn hewn_part_reducescatter;
HEWN_RT hewn_part_fn hewn_part_send;
HEWN_RT hewn_part_fn hewn_part_receive;
/// Around what they do with other ranks: what it is, as hewn_transfer has it, and that it is done. The second one tells the context's hook, and
/// returns `code`, of whose failure the communicator is asked.
HEWN_RT void hewn_rt_transfer(hewn_context *context, const char *what, int32_t first, int32_t ranks, int64_t bytes);
HEWN_RT int32_t hewn_rt_transferred(hewn_context *context, const char *node, int32_t code);
/// For them: the context's communicator, and a failure that it tells of.
HEWN_RT const hewn_communicator *hewn_rt_communicator(const hewn_context *context);
/// Where the operands of the part that is being called lie on the device: by what, and in which stream's order. NULL: they are the host's.
HEWN_RT const struct hewn_device_transport *hewn_rt_transport(const hewn_context *context, void **stream);
HEWN_RT int32_t hewn_ranks_fail(hewn_context *context, const char *node, int32_t code);

/// RoiAlign(X, rois, batch_indices) -> Y. params: half_pixel, max (instead of
/// avg), sampling_ratio, spatial_scale. Y's dims tell the size.
HEWN_RT hewn_part_fn hewn_part_roialign;

/// MaxRoiPool(X, rois) -> Y. params: spatial_scale. Y's dims tell the size.
HEWN_RT hewn_part_fn hewn_part_maxroipool;

/// Unique(X) -> Y, indices, inverse_indices, counts (the last three may be
/// absent). params: sorted, has_axis, axis.
HEWN_RT hewn_part_fn hewn_part_unique;

/// NonMaxSuppression(boxes, scores[, max_output_boxes_per_class,
/// iou_threshold, score_threshold]) -> int64 [n, 3]. params: center_point_box.
HEWN_RT hewn_part_fn hewn_part_nonmaxsuppression;

/// Random numbers come from Philox4x32-10, by element: the same seed gives the
/// same numbers whatever the machine. Without a seed each call has others;
/// `seed` then tells the nodes of a model apart.

/// RandomNormal, RandomNormalLike -> Y (float types).
/// params: has_seed, seed, mean, scale.
HEWN_RT hewn_part_fn hewn_part_randomnormal;

/// RandomUniform, RandomUniformLike -> Y (float types).
/// params: has_seed, seed, low, high.
HEWN_RT hewn_part_fn hewn_part_randomuniform;

/// Bernoulli(X) -> Y (any numeric type or bool). params: has_seed, seed.
HEWN_RT hewn_part_fn hewn_part_bernoulli;

/// Multinomial(X: unnormalized log-probabilities [batch, classes]) ->
/// int32 or int64 [batch, samples]. params: has_seed, seed.
HEWN_RT hewn_part_fn hewn_part_multinomial;

/// Mersenne() -> float64, evenly spread over [0, 1). params: seed, of which the
/// lower 32 bits count. See runtime/parts/random/mersenne.c.
HEWN_RT hewn_part_fn hewn_part_mersenne;

/// Forest(X [rows, features] of float32 or float64, nodes, trees[, starts,
/// targets, weights]) -> Y [rows, targets] of X's type. params: aggregate (0
/// sum, 1 least, 2 most), plain (every node asks for less or equal, and NaN is
/// not), the highest feature that a node asks for. See runtime/parts/forest.c.
HEWN_RT hewn_part_fn hewn_part_forest;

/// Lookup(X, keys) -> int64 of X's shape: places among ascending keys, their
/// number where an element is none. params: text (elements are strings).
HEWN_RT hewn_part_fn hewn_part_lookup;

/// Strings are addresses, which count as int64s: of bytes that a zero ends; 0
/// is "". What parts take beside them as bytes (uint8) ends with a zero too.

/// Text(bytes, starts) -> the strings that begin there.
HEWN_RT hewn_part_fn hewn_part_text;

/// TextEqual(A, B) -> bool, TextConcat(A, B) -> strings; of one shape.
HEWN_RT hewn_part_fn hewn_part_textequal;
HEWN_RT hewn_part_fn hewn_part_textconcat;

/// TextParse(X) -> the numbers that its strings write, as float32, float64,
/// int64 or uint64; TextFormat(X) of such numbers -> strings that read back as
/// the same ones.
HEWN_RT hewn_part_fn hewn_part_textparse;
HEWN_RT hewn_part_fn hewn_part_textformat;

/// TextFields(X, delimiter) -> int64, how many substrings there are;
/// TextSplit(X, delimiter) -> these, with a dim more. params: most cuts, -1
/// for all. An empty delimiter stands for runs of white space.
HEWN_RT hewn_part_fn hewn_part_textfields;
HEWN_RT hewn_part_fn hewn_part_textsplit;

/// TextNormalize(X [n], dropped) -> [at most n, at least 1]. params: change (1
/// lower case, 2 upper case), case_sensitive.
HEWN_RT hewn_part_fn hewn_part_textnormalize;

/// TextMatch(X, pattern) -> bool: the strings that all of a regular expression of PCRE2's matches.
HEWN_RT hewn_part_fn hewn_part_textmatch;
/// No part: whether that takes `pattern`, told to the compiler, which links it too. Else where it is wrong, and why in `message`.
HEWN_RT int32_t hewn_part_textpattern(const char *pattern, int64_t *where, char *message, size_t bytes);

/// Sequences and optional values are addresses as well (int64 of rank 0), of
/// what runtime/handles/list.h says; 0 is an empty one.

/// ListMake(elements...) -> list. params: text (they hold strings).
HEWN_RT hewn_part_fn hewn_part_listmake;

/// ListInsert(list, element, place) -> list; INT64_MAX: behind the last one.
/// params: text. ListErase(list, place) -> list.
HEWN_RT hewn_part_fn hewn_part_listinsert;
HEWN_RT hewn_part_fn hewn_part_listerase;

/// ListLength(list) -> int64.
HEWN_RT hewn_part_fn hewn_part_listlength;

/// ListDims(list, place) -> int64 [rank]. params: rank.
/// ListAt(list, place) -> the tensor, of these dims.
HEWN_RT hewn_part_fn hewn_part_listdims;
HEWN_RT hewn_part_fn hewn_part_listat;

/// ListJointDims(list) -> int64 [rank, or one more]. params: rank, axis,
/// fresh. ListJoin(list) -> the tensors put together, of these dims. params:
/// axis, fresh (along a dim of its own).
HEWN_RT hewn_part_fn hewn_part_listjointdims;
HEWN_RT hewn_part_fn hewn_part_listjoin;

/// ImageDecode(bytes of a picture's file) -> list of one tensor [height, width,
/// channels], empty where they can't be decoded. params: 0 for red, green, blue, 1
/// for blue, green, red, 2 for gray.
HEWN_RT hewn_part_fn hewn_part_imagedecode;

/// ListSplit(X, sizes) -> list. params: axis, drop (the dim, which is 1), text.
HEWN_RT hewn_part_fn hewn_part_listsplit;

/// How the sizes of a custom op that only a run knows are told: by the op, by
/// its shape function (this call is it), or by that before.
enum hewn_custom_form { HEWN_CUSTOM_COUNTS = 0, HEWN_CUSTOM_TELLS = 1, HEWN_CUSTOM_IS_TOLD = 2 };

/// Custom(tensors of attributes..., [sizes,] inputs...) -> outputs..., or the
/// sizes as int64s: a function of the user's (custom.h). params: its address;
/// how many attributes, sizes, and operands in front of the inputs; the form;
/// for each operand and each output 1 where it holds strings; for each dim of
/// each output the size that it is, or -1; each attribute: its kind, its count,
/// and words with what it holds (the operand's number of a tensor, strings with
/// a zero behind each and before them how many words these take).
HEWN_RT hewn_part_fn hewn_part_custom;

#ifdef __cplusplus
}
#endif

#endif // HEWN_SERVICES_H
