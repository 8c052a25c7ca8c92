// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_LIST_HANDLES_H
#define HEWN_RUNTIME_PARTS_LIST_HANDLES_H

/// \file
/// Access to operands of the runtime functions for lists.

#include "core/list.h"
#include "ops/element.h"

/// Returns the list of an operand; an empty list for address 0.
const hewn_list *hewn_list_of(const hewn_part_tensor *handle);
/// Writes the address of a list to a result of a runtime function.
void hewn_list_give(hewn_part_tensor *result, const hewn_list *list);
/// Returns the tensor of a list at the position that an operand contains. Returns NULL if the
/// position is out of range, after recording the failure.
const DLTensor *hewn_list_element(hewn_context *context, const char *node, const hewn_list *list,
                                  const hewn_part_tensor *place);
/// Returns the address of a tensor's first element.
const unsigned char *hewn_list_data(const DLTensor *tensor);

#endif // HEWN_RUNTIME_PARTS_LIST_HANDLES_H
