// SPDX-License-Identifier: Apache-2.0
//
// The RISC-V targets of the compiler: 64 bits, little-endian.
#ifndef HEWN_LIB_TARGET_RISCV_RISCVTARGET_H
#define HEWN_LIB_TARGET_RISCV_RISCVTARGET_H

#include "lib/Target/Base/Target.h"

namespace hewn::riscv {

/// Returns the RISC-V family. Its target is "rv64gc".
const target::Target &family();

} // namespace hewn::riscv

#endif
