// SPDX-License-Identifier: Apache-2.0
// Tests that thread pools process each index exactly once, with several threads and contexts.
#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

hewn_context_options threadOptions(int32_t threads) {
  hewn_context_options options = defaultOptions();
  options.threads = threads;
  return options;
}

/// Counts processed indices without atomics, so that ThreadSanitizer detects a missing join.
struct Counted {
  std::vector<int> hits;
  static void task(void *arg, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++static_cast<Counted *>(arg)->hits[static_cast<size_t>(i)];
  }
};

class Pool : public testing::TestWithParam<int> {};

TEST_P(Pool, EveryItemOnce) {
  hewn_context_options options = threadOptions(GetParam());
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    for (int64_t n : {0, 1, 2, 3, 7, 8, 64, 65, 1000})
      for (int round = 0; round < 50; ++round) {
        Counted counted{std::vector<int>(static_cast<size_t>(n), 0)};
        EXPECT_EQ(hewn_rt_parallel_for(context, n, Counted::task, &counted), HEWN_OK);
        for (int hits : counted.hits)
          EXPECT_EQ(hits, 1);
      }
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK) << model.message;
}

INSTANTIATE_TEST_SUITE_P(Threads, Pool, testing::Values(1, 2, 3, 8, 17));

TEST(PoolRange, HugeRangesAreCoveredWithoutGaps) {
  hewn_context_options options = threadOptions(3);
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    std::atomic<uint64_t> covered{0};
    hewn_rt_parallel_for(
        context, INT64_MAX,
        [](void *arg, int64_t begin, int64_t end) {
          *static_cast<std::atomic<uint64_t> *>(arg) += static_cast<uint64_t>(end - begin);
        },
        &covered);
    EXPECT_EQ(covered, static_cast<uint64_t>(INT64_MAX));
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
}

/// The calling thread takes the remaining range from its start, the second thread from its end, so
/// that each thread gets a similar part of every job.
TEST(PoolOrder, TwoThreadsMeet) {
  hewn_context_options options = threadOptions(2);
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    struct Taken {
      std::thread::id caller = std::this_thread::get_id();
      std::vector<int64_t> byCaller, byOther;
    };
    bool shared = false;
    for (int round = 0; round < 50; ++round) {
      Taken taken;
      hewn_rt_parallel_for(
          context, 64,
          [](void *arg, int64_t begin, int64_t) {
            auto &all = *static_cast<Taken *>(arg);
            (std::this_thread::get_id() == all.caller ? all.byCaller : all.byOther).push_back(begin);
            std::this_thread::sleep_for(std::chrono::microseconds(50));
          },
          &taken);
      EXPECT_TRUE(std::is_sorted(taken.byCaller.begin(), taken.byCaller.end()));
      EXPECT_TRUE(std::is_sorted(taken.byOther.rbegin(), taken.byOther.rend()));
      if (!taken.byCaller.empty() && !taken.byOther.empty()) {
        shared = true;
        EXPECT_LT(taken.byCaller.back(), taken.byOther.back());
      }
    }
    EXPECT_TRUE(shared);
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
}

TEST(PoolSleep, ThreadsWakeAfterSleep) {
  hewn_context_options options = threadOptions(3);
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    for (int round = 0; round < 20; ++round) {
      std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
      Counted counted{std::vector<int>(100, 0)};
      hewn_rt_parallel_for(context, 100, Counted::task, &counted);
      EXPECT_THAT(counted.hits, testing::Each(1));
    }
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
}

TEST(PoolSleep, JoinWaitsForASlowTask) {
  hewn_context_options options = threadOptions(2);
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    int slow[16] = {};
    hewn_rt_parallel_for(
        context, 16,
        [](void *arg, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(i == 15 ? 20 : 1));
            static_cast<int *>(arg)[i] = 1;
          }
        },
        slow);
    EXPECT_THAT(slow, testing::Each(1));
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
}

struct Nested {
  hewn_context *context;
  std::atomic<int> inner{0};
};

TEST(PoolNested, RunsSerially) {
  hewn_context_options options = threadOptions(4);
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    Nested nested{context};
    hewn_rt_parallel_for(
        context, 8,
        [](void *arg, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            hewn_rt_parallel_for(
                static_cast<Nested *>(arg)->context, 10,
                [](void *inner, int64_t from, int64_t to) {
                  static_cast<Nested *>(inner)->inner += static_cast<int>(to - from);
                },
                arg);
        },
        &nested);
    EXPECT_EQ(nested.inner, 80);
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
}

TEST(PoolFailure, FirstFailureOfManyIsKept) {
  hewn_context_options options = threadOptions(4);
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    return hewn_rt_parallel_for(
        context, 1000,
        [](void *arg, int64_t begin, int64_t) {
          hewn_rt_fail(static_cast<hewn_context *>(arg), HEWN_INDEX_OUT_OF_RANGE, "gather", "index {a}", begin, 0);
        },
        context);
  });
  EXPECT_EQ(model.run(&options), HEWN_INDEX_OUT_OF_RANGE);
  EXPECT_THAT(model.message, testing::StartsWith("node 'gather': index "));
}

TEST(PoolHook, ForeignThreadsDoTheWork) {
  hewn_context_options options = threadOptions(3);
  int calls = 0;
  options.thread_hook = {[](void *user, int64_t n, hewn_task task, void *arg) {
                           ++*static_cast<int *>(user);
                           std::thread other([=] { task(arg, 0, n / 2); });
                           task(arg, n / 2, n);
                           other.join();
                         },
                         &calls};
  BodyModel model([](hewn_context *context, const hewn_frame *) -> int32_t {
    EXPECT_EQ(hewn_rt_threads(context), 3);
    Counted counted{std::vector<int>(100, 0)};
    hewn_rt_parallel_for(context, 100, Counted::task, &counted);
    EXPECT_THAT(counted.hits, testing::Each(1));
    return HEWN_OK;
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
  EXPECT_EQ(calls, 1);
}

/// Runs two models in several threads, each with its own contexts and pools.
TEST(PoolContexts, ManyAtOnce) {
  FakeModel first, second;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      FakeModel &fake = t % 2 ? first : second;
      hewn_context_options options = threadOptions(1 + t % 3);
      hewn_context *context = nullptr;
      ASSERT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
      for (int64_t round = 0; round < 40; ++round) {
        int64_t batch = 1 + (round * 7 + t) % 64;
        std::vector<float> left(static_cast<size_t>(batch * 3), static_cast<float>(t)), right(left), total(left);
        const void *in[] = {left.data(), right.data()};
        void *out[] = {total.data(), nullptr};
        hewn_status status = hewn_run_pointers(&fake.model, context, in, out, nullptr, &batch);
        ASSERT_EQ(status.code, HEWN_OK) << status.message;
        EXPECT_EQ(total.back(), static_cast<float>(300 + 2 * t));
        hewn_output_release(context, out[1]);
      }
      hewn_context_destroy(context);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(PoolContexts, OneContextInTwoThreadsIsRefused) {
  // A hook that calls back into the same context simulates the other thread.
  FakeModel fake;
  struct Again {
    FakeModel *fake;
    hewn_context *context;
    int32_t code;
  } again{&fake, nullptr, HEWN_OK};
  hewn_context_options options = defaultOptions();
  options.trace_hook = {[](void *user, int32_t, const char *) {
                          auto *self = static_cast<Again *>(user);
                          int64_t batch = 1;
                          self->code = hewn_context_reserve(self->context, &batch).code;
                        },
                        &again};
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &again.context).code, HEWN_OK);
  float row[3] = {1, 2, 3}, total[3];
  const void *in[] = {row, row};
  void *out[] = {total, nullptr};
  int64_t batch = 1;
  EXPECT_EQ(hewn_run_pointers(&fake.model, again.context, in, out, nullptr, &batch).code, HEWN_OK);
  EXPECT_EQ(again.code, HEWN_BUSY);
  hewn_output_release(again.context, out[1]);
  hewn_context_destroy(again.context);
}

#if defined(__SANITIZE_THREAD__) || (defined(__has_feature) && __has_feature(thread_sanitizer))
#define UNDER_THREAD_SANITIZER 1
#else
#define UNDER_THREAD_SANITIZER 0
#endif

/// Runs 64 slow tasks. Returns the number of threads that took part, or -1 if not all tasks ran.
int32_t countThreads(hewn_context *context) {
  struct Seen {
    std::mutex lock;
    std::set<std::thread::id> threads;
    int64_t items = 0;
  } seen;
  hewn_rt_parallel_for(
      context, 64,
      [](void *arg, int64_t begin, int64_t end) {
        auto *seen = static_cast<Seen *>(arg);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::lock_guard<std::mutex> lock(seen->lock);
        seen->threads.insert(std::this_thread::get_id());
        seen->items += end - begin;
      },
      &seen);
  return seen.items == 64 ? static_cast<int32_t>(seen.threads.size()) : -1;
}

/// After fork, the child has only the calling thread. It starts threads of its own, and exits
/// normally.
TEST(PoolFork, AChildHasThreadsOfItsOwn) {
  if (UNDER_THREAD_SANITIZER)
    GTEST_SKIP() << "with ThreadSanitizer, the child of a process with threads cannot start threads";
  hewn_context_options options = threadOptions(4);
  hewn_context *context = nullptr;
  BodyModel model([](hewn_context *inside, const hewn_frame *) -> int32_t {
    return countThreads(inside) > 1 ? HEWN_OK : HEWN_INTERNAL;
  });
  ASSERT_EQ(hewn_context_create(&model.model, &options, &context).code, HEWN_OK);
  EXPECT_EQ(model.runIn(context), HEWN_OK);
  for (int round = 0; round < 3; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = round == 2 || (model.runIn(context) == HEWN_OK && model.runIn(context) == HEWN_OK);
      hewn_context_destroy(context); // the last round destroys a context that has not run
      _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(model.runIn(context), HEWN_OK); // the parent's threads still work
  }
  hewn_context_destroy(context);
}

} // namespace
