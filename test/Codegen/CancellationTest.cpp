// SPDX-License-Identifier: Apache-2.0
//
// Cancels compilations through the C API after a number of calls of the callback. This reaches
// every place that checks for cancellation: before passes, before kernels, and between stages.
#include "hewn/compiler.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <string>

namespace {

const std::string model = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 8] x) => (float[n, 8] y) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
  a = MatMul(x, b)  b = Expand(w, s)  s = Constant<value = int64[2] {8, 8}>()  y = Softmax(a)
})";

/// Compiles the model. The callback returns nonzero at call number `last` only; never if `last` is
/// negative. Returns the messages, and counts the calls.
std::string compile(int last, int jobs, int &calls) {
  struct Counter {
    std::atomic<int> calls = 0;
    int last;
  } counter;
  counter.last = last;
  hewn_compile_options options = {};
  options.size = sizeof(options);
  options.model_bytes = model.data();
  options.model_size = model.size();
  options.emit = "asm";
  options.target = "x86-64-v3";
  options.jobs = jobs;
  options.is_cancelled = [](void *user) {
    auto *counter = static_cast<Counter *>(user);
    int call = counter->calls++;
    return int32_t(call == counter->last);
  };
  options.is_cancelled_user = &counter;
  hewn_compilation *compilation = hewn_compile(&options);
  std::string told;
  for (size_t i = 0; i < hewn_compilation_num_messages(compilation); ++i)
    told += std::string(hewn_compilation_message(compilation, i)->text) + "\n";
  EXPECT_EQ(hewn_compilation_ok(compilation), told.empty());
  if (!told.empty()) {
    size_t bytes = 1;
    (void)hewn_compilation_text(compilation, &bytes);
    EXPECT_EQ(bytes, 0u);
  }
  hewn_compilation_destroy(compilation);
  calls = counter.calls;
  return told;
}

TEST(Cancellation, EndsWithOneErrorFromEveryPlace) {
  for (int jobs : {1, 2}) {
    int all, calls;
    ASSERT_EQ(compile(-1, jobs, all), "");
    ASSERT_GT(all, 20);
    for (int last = 0; last < all; last += std::max(1, all / 40))
      EXPECT_EQ(compile(last, jobs, calls), "error: the compilation was cancelled\n") << "at call " << last;
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
