// SPDX-License-Identifier: Apache-2.0
// The platform's table: bare metal has no allocator, clock or errno.

#include "platform/none/cpu.h"

const hewn_platform_table hewn_rt_platform = {NULL, hewn_no_features, hewn_no_feature_name, NULL, NULL};
