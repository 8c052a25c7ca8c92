// SPDX-License-Identifier: Apache-2.0
//
// Measures the overhead of a fork and join of two threads: the time in microseconds beyond half of
// the single-threaded time, by percentile.
extern "C" {
#include "runtime/platform/posix/pool.h"
}

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// Performs some microseconds of work, as each task of a fork does.
static void work(void *, int64_t begin, int64_t end) {
  volatile int64_t sum = 0;
  for (int64_t i = begin * 2000; i < end * 2000; ++i)
    sum = sum + i;
}

int main() {
  hewn_allocator allocator = {};
  allocator.allocate = [](void *, size_t bytes, size_t alignment) -> void * {
    void *memory = nullptr;
    return posix_memalign(&memory, std::max(alignment, sizeof(void *)), bytes) == 0 ? memory : nullptr;
  };
  allocator.release = [](void *, void *memory) { std::free(memory); };
  hewn_pool *pool = hewn_pool_create(&allocator, 2);
  if (!pool)
    return 1;
  for (int64_t tasks : {2, 4, 8, 16}) {
    auto measure = [&](auto &&run) {
      std::vector<double> times(5000);
      for (double &time : times) {
        auto start = std::chrono::steady_clock::now();
        run();
        time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
      }
      std::sort(times.begin(), times.end());
      return times;
    };
    double alone = measure([&] { work(nullptr, 0, tasks); })[2500];
    std::vector<double> times = measure([&] { hewn_pool_run(pool, tasks, work, nullptr); });
    for (double &time : times)
      time -= alone / 2;
    auto at = [&](double share) { return times[size_t(share * double(times.size() - 1))]; };
    std::printf("%2d tasks, %.1f us alone: median %.2f us, 9 of 10 within %.2f, 99 of 100 within %.2f\n", int(tasks),
                alone, at(0.5), at(0.9), at(0.99));
  }
  hewn_pool_destroy(&allocator, pool);
}
