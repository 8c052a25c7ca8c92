// SPDX-License-Identifier: Apache-2.0
//
// How long two models take.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_TIMING_H
#define HEWN_LIB_COMPILER_QUANTIZATION_TIMING_H

#include "lib/Compiler/LoadedLibrary.h"

namespace hewn::quantize {

/// Milliseconds of a run, the fastest of `rounds`; on this machine, on one thread.
struct Times {
  double floats = 0, integers = 0;
  int64_t rounds = 0;
};

/// Runs both in turns on the same inputs, for half a second or a few rounds. 0 rounds where a run fails.
Times measure(LoadedLibrary &floats, LoadedLibrary &integers, const std::vector<Array> &inputs);

} // namespace hewn::quantize

#endif
