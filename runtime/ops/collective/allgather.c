// SPDX-License-Identifier: Apache-2.0
// AllGather: concatenates the operands of some ranks of a partitioned model. params: first rank,
// number of ranks.
#include "hewn/communicator.h"
#include "ops/element.h"

int32_t hewn_part_allgather(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_communicator *group = hewn_rt_communicator(context);
  int64_t bytes = hewn_part_product(inputs[0].dims, 0, inputs[0].rank) * hewn_part_bytes(inputs[0].dtype);
  if (bytes == 0) // the operands are empty on all ranks
    return HEWN_OK;
  void *stream = NULL;
  const hewn_device_transport *device = hewn_rt_transport(context, &stream);
  hewn_rt_transfer(context, "all-gather", (int32_t)params[0], (int32_t)params[1], bytes);
  int32_t code = device ? device->all_gather(group->user, (int32_t)params[0], (int32_t)params[1], inputs[0].data,
                                             outputs[0].data, (size_t)bytes, stream)
                        : group->all_gather(group->user, (int32_t)params[0], (int32_t)params[1], inputs[0].data,
                                            outputs[0].data, (size_t)bytes);
  return hewn_rt_transferred(context, node, code);
}
