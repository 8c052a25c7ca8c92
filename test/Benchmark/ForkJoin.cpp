// SPDX-License-Identifier: Apache-2.0
//
// How long the pool takes to share work of no length among two threads and to join: microseconds by percentile.
extern "C" {
#include "runtime/pool.h"
}

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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
    std::vector<double> times(20000);
    for (double &time : times) {
      auto start = std::chrono::steady_clock::now();
      hewn_pool_run(pool, tasks, [](void *, int64_t, int64_t) {}, nullptr);
      time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    std::sort(times.begin(), times.end());
    auto at = [&](double share) { return times[size_t(share * double(times.size() - 1))]; };
    std::printf("%2d tasks: median %.2f us, 9 of 10 within %.2f, 99 of 100 within %.2f\n", int(tasks), at(0.5), at(0.9),
                at(0.99));
  }
  hewn_pool_destroy(&allocator, pool);
}
