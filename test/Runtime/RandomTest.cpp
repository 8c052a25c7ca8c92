// SPDX-License-Identifier: Apache-2.0
// Tests random functions: known outputs of the generator Philox, moments of distributions, seeds.
#include "FakeModel.h"
extern "C" {
#include "runtime/ops/random/philox.h"
}

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using testing::ElementsAre;

namespace {

int64_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Returns `n` random floats from the first run of a new context.
std::vector<float> fill(hewn_part_fn *fn, std::vector<int64_t> params, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    hewn_part_tensor out{values.data(), 1, 1, &n};
    return fn(context, "random", 0, nullptr, 1, &out, params.data());
  });
  EXPECT_EQ(model.run(), HEWN_OK);
  return values;
}

TEST(Philox, KnownAnswers) {
  // The known outputs are from the file kat_vectors of Random123, philox4x32 with 10 rounds.
  uint32_t words[4];
  hewn_philox zero{{0, 0}, {0, 0}};
  hewn_philox_block(&zero, 0, words);
  EXPECT_THAT(words, ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  hewn_philox ones{{~0u, ~0u}, {~0u, ~0u}};
  hewn_philox_block(&ones, ~UINT64_C(0), words);
  EXPECT_THAT(words, ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  hewn_philox pi{{0xa4093822, 0x299f31d0}, {0x13198a2e, 0x03707344}};
  hewn_philox_block(&pi, UINT64_C(0x85a308d3243f6a88), words);
  EXPECT_THAT(words, ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, Logarithm) {
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    EXPECT_NEAR(hewn_philox_log(x), std::log(x), 4e-16 * (1 + std::fabs(std::log(x)))) << x;
  EXPECT_EQ(hewn_philox_log(1), 0);
}

TEST(RandomUniform, RangeAndMoments) {
  std::vector<float> values = fill(hewn_part_randomuniform, {1, 42, bitsOf(2), bitsOf(5)}, 100000);
  double sum = 0;
  for (float value : values) {
    EXPECT_GE(value, 2);
    EXPECT_LE(value, 5);
    sum += value;
  }
  EXPECT_NEAR(sum / 1e5, 3.5, 0.02);
}

TEST(RandomNormal, Moments) {
  std::vector<float> values = fill(hewn_part_randomnormal, {1, 42, bitsOf(1), bitsOf(3)}, 200000);
  double sum = 0, squares = 0, cubes = 0, inner = 0;
  for (float value : values) {
    double z = (value - 1) / 3;
    sum += z;
    squares += z * z;
    cubes += z * z * z;
    inner += std::fabs(z) < 1;
  }
  EXPECT_NEAR(sum / 2e5, 0, 0.01);
  EXPECT_NEAR(squares / 2e5, 1, 0.02);
  EXPECT_NEAR(cubes / 2e5, 0, 0.05);
  EXPECT_NEAR(inner / 2e5, 0.6827, 0.005);
}

TEST(Random, SeedsDecide) {
  std::vector<int64_t> params{1, 7, bitsOf(0), bitsOf(1)};
  EXPECT_EQ(fill(hewn_part_randomuniform, params, 9), fill(hewn_part_randomuniform, params, 9));
  std::vector<float> seven = fill(hewn_part_randomuniform, params, 9);
  params[1] = 8;
  EXPECT_NE(seven, fill(hewn_part_randomuniform, params, 9));
}

TEST(Random, WithoutASeedEveryRunDiffers) {
  FakeModel fake;
  fake.model.num_inputs = fake.model.num_symbols = 0;
  fake.model.num_outputs = 1;
  static const int64_t dims[] = {4};
  fake.outputs[0] = {"random", float32, 1, dims, 0};
  fake.variant.arena_bytes = [](const int64_t *) -> int64_t { return 0; };
  fake.model.output_dims = [](const int64_t *, int64_t *const *out) { out[0][0] = 4; };
  fake.variant.run = [](hewn_context *context, const hewn_frame *frame) {
    hewn_part_tensor out{frame->outputs[0], 1, 1, frame->output_dims[0]};
    const int64_t params[] = {0, 3, 0, bitsOf(1)};
    return hewn_part_randomuniform(context, "random", 0, nullptr, 1, &out, params);
  };
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_OK);
  Tensor<float> first({4}, std::vector<float>(4)), second(first);
  DLTensor out = first.view(float32);
  EXPECT_EQ(hewn_run(&fake.model, context, nullptr, &out).code, HEWN_OK);
  out = second.view(float32);
  EXPECT_EQ(hewn_run(&fake.model, context, nullptr, &out).code, HEWN_OK);
  EXPECT_NE(first.data, second.data);
  hewn_context_destroy(context);
}

TEST(Bernoulli, FollowsTheProbabilities) {
  Tensor<double> x({30000}, std::vector<double>(30000));
  for (size_t i = 0; i < 30000; ++i)
    x.data[i] = i < 10000 ? 0 : i < 20000 ? 1 : 0.25;
  Tensor<uint8_t> out({30000}, std::vector<uint8_t>(30000, 9));
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    hewn_part_tensor in{x.data.data(), 11, 1, x.shape.data()}, y{out.data.data(), 9, 1, out.shape.data()};
    const int64_t params[] = {1, 5};
    return hewn_part_bernoulli(context, "bernoulli", 1, &in, 1, &y, params);
  });
  ASSERT_EQ(model.run(), HEWN_OK);
  int ones[3] = {};
  for (size_t i = 0; i < 30000; ++i)
    ones[i / 10000] += out.data[i];
  EXPECT_EQ(ones[0], 0);
  EXPECT_EQ(ones[1], 10000);
  EXPECT_NEAR(ones[2], 2500, 150);
}

TEST(Multinomial, FollowsTheProbabilities) {
  Tensor<float> x({2, 3}, {std::log(0.2f), std::log(0.3f), std::log(0.5f), -INFINITY, 0, -INFINITY});
  Tensor<int32_t> out({2, 10000}, std::vector<int32_t>(20000, -1));
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    hewn_part_tensor in{x.data.data(), 1, 2, x.shape.data()}, y{out.data.data(), 6, 2, out.shape.data()};
    const int64_t params[] = {1, 5};
    return hewn_part_multinomial(context, "multinomial", 1, &in, 1, &y, params);
  });
  ASSERT_EQ(model.run(), HEWN_OK);
  int counts[3] = {};
  for (size_t i = 0; i < 10000; ++i) {
    ++counts[out.data[i]];
    EXPECT_EQ(out.data[10000 + i], 1);
  }
  EXPECT_NEAR(counts[0], 2000, 200);
  EXPECT_NEAR(counts[1], 3000, 200);
}

} // namespace
