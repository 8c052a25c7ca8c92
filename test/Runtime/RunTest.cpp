// SPDX-License-Identifier: Apache-2.0
// Tests runs of a model: results, and the message of each check before a run.
#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Run : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_OK); }
  void TearDown() override { hewn_context_destroy(context); }

  /// Runs the model and returns the error message ("" for success).
  std::string run() {
    hewn_status status = hewn_run(&fake.model, context, in, out);
    EXPECT_EQ(status.code == HEWN_OK, *status.message == '\0');
    EXPECT_STREQ(status.message, hewn_context_message(context));
    code = status.code;
    return status.message;
  }

  FakeModel fake;
  hewn_context *context = nullptr;
  int32_t code = HEWN_OK;
  Tensor<float> left{{2, 3}, {1, 2, 3, 4, 5, 6}}, right{{2, 3}, {0, 0, 0, 9, 9, 9}};
  Tensor<float> total{{2, 3}, std::vector<float>(6)};
  Tensor<int64_t> rows{{2}, std::vector<int64_t>(2, -1)};
  DLTensor in[2] = {left.view(float32), right.view(float32)};
  DLTensor out[2] = {total.view(float32), rows.view(int64)};
};

TEST_F(Run, IntoTheCallersMemory) {
  EXPECT_EQ(run(), "");
  EXPECT_THAT(total.data, ElementsAre(101, 202, 303, 113, 214, 315));
  EXPECT_THAT(rows.shape, ElementsAre(1)); // the caller's buffer has space for two
  EXPECT_EQ(rows.data[0], 0);
}

TEST_F(Run, IntoAllocatedMemory) {
  int64_t shapes[2][2]{};
  DLTensor mine[2]{};
  mine[0].shape = shapes[0];
  mine[1].shape = shapes[1];
  ASSERT_EQ(hewn_run(&fake.model, context, in, mine).code, HEWN_OK);
  EXPECT_EQ(mine[0].ndim, 2);
  EXPECT_EQ(mine[0].dtype.bits, 32);
  EXPECT_EQ(mine[0].device.device_type, kDLCPU);
  EXPECT_THAT(shapes[0], ElementsAre(2, 3));
  EXPECT_EQ(static_cast<float *>(mine[0].data)[5], 315);
  EXPECT_EQ(mine[1].ndim, 1);
  EXPECT_EQ(shapes[1][0], 1);
  hewn_output_release(context, mine[0].data);
  hewn_output_release(context, mine[1].data);
}

TEST_F(Run, GrowsWithTheBatchAndShrinks) {
  for (int64_t batch : {1, 64, 3}) {
    left = {{batch, 3}, std::vector<float>(batch * 3, 1)};
    right = {{batch, 3}, std::vector<float>(batch * 3, 2)};
    total = {{batch, 3}, std::vector<float>(batch * 3)};
    in[0] = left.view(float32);
    in[1] = right.view(float32);
    out[0] = total.view(float32);
    rows.shape[0] = 2;
    ASSERT_EQ(run(), "") << batch;
    EXPECT_EQ(total.data.back(), 303);
  }
}

TEST_F(Run, WrongCount) {
  hewn_status status = hewn_run_counted(&fake.model, context, in, 1, out, 2);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "model 'fake' has 2 inputs, got 1");
  EXPECT_STREQ(hewn_run_counted(&fake.model, context, in, 2, out, 3).message, "model 'fake' has 2 outputs, got 3");
  EXPECT_EQ(hewn_run(&fake.model, context, nullptr, out).code, HEWN_INVALID_ARGUMENT);
}

TEST_F(Run, WrongRank) {
  in[1].ndim = 1;
  EXPECT_EQ(run(), "input 'right': shape [batch, 3] (rank 2) expected, got [2] (rank 1)");
  EXPECT_EQ(code, HEWN_INVALID_ARGUMENT);
  in[1].ndim = 0;
  EXPECT_EQ(run(), "input 'right': shape [batch, 3] (rank 2) expected, got [] (rank 0)");
  // The shape of a tensor whose rank is invalid is not read.
  in[1].ndim = 100000;
  EXPECT_EQ(run(), "input 'right': shape [batch, 3] (rank 2) expected, got (rank 100000)");
  in[1].ndim = 3;
  in[1].shape = nullptr;
  EXPECT_EQ(run(), "input 'right': shape [batch, 3] (rank 2) expected, got (rank 3)");
}

TEST_F(Run, WrongShape) {
  left.shape[1] = 2;
  EXPECT_EQ(run(), "input 'left': shape [batch, 3] expected, got [2, 2]");
  left.shape[1] = -3;
  EXPECT_EQ(run(), "input 'left': shape [batch, 3] expected, got [2, -3]");
  left.shape = {INT64_MAX, 3};
  EXPECT_THAT(run(), HasSubstr("shape [batch, 3] expected, got [9223372036854775807, 3]"));
}

TEST_F(Run, WrongDtype) {
  in[0].dtype = int64;
  EXPECT_EQ(run(), "input 'left': dtype float32 expected, got int64");
  in[0].dtype = {kDLFloat, 32, 4};
  EXPECT_EQ(run(), "input 'left': dtype float32 expected, got float32x4");
}

TEST_F(Run, WrongStrides) {
  int64_t strides[] = {1, 2};
  in[0].strides = strides;
  EXPECT_THAT(run(), HasSubstr("input 'left': row-major strides"));
  int64_t fine[] = {3, 1};
  in[0].strides = fine;
  EXPECT_EQ(run(), "");
}

TEST_F(Run, StridesOfSizeOneDoNotMatter) {
  int64_t strides[] = {77, 1};
  left.shape[0] = right.shape[0] = total.shape[0] = 1;
  in[0].strides = strides;
  EXPECT_EQ(run(), "");
}

TEST_F(Run, WrongDevice) {
  in[0].device.device_type = kDLCUDA;
  EXPECT_EQ(run(), "input 'left': DLPack device type 1 (CPU) expected, got 2");
}

TEST_F(Run, NullAndUnalignedData) {
  in[0].data = nullptr;
  EXPECT_EQ(run(), "input 'left': the data pointer is NULL");
  in[0].data = reinterpret_cast<char *>(left.data.data()) + 1;
  EXPECT_THAT(run(), HasSubstr("aligned to its element, 4 bytes, expected; it is off by 1"));
}

TEST_F(Run, ByteOffsetCounts) {
  left.data.insert(left.data.begin(), 1000);
  in[0] = left.view(float32);
  in[0].byte_offset = 4;
  EXPECT_EQ(run(), "");
  EXPECT_EQ(total.data[0], 101);
}

TEST_F(Run, SymbolsMustAgree) {
  right.shape[0] = 1;
  EXPECT_EQ(run(), "dimension 'batch' is 2 in input 'left' and 1 in input 'right' (dim 0): they must be equal");
}

TEST_F(Run, SymbolsHaveRanges) {
  left.shape[0] = right.shape[0] = 0;
  EXPECT_EQ(run(), "input 'left': dimension 'batch' is 0; the model was compiled for 1..64");
  fake.symbols[0].min = 3;
  fake.symbols[0].max = INT64_MAX;
  left.shape[0] = right.shape[0] = 2;
  EXPECT_THAT(run(), HasSubstr("is 2; the model was compiled for 3.. (no upper bound)"));
}

TEST_F(Run, WrongOutput) {
  total.shape[0] = 1;
  EXPECT_EQ(run(), "output 'total': shape [2, 3] expected, got [1, 3]");
  total.shape[0] = 2;
  out[0].dtype = int64;
  EXPECT_EQ(run(), "output 'total': dtype float32 expected, got int64");
  out[0] = DLTensor{};
  EXPECT_THAT(run(), HasSubstr("output 'total': the shape pointer is NULL"));
}

TEST_F(Run, TooLittleRoomForADynamicOutput) {
  rows.shape[0] = 1;
  right.data.assign(6, 0); // in both rows, left is now larger than right
  EXPECT_EQ(run(), "output 'rows': its shape is [2]: the caller's memory is too small for it");
  EXPECT_EQ(code, HEWN_INVALID_ARGUMENT);
}

TEST_F(Run, FailureInAKernelNamesTheNode) {
  left.data[0] = -7;
  EXPECT_EQ(run(), "node '/embed/Gather': index -7 is outside [0, 2)");
  EXPECT_EQ(code, HEWN_INDEX_OUT_OF_RANGE);
  left.data[0] = 1;
  EXPECT_EQ(run(), ""); // the failure does not affect the next run
}

TEST_F(Run, ContextOfAnotherModel) {
  FakeModel other;
  other.model.name = "other";
  EXPECT_STREQ(hewn_run(&other.model, context, in, out).message,
               "the context was created for model 'fake' (digest 'feed'), not for 'other' (digest 'feed')");
  other.model.name = "fake"; // another compile of a model with the same name
  other.model.digest = "beef";
  EXPECT_STREQ(hewn_run(&other.model, context, in, out).message,
               "the context was created for model 'fake' (digest 'feed'), not for 'fake' (digest 'beef')");
}

TEST(RunFailures, ABusyContext) {
  BodyModel *other = nullptr;
  hewn_status stream{}, reserve{}, run{};
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    Tensor<float> out({}, {0});
    DLTensor view = out.view(float32);
    run = hewn_run(&other->model, context, nullptr, &view);
    reserve = hewn_context_reserve(context, nullptr);
    stream = hewn_context_set_stream(context, nullptr);
    return HEWN_OK;
  });
  other = &model;
  // A run inside of a run finds the context in use, like a run on another thread.
  EXPECT_EQ(model.run(), HEWN_OK);
  for (const hewn_status &status : {run, reserve, stream}) {
    EXPECT_EQ(status.code, HEWN_BUSY);
    EXPECT_STREQ(status.message, "the context is in use by another thread: give each thread its own");
  }
}

TEST_F(Run, Pointers) {
  const void *inputs[] = {left.data.data(), right.data.data()};
  void *outputs[] = {total.data.data(), nullptr};
  int64_t count = 0;
  int64_t *dims[] = {nullptr, &count};
  int64_t batch = 2;
  ASSERT_EQ(hewn_run_pointers(&fake.model, context, inputs, outputs, dims, &batch).code, HEWN_OK);
  EXPECT_EQ(total.data[3], 113);
  EXPECT_EQ(count, 1);
  hewn_output_release(context, outputs[1]);
  inputs[1] = nullptr;
  EXPECT_STREQ(hewn_run_pointers(&fake.model, context, inputs, outputs, dims, &batch).message,
               "input 'right': the pointer is NULL");
  batch = 100;
  EXPECT_EQ(hewn_run_pointers(&fake.model, context, inputs, outputs, dims, &batch).code, HEWN_INVALID_ARGUMENT);
}

TEST(RunShapes, ScalarsEmptyTensorsAndBool) {
  static const int64_t emptyDims[] = {0, 4};
  hewn_tensor_info inputs[] = {{"flag", {HEWN_DL_BOOL, 8, 1}, 0, nullptr, nullptr, HEWN_KIND_TENSOR, {}, 0, 0},
                               {"empty", float32, 2, emptyDims, nullptr, HEWN_KIND_TENSOR, {}, 0, 0}};
  hewn_tensor_info outputs[] = {{"value", float32, 0, nullptr, nullptr, HEWN_KIND_TENSOR, {}, 0, 0},
                                {"none", float32, 2, emptyDims, nullptr, HEWN_KIND_TENSOR, {}, 0, 0}};
  FakeModel fake;
  fake.model.num_symbols = 0;
  fake.model.inputs = inputs;
  fake.model.outputs = outputs;
  fake.variant.arena_bytes = [](const int64_t *) -> int64_t { return 0; };
  fake.model.output_dims = [](const int64_t *, int64_t *const *dims) {
    dims[1][0] = 0;
    dims[1][1] = 4;
  };
  fake.variant.run = [](hewn_context *, const hewn_frame *frame) -> int32_t {
    *static_cast<float *>(frame->outputs[0]) = *static_cast<const bool *>(frame->inputs[0]) ? 5 : 6;
    return HEWN_OK;
  };
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_OK);
  Tensor<uint8_t> flag({}, {1});
  Tensor<float> empty({0, 4}, {}), value({}, {0}), none({0, 4}, {});
  for (DLDataType dtype : {DLDataType{HEWN_DL_BOOL, 8, 1}, DLDataType{kDLUInt, 8, 1}}) {
    DLTensor in[] = {flag.view(dtype), empty.view(float32)};
    DLTensor out[] = {value.view(float32), none.view(float32)};
    hewn_status status = hewn_run(&fake.model, context, in, out);
    EXPECT_EQ(status.code, HEWN_OK) << status.message;
    EXPECT_EQ(value.data[0], 5);
    hewn_output_release(context, out[1].data != none.data.data() ? out[1].data : nullptr);
  }
  hewn_context_destroy(context);
}

TEST(RunShapes, AnEmptyOutputWithoutMemoryAllocatesNothing) {
  static const int64_t emptyDims[] = {0};
  int64_t blocks = 0;
  hewn_context_options options = defaultOptions();
  options.allocator.user = &blocks;
  options.allocator.allocate = [](void *user, size_t bytes, size_t alignment) {
    ++*static_cast<int64_t *>(user);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  options.allocator.release = [](void *user, void *memory) {
    --*static_cast<int64_t *>(user);
    std::free(memory);
  };
  void *seen = nullptr;
  BodyModel model([&](hewn_context *, const hewn_frame *frame) {
    seen = frame->outputs[0];
    return HEWN_OK;
  });
  model.output.rank = 1;
  model.output.dims = emptyDims;
  model.model.output_dims = [](const int64_t *, int64_t *const *dims) { dims[0][0] = 0; };
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&model.model, &options, &context).code, HEWN_OK);
  int64_t before = blocks;
  void *outputs[] = {nullptr};
  ASSERT_EQ(model.runIn(context, outputs), HEWN_OK);
  EXPECT_NE(seen, nullptr); // generated code gets an address for an empty output, too
  EXPECT_EQ(outputs[0], nullptr);
  EXPECT_EQ(blocks, before);
  hewn_context_destroy(context);
  EXPECT_EQ(blocks, 0);
}

TEST(RunFailures, CodeWithoutAMessage) {
  BodyModel model([](hewn_context *, const hewn_frame *) { return HEWN_INTERNAL; });
  EXPECT_EQ(model.run(), HEWN_INTERNAL);
  EXPECT_THAT(model.message, HasSubstr("failed with code 6"));
}

TEST(RunFailures, LongNamesAreCut) {
  std::string name(2000, 'n');
  name += "/the end";
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, name.c_str(), "{a} is not {b}", INT64_MIN, INT64_MAX);
  });
  EXPECT_EQ(model.run(), HEWN_INDEX_OUT_OF_RANGE);
  EXPECT_THAT(model.message, HasSubstr("nnn/the end': -9223372036854775808 is not 9223372036854775807"));
  std::string text(5000, 't');
  BodyModel longer([&](hewn_context *context, const hewn_frame *) {
    return hewn_rt_fail(context, HEWN_INTERNAL, nullptr, text.c_str(), 0, 0);
  });
  EXPECT_EQ(longer.run(), HEWN_INTERNAL);
  EXPECT_EQ(longer.message.size(), 511u);
}

} // namespace
