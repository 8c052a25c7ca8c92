// SPDX-License-Identifier: Apache-2.0
//
// Tests communicators within one machine. Ranks are threads here, so that sanitizers see all of
// them.
#include "hewn/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr DLDataType kFloat = {kDLFloat, 32, 1};

std::string uniqueName() {
  static std::atomic<int> count{0};
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

/// Calls `body` in parallel, once for each of `ranks` ranks.
void onRanks(int32_t ranks, const std::function<void(hewn_communicator &)> &body, int64_t milliseconds = 20000) {
  std::string name = uniqueName();
  std::vector<std::thread> threads;
  for (int32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      hewn_communicator *group = nullptr;
      hewn_status status = hewn_local_communicator_create(name.c_str(), r, ranks, milliseconds, &group);
      ASSERT_EQ(status.code, HEWN_OK) << status.message;
      EXPECT_EQ(group->rank, r);
      EXPECT_EQ(group->num_ranks, ranks);
      body(*group);
      hewn_communicator_destroy(group);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A buffer in the memory window of the communicator, or on the heap.
struct Memory {
  Memory(hewn_communicator &group, size_t bytes, bool inWindow) : group(group), own(inWindow ? 0 : bytes) {
    if (inWindow)
      window = static_cast<unsigned char *>(group.allocate(group.user, bytes));
  }
  ~Memory() {
    if (window)
      group.release(group.user, window);
  }
  template <typename T> T *at(size_t offset) { return reinterpret_cast<T *>((window ? window : own.data()) + offset); }
  hewn_communicator &group;
  unsigned char *window = nullptr;
  std::vector<unsigned char> own;
};

class RanksTest : public ::testing::TestWithParam<std::tuple<int32_t, bool>> {};

TEST_P(RanksTest, AddUpInTheOrderOfRanks) {
  auto [ranks, inWindow] = GetParam();
  onRanks(ranks, [&, ranks = ranks, inWindow = inWindow](hewn_communicator &group) {
    for (int64_t count : {1, 3, 64, 65, 1000, 40000}) {
      Memory memory(group, size_t(count) * 8 + 64, inWindow);
      float *mine = memory.at<float>(0), *sum = memory.at<float>(size_t(count) * 4);
      for (int round = 0; round < 3; ++round) {
        for (int64_t i = 0; i < count; ++i)
          mine[i] = 1.0f / float(i + 1 + group.rank * 7 + round);
        ASSERT_EQ(group.all_reduce(group.user, 0, ranks, mine, sum, count, kFloat), HEWN_OK)
            << group.message(group.user);
        for (int64_t i = 0; i < count; ++i) {
          float expected = 1.0f / float(i + 1 + round);
          for (int32_t r = 1; r < ranks; ++r)
            expected += 1.0f / float(i + 1 + r * 7 + round);
          ASSERT_EQ(sum[i], expected) << i;
        }
      }
      // Tests collectives in place: a collective writes its result over its input.
      ASSERT_EQ(group.all_reduce(group.user, 0, ranks, sum, sum, count, kFloat), HEWN_OK);
      float doubled = sum[0];
      ASSERT_EQ(group.all_gather(group.user, 0, ranks, &doubled, std::vector<float>(size_t(ranks)).data(), 4), HEWN_OK);
    }
  });
}

/// The result of reduce_scatter is bitwise equal to the corresponding part of all_reduce's.
TEST_P(RanksTest, SharesOfASum) {
  auto [ranks, inWindow] = GetParam();
  onRanks(ranks, [&, ranks = ranks, inWindow = inWindow](hewn_communicator &group) {
    for (int64_t count : {1, 3, 64, 1000, 20000}) {
      int64_t all = count * ranks;
      Memory memory(group, size_t(2 * all + count) * 4, inWindow);
      float *mine = memory.at<float>(0), *sum = memory.at<float>(size_t(all) * 4),
            *part = memory.at<float>(size_t(2 * all) * 4);
      for (int round = 0; round < 3; ++round) {
        for (int64_t i = 0; i < all; ++i)
          mine[i] = 1.0f / float(i + 1 + group.rank * 7 + round);
        uint64_t before = group.moved;
        ASSERT_EQ(group.reduce_scatter(group.user, 0, ranks, mine, part, count, kFloat), HEWN_OK)
            << group.message(group.user);
        EXPECT_EQ(group.moved - before, uint64_t(ranks - 1) * uint64_t(count) * 4);
        ASSERT_EQ(group.all_reduce(group.user, 0, ranks, mine, sum, all, kFloat), HEWN_OK);
        ASSERT_EQ(std::memcmp(part, sum + group.rank * count, size_t(count) * 4), 0) << count;
      }
    }
  });
}

TEST_P(RanksTest, Gather) {
  auto [ranks, inWindow] = GetParam();
  onRanks(ranks, [&, ranks = ranks, inWindow = inWindow](hewn_communicator &group) {
    Memory memory(group, 1000 * size_t(ranks + 1) * 4, inWindow);
    int32_t *mine = memory.at<int32_t>(0), *all = memory.at<int32_t>(4000);
    for (int32_t i = 0; i < 1000; ++i)
      mine[i] = group.rank * 1000 + i;
    ASSERT_EQ(group.all_gather(group.user, 0, ranks, mine, all, 4000), HEWN_OK) << group.message(group.user);
    for (int32_t i = 0; i < 1000 * ranks; ++i)
      ASSERT_EQ(all[i], i);
  });
}

TEST_P(RanksTest, HandOnInARing) {
  auto [ranks, inWindow] = GetParam();
  if (ranks < 2)
    GTEST_SKIP() << "a single rank cannot send";
  onRanks(ranks, [&, ranks = ranks, inWindow = inWindow](hewn_communicator &group) {
    Memory memory(group, 8000, inWindow);
    int32_t *data = memory.at<int32_t>(0);
    int32_t next = (group.rank + 1) % ranks, before = (group.rank + ranks - 1) % ranks;
    for (int round = 0; round < 20; ++round) {
      if (group.rank == 0) {
        std::fill(data, data + 1000, round);
        ASSERT_EQ(group.send(group.user, next, data, 4000), HEWN_OK) << group.message(group.user);
        ASSERT_EQ(group.receive(group.user, before, data + 1000, 4000), HEWN_OK) << group.message(group.user);
        ASSERT_EQ(data[1999], round + ranks - 1);
        continue;
      }
      ASSERT_EQ(group.receive(group.user, before, data, 4000), HEWN_OK) << group.message(group.user);
      for (int32_t i = 0; i < 1000; ++i)
        data[i] += 1;
      ASSERT_EQ(group.send(group.user, next, data, 4000), HEWN_OK) << group.message(group.user);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RanksTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5), ::testing::Values(true, false)));

TEST(Ranks, SomeAndAllMeetInTurn) {
  onRanks(4, [](hewn_communicator &group) {
    int32_t first = group.rank / 2 * 2;
    for (int round = 0; round < 50; ++round) {
      float mine = float(group.rank), pair = 0, all = 0;
      // In this test of collectives of pairs, the ranks of one pair synchronize more often than
      // those of the other pair.
      for (int again = 0; again <= group.rank / 2; ++again)
        ASSERT_EQ(group.all_reduce(group.user, first, 2, &mine, &pair, 1, kFloat), HEWN_OK)
            << group.message(group.user);
      ASSERT_EQ(pair, float(2 * first + 1));
      ASSERT_EQ(group.all_reduce(group.user, 0, 4, &mine, &all, 1, kFloat), HEWN_OK) << group.message(group.user);
      ASSERT_EQ(all, 6.0f);
    }
  });
}

/// Runs a random sequence of collectives: small and large gathers, all-reduces and reduce-scatters,
/// of all ranks and of pairs. Each rank continues as soon as its collective returns, and overwrites
/// the data that it has sent.
TEST(Ranks, DrawnOrdersOfCalls) {
  constexpr int32_t ranks = 4;
  onRanks(ranks, [&](hewn_communicator &group) {
    constexpr size_t most = 3000;
    Memory memory(group, most * sizeof(int32_t) * (ranks + 1), /*inWindow=*/true);
    std::vector<int32_t> elsewhere(most * (ranks + 1));
    std::mt19937 alike(7), own(unsigned(group.rank));
    for (int32_t turn = 0; turn < 2000; ++turn) {
      bool isAll = alike() % 2;
      int32_t first = isAll ? 0 : group.rank / 2 * 2, count = isAll ? ranks : 2, at = group.rank - first;
      int what = int(alike() % 4); // half of the collectives are gathers
      size_t size = std::array<size_t, 6>{1, 7, 511, 512, 513, most}[alike() % 6];
      size -= what == 3 ? size % size_t(count) : 0;
      if (size == 0)
        continue;
      int32_t *mine = alike() % 2 ? memory.at<int32_t>(0) : elsewhere.data(), *all = mine + most;
      auto valueOf = [&](int32_t rank, size_t i) { return turn * 16 + rank + int32_t(i); };
      for (size_t i = 0; i < size; ++i)
        mine[i] = valueOf(group.rank, i);
      if (own() % 64 == 0)
        std::this_thread::yield();
      auto sumAt = [&](size_t i) {
        int32_t sum = 0;
        for (int32_t r = first; r < first + count; ++r)
          sum += valueOf(r, i);
        return sum;
      };
      constexpr DLDataType type{kDLInt, 32, 1};
      if (what < 2) {
        ASSERT_EQ(group.all_gather(group.user, first, count, mine, all, size * sizeof(int32_t)), HEWN_OK)
            << group.message(group.user);
        for (int32_t r = 0; r < count; ++r)
          for (size_t i = 0; i < size; ++i)
            ASSERT_EQ(all[size_t(r) * size + i], valueOf(first + r, i)) << turn;
      } else if (what == 2) {
        ASSERT_EQ(group.all_reduce(group.user, first, count, mine, all, int64_t(size), type), HEWN_OK)
            << group.message(group.user);
        for (size_t i = 0; i < size; ++i)
          ASSERT_EQ(all[i], sumAt(i)) << turn;
      } else {
        size_t part = size / size_t(count);
        ASSERT_EQ(group.reduce_scatter(group.user, first, count, mine, all, int64_t(part), type), HEWN_OK)
            << group.message(group.user);
        for (size_t i = 0; i < part; ++i)
          ASSERT_EQ(all[i], sumAt(size_t(at) * part + i)) << turn;
      }
      std::fill(mine, mine + size, -1);
    }
  });
}

/// A small gather may return before other ranks have read the data. If the rank then destroys its
/// communicator, the others still get the data.
TEST(Ranks, WhatFewBytesWereStaysForThoseWhoComeLate) {
  onRanks(2, [&](hewn_communicator &group) {
    int64_t mine = 10 + group.rank, both[2] = {};
    ASSERT_EQ(group.all_gather(group.user, 0, 2, &mine, both, sizeof(mine)), HEWN_OK) << group.message(group.user);
    EXPECT_EQ(both[0], 10);
    EXPECT_EQ(both[1], 11);
  });
}

TEST(Ranks, OneThatDoesSomethingElseIsAFailureForAll) {
  onRanks(3, [](hewn_communicator &group) {
    std::vector<float> data(100), more(300);
    int32_t code = group.rank == 1 ? group.all_reduce(group.user, 0, 3, data.data(), more.data(), 50, kFloat)
                                   : group.all_reduce(group.user, 0, 3, data.data(), more.data(), 100, kFloat);
    EXPECT_EQ(code, HEWN_PEER_FAILED);
    EXPECT_NE(std::string(group.message(group.user)).find("make different calls"), std::string::npos)
        << group.message(group.user);
    EXPECT_EQ(group.all_gather(group.user, 0, 3, data.data(), more.data(), 4), HEWN_PEER_FAILED);
  });
}

TEST(Ranks, PartsAndWholesOfASumAreNotTheSame) {
  onRanks(2, [](hewn_communicator &group) {
    std::vector<float> data(100), sum(100);
    int32_t code = group.rank == 1 ? group.all_reduce(group.user, 0, 2, data.data(), sum.data(), 100, kFloat)
                                   : group.reduce_scatter(group.user, 0, 2, data.data(), sum.data(), 50, kFloat);
    EXPECT_EQ(code, HEWN_PEER_FAILED);
    EXPECT_NE(std::string(group.message(group.user)).find("make different calls"), std::string::npos)
        << group.message(group.user);
    EXPECT_EQ(group.reduce_scatter(group.user, 1, 2, data.data(), sum.data(), 50, kFloat), HEWN_PEER_FAILED);
  });
}

TEST(Ranks, PartsOfElementsThatCantBeAdded) {
  std::atomic<int> over{0};
  onRanks(2, [&](hewn_communicator &group) {
    std::vector<unsigned char> data(100), sum(50);
    EXPECT_EQ(group.reduce_scatter(group.user, 0, 2, data.data(), sum.data(), 50, {kDLFloat, 8, 1}), HEWN_PEER_FAILED);
    EXPECT_NE(std::string(group.message(group.user)).find("cannot be summed"), std::string::npos)
        << group.message(group.user);
    for (++over; over < 2;) // wait, because a rank that has ended could not be reached
      std::this_thread::yield();
  });
}

TEST(Ranks, OneThatDoesNotComeIsNotWaitedForForever) {
  std::atomic<int> failed{0};
  onRanks(
      2,
      [&](hewn_communicator &group) {
        float value = 1, sum = 0;
        if (group.rank == 1) {
          while (failed == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        EXPECT_EQ(group.all_reduce(group.user, 0, 2, &value, &sum, 1, kFloat), HEWN_PEER_FAILED);
        EXPECT_NE(std::string(group.message(group.user)).find("rank 1 did not respond within"), std::string::npos)
            << group.message(group.user);
        failed = 1;
      },
      /*milliseconds=*/300);
}

TEST(Ranks, OneThatLeavesOrFailsIsTold) {
  onRanks(2, [](hewn_communicator &group) {
    float value = 1, sum = 0;
    if (group.rank == 0)
      EXPECT_EQ(group.receive(group.user, 1, &sum, 4), HEWN_PEER_FAILED);
    else
      group.abandon(group.user, "why");
    if (group.rank == 0)
      EXPECT_NE(std::string(group.message(group.user)).find("rank 1"), std::string::npos) << group.message(group.user);
    (void)value;
  });
  onRanks(2, [](hewn_communicator &group) {
    float sum = 0;
    if (group.rank == 0) {
      EXPECT_EQ(group.receive(group.user, 1, &sum, 4), HEWN_PEER_FAILED);
      EXPECT_STREQ(group.message(group.user), "rank 1 has exited");
    }
  });
}

TEST(Ranks, WrongGroups) {
  hewn_communicator *group = nullptr;
  EXPECT_EQ(hewn_local_communicator_create("a/b", 0, 1, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create("", 0, 1, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create(nullptr, 0, 1, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create("x", 1, 1, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create("x", -1, 1, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create("x", 0, 65, 0, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create("x", 0, 1, -1, &group).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_local_communicator_create("x", 0, 1, 0, nullptr).code, HEWN_INVALID_ARGUMENT);
  std::string name = uniqueName();
  EXPECT_EQ(hewn_local_communicator_create(name.c_str(), 0, 2, 50, &group).code, HEWN_PEER_FAILED);
  EXPECT_EQ(hewn_local_communicator_create(name.c_str(), 1, 2, 50, &group).code, HEWN_PEER_FAILED);
  EXPECT_EQ(group, nullptr);
}

/// Compares sums of two values in a type of lower precision with the double-precision sum, rounded
/// once.
TEST(Ranks, SumsOfHalfTypesAreRoundedToNearest) {
  auto half = [](uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                   : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                  : std::ldexp(mantissa, -24);
    return bits & 0x8000 ? -value : value;
  };
  auto bfloat = [](uint16_t bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return double(value);
  };
  auto check = [](DLDataType type, auto value) {
    for (uint32_t a = 0; a < 65536; a += 13)
      for (uint32_t b = 7; b < 65536; b += 1021) {
        uint16_t sum = uint16_t(a), other = uint16_t(b);
        ASSERT_EQ(hewn_communicator_add(&sum, &other, 1, type), HEWN_OK);
        double exact = value(uint16_t(a)) + value(uint16_t(b)), got = value(sum);
        if (std::isnan(exact)) {
          ASSERT_TRUE(std::isnan(got)) << a << " " << b;
          continue;
        }
        // Checks that no neighbor of the result is closer to the exact sum. An overflow gives
        // infinity.
        double below = value(uint16_t(sum - 1)), above = value(uint16_t(sum + 1));
        if (std::isinf(got)) {
          ASSERT_GE(std::abs(exact), std::abs(value(uint16_t(sum - 1)))) << a << " " << b;
          continue;
        }
        if (!std::isnan(below))
          ASSERT_LE(std::abs(got - exact), std::abs(below - exact)) << a << " " << b;
        if (!std::isinf(above) && !std::isnan(above))
          ASSERT_LE(std::abs(got - exact), std::abs(above - exact)) << a << " " << b;
      }
  };
  check({kDLFloat, 16, 1}, half);
  check({kDLBfloat, 16, 1}, bfloat);
}

TEST(Ranks, SumsOfOtherTypes) {
  int64_t a = INT64_MAX, b = 1;
  EXPECT_EQ(hewn_communicator_add(&a, &b, 1, {kDLInt, 64, 1}), HEWN_OK);
  EXPECT_EQ(a, INT64_MIN);
  uint8_t c = 250, d = 10;
  EXPECT_EQ(hewn_communicator_add(&c, &d, 1, {kDLUInt, 8, 1}), HEWN_OK);
  EXPECT_EQ(c, 4);
  double e = 0.5, f = 0.25;
  EXPECT_EQ(hewn_communicator_add(&e, &f, 1, {kDLFloat, 64, 1}), HEWN_OK);
  EXPECT_EQ(e, 0.75);
  EXPECT_EQ(hewn_communicator_add(&e, &f, 1, {kDLFloat, 8, 1}), HEWN_UNSUPPORTED);
  EXPECT_EQ(hewn_communicator_add(&e, &f, 1, {kDLComplex, 64, 1}), HEWN_UNSUPPORTED);
  EXPECT_EQ(hewn_communicator_add(&e, &f, 1, {kDLFloat, 32, 2}), HEWN_UNSUPPORTED);
}

TEST(Ranks, AreAskedWhetherTheyAreThere) {
  std::atomic<int> asked{0}, left{0};
  onRanks(2, [&](hewn_communicator &group) {
    EXPECT_EQ(group.check(group.user), HEWN_OK);
    EXPECT_EQ(group.device, nullptr);
    ++asked;
    while (asked < 2)
      std::this_thread::yield();
    if (group.rank == 1) {
      group.abandon(group.user, "");
      left = 1;
      return;
    }
    while (!left)
      std::this_thread::yield();
    EXPECT_EQ(group.check(group.user), HEWN_PEER_FAILED);
    EXPECT_STREQ(group.message(group.user), "a run of rank 1 has failed");
  });
}

TEST(Ranks, OfDevicesAreOverOthers) {
  hewn_communicator *group = nullptr, *over = nullptr;
  EXPECT_STREQ(hewn_nccl_communicator_create(nullptr, 0, nullptr).message, "the communicator pointer is NULL");
  hewn_status status = hewn_nccl_communicator_create(nullptr, 0, &group);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "NCCL needs a base communicator");
  ASSERT_EQ(hewn_local_communicator_create(uniqueName().c_str(), 0, 1, 1000, &over).code, HEWN_OK);
  EXPECT_STREQ(hewn_nccl_communicator_create(over, -1, &group).message, "the time limit is negative");
  EXPECT_EQ(group, nullptr);
  hewn_communicator_destroy(over);
}

} // namespace
