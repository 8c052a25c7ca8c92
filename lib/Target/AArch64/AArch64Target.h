// SPDX-License-Identifier: Apache-2.0
//
// The AArch64 targets of the compiler, little-endian.
//
// A target consists of instruction sets. LLVM's CPU name selects only the scheduling model and the
// costs.
#ifndef HEWN_LIB_TARGET_AARCH64_AARCH64TARGET_H
#define HEWN_LIB_TARGET_AARCH64_AARCH64TARGET_H

#include "lib/Target/Base/Target.h"

namespace hewn::aarch64 {

/// Returns the AArch64 family. Its target names are "neoverse-n1", "aarch64+dotprod", ...
const target::Target &family();

} // namespace hewn::aarch64

#endif
