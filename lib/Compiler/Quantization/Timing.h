// SPDX-License-Identifier: Apache-2.0
//
// Measures the run times of two models.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_TIMING_H
#define HEWN_LIB_COMPILER_QUANTIZATION_TIMING_H

#include "lib/Compiler/Load/LoadedLibrary.h"

namespace hewn::quantize {

/// Milliseconds per run of the float and of the integer model: the fastest of `rounds` runs, on one
/// thread of this machine.
struct Times {
  double floats = 0, integers = 0;
  int64_t rounds = 0;
};

/// Runs the float and the integer model alternately on the same inputs, for half a second or a few
/// rounds. Returns 0 rounds if a run fails.
Times measure(LoadedLibrary &floats, LoadedLibrary &integers, const std::vector<Array> &inputs);

} // namespace hewn::quantize

#endif
