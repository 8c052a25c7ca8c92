// SPDX-License-Identifier: Apache-2.0
// The public functions. Each call goes through the function table of the runtime that the model or
// the context belongs to: the program's runtime and the runtime in a model's shared library may
// have different versions.

#include "core/context.h"
#include "core/string.h"

/// The function table, which is the first member of hewn_context in every version of the runtime.
typedef struct context_head {
  const hewn_runtime_table *table;
} context_head;

static const hewn_runtime_table *tableOf(const hewn_context *context) {
  return ((const context_head *)(const void *)context)->table;
}

static hewn_status fail(int32_t code, const char *message) {
  hewn_status status = {code, message};
  return status;
}

/// Checks that the model and its runtime have the ABI version of this header, and structs with at
/// least the members of the first release with this version. Returns an error message or NULL.
static const char *checkModel(const hewn_model *model) {
  if (!model)
    return "the model is NULL";
  if (model->abi_version != HEWN_ABI_VERSION || model->struct_bytes < offsetof(hewn_model, metadata))
    return "the model was compiled for another version of hewn's ABI: compile "
           "it again, or use the runtime of its version";
  if (!model->runtime || model->runtime->abi_version != HEWN_ABI_VERSION ||
      model->runtime->struct_bytes < sizeof(hewn_runtime_table))
    return "the model contains a runtime of another version of hewn's ABI";
  return NULL;
}

hewn_status hewn_context_create(const hewn_model *model, const hewn_context_options *options, hewn_context **context) {
  if (!context)
    return fail(HEWN_INVALID_ARGUMENT, "the context pointer is NULL");
  *context = NULL;
  const char *problem = checkModel(model);
  if (problem)
    return fail(model ? HEWN_UNSUPPORTED : HEWN_INVALID_ARGUMENT, problem);
  return model->runtime->context_create(model, options, context);
}

void hewn_context_destroy(hewn_context *context) {
  if (context)
    tableOf(context)->context_destroy(context);
}

hewn_status hewn_context_reserve(hewn_context *context, const int64_t *symbols) {
  if (!context)
    return fail(HEWN_INVALID_ARGUMENT, "the context is NULL");
  return tableOf(context)->context_reserve(context, symbols);
}

hewn_status hewn_context_set_stream(hewn_context *context, void *stream) {
  if (!context)
    return fail(HEWN_INVALID_ARGUMENT, "the context is NULL");
  return tableOf(context)->context_set_stream(context, stream);
}

const char *hewn_context_message(const hewn_context *context) {
  return context ? tableOf(context)->context_message(context) : "";
}

int64_t hewn_arena_bytes(const hewn_model *model, const int64_t *symbols) {
  if (checkModel(model) || (model->num_symbols > 0 && !symbols))
    return -1;
  for (int32_t s = 0; s < model->num_symbols; ++s)
    if (symbols[s] < model->symbols[s].min || symbols[s] > model->symbols[s].max)
      return -1;
  const hewn_variant *variant = model->runtime->model_variant(model);
  return variant ? variant->arena_bytes(symbols) : -1;
}

const hewn_variant *hewn_model_variant(const hewn_model *model) {
  return checkModel(model) ? NULL : model->runtime->model_variant(model);
}

const hewn_metadata_entry *hewn_metadata_entries(const hewn_model *model, int32_t *count) {
  // Descriptors that were compiled before these members existed end before them.
  int isKnown = !checkModel(model) && model->struct_bytes >= offsetof(hewn_model, services);
  *count = isKnown ? model->num_metadata : 0;
  return isKnown ? model->metadata : NULL;
}

const char *hewn_metadata(const hewn_model *model, const char *key) {
  int32_t count;
  const hewn_metadata_entry *entries = hewn_metadata_entries(model, &count);
  for (int32_t i = 0; key && i < count; ++i)
    if (hewn_strcmp(entries[i].key, key) == 0)
      return entries[i].value;
  return NULL;
}

static int32_t indexOf(const hewn_tensor_info *infos, int32_t count, const char *name) {
  for (int32_t i = 0; name && i < count; ++i)
    if (hewn_strcmp(infos[i].name, name) == 0)
      return i;
  return -1;
}

int32_t hewn_input_index(const hewn_model *model, const char *name) {
  return checkModel(model) ? -1 : indexOf(model->inputs, model->num_inputs, name);
}

int32_t hewn_output_index(const hewn_model *model, const char *name) {
  return checkModel(model) ? -1 : indexOf(model->outputs, model->num_outputs, name);
}

hewn_status hewn_run_counted(const hewn_model *model, hewn_context *context, const DLTensor *inputs, int32_t num_inputs,
                             DLTensor *outputs, int32_t num_outputs) {
  const char *problem = checkModel(model);
  if (problem || !context)
    return fail(HEWN_INVALID_ARGUMENT, problem ? problem : "the context is NULL");
  return tableOf(context)->run(model, context, inputs, num_inputs, outputs, num_outputs);
}

hewn_status hewn_run(const hewn_model *model, hewn_context *context, const DLTensor *inputs, DLTensor *outputs) {
  return hewn_run_counted(model, context, inputs, model ? model->num_inputs : 0, outputs,
                          model ? model->num_outputs : 0);
}

hewn_status hewn_run_pointers(const hewn_model *model, hewn_context *context, const void *const *inputs, void **outputs,
                              int64_t *const *output_dims, const int64_t *symbols) {
  const char *problem = checkModel(model);
  if (problem || !context)
    return fail(HEWN_INVALID_ARGUMENT, problem ? problem : "the context is NULL");
  return tableOf(context)->run_pointers(model, context, inputs, outputs, output_dims, symbols);
}

void hewn_output_release(hewn_context *context, void *data) {
  if (context)
    tableOf(context)->output_release(context, data);
}

const char *hewn_code_name(int32_t code) {
  static const char *const names[] = {
      "HEWN_OK",          "HEWN_INVALID_ARGUMENT", "HEWN_OUT_OF_MEMORY", "HEWN_INDEX_OUT_OF_RANGE", "HEWN_IO",
      "HEWN_UNSUPPORTED", "HEWN_INTERNAL",         "HEWN_OP_FAILED",     "HEWN_PEER_FAILED",        "HEWN_BUSY",
      "HEWN_CANCELLED"};
  return code >= 0 && code < (int32_t)(sizeof(names) / sizeof(names[0])) ? names[code] : "unknown hewn_code";
}

const hewn_runtime_table hewn_rt_table = {
    HEWN_ABI_VERSION,
    sizeof(hewn_runtime_table),
    hewn_impl_context_create,
    hewn_impl_context_destroy,
    hewn_impl_context_reserve,
    hewn_impl_context_message,
    hewn_impl_run,
    hewn_impl_run_pointers,
    hewn_impl_output_release,
    hewn_rt_variant,
    hewn_impl_context_set_stream,
};
