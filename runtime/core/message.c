// SPDX-License-Identifier: Apache-2.0
// Formats messages into the context's fixed buffer, without allocation and locale.

#include "core/context.h"
#include "core/string.h"

/// Maximum length of a name in a message, in bytes. Longer names are shortened.
#define NAME_BYTES 120

static void putBytes(hewn_text *text, const char *bytes, size_t count) {
  size_t room = (size_t)(text->end - text->at);
  if (count > room)
    count = room;
  memcpy(text->at, bytes, count);
  text->at += count;
}

void hewn_text_put(hewn_text *text, const char *string) { putBytes(text, string, hewn_strlen(string)); }

void hewn_text_name(hewn_text *text, const char *name) {
  size_t length = name ? hewn_strlen(name) : 0;
  hewn_text_put(text, "'");
  if (length <= NAME_BYTES) {
    putBytes(text, name ? name : "", length);
  } else { // the end of a node's name is more specific than its beginning
    hewn_text_put(text, "...");
    putBytes(text, name + length - (NAME_BYTES - 3), NAME_BYTES - 3);
  }
  hewn_text_put(text, "'");
}

void hewn_text_int(hewn_text *text, int64_t value) {
  char digits[20];
  size_t count = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do
    digits[sizeof(digits) - ++count] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (value < 0)
    hewn_text_put(text, "-");
  putBytes(text, digits + sizeof(digits) - count, count);
}

void hewn_text_dims(hewn_text *text, int32_t rank, const int64_t *dims) {
  hewn_text_put(text, "[");
  for (int32_t i = 0; i < rank; ++i) {
    if (i)
      hewn_text_put(text, ", ");
    if (dims[i] == HEWN_DIM_DYNAMIC || dims[i] == HEWN_DIM_FORMULA)
      hewn_text_put(text, "?");
    else
      hewn_text_int(text, dims[i]);
  }
  hewn_text_put(text, "]");
}

void hewn_text_spec(hewn_text *text, const hewn_model *model, const hewn_tensor_info *info) {
  hewn_text_put(text, "[");
  for (int32_t i = 0; i < info->rank; ++i) {
    int64_t dim = info->dims[i];
    if (i)
      hewn_text_put(text, ", ");
    if (dim == HEWN_DIM_DYNAMIC || dim == HEWN_DIM_FORMULA)
      hewn_text_put(text, "?");
    else if (dim < 0)
      hewn_text_put(text, model->symbols[-1 - dim].name);
    else
      hewn_text_int(text, dim);
  }
  hewn_text_put(text, "]");
}

void hewn_text_dtype(hewn_text *text, DLDataType dtype) {
  static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  if (dtype.code < sizeof(names) / sizeof(names[0])) {
    hewn_text_put(text, names[dtype.code]);
  } else {
    hewn_text_put(text, "dtype code ");
    hewn_text_int(text, dtype.code);
    hewn_text_put(text, " of bits ");
  }
  if (dtype.code != HEWN_DL_BOOL || dtype.bits != 8)
    hewn_text_int(text, dtype.bits);
  if (dtype.lanes != 1) {
    hewn_text_put(text, "x");
    hewn_text_int(text, dtype.lanes);
  }
}

int hewn_message_open(hewn_context *context, hewn_text *text) {
  text->at = context->message;
  text->end = context->message + sizeof(context->message) - 1;
  return __atomic_exchange_n(&context->failed, 1, __ATOMIC_ACQ_REL) == 0;
}

int32_t hewn_text_close(hewn_context *context, int32_t code, hewn_text *text) {
  *text->at = '\0';
  __atomic_store_n(&context->code, code, __ATOMIC_RELEASE);
  return code;
}

int32_t hewn_message_fail(hewn_context *context, int32_t code, const char *message) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return code;
  hewn_text_put(&text, message);
  return hewn_text_close(context, code, &text);
}

void hewn_message_clear(hewn_context *context) {
  __atomic_store_n(&context->failed, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&context->code, HEWN_OK, __ATOMIC_RELAXED);
  context->message[0] = '\0';
}

hewn_status hewn_message_status(const hewn_context *context) {
  hewn_status status = {hewn_rt_code(context), context->message};
  return status;
}

int32_t hewn_rt_code(const hewn_context *context) { return __atomic_load_n(&context->code, __ATOMIC_ACQUIRE); }

int32_t hewn_rt_fail(hewn_context *context, int32_t code, const char *node, const char *message, int64_t a, int64_t b) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return code;
  if (node) {
    hewn_text_put(&text, "node ");
    hewn_text_name(&text, node);
    hewn_text_put(&text, ": ");
  }
  for (const char *at = message; *at;) {
    if (at[0] == '{' && (at[1] == 'a' || at[1] == 'b') && at[2] == '}') {
      hewn_text_int(&text, at[1] == 'a' ? a : b);
      at += 3;
    } else {
      putBytes(&text, at++, 1);
    }
  }
  return hewn_text_close(context, code, &text);
}
