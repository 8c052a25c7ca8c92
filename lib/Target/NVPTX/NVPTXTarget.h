// SPDX-License-Identifier: Apache-2.0
//
// The NVIDIA GPU targets of the compiler. Their code is PTX, which the driver compiles on the host
// that runs the model.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXTARGET_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXTARGET_H

#include "lib/Target/Base/Target.h"

namespace hewn::nvptx {

/// Returns the family of NVIDIA GPUs. Its target names are "sm_80", "sm_90a", ...
const target::Target &family();

/// Registers the nvptx dialect. It is loaded together with the plan dialect, because kernel
/// generators emit its ops if a schedule requires them.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace hewn::nvptx

#endif
