// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_FUTEX_H
#define HEWN_RUNTIME_FUTEX_H

/// \file
/// Futex wait and wake, and a lock based on them. errno is preserved, because the caller's threads
/// run this code.

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Sleeps while `*word` equals `value`. May return early, so the caller checks the word again.
static inline void hewn_futex_wait(uint32_t *word, uint32_t value) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
  errno = saved;
}

/// Wakes up to `count` threads that sleep on `*word`.
static inline void hewn_futex_wake(uint32_t *word, int count) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
  errno = saved;
}

/// Acquires the lock `*word`: 0 free, 1 locked, 2 locked with possible waiters.
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
