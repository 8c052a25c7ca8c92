// SPDX-License-Identifier: Apache-2.0
// Weights on a platform without files: those in the caller's memory.

#include "core/weights.h"

static int32_t acquire(hewn_context *context, const hewn_context_options *options) {
  if (options->weights)
    return hewn_weights_take_memory(context, options);
  return hewn_message_fail(context, HEWN_IO, "options.weights is required: this platform has no files");
}

const hewn_weights_table hewn_rt_weights = {acquire, NULL};
