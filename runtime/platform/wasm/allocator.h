// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_WASM_ALLOCATOR_H
#define HEWN_RUNTIME_WASM_ALLOCATOR_H

/// \file
/// The allocator of a WebAssembly module. The module exports its functions, so that the host can
/// place inputs, outputs and weights in the module's memory.

#include "hewn/runtime.h"

/// Allocates memory. `alignment` is a power of two. Returns NULL if the memory cannot grow.
HEWN_API void *hewn_wasm_allocate(size_t bytes, size_t alignment);
/// Frees memory of hewn_wasm_allocate. `memory` may be NULL.
HEWN_API void hewn_wasm_release(void *memory);

#endif // HEWN_RUNTIME_WASM_ALLOCATOR_H
