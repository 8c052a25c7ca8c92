// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_COMPILER_H
#define HEWN_COMPILER_H

/// \file
/// The compiler as a library: a model in, an artifact out. C99; what is linked
/// behind it is C++. Never prints, never aborts, never throws.
///
///     hewn_compile_options options = {sizeof options};
///     options.model_path = "resnet50.onnx";
///     options.output = "libresnet50.so";
///     hewn_compilation *compilation = hewn_compile(&options);
///     if (!hewn_compilation_ok(compilation))
///       for (size_t i = 0; i < hewn_compilation_num_messages(compilation); ++i)
///         puts(hewn_compilation_message(compilation, i)->text);
///     hewn_compilation_destroy(compilation);

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEWN_COMPILER_API __attribute__((visibility("default")))
#else
#define HEWN_COMPILER_API
#endif

/// A function of this process under a C name.
typedef struct hewn_named_function {
  const char *name;
  void (*function)(void);
} hewn_named_function;

/// The inputs of one run, in the host's memory, row-major. The name of a model's
/// only input may be "".
typedef struct hewn_sample {
  const char *const *names;
  const DLTensor *tensors;
  size_t num_tensors;
  const char *problem;
} hewn_sample;

/// All zero, apart from `size`, is the default of every member. Strings are
/// copied; NULL is the same as "".
typedef struct hewn_compile_options {
  size_t size; ///< sizeof(hewn_compile_options)
  /// The model's file; or its bytes, and the folder of its external data.
  const char *model_path;
  const void *model_bytes;
  size_t model_size;
  const char *model_folder;
  /// The artifact: its extension (.so, .a, .o) says which.
  const char *output;
  /// Instead of an artifact the text of a stage: "graph", "kernels", "loops",
  /// "plan", "llvm", "asm", "header". Without `output` it is in the result.
  const char *emit;
  const char *target; ///< "host", "x86-64-v3", ...
  /// "batch=1", "seq=1..512", "seq=1,128,1..512".
  const char *const *dims;
  size_t num_dims;
  const char *precision; ///< "highest", "high", "medium"
  /// "int8", "int4", a file that describes a quantization, or its text, which
  /// begins with a brace (docs/quantization.md). NULL: as the model has it.
  const char *quantize;
  int32_t jobs;     ///< threads that compile; 0: as many as the machine has
  const char *name; ///< the model's name in C; NULL: from `output`
  int32_t no_optimize;
  int32_t embed_weights;
  const char *cache_dir; ///< where artifacts and compiled kernels are kept; NULL: nowhere
  const char *runtime;   ///< libhewn_runtime.a; NULL: it is looked for
  /// Told the name of each stage when it begins.
  void (*progress)(void *user, const char *stage);
  void *progress_user;
  /// The artifact is for this process alone: it need not be on the disk when
  /// the compile is done. Else a machine that stops in the middle leaves the
  /// files of before, or the new ones, whole.
  int32_t transient;
  /// "nodes=1000": what a model may ask for beyond what its file has. `nodes` in
  /// the bodies of functions, branches and loops, their `nesting`, the `bytes`
  /// of what stands shorter in the file, and operations of `folding` constants.
  const char *const *limits;
  size_t num_limits;
  /// Ops that hewn does not have: files that define them (docs/custom-ops.md),
  /// or the text of one, which begins with a brace. They are code, and trusted.
  const char *const *custom_ops;
  size_t num_custom_ops;
  /// Functions of such ops that are in this process and not in what the files
  /// link. Only for an artifact that is for this process alone (`transient`).
  const hewn_named_function *custom_functions;
  size_t num_custom_functions;
  /// A file for what the passes left undone, and why, by ONNX node: JSON where
  /// it ends in .json, else YAML as LLVM's tools read it. NULL: none.
  const char *remarks;
  /// Runs of the model that show the ranges of activations, one a call, which
  /// fills in `sample`: 1, or 0 when there are no more, or -1 where the sample's
  /// `problem` says what is wrong. What it points to is read until the next call.
  /// NULL: weights alone are quantized.
  int32_t (*next_sample)(void *user, hewn_sample *sample);
  void *next_sample_user;
  /// What quantizing must leave of every output, in decibels of signal to noise
  /// over these runs: contractions stay float until it does. 0: no bound.
  double least_decibels;
  /// The same as the largest error of any element of an output. 0: no bound.
  double largest_error;
  /// Beside the artifact: the text (hewn_compilation_text) is what the stage
  /// explain-json says of it (docs/reference/json.md).
  int32_t explain;
  /// Schedules that were measured, and take the place of the compiler's own:
  /// files of `hewn tune`, or the text of one, which begins with a brace
  /// (docs/tutorials/tuning.md).
  const char *const *tunings;
  size_t num_tunings;
  /// "tensor=2", "pipeline=2", "tensor=2,pipeline=2", "pipeline=2,microbatches=4",
  /// "tensor=2,sums=ordered", "tensor=2,lines=10", "auto": over how many ranks the
  /// model is split, and how (docs/tutorials/partition.md). NULL: it is not.
  const char *partition;
  /// With the partition "auto": the machines that it is the best for, a file or its
  /// text, which begins with a brace (docs/reference/cluster.md).
  const char *cluster;
} hewn_compile_options;

/// One thing to tell the user. No member is NULL.
typedef struct hewn_compile_message {
  int32_t is_warning;
  int64_t opset;      ///< 0: not about a node
  const char *node;   ///< the node's name
  const char *op;     ///< "Conv"
  const char *domain; ///< "" for ONNX's own
  const char *reason;
  const char *text; ///< all of it in a line
} hewn_compile_message;

typedef struct hewn_compilation hewn_compilation;

/// Compiles. Never NULL; the caller destroys it.
HEWN_COMPILER_API hewn_compilation *hewn_compile(const hewn_compile_options *options);
HEWN_COMPILER_API int32_t hewn_compilation_ok(const hewn_compilation *c);
HEWN_COMPILER_API size_t hewn_compilation_num_messages(const hewn_compilation *c);
HEWN_COMPILER_API const hewn_compile_message *hewn_compilation_message(const hewn_compilation *c, size_t index);
/// The text of a stage, "" for artifacts.
HEWN_COMPILER_API const char *hewn_compilation_text(const hewn_compilation *c, size_t *bytes);
/// Of a compile that quantizes, else "": what was chosen, as a text that
/// `quantize` takes; and what it costs and brings, as JSON.
HEWN_COMPILER_API const char *hewn_compilation_quantization(const hewn_compilation *c);
HEWN_COMPILER_API const char *hewn_compilation_report(const hewn_compilation *c);
HEWN_COMPILER_API size_t hewn_compilation_num_files(const hewn_compilation *c);
HEWN_COMPILER_API const char *hewn_compilation_file(const hewn_compilation *c, size_t index);
HEWN_COMPILER_API void hewn_compilation_destroy(hewn_compilation *c);

/// The version of the compiler, "0.1.0".
HEWN_COMPILER_API const char *hewn_compiler_version(void);
/// What `target` may be; NULL beyond the end.
HEWN_COMPILER_API const char *hewn_compiler_target(size_t index);

#ifdef __cplusplus
}
#endif

#endif // HEWN_COMPILER_H
