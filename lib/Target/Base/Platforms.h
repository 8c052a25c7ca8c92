// SPDX-License-Identifier: Apache-2.0
//
// The platforms that artifacts run on: PLATFORM of --target=CPU@PLATFORM.
#ifndef HEWN_LIB_TARGET_BASE_PLATFORMS_H
#define HEWN_LIB_TARGET_BASE_PLATFORMS_H

#include "lib/Codegen/Emit/Machine.h"

namespace hewn::target {

extern const codegen::Platform kLinux;
/// WebAssembly modules without imports, for browsers and other hosts.
extern const codegen::Platform kWeb;
/// WebAssembly modules that import functions of WASI (wasi_snapshot_preview1) to read files.
extern const codegen::Platform kWasi;

} // namespace hewn::target

#endif
