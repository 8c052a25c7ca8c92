// SPDX-License-Identifier: Apache-2.0
// Checks weights that are not embedded in the binary, and uses those that the caller has in memory.

#include "core/weights.h"
#include "core/string.h"

_Static_assert(sizeof(hewn_weights_header) == 64, "the header of a weights file has 64 bytes");

int hewn_weights_open_failure(hewn_context *context, const char *path, hewn_text *text) {
  if (!hewn_message_open(context, text))
    return 0;
  hewn_text_put(text, "model ");
  hewn_text_name(text, context->model->name);
  hewn_text_put(text, path ? ": weights file " : ": options.weights");
  if (path)
    hewn_text_name(text, path);
  return 1;
}

int32_t hewn_weights_fail(hewn_context *context, const char *path, const char *message) {
  hewn_text text;
  if (!hewn_weights_open_failure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, message);
  return hewn_text_close(context, HEWN_IO, &text);
}

int32_t hewn_weights_fail_size(hewn_context *context, const char *path, int64_t want, int64_t got) {
  hewn_text text;
  if (!hewn_weights_open_failure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, got < want ? " is truncated: " : " is too long: ");
  hewn_text_int(&text, want);
  hewn_text_put(&text, " bytes expected, got ");
  hewn_text_int(&text, got);
  return hewn_text_close(context, HEWN_IO, &text);
}

/// Reports that the weights have the digest of another model.
static int32_t failDigest(hewn_context *context, const char *path, const char *got) {
  char digest[sizeof(((hewn_weights_header *)0)->digest) + 1];
  memcpy(digest, got, sizeof(digest) - 1);
  digest[sizeof(digest) - 1] = '\0';
  hewn_text text;
  if (!hewn_weights_open_failure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, " belongs to another model: digest ");
  hewn_text_name(&text, context->model->weights_digest);
  hewn_text_put(&text, " expected, got ");
  hewn_text_name(&text, digest);
  return hewn_text_close(context, HEWN_IO, &text);
}

int32_t hewn_weights_check(hewn_context *context, const char *path, const hewn_weights_header *header, uint64_t bytes) {
  const hewn_model *model = context->model;
  char want[sizeof(header->digest)] = {0};
  uint64_t wantBytes = model->weights_bytes + sizeof(hewn_weights_header);
  if (bytes < sizeof(*header))
    return hewn_weights_fail_size(context, path, (int64_t)wantBytes, (int64_t)bytes);
  if (memcmp(header->magic, "HEWNW", sizeof(header->magic)) != 0)
    return hewn_weights_fail(context, path, " is not a weights file of hewn");
  if (header->version != HEWN_WEIGHTS_VERSION)
    return hewn_weights_fail(context, path,
                             " was written by another version of hewn: compile the model "
                             "again");
  size_t length = hewn_strlen(model->weights_digest);
  memcpy(want, model->weights_digest, length < sizeof(want) ? length : sizeof(want));
  if (memcmp(want, header->digest, sizeof(want)) != 0)
    return failDigest(context, path, header->digest);
  if (header->data_bytes != model->weights_bytes)
    return hewn_weights_fail_size(context, path, (int64_t)model->weights_bytes, (int64_t)header->data_bytes);
  return bytes == wantBytes ? HEWN_OK : hewn_weights_fail_size(context, path, (int64_t)wantBytes, (int64_t)bytes);
}

int32_t hewn_weights_verify(hewn_context *context, const hewn_weights_header *header, const char *path) {
  const unsigned char *data = (const unsigned char *)(header + 1);
  if (hewn_weights_checksum(data, context->model->weights_bytes) == header->checksum)
    return HEWN_OK;
  return hewn_weights_fail(context, path, " is damaged: the checksum does not match the data");
}

int32_t hewn_weights_take_memory(hewn_context *context, const hewn_context_options *options) {
  const hewn_weights_header *header = options->weights;
  int32_t code = hewn_weights_check(context, NULL, header, options->weights_bytes);
  if (code == HEWN_OK && (options->flags & HEWN_VERIFY_WEIGHTS))
    code = hewn_weights_verify(context, header, NULL);
  context->weights = (const unsigned char *)(header + 1);
  return code;
}
