// SPDX-License-Identifier: Apache-2.0
//
// Compiles the kernels' LLVM IR (the output of `hewn compile --emit=llvm --target=sm_80`) for the
// CPU.
#ifndef HEWN_TEST_EMULATOR_DRIVER_CODE_H
#define HEWN_TEST_EMULATOR_DRIVER_CODE_H

#include "test/Emulator/Driver/Machine.h"

#include <memory>
#include <string>

namespace emulator {

class Code {
public:
  virtual ~Code() = default;
  /// Returns the kernel of that name, or null if no module defines one.
  virtual const Kernel *find(const std::string &name) = 0;
};

/// Reads and compiles the file at `path`. Returns null and sets `problem` if the file can't be read
/// or compiled.
std::unique_ptr<Code> loadCode(const std::string &path, std::string &problem);

} // namespace emulator

#endif
