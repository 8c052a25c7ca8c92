// SPDX-License-Identifier: Apache-2.0
//
// Implements the C API, include/hewn/compiler.h.
#include "hewn/compiler.h"
#include "hewn/version.h"
#include "lib/Compiler/Compiler.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>

using namespace hewn;

struct hewn_compilation {
  CompileResult result;
  Diagnostics diagnostics;
  std::deque<std::string> lines;
  std::vector<hewn_compile_message> messages;
};

static std::string text(const char *text) { return text ? text : ""; }

/// Copies the arrays of the caller's calibration sample to `feeds`. The arrays must be row-major.
static bool copy(const hewn_sample &sample, std::vector<Feed> &feeds, std::string &problem) {
  for (size_t i = 0; i < sample.num_tensors; ++i) {
    const DLTensor &tensor = sample.tensors[i];
    Feed &feed = feeds.emplace_back();
    feed.name = text(sample.names[i]);
    feed.array.type = tensor.dtype;
    feed.array.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    bool isDense = tensor.device.device_type == kDLCPU && tensor.dtype.lanes == 1;
    int64_t step = 1;
    for (int32_t d = tensor.ndim; d-- > 0;) {
      isDense &= tensor.shape[d] >= 0 && (!tensor.strides || tensor.shape[d] == 1 || tensor.strides[d] == step);
      isDense &= !llvm::MulOverflow(step, tensor.shape[d], step);
    }
    if (!isDense || llvm::MulOverflow(step, feed.array.elementBytes(), step)) {
      problem = "'" + feed.name + "' is not a row-major tensor in host memory";
      return false;
    }
    const char *data = static_cast<const char *>(tensor.data) + tensor.byte_offset;
    feed.array.bytes.assign(data, data + step);
  }
  return true;
}

static CompileOptions optionsOf(const hewn_compile_options &o) {
  CompileOptions options;
  options.modelPath = text(o.model_path);
  options.modelBytes = llvm::StringRef(static_cast<const char *>(o.model_bytes), o.model_bytes ? o.model_size : 0);
  options.modelFolder = text(o.model_folder);
  options.output = text(o.output);
  options.emit = text(o.emit);
  options.weights = text(o.weights);
  options.saveWeights = text(o.save_weights);
  if (!text(o.target).empty())
    options.target = o.target;
  for (size_t i = 0; i < o.num_dims; ++i)
    options.dims.push_back(text(o.dims[i]));
  if (!text(o.dim_names).empty())
    options.dimNames = o.dim_names;
  for (size_t i = 0; i < o.num_limits; ++i)
    options.limits.push_back(text(o.limits[i]));
  for (size_t i = 0; i < o.num_custom_ops; ++i)
    options.customOps.push_back(text(o.custom_ops[i]));
  for (size_t i = 0; i < o.num_tunings; ++i)
    options.tunings.push_back(text(o.tunings[i]));
  for (size_t i = 0; i < o.num_custom_functions; ++i)
    options.customFunctions.push_back(
        {text(o.custom_functions[i].name), uint64_t(reinterpret_cast<uintptr_t>(o.custom_functions[i].function))});
  options.partition = text(o.partition);
  options.cluster = text(o.cluster);
  if (!text(o.precision).empty())
    options.precision = o.precision;
  options.quantize = text(o.quantize);
  options.leastDecibels = o.least_decibels;
  options.largestError = o.largest_error;
  if (o.next_sample)
    options.nextSample = [next = o.next_sample, user = o.next_sample_user](std::vector<Feed> &feeds,
                                                                           std::string &problem) {
      hewn_sample sample = {};
      int32_t got = next(user, &sample);
      if (got < 0)
        problem = sample.problem ? sample.problem : "no sample was given";
      return got > 0 && copy(sample, feeds, problem);
    };
  options.jobs = o.jobs;
  options.name = text(o.name);
  options.optimize = !o.no_optimize;
  options.embedWeights = o.embed_weights;
  options.transient = o.transient;
  options.remarks = text(o.remarks);
  options.explain = o.explain;
  options.cacheDir = text(o.cache_dir);
  options.runtime = text(o.runtime);
  if (o.progress)
    options.progress = [progress = o.progress, user = o.progress_user](llvm::StringRef stage) {
      progress(user, stage.str().c_str());
    };
  // A cancelled compilation stays cancelled, whatever the callback returns later: passes that were
  // skipped cannot be made up for.
  if (o.is_cancelled)
    options.isCancelled = [isCancelled = o.is_cancelled, user = o.is_cancelled_user,
                           was = std::make_shared<std::atomic<bool>>(false)] {
      if (!*was && isCancelled(user) != 0)
        *was = true;
      return bool(*was);
    };
  return options;
}

hewn_compilation *hewn_compile(const hewn_compile_options *given) {
  auto *c = new hewn_compilation;
  // Callers that were compiled with an older header pass a shorter options struct. The fields that
  // such a struct lacks are set to zero.
  hewn_compile_options whole = {};
  if (given)
    std::memcpy(&whole, given, std::min(given->size, sizeof(whole)));
  c->result = compile(optionsOf(whole), c->diagnostics);
  for (const Message &message : c->diagnostics.messages()) {
    c->lines.push_back(message.str());
    c->messages.push_back({message.level == Message::Level::Warning, message.opset, message.node.c_str(),
                           message.op.c_str(), message.domain.c_str(), message.message.c_str(),
                           c->lines.back().c_str()});
  }
  return c;
}

int32_t hewn_compilation_ok(const hewn_compilation *c) { return c->result.ok; }

size_t hewn_compilation_num_messages(const hewn_compilation *c) { return c->messages.size(); }

const hewn_compile_message *hewn_compilation_message(const hewn_compilation *c, size_t index) {
  return index < c->messages.size() ? &c->messages[index] : nullptr;
}

const char *hewn_compilation_text(const hewn_compilation *c, size_t *bytes) {
  if (bytes)
    *bytes = c->result.text.size();
  return c->result.text.c_str();
}

const char *hewn_compilation_quantization(const hewn_compilation *c) { return c->result.quantization.c_str(); }

const char *hewn_compilation_report(const hewn_compilation *c) { return c->result.report.c_str(); }

size_t hewn_compilation_num_files(const hewn_compilation *c) { return c->result.files.size(); }

const char *hewn_compilation_file(const hewn_compilation *c, size_t index) {
  return index < c->result.files.size() ? c->result.files[index].c_str() : nullptr;
}

size_t hewn_compilation_num_inputs(const hewn_compilation *c) { return c->result.inputs.size(); }

const char *hewn_compilation_input(const hewn_compilation *c, size_t index) {
  return index < c->result.inputs.size() ? c->result.inputs[index].c_str() : nullptr;
}

void hewn_compilation_destroy(hewn_compilation *c) { delete c; }

const char *hewn_compiler_version(void) { return HEWN_VERSION; }

const char *hewn_compiler_target(size_t index) {
  static const std::vector<std::string> names = compileTargets();
  return index < names.size() ? names[index].c_str() : nullptr;
}
