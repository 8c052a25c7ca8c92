// SPDX-License-Identifier: Apache-2.0
//
// How fast the machine is that this process runs on: the two roofs of a roofline (Williams, Waterman, Patterson: "Roofline", CACM 2009).
#ifndef HEWN_LIB_COMPILER_MACHINERATES_H
#define HEWN_LIB_COMPILER_MACHINERATES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hewn {

/// What loops of one instruction reach on `threads` threads, the best of some tries.
struct MachineRates {
  /// The instruction set that the loops were compiled for, and the threads that ran them at once.
  std::string target;
  int threads = 1;
  /// Multiplications and additions a second, by what is multiplied, as MLIR has it ("f32", "i8"). float32 comes first; the others are the
  /// target's dot products.
  struct Rate {
    std::string type;
    double perSecond;
  };
  std::vector<Rate> rates = {};
  /// Bytes a second of reads of as many bytes again and again, from the smallest on; the last one is too much for caches.
  struct Bandwidth {
    double bytes, bytesPerSecond;
  };
  std::vector<Bandwidth> bandwidths = {};
  /// What measuring took.
  double seconds = 0;

  /// The rate at which kernels that multiply `type` can, at most: integers by any dot product of integers, and where `rounds` float32s by those
  /// of 16-bit floats.
  double rateOf(llvm::StringRef type, bool rounds) const;
  /// The rate at which so many bytes can be read, at most.
  double bandwidthOf(double bytes) const;
};

/// Compiles loops for `target` ("host", "x86-64-v3") and runs them: a fraction of a second. Fails, and says why, where this machine does not
/// run such code.
llvm::Expected<MachineRates> measureMachine(llvm::StringRef target, int threads);

} // namespace hewn

#endif
