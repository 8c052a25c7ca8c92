// SPDX-License-Identifier: Apache-2.0
// NonZero in two passes: count, then write the coordinates, one row a dim.
#include "element.h"

static int isNonZero(const unsigned char *element, int64_t bytes, int32_t dtype) {
  int isFloat = dtype == HEWN_PART_FLOAT || dtype == HEWN_PART_DOUBLE || dtype == HEWN_PART_FLOAT16 ||
                dtype == HEWN_PART_BFLOAT16;
  unsigned any = 0;
  if (dtype == HEWN_PART_COMPLEX64 || dtype == HEWN_PART_COMPLEX128) {
    int32_t part = dtype == HEWN_PART_COMPLEX64 ? HEWN_PART_FLOAT : HEWN_PART_DOUBLE;
    return isNonZero(element, bytes / 2, part) || isNonZero(element + bytes / 2, bytes / 2, part);
  }
  for (int64_t i = 0; i + 1 < bytes; ++i)
    any |= element[i];
  // The sign of a zero does not count.
  any |= isFloat ? element[bytes - 1] & 0x7fu : element[bytes - 1];
  return any != 0;
}

int32_t hewn_part_nonzero(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                          int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const hewn_part_tensor *x = &inputs[0];
  int64_t bytes = hewn_part_bytes(x->dtype);
  if (bytes == 0 || x->dtype == HEWN_PART_STRING)
    return hewn_part_refuse(context, node, x->dtype);
  const unsigned char *data = x->data;
  int64_t elements = hewn_part_product(x->dims, 0, x->rank);
  int64_t count = 0;
  for (int64_t i = 0; i < elements; ++i)
    count += isNonZero(data + i * bytes, bytes, x->dtype);
  int64_t at = 0;
  int64_t *out = outputs[0].data;
  for (int64_t i = 0; i < elements; ++i) {
    if (!isNonZero(data + i * bytes, bytes, x->dtype))
      continue;
    int64_t rest = i;
    for (int32_t d = x->rank; d-- > 0; rest /= x->dims[d])
      out[d * count + at] = rest % x->dims[d];
    ++at;
  }
  outputs[0].dims[0] = x->rank;
  outputs[0].dims[1] = count;
  return HEWN_OK;
}
