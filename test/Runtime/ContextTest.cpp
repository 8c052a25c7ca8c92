// SPDX-License-Identifier: Apache-2.0
// Tests contexts: creation, options, arenas, hooks, target selection.
#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

using testing::HasSubstr;

namespace {

TEST(Context, CreateAndDestroy) {
  FakeModel fake;
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&fake.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_OK);
  EXPECT_STREQ(status.message, "");
  EXPECT_STREQ(hewn_context_message(context), "");
  hewn_context_destroy(context);
  hewn_context_destroy(nullptr);
}

TEST(Context, RefusesNullPointers) {
  FakeModel fake;
  hewn_context *context = nullptr;
  EXPECT_EQ(hewn_context_create(nullptr, nullptr, &context).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_context_create(&fake.model, nullptr, nullptr).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_context_reserve(nullptr, nullptr).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_run(&fake.model, nullptr, nullptr, nullptr).code, HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(hewn_run(nullptr, nullptr, nullptr, nullptr).code, HEWN_INVALID_ARGUMENT);
}

TEST(Context, RefusesAnotherAbi) {
  FakeModel fake;
  fake.model.abi_version = HEWN_ABI_VERSION + 1;
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&fake.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_UNSUPPORTED);
  EXPECT_THAT(status.message, HasSubstr("ABI"));
  EXPECT_EQ(context, nullptr);
}

TEST(Context, AcceptsADescriptorWithoutMetadata) {
  FakeModel fake;
  const hewn_metadata_entry entries[] = {{"classes", "cat dog"}, {"empty", ""}};
  fake.model.metadata = entries;
  fake.model.num_metadata = 2;
  int32_t count = -1;
  EXPECT_EQ(hewn_metadata_entries(&fake.model, &count), entries);
  EXPECT_EQ(count, 2);
  EXPECT_STREQ(hewn_metadata(&fake.model, "classes"), "cat dog");
  EXPECT_STREQ(hewn_metadata(&fake.model, "empty"), "");
  EXPECT_EQ(hewn_metadata(&fake.model, "other"), nullptr);
  EXPECT_EQ(hewn_metadata(&fake.model, nullptr), nullptr);

  // Descriptors of hewn 0.2 end before the metadata.
  fake.model.struct_bytes = offsetof(hewn_model, metadata);
  EXPECT_EQ(hewn_metadata_entries(&fake.model, &count), nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(hewn_metadata(&fake.model, "classes"), nullptr);
  EXPECT_EQ(hewn_input_index(&fake.model, "right"), 1);
  --fake.model.struct_bytes;
  EXPECT_EQ(hewn_input_index(&fake.model, "right"), -1);
}

TEST(Context, FindsInputsAndOutputsByName) {
  FakeModel fake;
  EXPECT_EQ(hewn_input_index(&fake.model, "right"), 1);
  EXPECT_EQ(hewn_output_index(&fake.model, "rows"), 1);
  EXPECT_EQ(hewn_input_index(&fake.model, "rows"), -1);
  EXPECT_EQ(hewn_output_index(&fake.model, nullptr), -1);
  EXPECT_EQ(hewn_output_index(nullptr, "rows"), -1);
}

TEST(Context, RefusesAnotherMachine) {
  FakeModel fake;
  fake.variant.cpu_features = UINT64_C(1) << 63;
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&fake.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_UNSUPPORTED);
  EXPECT_THAT(status.message, HasSubstr("'fake' was compiled for x86-64-v2"));
  hewn_context_destroy(context);
}

TEST(Context, TakesTheFirstVariantThatRuns) {
  FakeModel fake;
  const auto bytes = [](const int64_t *) -> int64_t { return 192; };
  hewn_variant variants[] = {fake.variant, fake.variant, fake.variant};
  variants[0].cpu_features = UINT64_C(1) << 63;
  variants[1].arena_bytes = bytes;
  fake.model.variants = variants;
  fake.model.num_variants = 3;
  const int64_t symbols[] = {1};
  EXPECT_EQ(hewn_model_variant(&fake.model), &variants[1]);
  EXPECT_EQ(hewn_arena_bytes(&fake.model, symbols), 192);
  alignas(64) static unsigned char arena[192];
  hewn_context *context = nullptr;
  hewn_context_options options = defaultOptions();
  options.arena = arena;
  options.arena_bytes = 128; // 128 bytes are enough for the arena of the other cases
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
  EXPECT_THAT(hewn_context_reserve(context, symbols).message, HasSubstr("an arena of 192 bytes"));
  hewn_context_destroy(context);
}

TEST(Context, KnowsNoVariantOfAnotherMachine) {
  FakeModel fake;
  fake.variant.cpu_features = UINT64_C(1) << 63;
  const int64_t symbols[] = {1};
  EXPECT_EQ(hewn_model_variant(&fake.model), nullptr);
  EXPECT_EQ(hewn_arena_bytes(&fake.model, symbols), -1);
  fake.model.num_variants = 0;
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&fake.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_UNSUPPORTED);
  EXPECT_THAT(status.message, HasSubstr("no code"));
  hewn_context_destroy(context);
}

TEST(Context, RefusesBadOptions) {
  FakeModel fake;
  hewn_context *context = nullptr;
  hewn_context_options options = defaultOptions();
  options.size = 0;
  EXPECT_THAT(hewn_context_create(&fake.model, &options, &context).message, HasSubstr("options.size"));
  options = defaultOptions();
  options.threads = -1;
  EXPECT_THAT(hewn_context_create(&fake.model, &options, &context).message, HasSubstr("options.threads"));
  options = defaultOptions();
  options.arena = reinterpret_cast<void *>(8);
  EXPECT_THAT(hewn_context_create(&fake.model, &options, &context).message, HasSubstr("64 bytes"));
  options = defaultOptions();
  options.device = -1;
  EXPECT_THAT(hewn_context_create(&fake.model, &options, &context).message, HasSubstr("options.device"));
  options = defaultOptions();
  options.allocator.allocate = [](void *, size_t, size_t) -> void * { return nullptr; };
  EXPECT_THAT(hewn_context_create(&fake.model, &options, &context).message, HasSubstr("allocator"));
  EXPECT_EQ(context, nullptr);
}

TEST(Context, ShorterOptionsOfAnOlderHeader) {
  FakeModel fake;
  hewn_context *context = nullptr;
  hewn_context_options options = defaultOptions();
  options.size = offsetof(hewn_context_options, weights_path);
  // Bytes after the end of the options, which the runtime must not read.
  options.weights_path = reinterpret_cast<const char *>(1);
  EXPECT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
  hewn_context_destroy(context);
}

TEST(Context, ArenaBytesAreExact) {
  FakeModel fake;
  int64_t batch = 5;
  EXPECT_EQ(hewn_arena_bytes(&fake.model, &batch), 5 * 64);
  batch = 65;
  EXPECT_EQ(hewn_arena_bytes(&fake.model, &batch), -1);
  EXPECT_EQ(hewn_arena_bytes(&fake.model, nullptr), -1);
}

TEST(Context, CallersArena) {
  FakeModel fake;
  alignas(64) static unsigned char memory[2 * 64];
  hewn_context *context = nullptr;
  hewn_context_options options = defaultOptions();
  options.arena = memory;
  options.arena_bytes = sizeof(memory);
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
  int64_t batch = 2;
  EXPECT_EQ(hewn_context_reserve(context, &batch).code, HEWN_OK);
  batch = 3;
  hewn_status status = hewn_context_reserve(context, &batch);
  EXPECT_EQ(status.code, HEWN_OUT_OF_MEMORY);
  EXPECT_STREQ(status.message, "model 'fake' needs an arena of 192 bytes; the caller's arena has 128");
  hewn_context_destroy(context);
}

TEST(Context, ReserveChecksSymbols) {
  FakeModel fake;
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_OK);
  int64_t batch = 65;
  hewn_status status = hewn_context_reserve(context, &batch);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "dimension 'batch' is 65; the model was compiled for 1..64");
  EXPECT_EQ(hewn_context_reserve(context, nullptr).code, HEWN_INVALID_ARGUMENT);
  hewn_context_destroy(context);
}

/// An allocator that counts allocations, and fails those that the test selects.
struct Memory {
  int allocated = 0, released = 0, failAt = -1;
  hewn_allocator hook() {
    return {[](void *user, size_t bytes, size_t alignment) -> void * {
              auto *self = static_cast<Memory *>(user);
              void *memory = nullptr;
              if (self->allocated == self->failAt || posix_memalign(&memory, alignment, bytes) != 0)
                return nullptr;
              ++self->allocated;
              return memory;
            },
            [](void *user, void *memory) {
              ++static_cast<Memory *>(user)->released;
              free(memory);
            },
            this};
  }
};

/// Lets each allocation in the life of a context fail once. The result must be an error status,
/// without a leak.
TEST(Context, EveryAllocationMayFail) {
  FakeModel fake;
  int failures = 0;
  for (int failAt = 0; failAt < 20; ++failAt) {
    Memory memory;
    memory.failAt = failAt;
    hewn_context_options options = defaultOptions();
    options.threads = 2;
    options.allocator = memory.hook();
    hewn_context *context = nullptr;
    Tensor<float> left({2, 3}, {1, 2, 3, 4, 5, 6}), right({2, 3}, {0, 0, 0, 9, 9, 9});
    DLTensor in[] = {left.view(float32), right.view(float32)};
    int64_t shapes[2][2];
    DLTensor out[2]{};
    out[0].shape = shapes[0];
    out[1].shape = shapes[1];
    hewn_status status = hewn_context_create(&fake.model, &options, &context);
    if (status.code == HEWN_OK)
      status = hewn_run(&fake.model, context, in, out);
    if (status.code == HEWN_OK) {
      hewn_output_release(context, out[0].data);
      hewn_output_release(context, out[1].data);
    } else {
      EXPECT_EQ(status.code, HEWN_OUT_OF_MEMORY) << status.message;
      EXPECT_EQ(out[0].data, nullptr);
      ++failures;
    }
    hewn_context_destroy(context);
    EXPECT_EQ(memory.allocated, memory.released) << failAt;
  }
  EXPECT_EQ(failures, 6); // allocations: context, pool, arena, two outputs, scratch
}

/// An application may use options of a later version. The runtime accepts them if all members that
/// it does not know are zero.
TEST(Context, OptionsOfALaterVersion) {
  FakeModel fake;
  struct {
    hewn_context_options known;
    uint64_t later[2];
  } options = {defaultOptions(), {0, 0}};
  options.known.size = sizeof(options);
  hewn_context *context = nullptr;
  EXPECT_EQ(hewn_context_create(&fake.model, &options.known, &context).code, HEWN_OK);
  hewn_context_destroy(context);
  options.later[1] = uint64_t(1) << 63;
  hewn_status status = hewn_context_create(&fake.model, &options.known, &context);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(status.message, HasSubstr("a member that this library's runtime lacks"));
  hewn_context_destroy(context);
  // The runtime rejects options with an invalid `size` before it reads the options up to this size.
  options.known.size = size_t(1) << 40;
  EXPECT_THAT(hewn_context_create(&fake.model, &options.known, &context).message, HasSubstr("options.size is wrong"));
  hewn_context_destroy(context);
}

TEST(Context, TraceHookHearsOfKernels) {
  FakeModel fake;
  hewn_context *context = nullptr;
  hewn_context_options options = defaultOptions();
  std::vector<std::string> heard;
  options.trace_hook = {[](void *user, int32_t phase, const char *kernel) {
                          static_cast<std::vector<std::string> *>(user)->push_back(
                              (phase == HEWN_TRACE_BEGIN ? "begin " : "end ") + std::string(kernel));
                        },
                        &heard};
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
  Tensor<float> left({1, 3}, {1, 2, 3}), right({1, 3}, {0, 0, 0}), total({1, 3}, {0, 0, 0});
  const void *in[] = {left.data.data(), right.data.data()};
  void *out[] = {total.data.data(), nullptr};
  int64_t batch = 1;
  EXPECT_EQ(hewn_run_pointers(&fake.model, context, in, out, nullptr, &batch).code, HEWN_OK);
  hewn_output_release(context, out[1]);
  EXPECT_EQ(heard, (std::vector<std::string>{"begin add", "end add"}));
  hewn_context_destroy(context);
}

TEST(Context, TraceHookHearsOfTasksWhereAsked) {
  for (uint32_t flags : {0u, uint32_t(HEWN_TRACE_TASKS)}) {
    FakeModel fake;
    hewn_context *context = nullptr;
    hewn_context_options options = defaultOptions();
    options.threads = 3;
    options.flags = flags;
    struct Heard {
      std::mutex lock;
      std::map<std::thread::id, int> open;
      int begun = 0, ended = 0;
      std::set<std::string> kernels;
    } heard;
    options.trace_hook = {[](void *user, int32_t phase, const char *kernel) {
                            auto &heard = *static_cast<Heard *>(user);
                            std::lock_guard<std::mutex> guard(heard.lock);
                            if (phase != HEWN_TRACE_TASK_BEGIN && phase != HEWN_TRACE_TASK_END)
                              return;
                            heard.kernels.insert(kernel ? kernel : "none");
                            int &open = heard.open[std::this_thread::get_id()];
                            open += phase == HEWN_TRACE_TASK_BEGIN ? 1 : -1;
                            // The events that the hook receives for the tasks of one thread do not
                            // overlap.
                            EXPECT_TRUE(open == 0 || open == 1);
                            ++(phase == HEWN_TRACE_TASK_BEGIN ? heard.begun : heard.ended);
                          },
                          &heard};
    ASSERT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
    std::atomic<int64_t> done = 0;
    hewn_task task = [](void *arg, int64_t begin, int64_t end) {
      *static_cast<std::atomic<int64_t> *>(arg) += end - begin;
    };
    hewn_rt_trace(context, HEWN_TRACE_BEGIN, "scale");
    EXPECT_EQ(hewn_rt_parallel_for(context, 100, task, &done), HEWN_OK);
    hewn_rt_trace(context, HEWN_TRACE_END, "scale");
    EXPECT_EQ(hewn_rt_parallel_for(context, 100, task, &done), HEWN_OK);
    EXPECT_EQ(done, 200);
    EXPECT_EQ(heard.begun, heard.ended);
    EXPECT_EQ(heard.kernels, flags ? (std::set<std::string>{"none", "scale"}) : std::set<std::string>());
    hewn_context_destroy(context);
  }
}

TEST(Context, CpuFeaturesImplyEachOther) {
  uint64_t cpu = hewn_rt_platform.cpu_features();
  if (cpu & HEWN_CPU_X86_64_V4)
    EXPECT_TRUE(cpu & HEWN_CPU_X86_64_V3);
  if (cpu & HEWN_CPU_X86_64_V3)
    EXPECT_TRUE(cpu & HEWN_CPU_X86_64_V2);
#if defined(__x86_64__)
  EXPECT_EQ((cpu & HEWN_CPU_X86_64_V4) != 0, __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"));
  EXPECT_EQ((cpu & HEWN_CPU_AVX512_VNNI) != 0, __builtin_cpu_supports("avx512vnni") != 0);
#endif
}

TEST(Context, ADescriptorWithoutServicesIsRefused) {
  FakeModel fake;
  hewn_context *context = nullptr;
  fake.model.struct_bytes = offsetof(hewn_model, services);
  hewn_status status = hewn_context_create(&fake.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_UNSUPPORTED);
  EXPECT_STREQ(status.message, "the model needs the runtime of the hewn that compiled it");
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(hewn_model_variant(&fake.model), nullptr);
}

TEST(Context, WithoutAPoolTheCallingThreadRunsAllTasks) {
  BodyModel model([](hewn_context *context, const hewn_frame *) {
    auto caller = std::this_thread::get_id();
    auto task = [](void *arg, int64_t, int64_t) {
      EXPECT_EQ(*static_cast<std::thread::id *>(arg), std::this_thread::get_id());
    };
    EXPECT_EQ(hewn_rt_threads(context), 1);
    return hewn_rt_parallel_for(context, 1000, task, &caller);
  });
  hewn_services services = allServices;
  services.pool = nullptr;
  model.model.services = &services;
  hewn_context_options options = defaultOptions();
  options.threads = 4;
  EXPECT_EQ(model.run(&options), HEWN_OK) << model.message;
}

TEST(Context, WithoutAnAllocatorOfThePlatformTheOptionsNeedOne) {
  FakeModel fake;
  hewn_platform_table platform = hewn_rt_platform;
  hewn_services services = allServices;
  platform.allocator = nullptr;
  services.platform = &platform;
  fake.model.services = &services;
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&fake.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "options.allocator is required on this platform");
  hewn_context_options options = defaultOptions();
  options.allocator = *hewn_rt_platform.allocator;
  EXPECT_EQ(hewn_context_create(&fake.model, &options, &context).code, HEWN_OK);
  hewn_context_destroy(context);
}

TEST(Context, ErrnoStaysAsItWas) {
  FakeModel fake;
  fake.model.weights = nullptr;
  fake.model.weights_file = "no such file";
  hewn_context *context = nullptr;
  errno = 1234;
  EXPECT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_IO);
  EXPECT_EQ(errno, 1234);
  hewn_context_destroy(context);
  EXPECT_EQ(errno, 1234);
}

} // namespace
