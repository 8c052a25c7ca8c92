// SPDX-License-Identifier: Apache-2.0
#include "FakeModel.h"

#include <cstring>

namespace {

const int64_t matrixDims[] = {HEWN_DIM_SYMBOL(0), 3};
const int64_t rowsDims[] = {HEWN_DIM_DYNAMIC};
alignas(64) const float embeddedWeights[] = {100, 200, 300};

int64_t arenaBytes(const int64_t *symbols) { return symbols[0] * 64; }

void outputDims(const int64_t *symbols, int64_t *const *dims) {
  dims[0][0] = symbols[0];
  dims[0][1] = 3;
  dims[1][0] = HEWN_DIM_DYNAMIC;
}

void addRows(void *arg, int64_t begin, int64_t end) {
  auto *frame = static_cast<const hewn_frame *>(arg);
  auto *left = static_cast<const float *>(frame->inputs[0]);
  auto *right = static_cast<const float *>(frame->inputs[1]);
  auto *weights = reinterpret_cast<const float *>(frame->weights);
  auto *total = static_cast<float *>(frame->outputs[0]);
  for (int64_t i = begin * 3; i < end * 3; ++i)
    total[i] = left[i] + right[i] + weights[i % 3];
  // Each task writes its row of the arena, so that sanitizers check that the arena has this row.
  for (int64_t i = begin; i < end; ++i)
    std::memset(frame->arena + i * 64, 0x5a, 64);
}

int32_t run(hewn_context *context, const hewn_frame *frame) {
  auto *left = static_cast<const float *>(frame->inputs[0]);
  auto *right = static_cast<const float *>(frame->inputs[1]);
  int64_t batch = frame->symbols[0];
  if (left[0] < 0)
    return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, "/embed/Gather", "index {a} is outside [0, {b})",
                        static_cast<int64_t>(left[0]), batch);
  hewn_rt_trace(context, HEWN_TRACE_BEGIN, "add");
  int32_t code = hewn_rt_parallel_for(context, batch, addRows, const_cast<hewn_frame *>(frame));
  hewn_rt_trace(context, HEWN_TRACE_END, "add");
  if (code != HEWN_OK)
    return code;
  auto *found = static_cast<int64_t *>(hewn_rt_alloc(context, batch * 8, 8));
  if (!found)
    return hewn_rt_code(context);
  int64_t count = 0;
  for (int64_t i = 0; i < batch; ++i)
    if (left[3 * i] > right[3 * i])
      found[count++] = i;
  auto *rows = static_cast<int64_t *>(hewn_rt_alloc_output(context, 1, 1, &count));
  if (!rows)
    return hewn_rt_code(context);
  std::memcpy(rows, found, static_cast<size_t>(count) * 8);
  return HEWN_OK; // the runtime frees `found`
}

/// The model that currently runs. It is a global, because BodyModel's `run` has no user argument.
thread_local BodyModel *current;

} // namespace

FakeModel::FakeModel() {
  inputs[0] = {"left", float32, 2, matrixDims, nullptr, HEWN_KIND_TENSOR, {}, 0, 0};
  inputs[1] = {"right", float32, 2, matrixDims, nullptr, HEWN_KIND_TENSOR, {}, 0, 0};
  outputs[0] = {"total", float32, 2, matrixDims, nullptr, HEWN_KIND_TENSOR, {}, 0, 0};
  outputs[1] = {"rows", int64, 1, rowsDims, nullptr, HEWN_KIND_TENSOR, {}, 0, 0};
  symbols[0] = {"batch", 1, 64};
  model.abi_version = HEWN_ABI_VERSION;
  model.struct_bytes = sizeof(hewn_model);
  model.name = "fake";
  model.digest = "feed";
  variant = {"x86-64-v2", 0, arenaBytes, run};
  model.target = "portable";
  model.num_variants = 1;
  model.variants = &variant;
  model.runtime = &hewn_rt_table;
  model.services = &allServices;
  model.num_inputs = 2;
  model.num_outputs = 2;
  model.num_symbols = 1;
  model.inputs = inputs;
  model.outputs = outputs;
  model.symbols = symbols;
  model.weights_digest = "0123456789abcdef";
  model.weights_bytes = sizeof(embeddedWeights);
  model.weights = reinterpret_cast<const unsigned char *>(embeddedWeights);
  model.weights_state = &state;
  model.output_dims = outputDims;
}

BodyModel::BodyModel(Body body) : body(std::move(body)) {
  output = {"out", float32, 0, nullptr, nullptr, HEWN_KIND_TENSOR, {}, 0, 0};
  model.abi_version = HEWN_ABI_VERSION;
  model.struct_bytes = sizeof(hewn_model);
  model.name = "body";
  model.runtime = &hewn_rt_table;
  model.services = &allServices;
  model.num_outputs = 1;
  model.outputs = &output;
  variant.arena_bytes = [](const int64_t *) -> int64_t { return 0; };
  model.output_dims = [](const int64_t *, int64_t *const *) {};
  variant.run = [](hewn_context *context, const hewn_frame *frame) { return current->body(context, frame); };
  model.num_variants = 1;
  model.variants = &variant;
}

int32_t BodyModel::runIn(hewn_context *context) {
  Tensor<float> out({}, {0});
  return runIn(context, {}, out.view(float32));
}

int32_t BodyModel::runIn(hewn_context *context, void **outputs) {
  current = this;
  hewn_status status = hewn_run_pointers(&model, context, nullptr, outputs, nullptr, nullptr);
  message = status.message;
  return status.code;
}

int32_t BodyModel::runIn(hewn_context *context, DLTensor in, DLTensor out) {
  current = this;
  hewn_status status = hewn_run(&model, context, &in, &out);
  message = status.message;
  return status.code;
}

int32_t BodyModel::run(const hewn_context_options *options) {
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&model, options, &context);
  message = status.message;
  int32_t code = status.code == HEWN_OK ? runIn(context) : status.code;
  hewn_context_destroy(context);
  return code;
}

/// Checksum of the weights: XXH64 of the twelve bytes of 1.0f, 2.0f, 3.0f, which the reference
/// implementation computed, folded once.
static constexpr uint64_t kChecksum = HEWN_CHECKSUM_FOLD(UINT64_C(0), UINT64_C(0x6d50bdacee372b0e));

std::string weightsBytes(const hewn_model &model) {
  hewn_weights_header header{};
  std::memcpy(header.magic, "HEWNW", 6);
  header.version = HEWN_WEIGHTS_VERSION;
  header.data_bytes = model.weights_bytes;
  std::memcpy(header.digest, model.weights_digest, std::strlen(model.weights_digest));
  header.checksum = kChecksum;
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  const float values[] = {1, 2, 3};
  return bytes + std::string(reinterpret_cast<const char *>(values), sizeof(values));
}
