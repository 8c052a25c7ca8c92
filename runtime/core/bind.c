// SPDX-License-Identifier: Apache-2.0
// Checks a run before its first kernel: the tensors against the model's descriptor, and the values
// of symbols for consistency. Messages name the tensor, the expected value and the actual value.

#include "core/context.h"
#include "hewn/communicator.h"

/// An input or output tensor that is checked before a run, with its description for messages.
typedef struct checked_tensor {
  const char *kind; ///< "input " or "output "
  const hewn_tensor_info *info;
  const DLTensor *tensor;
} checked_tensor;

static int openMessage(hewn_context *context, const checked_tensor *checked, hewn_text *text) {
  if (!hewn_message_open(context, text))
    return 0;
  hewn_text_put(text, checked->kind);
  hewn_text_name(text, checked->info->name);
  hewn_text_put(text, ": ");
  return 1;
}

static int32_t failWith(hewn_context *context, const checked_tensor *checked, const char *message) {
  hewn_text text;
  if (!openMessage(context, checked, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, message);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int32_t failNumbers(hewn_context *context, const checked_tensor *checked, const char *expected, int64_t want,
                           const char *found, int64_t got) {
  hewn_text text;
  if (!openMessage(context, checked, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, expected);
  hewn_text_int(&text, want);
  hewn_text_put(&text, found);
  hewn_text_int(&text, got);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int32_t failShape(hewn_context *context, const checked_tensor *checked, const int64_t *expected) {
  hewn_text text;
  if (!openMessage(context, checked, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "shape ");
  if (expected)
    hewn_text_dims(&text, checked->info->rank, expected);
  else
    hewn_text_spec(&text, context->model, checked->info);
  hewn_text_put(&text, " expected, got ");
  hewn_text_dims(&text, checked->tensor->ndim, checked->tensor->shape);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int sameType(DLDataType want, DLDataType got) {
  if (want.bits != got.bits || want.lanes != got.lanes)
    return 0;
  // A caller's uint8 tensor is accepted for a bool tensor of the model, because older versions of
  // DLPack have no bool.
  return want.code == got.code || (want.code == HEWN_DL_BOOL && got.code == kDLUInt);
}

static int32_t checkType(hewn_context *context, const checked_tensor *checked) {
  hewn_text text;
  if (sameType(checked->info->dtype, checked->tensor->dtype))
    return HEWN_OK;
  if (!openMessage(context, checked, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "dtype ");
  hewn_text_dtype(&text, checked->info->dtype);
  hewn_text_put(&text, " expected, got ");
  hewn_text_dtype(&text, checked->tensor->dtype);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

/// Returns true if the tensor's strides are NULL or equal to those of a row-major tensor.
static int isRowMajor(const DLTensor *tensor) {
  int64_t expected = 1;
  if (!tensor->strides)
    return 1;
  for (int32_t i = tensor->ndim; i-- > 0;) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != expected)
      return 0;
    expected *= tensor->shape[i]; // cannot overflow: the size in bytes was checked before
  }
  return 1;
}

static const unsigned char *dataOf(const DLTensor *tensor) {
  return (const unsigned char *)tensor->data + tensor->byte_offset;
}

/// Returns true if the tensor is in device memory and the model runs on a device.
static int isOnDevice(const hewn_context *context, const DLTensor *tensor) {
  return context->model->device && tensor->device.device_type == kDLCUDA;
}

/// Checks the size, device, strides and alignment of a caller's tensor against the model's
/// descriptor.
static int32_t checkMemory(hewn_context *context, const checked_tensor *checked) {
  const DLTensor *tensor = checked->tensor;
  int64_t bytes = hewn_tensor_bytes(tensor->dtype, tensor->ndim, tensor->shape);
  if (bytes < 0)
    return failShape(context, checked, NULL);
  if (isOnDevice(context, tensor)) {
    if (tensor->device.device_id != context->device_number)
      return failNumbers(context, checked, "memory of device ", context->device_number,
                         " expected, got that of device ", tensor->device.device_id);
  } else if (tensor->device.device_type != kDLCPU)
    return failNumbers(context, checked, "DLPack device type ", kDLCPU, " (CPU) expected, got ",
                       tensor->device.device_type);
  if (bytes == 0)
    return HEWN_OK;
  if (!tensor->data)
    return failWith(context, checked, "the data pointer is NULL");
  if (!isRowMajor(tensor))
    return failWith(context, checked,
                    "row-major strides (or NULL) expected; copy "
                    "the tensor to make it contiguous");
  uintptr_t element = (uintptr_t)(tensor->dtype.bits + 7) / 8;
  if (element && (uintptr_t)dataOf(tensor) % element != 0)
    return failNumbers(context, checked, "data aligned to its element, ", (int64_t)element,
                       " bytes, expected; it is off by ", (int64_t)((uintptr_t)dataOf(tensor) % element));
  return HEWN_OK;
}

/// Reports another rank than that of the descriptor, with both shapes.
static int32_t failRank(hewn_context *context, const checked_tensor *checked) {
  const int32_t most = 64; // if ndim is larger, the shape is probably invalid
  int32_t rank = checked->tensor->ndim;
  hewn_text text;
  if (!openMessage(context, checked, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "shape ");
  hewn_text_spec(&text, context->model, checked->info);
  hewn_text_put(&text, " (rank ");
  hewn_text_int(&text, checked->info->rank);
  hewn_text_put(&text, ") expected, got ");
  if (rank == 0 || (rank > 0 && rank <= most && checked->tensor->shape)) {
    hewn_text_dims(&text, rank, checked->tensor->shape);
    hewn_text_put(&text, " ");
  }
  hewn_text_put(&text, "(rank ");
  hewn_text_int(&text, rank);
  hewn_text_put(&text, ")");
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

/// Checks the rank of a caller's tensor, and that its shape is not NULL.
static int32_t checkRank(hewn_context *context, const checked_tensor *checked) {
  int32_t rank = checked->info->rank;
  if (checked->tensor->ndim != rank)
    return failRank(context, checked);
  if (rank > 0 && !checked->tensor->shape)
    return failWith(context, checked, "the shape pointer is NULL");
  return HEWN_OK;
}

static int32_t failConflict(hewn_context *context, int64_t symbol, const checked_tensor *checked, int32_t dim) {
  const hewn_model *model = context->model;
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "dimension ");
  hewn_text_name(&text, model->symbols[symbol].name);
  hewn_text_put(&text, " is ");
  hewn_text_int(&text, context->symbols[symbol]);
  hewn_text_put(&text, " in input ");
  hewn_text_name(&text, model->inputs[context->bound_by[symbol]].name);
  hewn_text_put(&text, " and ");
  hewn_text_int(&text, checked->tensor->shape[dim]);
  hewn_text_put(&text, " in input ");
  hewn_text_name(&text, checked->info->name);
  hewn_text_put(&text, " (dim ");
  hewn_text_int(&text, dim);
  hewn_text_put(&text, "): they must be equal");
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

/// Checks the fixed dims of an input. For a symbolic dim, binds the symbol to the actual size if
/// this is the symbol's first use, else compares the size with the symbol's value.
static int32_t bindDims(hewn_context *context, int32_t index, const checked_tensor *checked) {
  for (int32_t i = 0; i < checked->info->rank; ++i) {
    int64_t want = checked->info->dims[i];
    int64_t got = checked->tensor->shape[i];
    if (want == HEWN_DIM_DYNAMIC || want == HEWN_DIM_FORMULA)
      continue;
    if (want >= 0) {
      if (want != got)
        return failShape(context, checked, NULL);
      continue;
    }
    int64_t symbol = -1 - want;
    if (context->bound_by[symbol] < 0) {
      context->bound_by[symbol] = index;
      context->symbols[symbol] = got;
    } else if (context->symbols[symbol] != got) {
      return failConflict(context, symbol, checked, i);
    }
  }
  return HEWN_OK;
}

static int32_t bindInput(hewn_context *context, int32_t index, const DLTensor *tensor) {
  checked_tensor checked = {"input ", &context->model->inputs[index], tensor};
  int32_t code;
  if ((code = checkRank(context, &checked)) != HEWN_OK || (code = checkType(context, &checked)) != HEWN_OK ||
      (code = checkMemory(context, &checked)) != HEWN_OK)
    return code;
  context->input_data[index] = tensor->data ? dataOf(tensor) : NULL;
  context->input_on_device[index] = (uint8_t)isOnDevice(context, tensor);
  context->input_dims[index] = tensor->shape;
  if (checked.info->kind != HEWN_KIND_TENSOR)
    return hewn_sequence_take(context, index, context->input_data[index]);
  return bindDims(context, index, &checked);
}

/// Reports that the value of a symbol is outside of the range in the model's descriptor.
static int32_t failRange(hewn_context *context, int32_t symbol, int64_t value) {
  const hewn_symbol *info = &context->model->symbols[symbol];
  int32_t input = context->bound_by[symbol];
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  if (input >= 0) {
    hewn_text_put(&text, "input ");
    hewn_text_name(&text, context->model->inputs[input].name);
    hewn_text_put(&text, ": ");
  }
  hewn_text_put(&text, "dimension ");
  hewn_text_name(&text, info->name);
  hewn_text_put(&text, " is ");
  hewn_text_int(&text, value);
  hewn_text_put(&text, "; the model was compiled for ");
  hewn_text_int(&text, info->min);
  if (info->max != info->min)
    hewn_text_put(&text, "..");
  if (info->max == INT64_MAX)
    hewn_text_put(&text, " (no upper bound)");
  else if (info->max != info->min)
    hewn_text_int(&text, info->max);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int32_t checkRanges(hewn_context *context, const int64_t *symbols) {
  for (int32_t s = 0; s < context->model->num_symbols; ++s)
    if (symbols[s] < context->model->symbols[s].min || symbols[s] > context->model->symbols[s].max)
      return failRange(context, s, symbols[s]);
  return HEWN_OK;
}

/// Selects the model's case for the values of the symbols. Fails if the model cannot run in this
/// case.
static int32_t chooseCase(hewn_context *context) {
  const hewn_model *model = context->model;
  if (!model->case_of)
    return HEWN_OK;
  const hewn_case *chosen = &model->cases[model->case_of(context->symbols)];
  if (chosen->refusal)
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT, chosen->refusal);
  context->output_infos = chosen->outputs;
  return HEWN_OK;
}

/// Sets the last symbol of a partitioned model to the rank of the context.
static void bindRank(hewn_context *context) {
  if (context->communicator)
    context->symbols[context->model->num_symbols - 1] = context->communicator->rank;
}

static void forgetBindings(hewn_context *context) {
  for (int32_t s = 0; s < context->model->num_symbols; ++s)
    context->bound_by[s] = -1;
}

int32_t hewn_bind_symbols(hewn_context *context, const int64_t *symbols) {
  if (context->model->num_symbols > 0 && !symbols)
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "the array of dimensions is NULL");
  forgetBindings(context);
  int32_t code = checkRanges(context, symbols);
  if (code != HEWN_OK)
    return code;
  for (int32_t s = 0; s < context->model->num_symbols; ++s)
    context->symbols[s] = symbols[s];
  bindRank(context);
  return chooseCase(context);
}

int32_t hewn_bind_inputs(hewn_context *context, const DLTensor *inputs) {
  const hewn_model *model = context->model;
  forgetBindings(context);
  for (int32_t i = 0; i < model->num_inputs; ++i) {
    int32_t code = bindInput(context, i, &inputs[i]);
    if (code != HEWN_OK)
      return code;
  }
  // Sets each symbol that occurs in no input to its minimum, which is the only value that such a
  // symbol can have.
  for (int32_t s = 0; s < model->num_symbols; ++s)
    if (context->bound_by[s] < 0)
      context->symbols[s] = model->symbols[s].min;
  bindRank(context);
  int32_t code = checkRanges(context, context->symbols);
  return code == HEWN_OK ? chooseCase(context) : code;
}

/// Compares the shape of a caller's output with those dims of the output that do not depend on
/// data.
static int32_t checkOutputShape(hewn_context *context, int32_t index, const checked_tensor *checked) {
  const int64_t *want = context->output_dims[index];
  for (int32_t i = 0; i < checked->info->rank; ++i)
    if (want[i] != HEWN_DIM_DYNAMIC && want[i] != checked->tensor->shape[i] && !context->outputs[index].dynamic)
      return failShape(context, checked, want);
  return HEWN_OK;
}

static int32_t bindOutput(hewn_context *context, int32_t index, const DLTensor *tensor) {
  checked_tensor checked = {"output ", &context->output_infos[index], tensor};
  hewn_output_state *state = &context->outputs[index];
  int32_t rank = checked.info->rank;
  int32_t code;
  state->capacity = -1;
  state->given = NULL;
  state->allocated = 0;
  state->on_device = 0;
  if (!tensor->data) {
    if (rank > 0 && !tensor->shape)
      return failWith(context, &checked,
                      "the shape pointer is NULL; it must have space for the rank that "
                      "the model declares");
    return HEWN_OK;
  }
  if ((code = checkRank(context, &checked)) != HEWN_OK || (code = checkType(context, &checked)) != HEWN_OK ||
      (code = checkMemory(context, &checked)) != HEWN_OK ||
      (code = checkOutputShape(context, index, &checked)) != HEWN_OK)
    return code;
  state->capacity = hewn_tensor_bytes(tensor->dtype, tensor->ndim, tensor->shape);
  state->given = (unsigned char *)tensor->data + tensor->byte_offset;
  state->on_device = (uint8_t)isOnDevice(context, tensor);
  return HEWN_OK;
}

int32_t hewn_bind_outputs(hewn_context *context, const DLTensor *outputs) {
  for (int32_t i = 0; i < context->model->num_outputs; ++i) {
    int32_t code = bindOutput(context, i, &outputs[i]);
    if (code != HEWN_OK)
      return code;
  }
  return HEWN_OK;
}

int32_t hewn_bind_allocate(hewn_context *context) {
  for (int32_t i = 0; i < context->model->num_outputs; ++i) {
    context->output_data[i] = NULL;
    if (context->outputs[i].dynamic)
      continue; // generated code allocates this output when its shape is known
    if (!hewn_rt_alloc_output(context, i, context->output_infos[i].rank, context->output_dims[i]))
      return hewn_rt_code(context);
  }
  return HEWN_OK;
}
