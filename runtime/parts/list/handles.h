// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_LIST_HANDLES_H
#define HEWN_RUNTIME_PARTS_LIST_HANDLES_H

/// \file
/// Operands of the parts on lists.

#include "handles/list.h"
#include "parts/element.h"

/// The list that an operand holds; an empty one for 0.
const hewn_list *hewn_list_of(const hewn_part_tensor *handle);
/// Writes a list as a result.
void hewn_list_give(hewn_part_tensor *result, const hewn_list *list);
/// The tensor at the place that an operand tells; NULL after a failure that is recorded.
const DLTensor *hewn_list_element(hewn_context *context, const char *node, const hewn_list *list,
                                  const hewn_part_tensor *place);
/// Where a tensor's elements begin.
const unsigned char *hewn_list_data(const DLTensor *tensor);

#endif // HEWN_RUNTIME_PARTS_LIST_HANDLES_H
