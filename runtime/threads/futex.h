// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_FUTEX_H
#define HEWN_RUNTIME_FUTEX_H

/// \file
/// Sleeping on a word of memory, and a lock made of it. errno stays as it was: the caller's threads
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

/// Takes the lock in `*word`: 0 free, 1 taken, 2 taken and somebody may sleep.
static inline void hewn_lock(uint32_t *word) {
  uint32_t expected = 0;
  if (__atomic_compare_exchange_n(word, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return;
  while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE) != 0)
    hewn_futex_wait(word, 2);
}

static inline void hewn_unlock(uint32_t *word) {
  if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
    hewn_futex_wake(word, 1);
}

#endif // HEWN_RUNTIME_FUTEX_H
