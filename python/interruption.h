// SPDX-License-Identifier: Apache-2.0
//
// Threads and signals: runs and compilations without the GIL, which Ctrl-C ends.
#ifndef HEWN_PYTHON_INTERRUPTION_H
#define HEWN_PYTHON_INTERRUPTION_H

#include <nanobind/nanobind.h>

#include <cstdint>
#include <ctime>
#include <cxxabi.h>
#include <functional>
#include <pthread.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace hewn::python {

namespace nb = nanobind;

/// Calls `work` without the GIL. If the interpreter exits meanwhile, which it may do before its
/// daemon threads end, it terminates a returning thread by a forced unwind, which must not leave a
/// destructor: such a thread waits for the end of the process instead.
template <typename Work> void withoutLock(Work work) {
  PyThreadState *state = PyEval_SaveThread();
  work();
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind &) {
    for (;;)
      pause();
  }
}

/// A thread with a stack of at least 8 MB, which the compiler needs for deeply nested models. The
/// default is less where the limit of the main thread's stack is another.
class LargeThread {
public:
  explicit LargeThread(std::function<void()> work) : work(std::move(work)) {
    constexpr size_t least = size_t(8) << 20;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    size_t bytes = 0;
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < least)
      pthread_attr_setstacksize(&attributes, least);
    int error = pthread_create(
        &thread, &attributes,
        [](void *self) -> void * {
          static_cast<LargeThread *>(self)->work();
          return nullptr;
        },
        this);
    pthread_attr_destroy(&attributes);
    if (error)
      throw std::system_error(error, std::generic_category(), "can't start a thread");
  }
  LargeThread(const LargeThread &) = delete;
  void join() { pthread_join(thread, nullptr); }

private:
  std::function<void()> work;
  pthread_t thread;
};

/// Ends a run that Python's main thread waits for when a signal handler raises an exception, such
/// as Ctrl-C. An object of this class exists during the run, on the thread of the run.
class Interruption {
public:
  Interruption() : outer(std::exchange(current, this)) {}
  ~Interruption() { current = outer; }
  Interruption(const Interruption &) = delete;
  /// Raises the exception of a signal handler, if one has ended the run.
  void rethrow() const {
    if (isRaised)
      throw nb::python_error();
  }
  /// The cancel hook of all contexts. Handlers run on Python's main thread only.
  static int32_t isCancelled(void *) { return current && isMainThread() && current->poll(); }

private:
  static bool isMainThread() {
    // The hook is called without the GIL, so compares with the identity that the module stored.
    return PyThread_get_thread_ident() == mainThread;
  }
  /// Runs the handlers of pending signals, at most every 20 ms.
  bool poll() {
    const int64_t time = milliseconds();
    if (isRaised || time - checked < 20)
      return isRaised;
    checked = time;
    nb::gil_scoped_acquire locked;
    isRaised = PyErr_CheckSignals() != 0;
    return isRaised;
  }
  /// Returns the time of a clock with a resolution of some milliseconds, which takes some
  /// nanoseconds to read.
  static int64_t milliseconds() {
    timespec time;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return int64_t(time.tv_sec) * 1000 + time.tv_nsec / 1000000;
  }

  static inline thread_local Interruption *current = nullptr;
  Interruption *outer;
  int64_t checked = milliseconds();
  bool isRaised = false;

public:
  /// Identity of Python's main thread.
  static inline unsigned long mainThread = 0;
};

} // namespace hewn::python

#endif
