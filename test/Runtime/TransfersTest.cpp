// SPDX-License-Identifier: Apache-2.0
//
// Tests transfer hooks, and the waiting times that communicators report. Ranks are threads here.
#include "FakeModel.h"
#include "hewn/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kRanks = 2;
constexpr std::chrono::milliseconds kLate{20};
constexpr double kLateNanoseconds = 15e6;
/// Number of rounds. On a busy machine the waiting rank may itself be late, but not in all rounds.
constexpr int kRounds = 4;

double nanoseconds() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Calls `body` in parallel, once for each rank.
void onRanks(const std::function<void(hewn_communicator &)> &body) {
  static std::atomic<int> count{0};
  std::string name = "transfers-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  std::vector<std::thread> threads;
  for (int32_t r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] {
      hewn_communicator *group = nullptr;
      hewn_status status = hewn_local_communicator_create(name.c_str(), r, kRanks, 20000, &group);
      ASSERT_EQ(status.code, HEWN_OK) << status.message;
      body(*group);
      hewn_communicator_destroy(group);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Calls function number `which` of the communicator table. Returns -1 if there is no such
/// function.
int32_t call(hewn_communicator &group, int which, float *data) {
  switch (which) {
  case 0:
    return group.all_reduce(group.user, 0, kRanks, data, data, 64, float32);
  case 1:
    return group.reduce_scatter(group.user, 0, kRanks, data, data + 64, 32, float32);
  case 2:
    return group.all_gather(group.user, 0, kRanks, data, data + 64, 128);
  case 3:
    return group.rank == 0 ? group.send(group.user, 1, data, 256) : group.receive(group.user, 0, data, 256);
  case 4:
    return group.rank == 1 ? group.send(group.user, 0, data, 256) : group.receive(group.user, 1, data, 256);
  default:
    return -1;
  }
}

TEST(Transfers, AWaitIsForTheRankThatIsLate) {
  onRanks([](hewn_communicator &group) {
    std::vector<float> data(256, 1);
    for (int which = 0; call(group, which, data.data()) == HEWN_OK; ++which) {
      // A communicator measures the time that a rank waits for others only on request.
      EXPECT_EQ(group.waited, 0) << which;
      for (int32_t late = 0; late < kRanks; ++late) {
        int64_t longest = 0;
        for (int round = 0; round < kRounds; ++round) {
          if (group.rank == late)
            std::this_thread::sleep_for(kLate);
          group.waited = -1;
          double begin = nanoseconds();
          ASSERT_EQ(call(group, which, data.data()), HEWN_OK) << group.message(group.user);
          double taken = nanoseconds() - begin;
          EXPECT_GE(group.waited, 0);
          EXPECT_LE(double(group.waited), taken) << which;
          longest = std::max(longest, group.waited);
          group.waited = 0;
        }
        if (group.rank != late)
          EXPECT_GE(double(longest), kLateNanoseconds) << which << ", rank " << late << " was late";
      }
    }
  });
}

/// The waiting time of a receiver does not include the time to copy, because the receiver knows
/// when its sender began.
TEST(Transfers, AReceiverDoesNotWaitForBytesThatCome) {
  onRanks([](hewn_communicator &group) {
    constexpr size_t bytes = size_t(64) << 20;
    std::vector<char> data(bytes, 1);
    double moving = 0;
    for (int round = 0; round < 3; ++round) {
      group.waited = -1;
      double begin = nanoseconds();
      int32_t code = group.rank == 0 ? group.send(group.user, 1, data.data(), bytes)
                                     : group.receive(group.user, 0, data.data(), bytes);
      ASSERT_EQ(code, HEWN_OK) << group.message(group.user);
      if (round > 0) // the first round also maps the memory
        moving += nanoseconds() - begin - double(group.waited);
    }
    double all[kRanks];
    group.waited = 0;
    ASSERT_EQ(group.all_gather(group.user, 0, kRanks, &moving, all, sizeof(moving)), HEWN_OK);
    EXPECT_GT(all[1], all[0] / 2);
  });
}

struct Heard {
  std::vector<hewn_transfer> transfers;
  hewn_transfer_hook hook() {
    return {
        [](void *user, const hewn_transfer *transfer) { static_cast<Heard *>(user)->transfers.push_back(*transfer); },
        this};
  }
};

/// A model that is split over ranks. Its `run` function calls `body`.
struct SplitModel : BodyModel {
  explicit SplitModel(Body body) : BodyModel(std::move(body)) {
    model.digest = "feed";
    model.num_ranks = kRanks;
    model.num_symbols = 1;
    model.symbols = &rank;
    variant.target = "portable";
    variant.arena_bytes = [](const int64_t *) -> int64_t { return 4096; };
  }
  hewn_symbol rank{"rank", 0, kRanks - 1};
};

TEST(Transfers, HooksHearOfEach) {
  onRanks([](hewn_communicator &group) {
    int64_t many[] = {64}, half[] = {32}, none[] = {0};
    SplitModel model([&](hewn_context *context, const hewn_frame *frame) -> int32_t {
      auto tensor = [&](int64_t place, int64_t *dims) { return hewn_part_tensor{frame->arena + place, 1, 1, dims}; };
      hewn_part_tensor mine = tensor(0, many), sum = tensor(256, many), part = tensor(512, half),
                       all = tensor(1024, many), empty = tensor(0, none), message = tensor(2048, half);
      const int64_t both[] = {0, kRanks}, other[] = {1 - group.rank};
      int32_t code = hewn_part_allreduce(context, "sum", 1, &mine, 1, &sum, both);
      if (code == HEWN_OK)
        code = hewn_part_reducescatter(context, nullptr, 1, &mine, 1, &part, both);
      if (code == HEWN_OK)
        code = hewn_part_allgather(context, "", 1, &part, 1, &all, both);
      if (code == HEWN_OK)
        // Also tests a transfer of an empty buffer, for which the ranks communicate nothing.
        code = hewn_part_allreduce(context, "nothing", 1, &empty, 1, &empty, both);
      if (code == HEWN_OK)
        code = group.rank == 0 ? hewn_part_send(context, "", 1, &message, 0, nullptr, other)
                               : hewn_part_receive(context, "", 0, nullptr, 1, &message, other);
      return code;
    });
    Heard heard;
    hewn_context_options options = defaultOptions();
    options.communicator = &group;
    options.transfer_hook = heard.hook();
    ASSERT_EQ(model.run(&options), HEWN_OK) << model.message;
    const bool sends = group.rank == 0;
    const std::vector<const char *> names = {"all-reduce", "reduce-scatter", "all-gather", sends ? "send" : "receive"};
    const std::vector<uint64_t> bytes = {256, 256, 128, 128};
    ASSERT_EQ(heard.transfers.size(), names.size());
    uint64_t moved = 0;
    double before = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const hewn_transfer &transfer = heard.transfers[i];
      EXPECT_EQ(transfer.size, sizeof(hewn_transfer));
      EXPECT_STREQ(transfer.what, names[i]);
      EXPECT_STREQ(transfer.node, i == 0 ? "sum" : "");
      EXPECT_EQ(transfer.bytes, bytes[i]) << names[i];
      EXPECT_EQ(transfer.first, i < 3 ? 0 : 1 - group.rank);
      EXPECT_EQ(transfer.ranks, i < 3 ? kRanks : 1);
      EXPECT_FALSE(transfer.on_device);
      EXPECT_LE(before, transfer.begin);
      EXPECT_LE(transfer.begin, transfer.end);
      EXPECT_GE(transfer.waited, 0);
      EXPECT_LE(transfer.waited, transfer.end - transfer.begin);
      before = transfer.end;
      moved += transfer.moved;
    }
    EXPECT_EQ(moved, group.moved);
    // The hook counts the bytes of a message only on the rank that receives it.
    EXPECT_EQ(heard.transfers.back().moved, sends ? 0U : 128U);
  });
}

/// A communicator table of an older header has no member `waited`, so the waiting time is unknown.
TEST(Transfers, AWaitThatNobodyTellsIsUnknown) {
  onRanks([](hewn_communicator &group) {
    SplitModel model([&](hewn_context *context, const hewn_frame *frame) -> int32_t {
      int64_t dims[] = {64};
      hewn_part_tensor mine = {frame->arena, 1, 1, dims};
      const int64_t both[] = {0, kRanks};
      return hewn_part_allreduce(context, "", 1, &mine, 1, &mine, both);
    });
    Heard heard;
    hewn_context_options options = defaultOptions();
    options.communicator = &group;
    options.transfer_hook = heard.hook();
    group.size = offsetof(hewn_communicator, waited);
    group.waited = 7; // memory after the end of such a table must not be written
    ASSERT_EQ(model.run(&options), HEWN_OK) << model.message;
    ASSERT_EQ(heard.transfers.size(), 1U);
    EXPECT_LT(heard.transfers[0].waited, 0);
    EXPECT_EQ(group.waited, 7);
  });
}

/// Checks that a failed transfer is reported by the status and not to the hook.
TEST(Transfers, FailuresAreNoTransfers) {
  onRanks([](hewn_communicator &group) {
    SplitModel model([&](hewn_context *context, const hewn_frame *frame) -> int32_t {
      int64_t dims[] = {group.rank == 0 ? 64 : 32};
      hewn_part_tensor mine = {frame->arena, 1, 1, dims};
      const int64_t both[] = {0, kRanks};
      return hewn_part_allreduce(context, "sum", 1, &mine, 1, &mine, both);
    });
    Heard heard;
    hewn_context_options options = defaultOptions();
    options.communicator = &group;
    options.transfer_hook = heard.hook();
    EXPECT_EQ(model.run(&options), HEWN_PEER_FAILED);
    EXPECT_NE(model.message.find("make different calls"), std::string::npos) << model.message;
    EXPECT_TRUE(heard.transfers.empty());
  });
}

/// Checks that a model that is not split accepts options with a transfer hook. It has no transfers.
TEST(Transfers, OtherModelsTakeTheHook) {
  BodyModel model([](hewn_context *, const hewn_frame *) -> int32_t { return HEWN_OK; });
  Heard heard;
  hewn_context_options options = defaultOptions();
  options.transfer_hook = heard.hook();
  EXPECT_EQ(model.run(&options), HEWN_OK) << model.message;
  EXPECT_TRUE(heard.transfers.empty());
}

} // namespace
