// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_RANDOM_PHILOX_H
#define HEWN_RUNTIME_PARTS_RANDOM_PHILOX_H

/// \file
/// Random numbers by position: Philox4x32-10 (Salmon et al., "Parallel Random
/// Numbers: As Easy as 1, 2, 3"). No state, so nothing to share or to seed.

#include "hewn/services.h"

/// What makes a sequence.
typedef struct hewn_philox {
  uint32_t key[2];
  uint32_t stream[2];
} hewn_philox;

/// From a random op's first two parameters, has_seed and seed. Without a seed
/// each call begins another sequence.
hewn_philox hewn_philox_make(hewn_context *context, const int64_t *params);

/// Block `counter` of the sequence.
void hewn_philox_block(const hewn_philox *philox, uint64_t counter, uint32_t words[4]);

/// Number `index` of the sequence: a double in (0, 1).
double hewn_philox_uniform(const hewn_philox *philox, uint64_t index);

/// Number `index` of the standard normal distribution.
double hewn_philox_normal(const hewn_philox *philox, uint64_t index);

/// The natural logarithm of a positive normal number, to about 1e-15.
/// Artifacts need no libm.
double hewn_philox_log(double x);

#endif // HEWN_RUNTIME_PARTS_RANDOM_PHILOX_H
