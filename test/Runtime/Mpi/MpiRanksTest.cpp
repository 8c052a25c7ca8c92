// SPDX-License-Identifier: Apache-2.0
//
// Tests communicators over MPI. A launcher starts several processes of this program; each is a rank
// and runs the same tests. A sanitizer only sees its own process.
#include "integrations/mpi/hewn_mpi.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define LOOKS_FOR_LEAKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOOKS_FOR_LEAKS
#endif
#endif
#ifdef LOOKS_FOR_LEAKS
#include <sanitizer/lsan_interface.h>
/// Keeps the shared libraries of MPI loaded until exit, so that leak reports contain their function
/// names.
extern "C" int dlclose(void *) { return 0; }
#endif

namespace {

constexpr DLDataType kFloat = {kDLFloat, 32, 1};

struct Group {
  explicit Group(uint32_t flags = 0, int64_t milliseconds = 60000) {
    MPI_Comm world = MPI_COMM_WORLD;
    hewn_status status = hewn_mpi_communicator_create(&world, milliseconds, flags, &table);
    EXPECT_EQ(status.code, HEWN_OK) << status.message;
  }
  Group(const Group &) = delete;
  ~Group() { hewn_communicator_destroy(table); }
  hewn_communicator *operator->() const { return table; }
  std::string message() const { return table->message(table->user); }
  hewn_communicator *table = nullptr;
};

/// A buffer in the memory window of the communicator, or on the heap.
struct Memory {
  Memory(const Group &group, size_t bytes, bool inWindow) : group(group), own(inWindow ? 0 : bytes) {
    if (inWindow)
      window = static_cast<unsigned char *>(group->allocate(group->user, bytes));
  }
  Memory(const Memory &) = delete;
  ~Memory() {
    if (window)
      group->release(group->user, window);
  }
  template <typename T> T *at(size_t offset) { return reinterpret_cast<T *>((window ? window : own.data()) + offset); }
  const Group &group;
  unsigned char *window = nullptr;
  std::vector<unsigned char> own;
};

/// Parameters of the tests: one-sided communication (where possible) or two-sided; buffers in the
/// memory window of the communicator or on the heap.
class MpiRanks : public ::testing::TestWithParam<std::tuple<uint32_t, bool>> {};

float addend(int64_t i, int32_t rank, int round) { return 1.0f / float(i + 1 + rank * 7 + round); }

TEST_P(MpiRanks, SumsAndTheirParts) {
  auto [flags, inWindow] = GetParam();
  Group group(flags);
  const int32_t ranks = group->num_ranks;
  for (int64_t count : {1, 3, 64, 1000, 70000}) {
    int64_t all = count * ranks;
    Memory memory(group, size_t(2 * all + count) * 4, inWindow);
    float *mine = memory.at<float>(0), *sum = memory.at<float>(size_t(all) * 4),
          *part = memory.at<float>(size_t(2 * all) * 4);
    for (int round = 0; round < 3; ++round) {
      for (int64_t i = 0; i < all; ++i)
        mine[i] = addend(i, group->rank, round);
      uint64_t before = group->moved;
      ASSERT_EQ(group->reduce_scatter(group->user, 0, ranks, mine, part, count, kFloat), HEWN_OK) << group.message();
      EXPECT_EQ(group->moved - before, uint64_t(ranks - 1) * uint64_t(count) * 4);
      ASSERT_EQ(group->all_reduce(group->user, 0, ranks, mine, sum, all, kFloat), HEWN_OK) << group.message();
      for (int64_t i = 0; i < all; ++i) {
        float expected = addend(i, 0, round);
        for (int32_t r = 1; r < ranks; ++r)
          expected += addend(i, r, round);
        ASSERT_EQ(sum[i], expected) << i;
      }
      ASSERT_EQ(std::memcmp(part, sum + group->rank * count, size_t(count) * 4), 0);
    }
    ASSERT_EQ(group->all_reduce(group->user, 0, ranks, sum, sum, count, kFloat), HEWN_OK) << group.message();
  }
}

TEST_P(MpiRanks, Gather) {
  auto [flags, inWindow] = GetParam();
  Group group(flags);
  Memory memory(group, 4000 * size_t(group->num_ranks + 1), inWindow);
  int32_t *mine = memory.at<int32_t>(0), *all = memory.at<int32_t>(4000);
  for (int32_t i = 0; i < 1000; ++i)
    mine[i] = group->rank * 1000 + i;
  ASSERT_EQ(group->all_gather(group->user, 0, group->num_ranks, mine, all, 4000), HEWN_OK) << group.message();
  for (int32_t i = 0; i < 1000 * group->num_ranks; ++i)
    ASSERT_EQ(all[i], i);
}

TEST_P(MpiRanks, HandOnInARing) {
  auto [flags, inWindow] = GetParam();
  Group group(flags);
  Memory memory(group, 8000, inWindow);
  int32_t *data = memory.at<int32_t>(0);
  int32_t ranks = group->num_ranks, next = (group->rank + 1) % ranks, before = (group->rank + ranks - 1) % ranks;
  for (int round = 0; round < 20; ++round) {
    if (group->rank == 0) {
      std::fill(data, data + 1000, round);
      ASSERT_EQ(group->send(group->user, next, data, 4000), HEWN_OK) << group.message();
      ASSERT_EQ(group->receive(group->user, before, data + 1000, 4000), HEWN_OK) << group.message();
      ASSERT_EQ(data[1999], round + ranks - 1);
      continue;
    }
    ASSERT_EQ(group->receive(group->user, before, data, 4000), HEWN_OK) << group.message();
    for (int32_t i = 0; i < 1000; ++i)
      data[i] += 1;
    ASSERT_EQ(group->send(group->user, next, data, 4000), HEWN_OK) << group.message();
  }
}

/// If requested, the communicator reports the time that a rank waited, without the time of the
/// transfer itself.
TEST_P(MpiRanks, SayHowLongTheyWait) {
  auto [flags, inWindow] = GetParam();
  Group group(flags);
  constexpr std::chrono::milliseconds late{20};
  constexpr double least = 15e6;
  constexpr int rounds = 4; // on a busy machine the waiting rank may itself be late, but not in all rounds
  const int32_t ranks = group->num_ranks;
  Memory memory(group, 64 * 4 * size_t(ranks + 1), inWindow);
  float *mine = memory.at<float>(0), *all = memory.at<float>(256);
  std::fill(mine, mine + 64, 1.0f);
  auto call = [&](int which) {
    hewn_communicator &table = *group.table;
    switch (which) {
    case 0:
      return table.all_reduce(table.user, 0, ranks, mine, mine, 64, kFloat);
    case 1:
      return table.reduce_scatter(table.user, 0, ranks, all, mine, 8, kFloat);
    case 2:
      return table.all_gather(table.user, 0, ranks, mine, all, 256);
    default:
      return table.rank == 0   ? table.send(table.user, 1, mine, 256)
             : table.rank == 1 ? table.receive(table.user, 0, mine, 256)
                               : int32_t(HEWN_OK);
    }
  };
  for (int which = 0; which < 4; ++which) {
    ASSERT_EQ(call(which), HEWN_OK) << group.message();
    // A communicator measures the time that a rank waits for others only if the caller requests it.
    EXPECT_EQ(group->waited, 0);
    for (int32_t slow : {0, 1}) {
      const bool isTold = which < 3 || group->rank == 0;
      int64_t longest = 0;
      for (int round = 0; round < rounds; ++round) {
        if (group->rank == slow)
          std::this_thread::sleep_for(late);
        group.table->waited = -1;
        ASSERT_EQ(call(which), HEWN_OK) << group.message();
        EXPECT_EQ(group->waited >= 0, isTold) << which;
        longest = std::max(longest, group->waited);
        group.table->waited = 0;
      }
      if (isTold && group->rank != slow)
        EXPECT_GE(double(longest), least) << which;
    }
  }
}

TEST_P(MpiRanks, FewerRanks) {
  auto [flags, inWindow] = GetParam();
  Group group(flags);
  Memory memory(group, 256, inWindow);
  float *mine = memory.at<float>(0), *sum = memory.at<float>(64), *all = memory.at<float>(128);
  for (int round = 0; round < 10; ++round) {
    *mine = float(group->rank + round);
    ASSERT_EQ(group->all_reduce(group->user, group->rank, 1, mine, sum, 1, kFloat), HEWN_OK) << group.message();
    ASSERT_EQ(group->reduce_scatter(group->user, group->rank, 1, mine, all, 1, kFloat), HEWN_OK) << group.message();
    ASSERT_EQ(*sum, *mine);
    ASSERT_EQ(*all, *mine);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, MpiRanks,
                         ::testing::Combine(::testing::Values(0u, uint32_t(HEWN_MPI_TWO_SIDED)),
                                            ::testing::Values(true, false)));

TEST(MpiGroups, Wrong) {
  hewn_communicator *group = nullptr;
  MPI_Comm world = MPI_COMM_WORLD;
  EXPECT_EQ(hewn_mpi_communicator_create(nullptr, 0, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_mpi_communicator_create(&world, -1, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_mpi_communicator_create(&world, 0, 8, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_mpi_communicator_create(&world, 0, 0, nullptr).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(group, nullptr);
}

// A communicator that failed keeps its memory, since MPI may still write to it. Leak checks exclude
// these tests.

TEST(MpiFailures, OneThatDoesSomethingElse) {
  for (uint32_t flags : {0u, uint32_t(HEWN_MPI_TWO_SIDED)}) {
    Group group(flags);
    std::vector<float> data(100), sum(100);
    const int32_t ranks = group->num_ranks;
    int32_t code = group->rank == 1
                       ? group->all_reduce(group->user, 0, ranks, data.data(), sum.data(), 50, kFloat)
                       : group->reduce_scatter(group->user, 0, ranks, data.data(), sum.data(), 50 / ranks, kFloat);
    EXPECT_EQ(code, HEWN_PEER_FAILED);
    EXPECT_NE(group.message().find("make different calls"), std::string::npos) << group.message();
    EXPECT_EQ(group->all_gather(group->user, 0, ranks, data.data(), sum.data(), 4), HEWN_PEER_FAILED);
  }
}

TEST(MpiFailures, ElementsThatCantBeAdded) {
  for (uint32_t flags : {0u, uint32_t(HEWN_MPI_TWO_SIDED)}) {
    Group group(flags);
    Memory memory(group, 4096, /*inWindow=*/true);
    int32_t code = group->reduce_scatter(group->user, 0, group->num_ranks, memory.at<char>(0), memory.at<char>(2048), 8,
                                         {kDLFloat, 8, 1});
    EXPECT_EQ(code, HEWN_PEER_FAILED);
    EXPECT_NE(group.message().find("cannot be summed"), std::string::npos) << group.message();
  }
}

TEST(MpiFailures, OneThatComesTooLate) {
  Group group(0, /*milliseconds=*/200);
  std::vector<float> data(100), sum(100);
  if (group->rank == 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  int32_t code = group->all_reduce(group->user, 0, group->num_ranks, data.data(), sum.data(), 100, kFloat);
  if (group->rank == 0) {
    EXPECT_EQ(code, HEWN_PEER_FAILED);
    EXPECT_NE(group.message().find("did not respond within 200 ms"), std::string::npos) << group.message();
  }
}

} // namespace

int main(int count, char **arguments) {
  int provided = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &provided);
  ::testing::InitGoogleTest(&count, arguments);
  int result = RUN_ALL_TESTS();
#ifdef LOOKS_FOR_LEAKS
  // Checks for leaks before MPI_Finalize, while MPI's own memory is still reachable from MPI.
  __lsan_do_leak_check();
#endif
  MPI_Finalize();
  return result;
}
