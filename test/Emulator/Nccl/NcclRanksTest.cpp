// SPDX-License-Identifier: Apache-2.0
//
// Tests the NCCL device communicator of the runtime. Ranks are threads, each with an emulated
// device, so that sanitizers see all ranks.
#include "hewn/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// Calls a function of the emulated driver by name.
template <typename... Arguments> int driver(const char *name, Arguments... arguments) {
  using Find = int (*)(const char *, void **, int, uint64_t, int *);
  static void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  static Find find = library ? reinterpret_cast<Find>(dlsym(library, "cuGetProcAddress_v2")) : nullptr;
  void *function = nullptr;
  int found = 0;
  if (!find || find(name, &function, 12000, 0, &found) != 0)
    return -1;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

/// One rank: its device, its communicator and the arguments of its calls.
struct Rank {
  hewn_communicator *table;
  void *stream;
  uint64_t memory;

  void *at(size_t offset) const { return reinterpret_cast<void *>(memory + offset); }
  const hewn_device_transport *operator->() const { return table->device; }
  std::string message() const { return table->message(table->user); }

  void put(size_t offset, const std::vector<char> &bytes) const {
    ASSERT_EQ(
        driver("cuMemcpyHtoDAsync", memory + offset, static_cast<const void *>(bytes.data()), bytes.size(), stream), 0);
  }
  /// Waits until the rank's stream is complete, in the same way as the runtime's contexts do.
  int32_t wait() const {
    for (int64_t turn = 0; driver("cuStreamQuery", stream) == 600; ++turn) {
      if (int32_t code = table->device->check(table->user, turn / 1000); code != HEWN_OK)
        return code;
      std::this_thread::yield();
    }
    return HEWN_OK;
  }
  std::vector<char> get(size_t offset, size_t bytes) const {
    std::vector<char> got(bytes);
    EXPECT_EQ(wait(), HEWN_OK) << message();
    EXPECT_EQ(driver("cuMemcpyDtoHAsync", static_cast<void *>(got.data()), memory + offset, bytes, stream), 0);
    return got;
  }
};

constexpr size_t kBytes = 1 << 20;

void onRanks(int32_t ranks, const std::function<void(const Rank &)> &body) {
  static std::atomic<int> count{0};
  setenv("HEWN_EMULATOR_DEVICES", "4", 1);
  ASSERT_EQ(driver("cuInit", 0u),
            // Initializes the emulator before threads exist, because sanitizers do not see how it
            // builds its tables.
            0);
  std::string name = "nccl-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  std::vector<std::thread> threads;
  for (int32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      hewn_communicator *over = nullptr;
      Rank rank = {};
      ASSERT_EQ(hewn_local_communicator_create(name.c_str(), r, ranks, 20000, &over).code, HEWN_OK);
      hewn_status status = hewn_nccl_communicator_create(over, 20000, &rank.table);
      ASSERT_EQ(status.code, HEWN_OK) << status.message;
      int device = 0;
      void *context = nullptr;
      ASSERT_EQ(driver("cuDeviceGet", &device, r), 0);
      ASSERT_EQ(driver("cuDevicePrimaryCtxRetain", &context, device), 0);
      ASSERT_EQ(driver("cuCtxPushCurrent", context), 0);
      ASSERT_EQ(driver("cuStreamCreate", &rank.stream, 1u), 0);
      ASSERT_EQ(driver("cuMemAlloc", &rank.memory, kBytes), 0);
      ASSERT_EQ(rank->open(rank.table->user, 0, ranks), HEWN_OK) << rank.message();
      body(rank);
      rank->close(rank.table->user);
      EXPECT_EQ(driver("cuMemFree", rank.memory), 0);
      EXPECT_EQ(driver("cuStreamDestroy", rank.stream), 0);
      driver("cuCtxPopCurrent", &context);
      driver("cuDevicePrimaryCtxRelease", device);
      hewn_communicator_destroy(rank.table);
      hewn_communicator_destroy(over);
    });
  for (std::thread &thread : threads)
    thread.join();
}

constexpr DLDataType kTypes[] = {{kDLFloat, 16, 1}, {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLBfloat, 16, 1},
                                 {kDLInt, 8, 1},    {kDLInt, 32, 1},   {kDLInt, 64, 1},   {kDLUInt, 8, 1},
                                 {kDLUInt, 32, 1},  {kDLUInt, 64, 1}};
constexpr int64_t kCounts[] = {1, 3, 64, 65, 1000, 10000};

/// Returns `count` small integers as elements of the type. Their sums are exact in every type.
std::vector<char> numbers(DLDataType type, int64_t count, const std::function<int(int64_t)> &at) {
  std::vector<char> bytes(size_t(count) * (type.bits / 8u));
  for (int64_t i = 0; i < count; ++i) {
    int number = at(i);
    auto put = [&](auto value) { std::memcpy(bytes.data() + size_t(i) * sizeof(value), &value, sizeof(value)); };
    uint16_t half = 0;
    if (type.bits == 16) { // converts by float32, which has more exponent and fraction bits
      float value = float(number);
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      half = number == 0              ? 0
             : type.code == kDLBfloat ? uint16_t(bits >> 16)
                                      : uint16_t(((bits >> 13) - (112u << 10)) & 0x7fff);
    }
    if (type.bits == 16)
      put(half);
    else if (type.code == kDLFloat)
      type.bits == 32 ? put(float(number)) : put(double(number));
    else
      type.bits == 8 ? put(int8_t(number)) : type.bits == 32 ? put(int32_t(number)) : put(int64_t(number));
  }
  return bytes;
}

int numberOf(int32_t rank, int64_t i) { return int(i * 7 + rank * 5) % 16; }

class NcclRanks : public ::testing::TestWithParam<int32_t> {};

TEST_P(NcclRanks, AddUpAllTypes) {
  const int32_t ranks = GetParam();
  onRanks(ranks, [&](const Rank &rank) {
    int32_t own = rank.table->rank;
    for (DLDataType type : kTypes)
      for (int64_t count : kCounts) {
        size_t bytes = size_t(count) * (type.bits / 8u);
        auto sum = numbers(type, count, [&](int64_t i) {
          int all = 0;
          for (int32_t r = 0; r < ranks; ++r)
            all += numberOf(r, i);
          return all;
        });
        rank.put(0, numbers(type, count, [&](int64_t i) { return numberOf(own, i); }));
        ASSERT_EQ(
            rank->all_reduce(rank.table->user, 0, ranks, rank.at(0), rank.at(kBytes / 2), count, type, rank.stream),
            HEWN_OK)
            << rank.message();
        ASSERT_EQ(rank.get(kBytes / 2, bytes), sum);
        if (count % ranks)
          continue;
        ASSERT_EQ(rank->reduce_scatter(rank.table->user, 0, ranks, rank.at(0), rank.at(kBytes / 2), count / ranks, type,
                                       rank.stream),
                  HEWN_OK)
            << rank.message();
        size_t part = bytes / size_t(ranks);
        ASSERT_EQ(rank.get(kBytes / 2, part),
                  std::vector<char>(sum.begin() + long(part) * own, sum.begin() + long(part) * (own + 1)));
      }
  });
}

TEST_P(NcclRanks, GatherAndSend) {
  const int32_t ranks = GetParam();
  constexpr DLDataType bytesOf = {kDLInt, 8, 1};
  onRanks(ranks, [&](const Rank &rank) {
    int32_t own = rank.table->rank, next = (own + 1) % ranks, before = (own + ranks - 1) % ranks;
    for (int64_t count : {1, 63, 8192, 20001}) {
      std::vector<char> all;
      for (int32_t r = 0; r < ranks; ++r)
        for (char byte : numbers(bytesOf, count, [&](int64_t i) { return numberOf(r, i); }))
          all.push_back(byte);
      auto of = [&](int32_t r) { return std::vector<char>(all.begin() + count * r, all.begin() + count * (r + 1)); };
      rank.put(0, of(own));
      ASSERT_EQ(
          rank->all_gather(rank.table->user, 0, ranks, rank.at(0), rank.at(kBytes / 2), size_t(count), rank.stream),
          HEWN_OK);
      ASSERT_EQ(rank.get(kBytes / 2, all.size()), all);
      if (ranks == 1)
        continue;
      // Sends data around the ring of ranks. Rank 0 sends first, the others receive first.
      for (bool sends : {own == 0, own != 0})
        ASSERT_EQ(sends ? rank->send(rank.table->user, next, rank.at(0), size_t(count), rank.stream)
                        : rank->receive(rank.table->user, before, rank.at(kBytes / 4), size_t(count), rank.stream),
                  HEWN_OK);
      ASSERT_EQ(rank.get(kBytes / 4, size_t(count)), of(before));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, NcclRanks, ::testing::Values(1, 2, 4));

TEST(Nccl, FewerRanksMeetToo) {
  onRanks(4, [](const Rank &rank) {
    int32_t own = rank.table->rank, first = own / 2 * 2;
    constexpr DLDataType type = {kDLInt, 32, 1};
    for (int turn = 0; turn < 3; ++turn) {
      ASSERT_EQ(rank->open(rank.table->user, first, 2), HEWN_OK) << rank.message();
      rank.put(0, numbers(type, 100, [&](int64_t i) { return numberOf(own, i); }));
      ASSERT_EQ(rank->all_reduce(rank.table->user, first, 2, rank.at(0), rank.at(4096), 100, type, rank.stream),
                HEWN_OK);
      ASSERT_EQ(rank.get(4096, 400),
                numbers(type, 100, [&](int64_t i) { return numberOf(first, i) + numberOf(first + 1, i); }));
      if (turn < 1)
        continue;
      rank->close(rank.table->user); // closes and reopens the communicator
      ASSERT_EQ(rank->open(rank.table->user, 0, 4), HEWN_OK) << rank.message();
    }
  });
}

TEST(Nccl, WhatCanNotBeDoneIsAFailureForAll) {
  std::atomic<bool> isAsked{false}, isTold{false};
  onRanks(2, [&](const Rank &rank) {
    constexpr DLDataType type = {kDLInt, 16, 1};
    void *user = rank.table->user;
    if (rank.table->rank == 1) { // rank 0's device waits for rank 1, which never sends
      while (!isAsked)
        std::this_thread::yield();
      EXPECT_EQ(rank->reduce_scatter(user, 0, 2, rank.at(0), rank.at(4096), 8, type, rank.stream), HEWN_PEER_FAILED);
      EXPECT_EQ(rank.message(), "NCCL cannot sum 16-bit integers");
      EXPECT_EQ(rank->all_gather(user, 0, 2, rank.at(0), rank.at(4096), 8, rank.stream), HEWN_PEER_FAILED);
      EXPECT_EQ(rank.message(), "NCCL cannot sum 16-bit integers");
      EXPECT_EQ(rank->open(user, 0, 1), HEWN_PEER_FAILED);
      EXPECT_EQ(rank.table->check(user), HEWN_PEER_FAILED);
      while (!isTold) // keeps this rank alive until rank 0 has seen the failure
        std::this_thread::yield();
    } else {
      EXPECT_EQ(rank->all_gather(user, 0, 2, rank.at(0), rank.at(4096), 8, rank.stream), HEWN_OK);
      isAsked = true;
      EXPECT_EQ(rank.wait(), HEWN_PEER_FAILED);
      EXPECT_EQ(rank.message(), "a run of rank 1 has failed");
      isTold = true;
    }
    rank->stop(user);
    // After the abort of the communicator, the rank's stream completes, because its work does not
    // wait for the other rank any more.
    EXPECT_EQ(driver("cuStreamSynchronize", rank.stream), 0);
  });
}

TEST(Nccl, RanksMustHaveMet) {
  onRanks(2, [](const Rank &rank) {
    void *user = rank.table->user;
    EXPECT_EQ(rank->all_gather(user, rank.table->rank, 1, rank.at(0), rank.at(4096), 8, rank.stream), HEWN_PEER_FAILED);
    EXPECT_EQ(rank.message(), "the connection of these ranks is not open");
    rank->stop(user);
  });
}

} // namespace
