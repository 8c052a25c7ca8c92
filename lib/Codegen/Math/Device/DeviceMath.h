// SPDX-License-Identifier: Apache-2.0
//
// The functions of C's library for machines that have none.
#ifndef HEWN_LIB_CODEGEN_MATH_DEVICE_DEVICEMATH_H
#define HEWN_LIB_CODEGEN_MATH_DEVICE_DEVICEMATH_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace hewn::codegen {

/// Defines what `module` calls of libm.c, as functions of its own whose names begin with `prefix`; a remainder of floats
/// counts as a call of fmod.
llvm::Error linkDeviceMath(llvm::Module &module, llvm::StringRef prefix);

} // namespace hewn::codegen

#endif
