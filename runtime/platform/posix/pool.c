// SPDX-License-Identifier: Apache-2.0
// The thread pool.
//
// A job is a range that is divided into chunks. The 64-bit word `claim` contains the job's number
// and the interval of chunks that are not yet claimed. A thread claims chunks with
// compare-and-swap: several while many are left, one when few are left, so that there are few
// claims and threads finish at about the same time. The calling thread and every second pool thread
// claim from the start of the interval, the others from its end. Each thread therefore processes
// about the same part of every job, and finds in its cache the data that it wrote, or the weights
// that it read, in the previous job.
//
// The join waits for chunks, not for threads: a descheduled thread delays only the chunk that it
// holds, and a thread that has not woken up delays nothing. Such a late thread may wake up while
// the next job is being written. This is safe because:
//   - a thread reads the job's fields between loading a `claim` with chunks left and swapping it.
//     The fields change only when all chunks are done, so if the fields were not this job's, the
//     swap fails;
//   - a `claim` without chunks is never swapped.
//
// `sequence`, `claim` and `done` have one cache line each: idle threads spin on the first, working
// threads contend for the second, and the joining thread spins on the third. Spinning is limited in
// time. A thread that is going to sleep increments `sleepers`, then reads the sequence again, so
// that no wake-up is lost. With more threads than CPUs, threads do not spin.
//
// A child of fork has the pool's memory but none of its threads. It detects this by a page that the
// kernel clears in the child, and starts new threads.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "platform/posix/pool.h"
#include "core/parallel.h"
#include "platform/posix/futex.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CACHE_LINE 64
/// Time limit of an idle thread's spin: long enough for the gaps between kernels, too short for the
/// gaps between runs.
#define IDLE_SPIN_NANOSECONDS 100000
/// Time limit of the joining thread's spin. It is longer than that of idle threads, because the
/// chunks that others still process are nearly done when no chunks are left to claim.
#define JOIN_SPIN_NANOSECONDS 200000
/// Spin iterations (about 30 ns each) between two reads of the clock.
#define ROUNDS_PER_LOOK 64
/// Number of chunks per thread into which a job is divided, for load balance.
#define CHUNKS_PER_THREAD 64
/// Maximum number of chunks of a job: the chunk indices in `claim` have 16 bits.
#define MOST_CHUNKS 0xffffu

struct hewn_pool {
  /// Counter on which idle threads wait. It is incremented for each job, and to make the threads
  /// exit.
  uint32_t sequence __attribute__((aligned(CACHE_LINE)));
  uint32_t sleepers;
  uint32_t stop;

  /// The claim word: job number << 32 | end of the interval of unclaimed chunks << 16 | its begin.
  uint64_t claim __attribute__((aligned(CACHE_LINE)));
  hewn_task task;
  void *arg;
  int64_t n;
  int64_t chunk;
  uint32_t chunks;

  uint32_t done __attribute__((aligned(CACHE_LINE)));
  uint32_t joinerSleeps;

  int64_t idleSpin __attribute__((aligned(CACHE_LINE)));
  int64_t joinSpin;
  int32_t threads;  ///< including the calling thread
  int32_t started;  ///< started pool threads
  uint32_t entered; ///< pool threads that have entered threadMain
  /// Points to 1 in the process that started the threads, and to 0 in its children. NULL if the
  /// kernel does not support pages that are cleared in children.
  uint32_t *home;
  /// Id of the process that started the threads. Compared with getpid, which costs a system call,
  /// only if `home` is NULL.
  pid_t process;
  pthread_t handles[];
};

static void cpuRelax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t nowNanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// Spins until `*word` differs from `value` (`until` = 0) or equals it (`until` = 1). Returns false
/// on timeout.
///
/// Yields at exponentially growing intervals: the awaited thread may be runnable on this CPU,
/// queued after this thread. Without yielding, each such wake-up costs a full spin (107 us measured
/// on a busy machine with two cores; 8 us with yielding).
static int spin(const uint32_t *word, uint32_t value, int until, int64_t nanoseconds) {
  int64_t deadline = 0;
  for (uint32_t round = 1;; ++round) {
    if ((__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) == until)
      return 1;
    if (nanoseconds == 0)
      return 0;
    cpuRelax();
    if (round % ROUNDS_PER_LOOK != 0)
      continue;
    uint32_t looks = round / ROUNDS_PER_LOOK;
    if (looks > 1 && (looks & (looks - 1)) == 0)
      sched_yield();
    int64_t now = nowNanoseconds();
    if (deadline == 0)
      deadline = now + nanoseconds;
    else if (now >= deadline)
      return 0;
  }
}

/// Processes chunks of the current job until none are left. Claims them from the start or the end
/// of the interval of unclaimed chunks.
static void work(hewn_pool *pool, int fromEnd) {
  for (;;) {
    uint64_t claim = __atomic_load_n(&pool->claim, __ATOMIC_ACQUIRE);
    uint32_t first = claim & MOST_CHUNKS, last = (claim >> 16) & MOST_CHUNKS;
    if (first == last)
      return;
    hewn_task task = __atomic_load_n(&pool->task, __ATOMIC_RELAXED);
    void *arg = __atomic_load_n(&pool->arg, __ATOMIC_RELAXED);
    int64_t n = __atomic_load_n(&pool->n, __ATOMIC_RELAXED);
    int64_t chunk = __atomic_load_n(&pool->chunk, __ATOMIC_RELAXED);
    uint32_t chunks = __atomic_load_n(&pool->chunks, __ATOMIC_RELAXED);
    // Claims half of the thread's share of the unclaimed chunks (C. Polychronopoulos and D. Kuck,
    // "Guided self-scheduling", 1987).
    uint32_t share = (last - first) / (2 * (uint32_t)pool->threads), taken = share > 0 ? share : 1;
    uint64_t rest = fromEnd ? claim - ((uint64_t)taken << 16) : claim + taken;
    if (!__atomic_compare_exchange_n(&pool->claim, &claim, rest, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    int64_t begin = (int64_t)(fromEnd ? last - taken : first) * chunk, length = (int64_t)taken * chunk;
    int64_t end = n - begin < length ? n : begin + length;
    task(arg, begin, end);
    uint32_t done = __atomic_add_fetch(&pool->done, taken, __ATOMIC_SEQ_CST);
    if (done == chunks && __atomic_load_n(&pool->joinerSleeps, __ATOMIC_SEQ_CST) != 0)
      hewn_futex_wake(&pool->done, 1);
  }
}

static void *threadMain(void *arg) {
  hewn_pool *pool = arg;
  // Threads claim alternately from the start and from the end of a job, in the order in which they
  // start.
  int fromEnd = !(__atomic_fetch_add(&pool->entered, 1, __ATOMIC_RELAXED) & 1);
  uint32_t seen = 0;
  for (;;) {
    if (!spin(&pool->sequence, seen, 0, pool->idleSpin)) {
      __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&pool->sequence, __ATOMIC_SEQ_CST) == seen)
        hewn_futex_wait(&pool->sequence, seen);
      __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    }
    seen = __atomic_load_n(&pool->sequence, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&pool->stop, __ATOMIC_RELAXED))
      return NULL;
    work(pool, fromEnd);
  }
}

/// Notifies idle threads that a new job has begun or that the pool is being destroyed.
static void bumpSequence(hewn_pool *pool, uint32_t wanted) {
  __atomic_add_fetch(&pool->sequence, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST) != 0)
    hewn_futex_wake(&pool->sequence, wanted > INT_MAX ? INT_MAX : (int)wanted);
}

static void join(hewn_pool *pool, uint32_t chunks) {
  if (spin(&pool->done, chunks, 1, pool->joinSpin))
    return;
  __atomic_store_n(&pool->joinerSleeps, 1, __ATOMIC_SEQ_CST);
  for (;;) {
    uint32_t done = __atomic_load_n(&pool->done, __ATOMIC_SEQ_CST);
    if (done == chunks)
      break;
    hewn_futex_wait(&pool->done, done);
  }
  __atomic_store_n(&pool->joinerSleeps, 0, __ATOMIC_RELAXED);
}

static void runJob(hewn_pool *pool, int64_t n, hewn_task task, void *arg) {
  int64_t wanted = (int64_t)pool->threads * CHUNKS_PER_THREAD;
  if (wanted > MOST_CHUNKS)
    wanted = MOST_CHUNKS;
  int64_t chunk = n / wanted + (n % wanted != 0);
  uint32_t chunks = (uint32_t)(n / chunk + (n % chunk != 0));
  uint32_t job = (uint32_t)(__atomic_load_n(&pool->claim, __ATOMIC_RELAXED) >> 32) + 1;
  __atomic_store_n(&pool->task, task, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->arg, arg, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->n, n, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->chunk, chunk, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->chunks, chunks, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->done, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->claim, (uint64_t)job << 32 | (uint64_t)chunks << 16, __ATOMIC_RELEASE);
  bumpSequence(pool, chunks - 1);
  work(pool, 0);
  join(pool, chunks);
}

static void stopThreads(hewn_pool *pool) {
  __atomic_store_n(&pool->stop, 1, __ATOMIC_RELAXED);
  bumpSequence(pool, INT_MAX);
  for (int32_t i = 0; i < pool->started; ++i)
    pthread_join(pool->handles[i], NULL);
}

static void startThreads(hewn_pool *pool) {
  // Blocks all signals in pool threads, because signals are for the application's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Sets the stack size, because the default of some C libraries is smaller than kernels need.
  const size_t least = (size_t)1 << 20;
  size_t stack = 0;
  pthread_attr_t attributes;
  int known = pthread_attr_init(&attributes) == 0;
  if (known && pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < least)
    pthread_attr_setstacksize(&attributes, least);
  pool->started = 0;
  while (pool->started < pool->threads - 1 &&
         pthread_create(&pool->handles[pool->started], known ? &attributes : NULL, threadMain, pool) == 0)
    ++pool->started;
  if (known)
    pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (pool->home)
    *pool->home = 1;
  pool->process = getpid();
}

/// Maps a page that the kernel clears in children of fork. Returns NULL if that is not supported.
static uint32_t *homePage(void) {
  size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return NULL;
#ifdef MADV_WIPEONFORK
  if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
    return page;
#endif
  munmap(page, bytes);
  return NULL;
}

static int isInherited(const hewn_pool *pool) { return pool->home ? *pool->home == 0 : pool->process != getpid(); }

/// Resets the pool in a child of fork and starts as many threads as possible. If none start, the
/// caller does all work.
static void restart(hewn_pool *pool) {
  pool->sequence = 0;
  pool->sleepers = 0;
  pool->stop = 0;
  pool->entered = 0;
  pool->claim = 0;
  pool->done = 0;
  pool->joinerSleeps = 0;
  startThreads(pool);
}

static int32_t processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return INT_MAX; // there are more CPUs than a cpu_set_t can represent
  return CPU_COUNT(&set);
}

hewn_pool *hewn_pool_create(const hewn_allocator *allocator, int32_t threads) {
  size_t bytes = sizeof(hewn_pool) + (size_t)(threads - 1) * sizeof(pthread_t);
  hewn_pool *pool = allocator->allocate(allocator->user, bytes, CACHE_LINE);
  if (!pool)
    return NULL;
  memset(pool, 0, bytes);
  pool->threads = threads;
  if (threads <= processors()) {
    pool->idleSpin = IDLE_SPIN_NANOSECONDS;
    pool->joinSpin = JOIN_SPIN_NANOSECONDS;
  }
  pool->home = homePage();
  startThreads(pool);
  if (pool->started == threads - 1)
    return pool;
  hewn_pool_destroy(allocator, pool);
  return NULL;
}

void hewn_pool_destroy(const hewn_allocator *allocator, hewn_pool *pool) {
  if (!isInherited(pool))
    stopThreads(pool);
  if (pool->home)
    munmap(pool->home, (size_t)sysconf(_SC_PAGESIZE));
  allocator->release(allocator->user, pool);
}

void hewn_pool_run(hewn_pool *pool, int64_t n, hewn_task task, void *arg) {
  if (isInherited(pool))
    restart(pool);
  runJob(pool, n, task, arg);
}

const hewn_pool_table hewn_rt_pool = {hewn_pool_create, hewn_pool_destroy};

int32_t hewn_rt_parallel_for(hewn_context *context, int64_t n, hewn_task task, void *arg) {
  return hewn_parallel_for(context, n, task, arg, hewn_pool_run);
}
