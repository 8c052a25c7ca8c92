// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values of callers: checks inputs and converts them to handles, and copies
// outputs that point to memory of the previous run.
#include "core/context.h"
#include "core/list.h"
#include "core/string.h"

static int32_t failElement(hewn_context *context, const hewn_tensor_info *info, int64_t i, const char *what) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "input ");
  hewn_text_name(&text, info->name);
  if (i >= 0) {
    hewn_text_put(&text, ": tensor ");
    hewn_text_int(&text, i);
  }
  hewn_text_put(&text, ": ");
  hewn_text_put(&text, what);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int32_t failType(hewn_context *context, const hewn_tensor_info *info, int64_t i, DLDataType got) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, "input ");
  hewn_text_name(&text, info->name);
  hewn_text_put(&text, ": tensor ");
  hewn_text_int(&text, i);
  hewn_text_put(&text, ": dtype ");
  hewn_text_dtype(&text, info->element);
  hewn_text_put(&text, " expected, got ");
  hewn_text_dtype(&text, got);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int32_t checkElement(hewn_context *context, const hewn_tensor_info *info, int64_t i, const DLTensor *tensor) {
  int sameType = tensor->dtype.bits == info->element.bits && tensor->dtype.lanes == info->element.lanes &&
                 (tensor->dtype.code == info->element.code ||
                  (info->element.code == HEWN_DL_BOOL && tensor->dtype.code == kDLUInt));
  if (!sameType)
    return failType(context, info, i, tensor->dtype);
  if (info->element_rank >= 0 && tensor->ndim != info->element_rank)
    return failElement(context, info, i, "the rank is not the one that the model was compiled for");
  if (tensor->ndim < 0 || tensor->ndim > 64 || (tensor->ndim > 0 && !tensor->shape))
    return failElement(context, info, i, "the shape is missing");
  int64_t bytes = hewn_tensor_bytes(tensor->dtype, tensor->ndim, tensor->shape);
  if (bytes < 0)
    return failElement(context, info, i, "the shape has a negative dim or overflows");
  if (tensor->device.device_type != kDLCPU)
    return failElement(context, info, i, "CPU memory expected");
  if (bytes > 0 && !tensor->data)
    return failElement(context, info, i, "the data pointer is NULL");
  int64_t stride = 1;
  for (int32_t d = tensor->ndim; bytes > 0 && tensor->strides && d-- > 0; stride *= tensor->shape[d])
    if (tensor->shape[d] != 1 && tensor->strides[d] != stride)
      return failElement(context, info, i, "row-major strides (or NULL) expected");
  return HEWN_OK;
}

int32_t hewn_sequence_take(hewn_context *context, int32_t index, const void *data) {
  const hewn_tensor_info *info = &context->model->inputs[index];
  hewn_handle handle;
  memcpy(&handle, data, sizeof(handle)); // the caller's tensor may be unaligned
  const hewn_sequence *given = hewn_handle_object(handle);
  hewn_handle *slot = hewn_rt_keep(context, (int64_t)sizeof(hewn_handle));
  if (!slot)
    return HEWN_OUT_OF_MEMORY;
  context->input_data[index] = slot;
  *slot = 0;
  if (!given)
    return info->kind == HEWN_KIND_SEQUENCE ? failElement(context, info, -1, "the sequence is NULL") : HEWN_OK;
  if (given->length < 0 || (given->length > 0 && !given->elements))
    return failElement(context, info, -1, "the sequence has a negative length or no elements");
  if (info->kind == HEWN_KIND_OPTIONAL && given->length != 1)
    return failElement(context, info, -1, "a sequence of one tensor expected, or NULL");
  for (int64_t i = 0; i < given->length; ++i) {
    int32_t code = checkElement(context, info, i, &given->elements[i]);
    if (code != HEWN_OK)
      return code;
  }
  hewn_list *list = hewn_rt_keep(context, (int64_t)sizeof(hewn_list));
  if (!list)
    return HEWN_OUT_OF_MEMORY;
  list->seen = *given;
  list->store = NULL;
  *slot = hewn_handle_of(list);
  return HEWN_OK;
}

//===-- Outputs that are memory of the previous run ----------------------===//

static int isLeaving(const hewn_context *context, const hewn_handle *strings, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (hewn_keep_is_leaving(context, hewn_handle_object(strings[i])))
      return 1;
  return 0;
}

/// Replaces strings in memory of the previous run by copies.
static int32_t keepStrings(hewn_context *context, hewn_handle *strings, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const char *text = hewn_handle_object(strings[i]);
    if (!hewn_keep_is_leaving(context, text))
      continue;
    size_t bytes = hewn_strlen(text) + 1;
    char *copy = hewn_rt_keep(context, (int64_t)bytes);
    if (!copy)
      return HEWN_OUT_OF_MEMORY;
    memcpy(copy, text, bytes);
    strings[i] = hewn_handle_of(copy);
  }
  return HEWN_OK;
}

/// Returns the number of elements of a tensor of strings.
static int64_t countStrings(const DLTensor *tensor) {
  return hewn_tensor_bytes(tensor->dtype, tensor->ndim, tensor->shape) / (int64_t)sizeof(hewn_handle);
}

static const void *dataOf(const DLTensor *tensor) { return (const char *)tensor->data + tensor->byte_offset; }

static int isElementLeaving(const hewn_context *context, const DLTensor *tensor) {
  if (hewn_keep_is_leaving(context, tensor->data) || hewn_keep_is_leaving(context, tensor->shape))
    return 1;
  return tensor->dtype.code == kDLOpaqueHandle && isLeaving(context, dataOf(tensor), countStrings(tensor));
}

static int32_t keepSequence(hewn_context *context, hewn_handle *slot) {
  const hewn_sequence *given = hewn_handle_object(*slot);
  if (!given)
    return HEWN_OK;
  int leaves = hewn_keep_is_leaving(context, given) || hewn_keep_is_leaving(context, given->elements);
  for (int64_t i = 0; !leaves && i < given->length; ++i)
    leaves = isElementLeaving(context, &given->elements[i]);
  if (!leaves)
    return HEWN_OK;
  hewn_list *list = hewn_list_make(context, given->length, given->length);
  if (!list)
    return HEWN_OUT_OF_MEMORY;
  for (int64_t i = 0; i < given->length; ++i) {
    const DLTensor *from = &given->elements[i];
    DLTensor *to = &list->store->elements[i];
    *to = *from;
    if (!isElementLeaving(context, from))
      continue;
    int32_t code = hewn_list_fill(context, to, from->dtype, from->ndim, from->shape, dataOf(from));
    if (code == HEWN_OK && to->dtype.code == kDLOpaqueHandle)
      code = keepStrings(context, to->data, countStrings(to));
    if (code != HEWN_OK)
      return code;
  }
  *slot = hewn_handle_of(&list->seen);
  return HEWN_OK;
}

int32_t hewn_sequence_keep_outputs(hewn_context *context) {
  int32_t code = HEWN_OK;
  for (int32_t i = 0; code == HEWN_OK && i < context->model->num_outputs; ++i) {
    const hewn_tensor_info *info = &context->output_infos[i];
    if (info->dtype.code != kDLOpaqueHandle || context->outputs[i].on_device)
      continue;
    if (info->kind == HEWN_KIND_TENSOR)
      code = keepStrings(context, context->output_data[i],
                         hewn_tensor_bytes(info->dtype, info->rank, context->output_dims[i]) /
                             (int64_t)sizeof(hewn_handle));
    else
      code = keepSequence(context, context->output_data[i]);
  }
  return code;
}
