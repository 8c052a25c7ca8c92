// SPDX-License-Identifier: Apache-2.0
//
// From a kernel's LLVM IR for one thread of a grid to LLVM IR for NVPTX, and from the texts of kernels to one.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXDEVICE_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXDEVICE_H

#include "lib/Codegen/Emit/Machine.h"

namespace hewn::nvptx {

const codegen::Device &device();

} // namespace hewn::nvptx

#endif
