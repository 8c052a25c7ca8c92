// SPDX-License-Identifier: Apache-2.0
// Runs a model: checks and binds the tensors, grows the arena, calls the model's code, and cleans
// up. Also contains the services for tracing and cancellation.

#include "core/context.h"

static hewn_status plainStatus(int32_t code, const char *message) {
  hewn_status status = {code, message};
  return status;
}

/// Calls the model's generated code, after all arrays of the context are set.
static int32_t execute(hewn_context *context) {
  const hewn_model *model = context->model;
  hewn_frame frame = {context->input_data, context->input_dims, context->output_data, context->output_dims,
                      context->symbols,    context->arena,      context->weights};
  int32_t code = context->variant->run(context, &frame);
  hewn_memory_end_run(context);
  if (code == HEWN_OK)
    code = hewn_rt_code(context);
  for (int32_t i = 0; code == HEWN_OK && i < model->num_outputs; ++i)
    if (!context->output_data[i])
      code = hewn_rt_fail(context, HEWN_INTERNAL, NULL, "the generated code did not set output {a}", i, 0);
  if (code != HEWN_OK) // No effect if a failure is recorded already.
    hewn_rt_fail(context, code, NULL, "the generated code failed with code {a} and no message", code, 0);
  return hewn_rt_code(context);
}

/// Releases the outputs that a failed run has allocated.
static void releaseOutputs(hewn_context *context) {
  for (int32_t i = 0; i < context->model->num_outputs; ++i) {
    if (context->outputs[i].allocated && context->output_data[i])
      context->allocator.release(context->allocator.user, context->output_data[i]);
    context->outputs[i].allocated = 0;
    context->output_data[i] = NULL;
  }
}

/// Writes those shapes and data pointers of outputs that are available only after the run.
static void describeOutputs(hewn_context *context, DLTensor *outputs) {
  for (int32_t i = 0; i < context->model->num_outputs; ++i) {
    const hewn_tensor_info *info = &context->output_infos[i];
    const hewn_output_state *state = &context->outputs[i];
    if (state->allocated) {
      DLDevice device = {kDLCPU, 0};
      outputs[i].data = context->output_data[i];
      outputs[i].device = device;
      outputs[i].ndim = info->rank;
      outputs[i].dtype = info->dtype;
      outputs[i].strides = NULL;
      outputs[i].byte_offset = 0;
    }
    if (state->allocated || state->dynamic)
      for (int32_t d = 0; d < info->rank; ++d)
        outputs[i].shape[d] = context->output_dims[i][d];
  }
}

static int32_t runTensors(hewn_context *context, const DLTensor *inputs, DLTensor *outputs) {
  int32_t code = hewn_bind_inputs(context, inputs);
  if (code != HEWN_OK)
    return code;
  context->model->output_dims(context->symbols, context->output_dims);
  if ((code = hewn_bind_outputs(context, outputs)) != HEWN_OK || (code = hewn_context_grow(context)) != HEWN_OK)
    return code;
  code = hewn_bind_allocate(context);
  if (code == HEWN_OK)
    code = execute(context);
  if (code == HEWN_OK && context->kept_before)
    code = hewn_sequence_keep_outputs(context);
  if (code == HEWN_OK)
    describeOutputs(context, outputs);
  else
    releaseOutputs(context);
  return code;
}

static int32_t checkCount(hewn_context *context, const char *what, int32_t want, int32_t got) {
  hewn_text text;
  if (want == got || !hewn_message_open(context, &text))
    return HEWN_OK;
  hewn_text_put(&text, "model ");
  hewn_text_name(&text, context->model->name);
  hewn_text_put(&text, " has ");
  hewn_text_int(&text, want);
  hewn_text_put(&text, what);
  hewn_text_put(&text, ", got ");
  hewn_text_int(&text, got);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

/// Appends the name and the digest of a model: two compiles of a model have the same name.
static void putModel(hewn_text *text, const hewn_model *model) {
  hewn_text_name(text, model->name);
  hewn_text_put(text, " (digest ");
  hewn_text_name(text, model->digest);
  hewn_text_put(text, ")");
}

/// Checks shared by hewn_run and hewn_run_pointers. Returns HEWN_OK, with the message cleared, if
/// the run may proceed.
static int32_t begin(const hewn_model *model, hewn_context *context) {
  if (context->broken != HEWN_OK)
    return context->broken;
  hewn_message_clear(context);
  if (model == context->model) {
    hewn_keep_begin_run(context);
    return HEWN_OK;
  }
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "the context was created for model ");
  putModel(&text, context->model);
  hewn_text_put(&text, ", not for ");
  putModel(&text, model);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static hewn_status finish(hewn_context *context) {
  if (context->communicator)
    hewn_context_abandon(context, hewn_rt_code(context));
  hewn_keep_end_run(context);
  return hewn_context_leave(context);
}

hewn_status hewn_impl_run(const hewn_model *model, hewn_context *context, const DLTensor *inputs, int32_t num_inputs,
                          DLTensor *outputs, int32_t num_outputs) {
  if (!hewn_context_enter(context))
    return plainStatus(HEWN_BUSY, hewn_context_busy_message);
  if (begin(model, context) == HEWN_OK && checkCount(context, " inputs", model->num_inputs, num_inputs) == HEWN_OK &&
      checkCount(context, " outputs", model->num_outputs, num_outputs) == HEWN_OK) {
    if ((num_inputs > 0 && !inputs) || (num_outputs > 0 && !outputs))
      hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "the array of tensors is NULL");
    else
      runTensors(context, inputs, outputs);
  }
  return finish(context);
}

/// Checks that a pointer of hewn_run_pointers is not NULL, unless the tensor is empty.
static int32_t checkPointer(hewn_context *context, const char *kind, const hewn_tensor_info *info, const int64_t *dims,
                            const void *pointer) {
  hewn_text text;
  if (pointer || hewn_tensor_bytes(info->dtype, info->rank, dims) == 0)
    return HEWN_OK;
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, kind);
  hewn_text_name(&text, info->name);
  hewn_text_put(&text, ": the pointer is NULL");
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

/// Computes the dims of the inputs from the values of symbols, and sets the inputs' data, for
/// hewn_run_pointers.
static int32_t bindInputPointers(hewn_context *context, const void *const *inputs) {
  int64_t *dims = context->input_shapes;
  for (int32_t i = 0; i < context->model->num_inputs; ++i) {
    const hewn_tensor_info *info = &context->model->inputs[i];
    for (int32_t d = 0; d < info->rank; ++d) {
      int64_t dim = info->dims[d];
      if (dim == HEWN_DIM_DYNAMIC || dim == HEWN_DIM_FORMULA)
        return hewn_message_fail(context, HEWN_UNSUPPORTED,
                                 "the model has inputs whose shapes do not follow "
                                 "from its symbols: call hewn_run");
      dims[d] = dim >= 0 ? dim : context->symbols[-1 - dim];
    }
    int32_t code = checkPointer(context, "input ", info, dims, inputs[i]);
    if (code != HEWN_OK)
      return code;
    context->input_data[i] = inputs[i];
    context->input_on_device[i] = 0;
    context->input_dims[i] = dims;
    dims += info->rank;
    if (info->kind != HEWN_KIND_TENSOR && (code = hewn_sequence_take(context, i, inputs[i])) != HEWN_OK)
      return code;
  }
  return HEWN_OK;
}

/// Data of an empty output for which the caller passes NULL.
static const unsigned char empty[HEWN_ALIGNMENT] __attribute__((aligned(HEWN_ALIGNMENT))) = {0};

static int32_t bindOutputPointers(hewn_context *context, void *const *outputs) {
  const hewn_model *model = context->model;
  model->output_dims(context->symbols, context->output_dims);
  for (int32_t i = 0; i < model->num_outputs; ++i) {
    hewn_output_state *state = &context->outputs[i];
    const hewn_tensor_info *info = &context->output_infos[i];
    state->allocated = 0;
    state->on_device = 0;
    state->given = NULL;
    state->capacity = -1;
    if (state->dynamic)
      continue;
    int32_t code = checkPointer(context, "output ", info, context->output_dims[i], outputs[i]);
    if (code != HEWN_OK)
      return code;
    // The caller may pass NULL for an empty output. The generated code then gets the address of
    // `empty`, so that nothing is allocated that the caller would have to release.
    state->given = outputs[i] ? outputs[i] : (void *)(uintptr_t)empty;
    state->capacity = outputs[i] ? INT64_MAX : 0;
  }
  return HEWN_OK;
}

static int32_t runPointers(hewn_context *context, const void *const *inputs, void **outputs,
                           int64_t *const *output_dims, const int64_t *symbols) {
  int32_t code;
  if ((code = hewn_bind_symbols(context, symbols)) != HEWN_OK ||
      (code = bindInputPointers(context, inputs)) != HEWN_OK ||
      (code = bindOutputPointers(context, outputs)) != HEWN_OK || (code = hewn_context_grow(context)) != HEWN_OK)
    return code;
  code = hewn_bind_allocate(context);
  if (code == HEWN_OK)
    code = execute(context);
  if (code == HEWN_OK && context->kept_before)
    code = hewn_sequence_keep_outputs(context);
  if (code != HEWN_OK) {
    releaseOutputs(context);
    return code;
  }
  for (int32_t i = 0; i < context->model->num_outputs; ++i) {
    if (context->outputs[i].dynamic)
      outputs[i] = context->output_data[i];
    for (int32_t d = 0; output_dims && output_dims[i] && d < context->output_infos[i].rank; ++d)
      output_dims[i][d] = context->output_dims[i][d];
  }
  return code;
}

hewn_status hewn_impl_run_pointers(const hewn_model *model, hewn_context *context, const void *const *inputs,
                                   void **outputs, int64_t *const *output_dims, const int64_t *symbols) {
  if (!hewn_context_enter(context))
    return plainStatus(HEWN_BUSY, hewn_context_busy_message);
  if (begin(model, context) == HEWN_OK) {
    if ((model->num_inputs > 0 && !inputs) || (model->num_outputs > 0 && !outputs))
      hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "the array of pointers is NULL");
    else
      runPointers(context, inputs, outputs, output_dims, symbols);
  }
  return finish(context);
}

void hewn_impl_output_release(hewn_context *context, void *data) {
  if (data)
    context->allocator.release(context->allocator.user, data);
}

int32_t hewn_rt_check_cancel(hewn_context *context) {
  const hewn_cancel_hook *hook = &context->cancel_hook;
  if (!hook->is_cancelled || !hook->is_cancelled(hook->user))
    return HEWN_OK;
  return hewn_rt_fail(context, HEWN_CANCELLED, NULL, "the run was cancelled", 0, 0);
}

int32_t hewn_rt_begin_kernel(hewn_context *context, const char *kernel) {
  int32_t code = hewn_rt_check_cancel(context);
  if (code == HEWN_OK)
    hewn_rt_trace(context, HEWN_TRACE_BEGIN, kernel);
  return code;
}

void hewn_rt_trace(hewn_context *context, int32_t phase, const char *kernel) {
  if (context->traces_tasks)
    context->kernel = phase == HEWN_TRACE_BEGIN ? kernel : NULL;
  if (context->trace_hook.event)
    context->trace_hook.event(context->trace_hook.user, phase, kernel);
}
