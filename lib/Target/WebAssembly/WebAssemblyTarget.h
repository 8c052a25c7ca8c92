// SPDX-License-Identifier: Apache-2.0
//
// The WebAssembly targets of the compiler, with 32-bit memory.
#ifndef HEWN_LIB_TARGET_WEBASSEMBLY_WEBASSEMBLYTARGET_H
#define HEWN_LIB_TARGET_WEBASSEMBLY_WEBASSEMBLYTARGET_H

#include "lib/Target/Base/Target.h"

namespace hewn::wasm {

/// Returns the WebAssembly family. Its target names are "wasm32" and "wasm32+relaxed".
const target::Target &family();

} // namespace hewn::wasm

#endif
