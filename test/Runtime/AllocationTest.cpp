// SPDX-License-Identifier: Apache-2.0
// A run does not call the allocator: this file replaces malloc and related functions by counting
// ones. Sanitizers replace them, too; with a sanitizer this file is empty.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEWN_TEST_SANITIZED
#endif
#endif
#else
#define HEWN_TEST_SANITIZED
#endif

#if !defined(HEWN_TEST_SANITIZED) && defined(__linux__)

#include "FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}

static std::atomic<int> calls{0};

extern "C" {
void *malloc(size_t bytes) {
  ++calls;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++calls;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  ++calls;
  return __libc_realloc(memory, bytes);
}
void free(void *memory) {
  if (memory)
    ++calls;
  __libc_free(memory);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++calls;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  ++calls;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
}

namespace {

/// Removes the output whose size depends on data from the fake model.
void makeStaticShaped(FakeModel &fake) {
  fake.model.num_outputs = 1;
  fake.model.output_dims = [](const int64_t *symbols, int64_t *const *dims) {
    dims[0][0] = symbols[0];
    dims[0][1] = 3;
  };
  fake.variant.run = [](hewn_context *context, const hewn_frame *frame) -> int32_t {
    return hewn_rt_parallel_for(
        context, frame->symbols[0],
        [](void *arg, int64_t begin, int64_t end) {
          auto *to = static_cast<float *>(static_cast<const hewn_frame *>(arg)->outputs[0]);
          for (int64_t i = 3 * begin; i < 3 * end; ++i)
            to[i] = static_cast<float>(i);
        },
        const_cast<hewn_frame *>(frame));
  };
}

TEST(Allocation, NoneInAReservedRun) {
  FakeModel fake;
  makeStaticShaped(fake);
  hewn_context_options options = defaultOptions();
  options.threads = 3;
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
  int64_t most = 8;
  ASSERT_EQ(hewn_context_reserve(context, &most).code, HEWN_OK);
  Tensor<float> left({8, 3}, std::vector<float>(24)), right(left), total(left);
  DLTensor in[] = {left.view(float32), right.view(float32)}, out[] = {total.view(float32)};
  for (int64_t batch : {8, 2, 8}) {
    left.shape[0] = right.shape[0] = total.shape[0] = batch;
    int before = calls;
    int32_t code = hewn_run(&fake.model, context, in, out).code;
    EXPECT_EQ(calls, before);
    EXPECT_EQ(code, HEWN_OK);
  }
  EXPECT_EQ(total.data[23], 23);
  left.data[0] = 1;
  left.shape[0] = 3; // the run fails; a failing run does not allocate, either
  int before = calls;
  EXPECT_EQ(hewn_run(&fake.model, context, in, out).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(calls, before);
  hewn_context_destroy(context);
}

TEST(Allocation, CountsAtAll) {
  int before = calls;
  void *volatile memory = malloc(1); // volatile: otherwise the compiler removes both calls
  free(memory);
  EXPECT_GT(calls, before);
}

TEST(Allocation, ScratchIsGivenBackEveryRun) {
  FakeModel fake;
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_OK);
  int64_t batch = 1;
  Tensor<float> left({1, 3}, {1, 2, 3}), right({1, 3}, {2, 2, 2}), sum({1, 3}, {0, 0, 0});
  Tensor<int64_t> rows({1}, {0});
  ASSERT_EQ(hewn_context_reserve(context, &batch).code, HEWN_OK);
  DLTensor in[] = {left.view(float32), right.view(float32)}, out[] = {sum.view(float32), rows.view(int64)};
  int before = calls;
  EXPECT_EQ(hewn_run(&fake.model, context, in, out).code, HEWN_OK);
  // The buffer of the output whose size depends on data: malloc and free.
  EXPECT_EQ(calls, before + 2);
  hewn_context_destroy(context);
}

} // namespace

#endif
