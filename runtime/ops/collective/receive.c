// SPDX-License-Identifier: Apache-2.0
// Receive: receives a tensor from another rank of a partitioned model. params: source rank.
#include "hewn/communicator.h"
#include "ops/element.h"

int32_t hewn_part_receive(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                          int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)inputs;
  (void)num_outputs;
  const hewn_communicator *group = hewn_rt_communicator(context);
  int64_t bytes = hewn_part_product(outputs[0].dims, 0, outputs[0].rank) * hewn_part_bytes(outputs[0].dtype);
  if (bytes == 0)
    return HEWN_OK;
  void *stream = NULL;
  const hewn_device_transport *device = hewn_rt_transport(context, &stream);
  hewn_rt_transfer(context, "receive", (int32_t)params[0], 1, bytes);
  int32_t code = device ? device->receive(group->user, (int32_t)params[0], outputs[0].data, (size_t)bytes, stream)
                        : group->receive(group->user, (int32_t)params[0], outputs[0].data, (size_t)bytes);
  return hewn_rt_transferred(context, node, code);
}
