// SPDX-License-Identifier: Apache-2.0
// Tests that the cancel hook ends runs, and that the context runs afterwards.
#include "FakeModel.h"
#include "hewn/runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

/// Runs kernels on the context's threads until a run is cancelled, or `limit` times.
struct Kernels {
  int64_t limit = INT64_MAX;
  std::atomic<int64_t> begun{0};
  std::atomic<int64_t> tasks{0};
  BodyModel body{[this](hewn_context *context, const hewn_frame *) {
    for (int64_t i = 0; i < limit; ++i) {
      int32_t code = hewn_rt_check_cancel(context);
      if (code == HEWN_OK)
        code = hewn_rt_begin_kernel(context, "count");
      if (code != HEWN_OK)
        return code;
      ++begun;
      hewn_task task = [](void *arg, int64_t begin, int64_t end) {
        *static_cast<std::atomic<int64_t> *>(arg) += end - begin;
      };
      hewn_rt_parallel_for(context, 8, task, &tasks);
      hewn_rt_trace(context, HEWN_TRACE_END, "count");
    }
    return int32_t(HEWN_OK);
  }};
};

TEST(Cancel, AnotherThreadEndsARun) {
  for (int32_t threads : {1, 3}) {
    Kernels kernels;
    hewn::CancelFlag flag;
    hewn::ContextOptions options;
    options.threads = threads;
    options.cancel_hook = flag.hook();
    hewn::Context context(kernels.body.model, options);
    std::thread other([&] {
      while (kernels.begun < 3)
        std::this_thread::yield();
      flag.cancel();
    });
    EXPECT_EQ(kernels.body.runIn(context), HEWN_CANCELLED);
    EXPECT_EQ(kernels.body.message, "the run was cancelled");
    other.join();
    EXPECT_EQ(kernels.tasks, 8 * kernels.begun); // kernels that have begun run to their end

    // A run that is cancelled before its first kernel runs none.
    const int64_t before = kernels.begun;
    EXPECT_EQ(kernels.body.runIn(context), HEWN_CANCELLED);
    EXPECT_EQ(kernels.begun, before);

    flag.reset();
    kernels.limit = 5;
    EXPECT_EQ(kernels.body.runIn(context), HEWN_OK);
    EXPECT_EQ(kernels.begun, before + 5);
  }
}

TEST(Cancel, ACancelledKernelIsNotTraced) {
  Kernels kernels;
  kernels.limit = 10;
  struct State {
    int begun = 0, ended = 0;
  } state;
  hewn::ContextOptions options;
  options.trace_hook = {[](void *user, int32_t phase, const char *) {
                          auto *state = static_cast<State *>(user);
                          ++(phase == HEWN_TRACE_BEGIN ? state->begun : state->ended);
                        },
                        &state};
  options.cancel_hook = {[](void *user) -> int32_t { return static_cast<State *>(user)->ended == 4 ? 7 : 0; }, &state};
  hewn::Context context(kernels.body.model, options);
  EXPECT_EQ(kernels.body.runIn(context), HEWN_CANCELLED);
  EXPECT_EQ(state.begun, 4);
  EXPECT_EQ(state.ended, 4);
}

TEST(Cancel, MemoryOfTheRunIsFreed) {
  BodyModel body([](hewn_context *context, const hewn_frame *) {
    hewn_rt_alloc(context, 1000, 64);
    return hewn_rt_check_cancel(context);
  });
  hewn::CancelFlag flag;
  flag.cancel();
  hewn::ContextOptions options;
  options.cancel_hook = flag.hook();
  EXPECT_EQ(body.run(&options), HEWN_CANCELLED);
}

TEST(Cancel, TheCodeHasAName) { EXPECT_STREQ(hewn_code_name(HEWN_CANCELLED), "HEWN_CANCELLED"); }

} // namespace
