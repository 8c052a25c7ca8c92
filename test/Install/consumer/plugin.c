// SPDX-License-Identifier: Apache-2.0
#include "line.h"

__attribute__((visibility("default"))) int plugin_run(const float *x, float *y) {
  hewn_context *context;
  hewn_status status = hewn_context_create(&line, NULL, &context);
  if (status.code == HEWN_OK)
    status = line_run(context, x, y, 1);
  hewn_context_destroy(context);
  return status.code;
}
