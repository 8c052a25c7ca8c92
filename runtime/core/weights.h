// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CORE_WEIGHTS_H
#define HEWN_RUNTIME_CORE_WEIGHTS_H

/// \file
/// Weights that are not embedded in the binary: checks for the platforms' hewn_weights_table. In
/// all functions, `path` is that of the weights file, or NULL for weights in the caller's memory.

#include "core/context.h"

/// Uses the weights in the caller's memory, options->weights, after checking them.
int32_t hewn_weights_take_memory(hewn_context *context, const hewn_context_options *options);

/// Checks the header of weights with a total of `bytes` bytes, and their size.
int32_t hewn_weights_check(hewn_context *context, const char *path, const hewn_weights_header *header, uint64_t bytes);
/// Compares the data after `header` with the checksum.
int32_t hewn_weights_verify(hewn_context *context, const hewn_weights_header *header, const char *path);
/// Returns the checksum of the weights at `data`, as it is stored in hewn_weights_header
/// (checksum.c).
uint64_t hewn_weights_checksum(const unsigned char *data, uint64_t bytes);

/// Starts a failure message about the weights. Returns false if an earlier failure of the context
/// has already written it.
int hewn_weights_open_failure(hewn_context *context, const char *path, hewn_text *text);
/// Record a failure, and return HEWN_IO: with a constant message, and for a wrong size.
int32_t hewn_weights_fail(hewn_context *context, const char *path, const char *message);
int32_t hewn_weights_fail_size(hewn_context *context, const char *path, int64_t want, int64_t got);

#endif // HEWN_RUNTIME_CORE_WEIGHTS_H
