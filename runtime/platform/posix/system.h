// SPDX-License-Identifier: Apache-2.0
// System calls whose functions in glibc are newer than 2.17, the oldest version that loads
// artifacts: fstat and lstat (2.33), getrandom (2.25), memfd_create (2.27).
#ifndef HEWN_RUNTIME_SYSTEM_H
#define HEWN_RUNTIME_SYSTEM_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// On these architectures, `struct stat` of the C library has the layout of the kernel's.
#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__) || defined(__riscv))
static inline int hewn_sys_fstat(int file, struct stat *status) { return (int)syscall(SYS_fstat, file, status); }
static inline int hewn_sys_lstat(const char *path, struct stat *status) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
#else
static inline int hewn_sys_fstat(int file, struct stat *status) { return fstat(file, status); }
static inline int hewn_sys_lstat(const char *path, struct stat *status) { return lstat(path, status); }
#endif

/// Returns the number of bytes written to `bytes`, or -1.
static inline ptrdiff_t hewn_sys_getrandom(void *bytes, size_t size) { return syscall(SYS_getrandom, bytes, size, 0); }

/// Returns a file descriptor of anonymous memory, or -1. `flags` are MFD_* of <linux/memfd.h>.
static inline int hewn_sys_memfd(const char *name, unsigned flags) {
  return (int)syscall(SYS_memfd_create, name, flags);
}

#endif
