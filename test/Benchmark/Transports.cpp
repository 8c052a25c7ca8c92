// SPDX-License-Identifier: Apache-2.0
//
// Measures an all-reduce, a round trip through all ranks and an all-gather for several sizes. The
// table is used in docs/decisions/partition.md; its latency and bandwidth are values of a cluster
// file (docs/reference/cluster.md).
//
//     # shared memory, two processes
//     build/dev/bin/Transports 2
//     # MPI, one-sided
//     mpirun.openmpi -n 2 build/dev/bin/Transports build/dev/lib/libhewn_openmpi.so
//     # MPI, two-sided
//     export HEWN_MPI_TWO_SIDED=1
//     mpirun.mpich -n 2 build/dev/bin/Transports build/dev/lib/libhewn_mpich.so
#include "hewn/communicator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t kMostBytes = size_t(16) << 20;

int fail(const char *what) {
  std::fprintf(stderr, "Transports: %s\n", what);
  return 1;
}

/// Returns the median time of a call in microseconds, or -1 if a call fails.
template <typename Call> double medianOf(Call call, size_t bytes) {
  std::vector<double> taken(bytes > (1 << 20) ? 25 : 201);
  for (double &one : taken) {
    auto begin = std::chrono::steady_clock::now();
    if (call() != HEWN_OK)
      return -1;
    one = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  std::nth_element(taken.begin(), taken.begin() + long(taken.size() / 2), taken.end());
  return taken[taken.size() / 2];
}

int measure(hewn_communicator *group) {
  auto *memory = static_cast<unsigned char *>(group->allocate(group->user, 2 * kMostBytes));
  if (!memory)
    return fail(group->message(group->user));
  std::memset(memory, 0, 2 * kMostBytes);
  const DLDataType type = {kDLFloat, 32, 1};
  const int32_t next = (group->rank + 1) % group->num_ranks,
                before = (group->rank + group->num_ranks - 1) % group->num_ranks;
  if (group->rank == 0)
    std::printf("%10s %12s %14s %12s\n", "bytes", "sum, us", "there and back", "gather");
  for (size_t bytes = 64; bytes <= kMostBytes; bytes *= 4) {
    double sum = medianOf(
        [&] {
          return group->all_reduce(group->user, 0, group->num_ranks, memory, memory + kMostBytes, int64_t(bytes / 4),
                                   type);
        },
        bytes);
    // A round trip: rank 0 sends first, and each other rank forwards the message.
    double around = medianOf(
        [&] {
          int32_t code = HEWN_OK;
          if (group->rank != 0)
            code = group->receive(group->user, before, memory, bytes);
          if (code == HEWN_OK)
            code = group->send(group->user, next, memory, bytes);
          if (code == HEWN_OK && group->rank == 0)
            code = group->receive(group->user, before, memory, bytes);
          return code;
        },
        bytes);
    // `bytes` is the size of the gathered result over all ranks.
    double gather = medianOf(
        [&] {
          return group->all_gather(group->user, 0, group->num_ranks, memory, memory + kMostBytes,
                                   bytes / size_t(group->num_ranks));
        },
        bytes);
    if (sum < 0 || around < 0 || gather < 0)
      return fail(group->message(group->user));
    if (group->rank == 0)
      std::printf("%10zu %12.1f %14.1f %12.1f\n", bytes, sum, around, gather);
  }
  group->release(group->user, memory);
  return 0;
}

int measureLocal(int ranks) {
  const std::string name = "transports-" + std::to_string(getpid());
  int rank = 0;
  for (int r = 1; r < ranks && rank == 0; ++r)
    if (fork() == 0)
      rank = r;
  hewn_communicator *group = nullptr;
  hewn_status status = hewn_local_communicator_create(name.c_str(), rank, ranks, 0, &group);
  int result = status.code == HEWN_OK ? measure(group) : fail(status.message);
  hewn_communicator_destroy(group);
  while (rank == 0 && wait(nullptr) > 0) {
  }
  return result;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2)
    return fail("say how many ranks, or which library of MPI's: Transports 2");
  if (int ranks = std::atoi(arguments[1]); ranks > 1)
    return measureLocal(ranks);
  void *library = dlopen(arguments[1], RTLD_NOW);
  auto *create =
      library
          ? reinterpret_cast<hewn_status (*)(int64_t, hewn_communicator **)>(dlsym(library, "hewn_mpi_world_create"))
          : nullptr;
  if (!create)
    return fail(library ? "the library has no hewn_mpi_world_create" : dlerror());
  hewn_communicator *group = nullptr;
  hewn_status status = create(0, &group);
  if (status.code != HEWN_OK)
    return fail(status.message);
  int result = measure(group);
  hewn_communicator_destroy(group);
  return result;
}
