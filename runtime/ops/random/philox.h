// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_RANDOM_PHILOX_H
#define HEWN_RUNTIME_PARTS_RANDOM_PHILOX_H

/// \file
/// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as
/// 1, 2, 3", 2011). A number depends only on the sequence and its index; there is no other state.

#include "hewn/services.h"

/// The key that identifies a sequence of random numbers.
typedef struct hewn_philox {
  uint32_t key[2];
  uint32_t stream[2];
} hewn_philox;

/// Returns the sequence for a random op's first two parameters, has_seed and seed. Without a seed,
/// each call returns a different sequence.
hewn_philox hewn_philox_make(hewn_context *context, const int64_t *params);

/// Computes block `counter` (four 32-bit numbers) of a sequence of random numbers.
void hewn_philox_block(const hewn_philox *philox, uint64_t counter, uint32_t words[4]);

/// Returns random number `index` of the sequence, uniform in (0, 1).
double hewn_philox_uniform(const hewn_philox *philox, uint64_t index);

/// Returns random number `index` of the sequence, from the standard normal distribution.
double hewn_philox_normal(const hewn_philox *philox, uint64_t index);

/// Returns the natural logarithm of a positive normal number, accurate to about 1e-15. It replaces
/// libm's function, so that artifacts need no libm.
double hewn_philox_log(double x);

#endif // HEWN_RUNTIME_PARTS_RANDOM_PHILOX_H
