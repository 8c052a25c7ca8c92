// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_NONE_CPU_H
#define HEWN_RUNTIME_NONE_CPU_H

/// \file
/// CPU features of platforms that cannot query them: none. The variants of a model for such a
/// platform require none, so their code uses all instructions of the target.

#include "hewn/services.h"

static uint64_t hewn_no_features(void) { return 0; }

static const char *hewn_no_feature_name(uint64_t bit) {
  (void)bit;
  return "instructions that this platform cannot query";
}

#endif // HEWN_RUNTIME_NONE_CPU_H
