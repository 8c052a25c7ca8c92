// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_TEXT_STRINGS_H
#define HEWN_RUNTIME_PARTS_TEXT_STRINGS_H

/// \file
/// Access to tensors of strings.

#include "ops/element.h"

/// Returns element `i` of a tensor of strings; "" if its address is 0.
static inline const char *hewn_text_at(const hewn_part_tensor *tensor, int64_t i) {
  const char *text = hewn_handle_object(((const hewn_handle *)tensor->data)[i]);
  return text ? text : "";
}

/// Sets element `i` of a tensor of strings.
static inline void hewn_text_set(hewn_part_tensor *tensor, int64_t i, const char *text) {
  ((hewn_handle *)tensor->data)[i] = hewn_handle_of(text);
}

static inline int64_t hewn_text_count(const hewn_part_tensor *tensor) {
  return hewn_part_product(tensor->dims, 0, tensor->rank);
}

/// Returns true if a tensor of bytes ends with a zero byte, like a string.
static inline int hewn_text_ends(const hewn_part_tensor *bytes) {
  return bytes->rank == 1 && bytes->dims[0] > 0 && ((const char *)bytes->data)[bytes->dims[0] - 1] == '\0';
}

#endif // HEWN_RUNTIME_PARTS_TEXT_STRINGS_H
