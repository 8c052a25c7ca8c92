// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_POSIX_PLATFORM_H
#define HEWN_RUNTIME_POSIX_PLATFORM_H

#include "hewn/services.h"

/// posix_memalign and free.
extern const hewn_allocator hewn_default_allocator;

/// Return the HEWN_CPU_* bits of this machine, and the name of one bit (cpu_*.c).
uint64_t hewn_cpu_query(void);
const char *hewn_cpu_name(uint64_t bit);

/// Writes the absolute path, without symbolic links, of the file that is mapped at `address`.
/// `path` has space for `bytes` bytes. Returns the length of the path, or 0 if no file is mapped
/// there, the path is too long, or /proc is not available (binary.c).
size_t hewn_binary_path(const void *address, char *path, size_t bytes);

/// Part of the path under which the dynamic loader knows a library that was loaded by file
/// descriptor (load.c). In that path, it is preceded by the library's folder and one `/..` per path
/// component.
#define HEWN_LOADED_BY_FILE "/proc/self/fd"

#endif // HEWN_RUNTIME_POSIX_PLATFORM_H
