// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_FUTEX_H
#define HEWN_RUNTIME_FUTEX_H

/// \file
/// Sleeping on a word of memory. errno stays as it was: the caller's threads
/// pass through here.

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Sleeps while `*word` is `value`; may also return early.
static inline void hewn_futex_wait(uint32_t *word, uint32_t value) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
  errno = saved;
}

/// Wakes up to `count` sleepers.
static inline void hewn_futex_wake(uint32_t *word, int count) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
  errno = saved;
}

#endif // HEWN_RUNTIME_FUTEX_H
