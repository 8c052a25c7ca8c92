// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_LIST_H
#define HEWN_RUNTIME_LIST_H

/// \file
/// Representation of sequences in the runtime. A handle is the address of a `hewn_list`, whose
/// first member is the caller's hewn_sequence; 0 is an empty sequence or an absent optional value.

#include "hewn/services.h"

/// Storage of the tensors of one or several lists. A list that was produced by appending to another
/// list shares the other list's storage.
typedef struct hewn_list_store {
  int64_t capacity;
  int64_t used;
  DLTensor *elements;
} hewn_list_store;

typedef struct hewn_list {
  hewn_sequence seen;
  hewn_list_store *store; ///< NULL if no element may be appended in place
} hewn_list;

/// Creates a list with `length` uninitialized tensors and capacity for `capacity`. Returns NULL on
/// failure, after recording it.
hewn_list *hewn_list_make(hewn_context *context, int64_t length, int64_t capacity);
/// Describes a new tensor in `to` and returns its uninitialized data. Returns NULL on failure,
/// after recording it.
void *hewn_list_room(hewn_context *context, DLTensor *to, DLDataType dtype, int32_t rank, const int64_t *dims);
/// Describes a new tensor in `to` and copies the row-major `data` to it. Returns nonzero on
/// failure, after recording it.
int32_t hewn_list_fill(hewn_context *context, DLTensor *to, DLDataType dtype, int32_t rank, const int64_t *dims,
                       const void *data);

#endif // HEWN_RUNTIME_LIST_H
