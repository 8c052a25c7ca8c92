// SPDX-License-Identifier: Apache-2.0
//
// Converts a kernel's LLVM IR for one GPU thread to LLVM IR for NVPTX, and concatenates the PTX of
// kernels.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXDEVICE_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXDEVICE_H

#include "lib/Codegen/Emit/Machine.h"

namespace hewn::nvptx {

const codegen::Device &device();

} // namespace hewn::nvptx

#endif
