// SPDX-License-Identifier: Apache-2.0
//
// Links C math functions into kernels for targets without a C library.
#ifndef HEWN_LIB_CODEGEN_MATH_DEVICE_DEVICEMATH_H
#define HEWN_LIB_CODEGEN_MATH_DEVICE_DEVICEMATH_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace hewn::codegen {

/// Links the functions of libm.c that `module` calls into `module`, as internal functions whose
/// names begin with `prefix`. Float remainders (frem) become calls of fmod. Returns an error if the
/// library cannot be read or linked.
llvm::Error linkDeviceMath(llvm::Module &module, llvm::StringRef prefix);

} // namespace hewn::codegen

#endif
