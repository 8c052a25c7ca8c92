// SPDX-License-Identifier: Apache-2.0
//
// The x86 targets of the compiler.
//
// A target is defined by its instruction sets, because CPUs of one name differ in the sets that the
// operating system or a hypervisor enables. LLVM's CPU name selects the scheduling model and the
// rates of instructions alone.
#ifndef HEWN_LIB_TARGET_X86_X86TARGET_H
#define HEWN_LIB_TARGET_X86_X86TARGET_H

#include "lib/Target/Base/Target.h"

namespace hewn::x86 {

/// Returns the x86 family. Its target names are "x86-64-v3", "x86-64-v4+vnni+bf16",
/// "sapphirerapids-amx", ...
const target::Target &family();

} // namespace hewn::x86

#endif
