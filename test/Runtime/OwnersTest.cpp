// SPDX-License-Identifier: Apache-2.0
// Tests the C++ classes of hewn/runtime.hpp.
#include "FakeModel.h"
#include "hewn/runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

using testing::HasSubstr;

namespace {

/// Counts the blocks of an allocator that are not released.
struct Blocks {
  Blocks() {
    options.allocator.user = this;
    options.allocator.allocate = [](void *user, size_t bytes, size_t alignment) {
      ++static_cast<Blocks *>(user)->count;
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    options.allocator.release = [](void *user, void *memory) {
      --static_cast<Blocks *>(user)->count;
      std::free(memory);
    };
  }
  int count = 0;
  hewn::ContextOptions options;
};

TEST(Owners, AContextRunsAndReleases) {
  FakeModel fake;
  Blocks blocks;
  {
    hewn::Context first(fake.model, blocks.options);
    hewn::Context context = std::move(first);
    EXPECT_EQ(first.get(), nullptr);
    context.reserve({2});
    std::vector<int64_t> shape{2, 3}, rowsShape{2};
    const std::vector<float> left{1, 2, 3, 4, 5, 6}, right{0, 0, 0, 9, 9, 9};
    std::vector<float> total(6);
    std::vector<DLTensor> in{hewn::tensor(left.data(), shape), hewn::tensor(right.data(), shape)};
    std::vector<DLTensor> out{hewn::tensor(total.data(), shape), hewn::tensor<int64_t>(nullptr, rowsShape)};
    context.run(in, out);
    hewn::Output<int64_t> rows = hewn::take(context, static_cast<int64_t *>(out[1].data));
    EXPECT_EQ(total[5], 315);
    EXPECT_EQ(rowsShape[0], 1);
    EXPECT_EQ(rows[0], 0);
    out[1] = hewn::tensor<int64_t>(rows.get(), rowsShape);
    context.run(in.data(), out.data());

    // The context converts for the functions of generated headers.
    const void *inputs[] = {left.data(), right.data()};
    void *outputs[] = {total.data(), nullptr};
    int64_t batch = 2;
    hewn::check(hewn_run_pointers(&context.model(), context, inputs, outputs, nullptr, &batch));
    hewn::take(context, static_cast<int64_t *>(outputs[1]));
  }
  EXPECT_EQ(blocks.count, 0);
}

TEST(Owners, NamesAndMetadata) {
  FakeModel fake;
  const hewn_metadata_entry entry = {"classes", "cat dog"};
  fake.model.metadata = &entry;
  fake.model.num_metadata = 1;
  EXPECT_EQ(hewn::metadata(fake.model, "classes"), "cat dog");
  EXPECT_EQ(hewn::metadata(fake.model, "other"), std::nullopt);
  EXPECT_EQ(hewn::inputIndex(fake.model, "right"), 1u);
  EXPECT_EQ(hewn::outputIndex(fake.model, "total"), 0u);
  EXPECT_THROW(hewn::inputIndex(fake.model, "total"), std::out_of_range);
  EXPECT_THROW(hewn::outputIndex(fake.model, "right"), std::out_of_range);
}

TEST(Owners, FailuresAreExceptions) {
  FakeModel fake;
  Blocks blocks;
  blocks.options.weights_path = "/nothing/here";
  fake.model.weights = nullptr;
  fake.model.weights_file = "fake.weights";
  try {
    hewn::Context context(fake.model, blocks.options);
    FAIL() << "created";
  } catch (const hewn::Error &error) {
    EXPECT_EQ(error.code(), HEWN_IO);
    EXPECT_STREQ(error.codeName(), "HEWN_IO");
    EXPECT_THAT(error.what(), HasSubstr("weights file '/nothing/here' does not exist"));
  }
  EXPECT_EQ(blocks.count, 0);
  FakeModel good;
  hewn::Context context(good.model);
  EXPECT_THROW(context.reserve({}), hewn::Error);
  EXPECT_THROW(context.reserve({100}), hewn::Error);
  std::vector<DLTensor> none;
  EXPECT_THROW(context.run(none, none), hewn::Error);
  EXPECT_THROW(hewn::Library("/nothing/here.so"), hewn::Error);
}

TEST(Owners, Types) {
  auto is = [](DLDataType type, int code, int bits) {
    return type.code == code && type.bits == bits && type.lanes == 1;
  };
  EXPECT_TRUE(is(hewn::typeOf<float>(), kDLFloat, 32));
  EXPECT_TRUE(is(hewn::typeOf<double>(), kDLFloat, 64));
  EXPECT_TRUE(is(hewn::typeOf<bool>(), HEWN_DL_BOOL, 8));
  EXPECT_TRUE(is(hewn::typeOf<int8_t>(), kDLInt, 8));
  EXPECT_TRUE(is(hewn::typeOf<uint16_t>(), kDLUInt, 16));
}

TEST(Owners, NamesOfCodes) {
  EXPECT_STREQ(hewn_code_name(HEWN_OK), "HEWN_OK");
  EXPECT_STREQ(hewn_code_name(HEWN_INDEX_OUT_OF_RANGE), "HEWN_INDEX_OUT_OF_RANGE");
  EXPECT_STREQ(hewn_code_name(HEWN_BUSY), "HEWN_BUSY");
  EXPECT_STREQ(hewn_code_name(-1), "unknown hewn_code");
  EXPECT_STREQ(hewn_code_name(HEWN_CANCELLED + 1), "unknown hewn_code");
}

} // namespace
