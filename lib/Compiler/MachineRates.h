// SPDX-License-Identifier: Apache-2.0
//
// Measures the peak instruction rates and the memory bandwidth of this machine, for a roofline
// model (Williams, Waterman, Patterson: "Roofline", CACM 2009).
#ifndef HEWN_LIB_COMPILER_MACHINERATES_H
#define HEWN_LIB_COMPILER_MACHINERATES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hewn {

/// Rates that loops of a single instruction reach on `threads` threads. Each rate is the best of
/// several measurements.
struct MachineRates {
  /// `target`: target that the loops were compiled for. `threads`: number of threads that ran a
  /// loop at the same time.
  std::string target;
  int threads = 1;
  /// Number of multiplications plus additions per second, for operands of the MLIR type `type`
  /// ("f32", "i8"). The first entry of the list is the rate of float32 FMAs; the rates of the
  /// target's dot-product instructions follow.
  struct Rate {
    std::string type;
    double perSecond;
  };
  std::vector<Rate> rates = {};
  /// Number of bytes per second when a buffer of `bytes` bytes is read repeatedly. The list is in
  /// ascending order of the buffer size; the last buffer does not fit the caches.
  struct Bandwidth {
    double bytes, bytesPerSecond;
  };
  std::vector<Bandwidth> bandwidths = {};
  /// Number of seconds that measuring all rates took.
  double seconds = 0;

  /// Returns the peak rate for kernels that multiply elements of `type`. An integer type has the
  /// rate of the fastest integer dot product. If `rounds`, float32 may be rounded to 16-bit floats,
  /// so it has the rate of their dot products.
  double rateOf(llvm::StringRef type, bool rounds) const;
  /// Returns the peak bandwidth for repeated reads of a buffer of `bytes` bytes.
  double bandwidthOf(double bytes) const;
};

/// Compiles the loops for `target` ("host", "x86-64-v3") and measures them, in a fraction of a
/// second. Returns an error if this machine cannot run code for the target.
llvm::Expected<MachineRates> measureMachine(llvm::StringRef target, int threads);

} // namespace hewn

#endif
