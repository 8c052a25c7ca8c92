// SPDX-License-Identifier: Apache-2.0
// Functions of newer versions of glibc that LLVM's archives, libstdc++.a and its headers call.
// Release binaries link this file instead (OldGlibc.cmake). stat and its variants are in the old
// glibc's libc_nonshared.a.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/// Since glibc 2.32, true while the process has one thread: libstdc++ then counts references
/// without atomic instructions. False is always correct.
HIDDEN extern char __libc_single_threaded;
char __libc_single_threaded = 0;

/// Since glibc 2.36. Called by libstdc++'s std::random_device.
HIDDEN uint32_t arc4random(void) {
  uint32_t bits = 0;
  if (syscall(SYS_getrandom, &bits, sizeof(bits), 0) != (long)sizeof(bits))
    abort();
  return bits;
}

/// Since glibc 2.33. Called by LLVM's statistics. The counts of mallinfo wrap around at 4 GiB.
HIDDEN struct mallinfo2 mallinfo2(void) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo from = mallinfo();
#pragma clang diagnostic pop
  struct mallinfo2 to = {(unsigned)from.arena,   (unsigned)from.ordblks,  (unsigned)from.smblks,
                         (unsigned)from.hblks,   (unsigned)from.hblkhd,   (unsigned)from.usmblks,
                         (unsigned)from.fsmblks, (unsigned)from.uordblks, (unsigned)from.fordblks,
                         (unsigned)from.keepcost};
  return to;
}

/// Since glibc 2.30. Called by std::condition_variable's wait_for. Waits by the realtime clock; if
/// that clock is set meanwhile, the wait ends at another time, which the caller has to expect.
HIDDEN int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until) {
  const int64_t second = 1000000000;
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  int64_t nanoseconds = real.tv_nsec + (until->tv_nsec - now.tv_nsec);
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_sec += nanoseconds >= second ? nanoseconds / second : nanoseconds < 0 ? -1 : 0;
  real.tv_nsec = (nanoseconds + second) % second;
  return pthread_cond_timedwait(condition, mutex, &real);
}
