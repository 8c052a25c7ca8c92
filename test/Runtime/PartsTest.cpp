// SPDX-License-Identifier: Apache-2.0
// Tests the runtime functions of ops: ONNX's own examples, ties, types, empty tensors, invalid
// operands.
#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

namespace {

template <typename T> constexpr int32_t onnxType();
template <> constexpr int32_t onnxType<float>() { return 1; }
template <> constexpr int32_t onnxType<uint8_t>() { return 2; }
template <> constexpr int32_t onnxType<int8_t>() { return 3; }
template <> constexpr int32_t onnxType<int32_t>() { return 6; }
template <> constexpr int32_t onnxType<int64_t>() { return 7; }
template <> constexpr int32_t onnxType<const char *>() { return 8; }
template <> constexpr int32_t onnxType<bool>() { return 9; }
template <> constexpr int32_t onnxType<uint16_t>() { return 10; } // bits of float16
template <> constexpr int32_t onnxType<double>() { return 11; }
template <> constexpr int32_t onnxType<uint64_t>() { return 13; }

template <typename T> hewn_part_tensor part(Tensor<T> &tensor) {
  return {tensor.data.data(), onnxType<T>(), static_cast<int32_t>(tensor.shape.size()), tensor.shape.data()};
}

/// Calls a runtime function inside of a run, because its scratch memory comes from a context.
int32_t call(hewn_part_fn *fn, std::vector<hewn_part_tensor> in, std::vector<hewn_part_tensor> out,
             std::vector<int64_t> params, std::string *message = nullptr) {
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    return fn(context, "/the/node", static_cast<int32_t>(in.size()), in.data(), static_cast<int32_t>(out.size()),
              out.data(), params.data());
  });
  int32_t code = model.run();
  if (message)
    *message = model.message;
  return code;
}

hewn_part_tensor absent() { return {nullptr, 0, 0, nullptr}; }

//===-- TopK --------------------------------------------------------------===//

TEST(TopK, OnnxExample) {
  Tensor<float> x({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), values({3, 3}, std::vector<float>(9));
  Tensor<int64_t> indices({3, 3}, std::vector<int64_t>(9));
  ASSERT_EQ(call(hewn_part_topk, {part(x)}, {part(values), part(indices)}, {1, 1, 1}), HEWN_OK);
  EXPECT_THAT(values.data, ElementsAre(3, 2, 1, 7, 6, 5, 11, 10, 9));
  EXPECT_THAT(indices.data, ElementsAre(3, 2, 1, 3, 2, 1, 3, 2, 1));
}

TEST(TopK, AlongTheFirstAxisSmallest) {
  Tensor<float> x({3, 2}, {5, 1, 4, 2, 6, 0}), values({2, 2}, std::vector<float>(4));
  Tensor<int64_t> indices({2, 2}, std::vector<int64_t>(4));
  ASSERT_EQ(call(hewn_part_topk, {part(x)}, {part(values), part(indices)}, {-2, 0, 1}), HEWN_OK);
  EXPECT_THAT(values.data, ElementsAre(4, 0, 5, 1));
  EXPECT_THAT(indices.data, ElementsAre(1, 2, 0, 0));
}

/// Compares TopK with a stable sort, on data with many ties and for all k.
template <typename T> void compareWithSort(bool largest) {
  const size_t n = 57;
  std::vector<T> data(n);
  uint32_t random = 12345;
  for (T &value : data)
    value = static_cast<T>((random = random * 1664525 + 1013904223) >> 16 & 15);
  if constexpr (std::is_signed_v<T>)
    for (size_t i = 0; i < n; i += 3)
      data[i] = static_cast<T>(-data[i]); // of a float 0, this is -0
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    T x = data[size_t(a)], y = data[size_t(b)];
    return x != y ? (x > y) == largest : a < b;
  });
  for (int64_t k = 0; k <= int64_t(n); k += 7) {
    Tensor<T> x({int64_t(n)}, data), values({k}, std::vector<T>(size_t(k)));
    Tensor<int64_t> indices({k}, std::vector<int64_t>(size_t(k)));
    ASSERT_EQ(call(hewn_part_topk, {part(x)}, {part(values), part(indices)}, {0, largest, 1}), HEWN_OK);
    EXPECT_THAT(indices.data, ElementsAreArray(order.begin(), order.begin() + k));
    for (int64_t i = 0; i < k; ++i)
      EXPECT_EQ(values.data[size_t(i)], data[size_t(order[size_t(i)])]);
  }
}

TEST(TopK, EveryTypeTiesGoToTheLowerIndex) {
  for (bool largest : {true, false}) {
    compareWithSort<float>(largest);
    compareWithSort<double>(largest);
    compareWithSort<int8_t>(largest);
    compareWithSort<uint8_t>(largest);
    compareWithSort<int32_t>(largest);
    compareWithSort<int64_t>(largest);
    compareWithSort<uint64_t>(largest);
  }
}

TEST(TopK, Float16AndInfinities) {
  // The operand has the float16 numbers 1, -inf, 2, inf, -0.
  Tensor<uint16_t> x({5}, {0x3c00, 0xfc00, 0x4000, 0x7c00, 0x8000}), values({5}, std::vector<uint16_t>(5));
  Tensor<int64_t> indices({5}, std::vector<int64_t>(5));
  ASSERT_EQ(call(hewn_part_topk, {part(x)}, {part(values), part(indices)}, {0, 1, 1}), HEWN_OK);
  EXPECT_THAT(indices.data, ElementsAre(3, 2, 0, 4, 1));
}

TEST(TopK, KAboveTheAxisIsRefused) {
  Tensor<float> x({2}, {1, 2}), values({3}, std::vector<float>(3));
  Tensor<int64_t> indices({3}, std::vector<int64_t>(3));
  std::string message;
  EXPECT_EQ(call(hewn_part_topk, {part(x)}, {part(values), part(indices)}, {0, 1, 1}, &message), HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(message, "node '/the/node': k = 3 is outside 0..2");
}

//===-- NonZero, Compress -------------------------------------------------===//

TEST(NonZero, OnnxExample) {
  Tensor<uint8_t> x({2, 2}, {1, 0, 1, 1});
  Tensor<int64_t> out({2, 4}, std::vector<int64_t>(8));
  ASSERT_EQ(call(hewn_part_nonzero, {part(x)}, {part(out)}, {}), HEWN_OK);
  EXPECT_THAT(out.shape, ElementsAre(2, 3));
  out.data.resize(6);
  EXPECT_THAT(out.data, ElementsAre(0, 1, 1, 0, 0, 1));
}

TEST(NonZero, NegativeZeroIsZeroAndNanIsNot) {
  Tensor<float> x({4}, {-0.0f, NAN, 0.0f, 1e-45f});
  Tensor<int64_t> out({1, 4}, std::vector<int64_t>(4));
  ASSERT_EQ(call(hewn_part_nonzero, {part(x)}, {part(out)}, {}), HEWN_OK);
  EXPECT_THAT(out.shape, ElementsAre(1, 2));
  EXPECT_EQ(out.data[0], 1);
  EXPECT_EQ(out.data[1], 3);
}

TEST(NonZero, ScalarsAndEmptyTensors) {
  Tensor<int64_t> x({}, {5}), out({0, 1}, {});
  ASSERT_EQ(call(hewn_part_nonzero, {part(x)}, {part(out)}, {}), HEWN_OK);
  EXPECT_THAT(out.shape, ElementsAre(0, 1));
  Tensor<float> empty({3, 0}, {});
  Tensor<int64_t> none({2, 0}, {});
  ASSERT_EQ(call(hewn_part_nonzero, {part(empty)}, {part(none)}, {}), HEWN_OK);
  EXPECT_THAT(none.shape, ElementsAre(2, 0));
}

/// Returns a tensor of bytes as a condition of type bool. The test stores conditions as bytes,
/// because std::vector<bool> has no data().
hewn_part_tensor condition(Tensor<uint8_t> &tensor) {
  hewn_part_tensor result = part(tensor);
  result.dtype = onnxType<bool>();
  return result;
}

TEST(Compress, OnnxExamples) {
  Tensor<float> x({3, 2}, {1, 2, 3, 4, 5, 6}), rows({3, 2}, std::vector<float>(6));
  Tensor<uint8_t> c({3}, {0, 1, 1});
  ASSERT_EQ(call(hewn_part_compress, {part(x), condition(c)}, {part(rows)}, {1, 0}), HEWN_OK);
  EXPECT_THAT(rows.shape, ElementsAre(2, 2));
  EXPECT_THAT(std::vector<float>(rows.data.begin(), rows.data.begin() + 4), ElementsAre(3, 4, 5, 6));
  Tensor<uint8_t> second({2}, {0, 1});
  Tensor<float> columns({3, 2}, std::vector<float>(6));
  ASSERT_EQ(call(hewn_part_compress, {part(x), condition(second)}, {part(columns)}, {1, -1}), HEWN_OK);
  EXPECT_THAT(columns.shape, ElementsAre(3, 1));
  EXPECT_THAT(std::vector<float>(columns.data.begin(), columns.data.begin() + 3), ElementsAre(2, 4, 6));
  Tensor<uint8_t> flat({5}, {0, 1, 0, 0, 1});
  Tensor<float> elements({6}, std::vector<float>(6));
  ASSERT_EQ(call(hewn_part_compress, {part(x), condition(flat)}, {part(elements)}, {0, 0}), HEWN_OK);
  EXPECT_THAT(elements.shape, ElementsAre(2));
  EXPECT_EQ(elements.data[0], 2);
  EXPECT_EQ(elements.data[1], 5);
}

TEST(Compress, TooLongACondition) {
  Tensor<float> x({2}, {1, 2}), out({2}, {0, 0});
  Tensor<uint8_t> c({3}, {1, 1, 1});
  std::string message;
  EXPECT_EQ(call(hewn_part_compress, {part(x), condition(c)}, {part(out)}, {1, 0}, &message), HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("the condition has 3 entries, the axis only 2"));
}

//===-- Unique ------------------------------------------------------------===//

struct UniqueOutputs {
  explicit UniqueOutputs(int64_t n)
      : indices({n}, std::vector<int64_t>(size_t(n))), inverse(indices), counts(indices) {}
  /// Shrinks the output buffers of Unique to the sizes of the results.
  void trim() {
    indices.data.resize(size_t(indices.shape[0]));
    inverse.data.resize(size_t(inverse.shape[0]));
    counts.data.resize(size_t(counts.shape[0]));
  }
  Tensor<int64_t> indices, inverse, counts;
};

TEST(Unique, SortedFlat) {
  Tensor<float> x({6}, {2, 1, 1, 3, 4, 3}), y({6}, std::vector<float>(6));
  UniqueOutputs out(6);
  ASSERT_EQ(
      call(hewn_part_unique, {part(x)}, {part(y), part(out.indices), part(out.inverse), part(out.counts)}, {1, 0, 0}),
      HEWN_OK);
  out.trim();
  EXPECT_THAT(y.shape, ElementsAre(4));
  EXPECT_THAT(std::vector<float>(y.data.begin(), y.data.begin() + 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(out.indices.data, ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(out.inverse.data, ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(out.counts.data, ElementsAre(2, 1, 2, 1));
}

TEST(Unique, UnsortedFlat) {
  Tensor<int32_t> x({2, 3}, {2, 1, 1, 3, 4, 3}), y({6}, std::vector<int32_t>(6));
  UniqueOutputs out(6);
  ASSERT_EQ(
      call(hewn_part_unique, {part(x)}, {part(y), part(out.indices), part(out.inverse), part(out.counts)}, {0, 0, 0}),
      HEWN_OK);
  out.trim();
  EXPECT_THAT(std::vector<int32_t>(y.data.begin(), y.data.begin() + 4), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(out.indices.data, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(out.inverse.data, ElementsAre(0, 1, 1, 2, 3, 2));
  EXPECT_THAT(out.counts.data, ElementsAre(1, 2, 2, 1));
}

TEST(Unique, SlicesAlongAnAxis) {
  // ONNX's example sorted_with_axis_3d: axis 1 of a tensor [2, 4, 2].
  Tensor<float> x({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1}), y({2, 4, 2}, std::vector<float>(16));
  UniqueOutputs out(4);
  ASSERT_EQ(
      call(hewn_part_unique, {part(x)}, {part(y), part(out.indices), part(out.inverse), part(out.counts)}, {1, 1, -2}),
      HEWN_OK);
  out.trim();
  EXPECT_THAT(y.shape, ElementsAre(2, 3, 2));
  EXPECT_THAT(std::vector<float>(y.data.begin(), y.data.begin() + 12), ElementsAre(0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1));
  EXPECT_THAT(out.indices.data, ElementsAre(1, 0, 2));
  EXPECT_THAT(out.inverse.data, ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(out.counts.data, ElementsAre(2, 1, 1));
}

TEST(Unique, StringsAbsentOutputsAndEmpty) {
  Tensor<const char *> x({4}, {"b", "a", "b", nullptr}), y({4}, std::vector<const char *>(4));
  ASSERT_EQ(call(hewn_part_unique, {part(x)}, {part(y), absent(), absent(), absent()}, {1, 0, 0}), HEWN_OK);
  EXPECT_THAT(y.shape, ElementsAre(3));
  EXPECT_STREQ(y.data[1], "a");
  Tensor<double> empty({0}, {}), none({0}, {});
  ASSERT_EQ(call(hewn_part_unique, {part(empty)}, {part(none)}, {1, 0, 0}), HEWN_OK);
  EXPECT_THAT(none.shape, ElementsAre(0));
}

TEST(Unique, ManyAgainstTheObviousWay) {
  std::vector<int64_t> data(1000);
  uint32_t random = 1;
  for (int64_t &value : data)
    value = int64_t((random = random * 1664525 + 1013904223) >> 20) % 97 - 50;
  std::vector<int64_t> expected(data);
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  Tensor<int64_t> x({1000}, data), y({1000}, std::vector<int64_t>(1000));
  UniqueOutputs out(1000);
  ASSERT_EQ(
      call(hewn_part_unique, {part(x)}, {part(y), part(out.indices), part(out.inverse), part(out.counts)}, {1, 0, 0}),
      HEWN_OK);
  out.trim();
  y.data.resize(size_t(y.shape[0]));
  EXPECT_EQ(y.data, expected);
  for (size_t i = 0; i < data.size(); ++i)
    EXPECT_EQ(y.data[size_t(out.inverse.data[i])], data[i]);
  EXPECT_EQ(std::accumulate(out.counts.data.begin(), out.counts.data.end(), int64_t(0)), 1000);
}

TEST(Unique, ComplexIsRefused) {
  Tensor<float> x({1}, {1}), y({1}, {0});
  hewn_part_tensor complex = part(x);
  complex.dtype = 14;
  std::string message;
  EXPECT_EQ(call(hewn_part_unique, {complex}, {part(y)}, {1, 0, 0}, &message), HEWN_UNSUPPORTED);
  EXPECT_THAT(message, HasSubstr("data type 14"));
}

//===-- Det ---------------------------------------------------------------===//

TEST(Det, ExamplesPivotsAndSingular) {
  Tensor<float> x({4, 2, 2}, {0, 1, 2, 3, 1, 2, 3, 4, 1, 3, 3, 1, 2, 4, 1, 2}), y({4}, std::vector<float>(4));
  ASSERT_EQ(call(hewn_part_det, {part(x)}, {part(y)}, {}), HEWN_OK);
  EXPECT_THAT(y.data, ElementsAre(-2, testing::FloatEq(-2), testing::FloatEq(-8), 0));
  Tensor<double> cube({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4}), scalar({}, {0});
  ASSERT_EQ(call(hewn_part_det, {part(cube)}, {part(scalar)}, {}), HEWN_OK);
  EXPECT_DOUBLE_EQ(scalar.data[0], 18);
  Tensor<float> wide({1, 2}, {1, 2});
  EXPECT_EQ(call(hewn_part_det, {part(wide)}, {part(y)}, {}), HEWN_INVALID_ARGUMENT);
}

//===-- PairwiseProbabilities ---------------------------------------------===//

TEST(PairwiseProbabilities, TwoAndThreeClasses) {
  Tensor<float> two({2, 1}, {0.5f, 0.9f}), p({2, 2}, std::vector<float>(4));
  ASSERT_EQ(call(hewn_part_pairwiseprobabilities, {part(two)}, {part(p)}, {}), HEWN_OK);
  EXPECT_THAT(p.data, ElementsAre(0.5f, 0.5f, testing::FloatNear(0.9f, 1e-2f), testing::FloatNear(0.1f, 1e-2f)));
  // Consistent pairs: the probabilities are 1/2, 1/3 and 1/6.
  Tensor<float> three({1, 3}, {0.6f, 0.75f, 2.0f / 3}), q({1, 3}, std::vector<float>(3));
  ASSERT_EQ(call(hewn_part_pairwiseprobabilities, {part(three)}, {part(q)}, {}), HEWN_OK);
  EXPECT_THAT(q.data, ElementsAre(testing::FloatNear(0.5f, 1e-2f), testing::FloatNear(0.333f, 1e-2f),
                                  testing::FloatNear(0.167f, 1e-2f)));
  std::string message;
  EXPECT_EQ(call(hewn_part_pairwiseprobabilities, {part(two)}, {part(q)}, {}, &message), HEWN_INVALID_ARGUMENT);
  EXPECT_EQ(message, "node '/the/node': 1 pairs do not match 3 classes");
}

//===-- DFT ---------------------------------------------------------------===//

TEST(DFT, ImpulseAndItsInverse) {
  // Lengths of each form: one, small factors, a large prime factor, and a long signal.
  for (int64_t n : {1, 4, 30, 37, 74, 101, 4096, 5003}) {
    Tensor<float> x({1, n, 1}, std::vector<float>(size_t(n))), y({1, n, 2}, std::vector<float>(size_t(2 * n)));
    Tensor<int64_t> length({}, {n});
    x.data[size_t(n / 2)] = 1;
    ASSERT_EQ(call(hewn_part_dft, {part(x), part(length)}, {part(y)}, {1, 0, 0}), HEWN_OK);
    for (int64_t k = 0; k < n; ++k) {
      double angle = -2 * M_PI * double(n / 2 * k % n) / double(n);
      EXPECT_NEAR(y.data[size_t(2 * k)], std::cos(angle), 1e-6);
      EXPECT_NEAR(y.data[size_t(2 * k + 1)], std::sin(angle), 1e-6);
    }
    Tensor<float> half({1, n / 2 + 1, 2}, std::vector<float>(size_t(n / 2 * 2 + 2))), back({1, n, 1}, x.data);
    back.data.assign(back.data.size(), 7);
    ASSERT_EQ(call(hewn_part_dft, {part(x), part(length)}, {part(half)}, {1, 0, 1}), HEWN_OK);
    ASSERT_EQ(call(hewn_part_dft, {part(half), part(length)}, {part(back)}, {1, 1, 1}), HEWN_OK);
    for (int64_t j = 0; j < n; ++j)
      EXPECT_NEAR(back.data[size_t(j)], x.data[size_t(j)], 1e-6);
  }
}

TEST(DFT, LengthAndTypeAreChecked) {
  Tensor<float> x({4, 1}, {1, 2, 3, 4}), y({4, 2}, std::vector<float>(8));
  Tensor<int64_t> length({}, {5}), none({}, {0});
  std::string message;
  EXPECT_EQ(call(hewn_part_dft, {part(x), part(length)}, {part(y)}, {0, 0, 0}, &message), HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("a transform of 5 elements has no 4 results"));
  Tensor<float> nothing({0, 2}, {});
  EXPECT_EQ(call(hewn_part_dft, {part(x), part(none)}, {part(nothing)}, {0, 0, 0}), HEWN_OK);
  Tensor<int32_t> whole({4, 1}, {1, 2, 3, 4});
  EXPECT_EQ(call(hewn_part_dft, {part(whole), part(length)}, {part(y)}, {0, 0, 0}, &message), HEWN_UNSUPPORTED);
  EXPECT_THAT(message, HasSubstr("data type 6"));
}

//===-- NonMaxSuppression -------------------------------------------------===//

struct Suppression {
  Tensor<float> boxes{
      {1, 6, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101}};
  Tensor<float> scores{{1, 1, 6}, {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f}};
  Tensor<int64_t> limit{{1}, {3}};
  Tensor<float> overlap{{1}, {0.5f}}, threshold{{1}, {0}};
  Tensor<int64_t> out{{6, 3}, std::vector<int64_t>(18)};
  std::vector<int64_t> run(int64_t centered = 0) {
    EXPECT_EQ(call(hewn_part_nonmaxsuppression,
                   {part(boxes), part(scores), part(limit), part(overlap), part(threshold)}, {part(out)}, {centered}),
              HEWN_OK);
    return {out.data.begin(), out.data.begin() + out.shape[0] * 3};
  }
};

TEST(NonMaxSuppression, OnnxExamples) {
  EXPECT_THAT(Suppression().run(), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
  Suppression limited;
  limited.limit.data[0] = 2;
  EXPECT_THAT(limited.run(), ElementsAre(0, 0, 3, 0, 0, 0));
  Suppression thresholded;
  thresholded.threshold.data[0] = 0.4f;
  EXPECT_THAT(thresholded.run(), ElementsAre(0, 0, 3, 0, 0, 0));
  Suppression none;
  none.limit.data[0] = 0;
  EXPECT_THAT(none.run(), ElementsAre());
}

TEST(NonMaxSuppression, FlippedAndCenteredBoxes) {
  Suppression flipped;
  std::swap(flipped.boxes.data[0], flipped.boxes.data[2]);
  EXPECT_THAT(flipped.run(), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
  Suppression centered;
  centered.boxes.data = {0.5f, 0.5f,  1, 1, 0.5f, 0.6f,  1, 1, 0.5f, 0.4f,   1, 1,
                         0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1};
  EXPECT_THAT(centered.run(1), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
}

TEST(NonMaxSuppression, IdenticalBoxesAndClasses) {
  Suppression same;
  same.boxes = {{1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}};
  same.scores = {{1, 2, 2}, {0.9f, 0.9f, 0.1f, 0.2f}};
  EXPECT_THAT(same.run(), ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(NonMaxSuppression, BoxesAndScoresMustAgree) {
  Suppression wrong;
  wrong.scores.shape[2] = 5;
  std::string message;
  EXPECT_EQ(
      call(hewn_part_nonmaxsuppression, {part(wrong.boxes), part(wrong.scores)}, {part(wrong.out)}, {0}, &message),
      HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("6 boxes, but scores for 5 boxes"));
}

} // namespace
