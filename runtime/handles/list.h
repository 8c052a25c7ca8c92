// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_LIST_H
#define HEWN_RUNTIME_LIST_H

/// \file
/// Sequences as parts and the door see them. A handle is the address of a `hewn_list`, whose first member is what callers see;
/// 0 is an empty sequence, or an optional value that is not there.

#include "hewn/services.h"

/// Where the tensors of one or several lists stand: those that were made by putting one more behind share their beginning.
typedef struct hewn_list_store {
  int64_t capacity;
  int64_t used;
  DLTensor *elements;
} hewn_list_store;

typedef struct hewn_list {
  hewn_sequence seen;
  hewn_list_store *store; ///< NULL: nobody may write behind the last
} hewn_list;

/// A list with room for `capacity` tensors and `length` of them to be filled in; NULL after a failure that is recorded.
hewn_list *hewn_list_make(hewn_context *context, int64_t length, int64_t capacity);
/// Makes a tensor of this type. Its elements, which are to be written; NULL after a failure that is recorded.
void *hewn_list_room(hewn_context *context, DLTensor *to, DLDataType dtype, int32_t rank, const int64_t *dims);
/// A copy of a tensor of this type, which lies row-major at `data`; nonzero after a failure that is recorded.
int32_t hewn_list_fill(hewn_context *context, DLTensor *to, DLDataType dtype, int32_t rank, const int64_t *dims,
                       const void *data);

#endif // HEWN_RUNTIME_LIST_H
