// SPDX-License-Identifier: Apache-2.0
//
// From the text of `hewn compile --emit=llvm --target=sm_80` to kernels that the CPU runs.
#ifndef HEWN_TEST_EMULATOR_DRIVER_CODE_H
#define HEWN_TEST_EMULATOR_DRIVER_CODE_H

#include "test/Emulator/Driver/Machine.h"

#include <memory>
#include <string>

namespace emulator {

class Code {
public:
  virtual ~Code() = default;
  /// Null for a name that no module defines.
  virtual const Kernel *find(const std::string &name) = 0;
};

/// Null where the file can't be read or compiled; `problem` says why.
std::unique_ptr<Code> loadCode(const std::string &path, std::string &problem);

} // namespace emulator

#endif
