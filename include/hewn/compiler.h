// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_COMPILER_H
#define HEWN_COMPILER_H

/// \file
/// The C API of the compiler: compiles a model to an artifact. C99 (the implementation is C++). No
/// function prints, aborts or throws.
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

/// A function of the compiling process that implements a custom op, and the C symbol name of the
/// function.
typedef struct hewn_named_function {
  const char *name;
  void (*function)(void);
} hewn_named_function;

/// Inputs of one calibration run: `num_tensors` row-major tensors in host memory and their input
/// names. The name of a model's only input may be "".
typedef struct hewn_sample {
  const char *const *names;
  const DLTensor *tensors;
  size_t num_tensors;
  /// The callback's error message, if it fails to supply a sample.
  const char *problem;
} hewn_sample;

/// Options of a compilation. All members but `size` are optional: zero selects the default. Strings
/// are copied. NULL and "" are equivalent.
typedef struct hewn_compile_options {
  size_t size; ///< size of this struct, sizeof(hewn_compile_options)
  /// The model to compile: either the path of a file, or the bytes of a file in memory and the
  /// folder of its external data.
  const char *model_path;
  const void *model_bytes;
  size_t model_size;
  const char *model_folder;
  /// Path of the artifact. The extension selects its kind: .so, .a or .o.
  const char *output;
  /// Emits the text of a stage instead of an artifact: "import", "graph", "kernels", "loops",
  /// "plan", "llvm", "asm", "ptx" or "header". The text is written to `output`, or returned by
  /// hewn_compilation_text if `output` is not set.
  const char *emit;
  const char *target; ///< for example "host" (default) or "x86-64-v3"
  /// Values or ranges of symbolic dims: "batch=1", "seq=1..512", "seq=1,128,1..512".
  const char *const *dims;
  size_t num_dims;
  const char *precision; ///< "highest" (default), "high", "medium"
  /// Quantization: "int8", "int4", the path of a quantization file, or its text, which begins with
  /// a brace (docs/quantization.md). NULL: the model is not quantized further.
  const char *quantize;
  int32_t jobs;     ///< number of compiler threads; 0: one per CPU of the machine
  const char *name; ///< C name of the model; NULL: derived from `output`
  /// Nonzero disables optimizations (-O0).
  int32_t no_optimize;
  /// Nonzero embeds the weights in the artifact instead of writing a weights file.
  int32_t embed_weights;
  const char *cache_dir; ///< folder of the cache of artifacts and compiled kernels; NULL: no cache
  const char *runtime;   ///< path of libhewn_runtime.a; NULL: the default search path
  /// Called with the name of each stage when the stage begins.
  void (*progress)(void *user, const char *stage);
  void *progress_user;
  /// Nonzero if only this process uses the artifact. The files are then not synced to disk. If
  /// zero, they are synced: after a crash of the machine, either the complete previous files or the
  /// complete new files exist.
  int32_t transient;
  /// Limits on the expansion of a model beyond the size of its file, such as "nodes=1000": `nodes`
  /// in function, branch and loop bodies, their `nesting`, `bytes` of values that the file stores
  /// in a shorter form, and operations of constant `folding`.
  const char *const *limits;
  size_t num_limits;
  /// Definitions of custom ops (docs/custom-ops.md): paths of files, or the text of one, which
  /// begins with a brace. They contain code: use only trusted definitions.
  const char *const *custom_ops;
  size_t num_custom_ops;
  /// Functions of this process that implement custom ops, instead of functions in the files that
  /// the definitions link. Requires `transient`.
  const hewn_named_function *custom_functions;
  size_t num_custom_functions;
  /// Path of a file for remarks: optimizations that were missed, and why, by ONNX node. JSON if the
  /// extension is .json, else YAML in LLVM's format. NULL: no remarks.
  const char *remarks;
  /// Callback that supplies the inputs of calibration runs for activation ranges, one run per call.
  /// Fills in `sample` and returns 1; returns 0 after the last run; or sets `problem` and returns
  /// -1. The data of `sample` must stay valid until the next call. NULL: only weights are
  /// quantized.
  int32_t (*next_sample)(void *user, hewn_sample *sample);
  void *next_sample_user;
  /// Minimum signal-to-quantization-noise ratio of each output, in decibels, over the calibration
  /// runs. Contractions fall back to float until it is reached. 0: 25 dB for activations in 8 bits
  /// unless `largest_error` is set; otherwise no bound.
  double least_decibels;
  /// Maximum absolute error of any element of an output over the calibration runs. 0: no bound.
  double largest_error;
  /// Nonzero if hewn_compilation_text returns the text of the stage "explain-json"
  /// (docs/reference/json.md) when an artifact is written.
  int32_t explain;
  /// Schedules measured by `hewn tune`, which replace the compiler's choice of schedules: paths of
  /// files, or the text of one file, which begins with a brace (docs/tutorials/tuning.md).
  const char *const *tunings;
  size_t num_tunings;
  /// Number of ranks, and how the model is partitioned over them (docs/tutorials/partition.md):
  /// "tensor=2", "pipeline=2", "tensor=2,pipeline=2", "pipeline=2,microbatches=4",
  /// "tensor=2,sums=ordered", "tensor=2,lines=10", or "auto". NULL: no partitioning.
  const char *partition;
  /// Cluster for which the partition "auto" is optimized: the path of its description, or the text,
  /// which begins with a brace (docs/reference/cluster.md).
  const char *cluster;
  /// Dims of inputs for which the model declares the same name: "lenient" (default) requires them
  /// to be equal only if an op of the model does, "strict" requires it always.
  const char *dim_names;
  /// Returns nonzero to cancel the compilation, which then ends with the error "the compilation was
  /// cancelled" and writes nothing, whatever later calls return. Called between passes and kernels,
  /// possibly by several threads at once; it must return quickly. NULL: the compilation cannot be
  /// cancelled.
  int32_t (*is_cancelled)(void *user);
  void *is_cancelled_user;
  /// If the model is the text of a stage: the file of its weights. Two options of a compile with
  /// `emit` write such a pair of files: `output` and `save_weights`.
  const char *weights;
  /// Path of a file for the weights to which the emitted text refers; the text then names the nodes
  /// of its ops, too. For the stages import, graph, kernels, loops and plan.
  const char *save_weights;
} hewn_compile_options;

/// A diagnostic. No member is NULL; strings are owned by the compilation.
typedef struct hewn_compile_message {
  int32_t is_warning;
  int64_t opset;      ///< opset of the node; 0 if the diagnostic is not about a node
  const char *node;   ///< name of the node
  const char *op;     ///< type of the node, such as "Conv"
  const char *domain; ///< domain of the node's op; "" for ONNX
  const char *reason;
  const char *text; ///< the complete diagnostic on one line
} hewn_compile_message;

typedef struct hewn_compilation hewn_compilation;

/// Compiles a model. Never returns NULL; the caller must destroy the result. All strings that the
/// following functions return are owned by the compilation.
HEWN_COMPILER_API hewn_compilation *hewn_compile(const hewn_compile_options *options);
/// Returns 1 if the compilation succeeded. Otherwise at least one message is an error.
HEWN_COMPILER_API int32_t hewn_compilation_ok(const hewn_compilation *c);
HEWN_COMPILER_API size_t hewn_compilation_num_messages(const hewn_compilation *c);
/// Returns a diagnostic, or NULL if `index` is out of range.
HEWN_COMPILER_API const hewn_compile_message *hewn_compilation_message(const hewn_compilation *c, size_t index);
/// Returns the text of the stage that the option `emit` selects, or of "explain-json" if the option
/// `explain` is set. Returns "" if neither option is set. Writes the length of the text to `*bytes`
/// unless `bytes` is NULL.
HEWN_COMPILER_API const char *hewn_compilation_text(const hewn_compilation *c, size_t *bytes);
/// Return the quantization that the compiler chose, as text that the option `quantize` accepts, and
/// a JSON report of the accuracy and cost of the quantized model. Both are "" if the compilation
/// does not quantize.
HEWN_COMPILER_API const char *hewn_compilation_quantization(const hewn_compilation *c);
HEWN_COMPILER_API const char *hewn_compilation_report(const hewn_compilation *c);
/// Return the number of files that the compilation wrote, and the path of file `index` (NULL if
/// `index` is out of range).
HEWN_COMPILER_API size_t hewn_compilation_num_files(const hewn_compilation *c);
HEWN_COMPILER_API const char *hewn_compilation_file(const hewn_compilation *c, size_t index);
/// Return the number of files that the artifact depends on, and the path of file `index` (NULL if
/// `index` is out of range): the model, its external data, custom ops and their code, tunings, and
/// the descriptions of the cluster and the quantization. A build compiles again if one of them
/// changes. Options that are given as texts instead of paths are not listed.
HEWN_COMPILER_API size_t hewn_compilation_num_inputs(const hewn_compilation *c);
HEWN_COMPILER_API const char *hewn_compilation_input(const hewn_compilation *c, size_t index);
HEWN_COMPILER_API void hewn_compilation_destroy(hewn_compilation *c);

/// Returns the version of the compiler, such as "0.1.0".
HEWN_COMPILER_API const char *hewn_compiler_version(void);
/// Returns the name of a supported target, or NULL if `index` is out of range.
HEWN_COMPILER_API const char *hewn_compiler_target(size_t index);

#ifdef __cplusplus
}
#endif

#endif // HEWN_COMPILER_H
