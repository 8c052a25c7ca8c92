// SPDX-License-Identifier: Apache-2.0
// Tests calls of custom ops: their operands, the sizes that they return, and their failures.
#include "FakeModel.h"

#include "hewn/custom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

enum { FLOAT = 1, INT64 = 7 };

template <typename T> hewn_part_tensor part(Tensor<T> &tensor, int32_t dtype) {
  return {tensor.data.data(), dtype, static_cast<int32_t>(tensor.shape.size()), tensor.shape.data()};
}

/// The parameters that the compiler emits for a custom op (services.h).
struct Params {
  std::vector<int64_t> words;
  Params(hewn_custom_fn *function, int64_t attributes, int64_t sizes, int64_t tensors, int64_t form)
      : words{reinterpret_cast<int64_t>(function), attributes, sizes, tensors, form} {}
  Params &add(std::vector<int64_t> more) {
    words.insert(words.end(), more.begin(), more.end());
    return *this;
  }
  Params &addText(const std::string &bytes) {
    size_t before = words.size();
    words.resize(before + bytes.size() / 8 + 1);
    std::memcpy(&words[before], bytes.data(), bytes.size());
    return *this;
  }
};

int32_t call(const Params &params, std::vector<hewn_part_tensor> in, std::vector<hewn_part_tensor> out,
             std::string *message = nullptr) {
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    return hewn_part_custom(context, "the node", int32_t(in.size()), in.data(), int32_t(out.size()), out.data(),
                            params.words.data());
  });
  int32_t code = model.run();
  if (message)
    *message = model.message;
  return code;
}

hewn_part_tensor absent() { return {nullptr, 0, 0, nullptr}; }

//===-- Tensors -----------------------------------------------------------===//

int32_t addAll(hewn_custom_call *c) {
  EXPECT_GE(c->size, sizeof(hewn_custom_call));
  EXPECT_EQ(c->num_inputs, 3);
  EXPECT_EQ(c->inputs[1], nullptr);
  const DLTensor *x = c->inputs[0], *y = c->outputs[0];
  EXPECT_EQ(x->device.device_type, kDLCPU);
  EXPECT_EQ(x->dtype.code, kDLFloat);
  EXPECT_EQ(x->dtype.bits, 32);
  EXPECT_EQ(x->ndim, 2);
  EXPECT_EQ(x->strides[0], 3);
  EXPECT_EQ(x->strides[1], 1);
  EXPECT_EQ(c->inputs[2]->dtype.code, kDLOpaqueHandle);
  EXPECT_STREQ(static_cast<const char *const *>(hewn_custom_data(c->inputs[2]))[0], "text");
  EXPECT_STREQ(c->node, "the node");
  const auto *from = static_cast<const float *>(hewn_custom_data(x));
  auto *to = static_cast<float *>(hewn_custom_data(y));
  for (int64_t i = 0; i < hewn_custom_elements(y); ++i)
    to[i] = from[i] + 1;
  return HEWN_OK;
}

TEST(Custom, TensorsAsDLPackHasThem) {
  Tensor<float> x({2, 3}, {0, 1, 2, 3, 4, 5}), y({2, 3}, std::vector<float>(6));
  Tensor<const char *> text({1}, {"text"});
  Params params(addAll, 0, 0, 0, HEWN_CUSTOM_COUNTS);
  params.add({0, 0, 1, 0}).add({-1, -1});
  ASSERT_EQ(call(params, {part(x, FLOAT), absent(), part(text, INT64)}, {part(y, FLOAT)}), HEWN_OK);
  EXPECT_THAT(y.data, ElementsAre(1, 2, 3, 4, 5, 6));
}

//===-- Attributes --------------------------------------------------------===//

int32_t lookAtAttributes(hewn_custom_call *c) {
  const hewn_custom_attribute *a = c->attributes;
  EXPECT_EQ(c->num_attributes, 8);
  EXPECT_EQ(c->num_inputs, 1);
  EXPECT_EQ(a[0].i, -5);
  EXPECT_EQ(a[1].f, 0.5);
  EXPECT_STREQ(a[2].s, "eight by");
  EXPECT_EQ(a[2].count, 8);
  EXPECT_EQ(a[3].count, 2);
  EXPECT_EQ(a[3].ints[1], 7);
  EXPECT_EQ(a[4].count, 3);
  EXPECT_EQ(a[4].floats[2], 3);
  EXPECT_EQ(a[5].count, 2);
  EXPECT_STREQ(a[5].strings[0], "one");
  EXPECT_STREQ(a[5].strings[1], "");
  EXPECT_EQ(static_cast<float *>(hewn_custom_data(a[6].tensor))[0], 9);
  EXPECT_EQ(a[7].kind, HEWN_CUSTOM_ABSENT);
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(a[i].kind, i + 1);
  return HEWN_OK;
}

TEST(Custom, AttributesOfEveryKind) {
  Tensor<float> tensor({1}, {9}), x({1}, {0}), y({}, {0});
  const float floats[3] = {1, 2, 3};
  int64_t packed[2] = {0, 0};
  std::memcpy(packed, floats, sizeof(floats));
  Params params(lookAtAttributes, 8, 0, 1, HEWN_CUSTOM_COUNTS);
  params.add({0, 0, 0});
  params.add({HEWN_CUSTOM_INT, 0, -5}).add({HEWN_CUSTOM_FLOAT, 0, std::bit_cast<int64_t>(0.5)});
  params.add({HEWN_CUSTOM_STRING, 8}).addText("eight by").add({HEWN_CUSTOM_INTS, 2, 6, 7});
  params.add({HEWN_CUSTOM_FLOATS, 3, packed[0], packed[1]});
  params.add({HEWN_CUSTOM_STRINGS, 2, 1}).addText(std::string("one\0\0", 5)).add({HEWN_CUSTOM_TENSOR, 0, 0});
  params.add({HEWN_CUSTOM_ABSENT, 0});
  EXPECT_EQ(call(params, {part(tensor, FLOAT), part(x, FLOAT)}, {part(y, FLOAT)}), HEWN_OK);
}

//===-- Sizes -------------------------------------------------------------===//

int64_t told[2];

int32_t keepSome(hewn_custom_call *c) {
  // The output of this custom op has the maximum size that the op declares.
  EXPECT_EQ(c->outputs[0]->shape[1], 4);
  c->sizes[0] = told[0];
  if (c->num_sizes > 1)
    c->sizes[1] = told[1];
  return HEWN_OK;
}

TEST(Custom, SizesThatTheFunctionTells) {
  for (auto [size, code] : {std::pair<int64_t, int32_t>{0, HEWN_OK},
                            {3, HEWN_OK},
                            {4, HEWN_OK},
                            {5, HEWN_OP_FAILED},
                            {-1, HEWN_OP_FAILED}}) {
    Tensor<float> y({2, 4}, std::vector<float>(8)), z({4}, std::vector<float>(4));
    Params params(keepSome, 0, 1, 0, HEWN_CUSTOM_COUNTS);
    params.add({0, 0}).add({-1, 0, 0});
    told[0] = size;
    std::string message;
    EXPECT_EQ(call(params, {}, {part(y, FLOAT), part(z, FLOAT)}, &message), code) << size;
    if (code == HEWN_OK) {
      EXPECT_THAT(y.shape, ElementsAre(2, size));
      EXPECT_THAT(z.shape, ElementsAre(size));
    } else {
      EXPECT_THAT(message, HasSubstr(size < 0 ? "did not write a size" : "wrote the size 5, which is outside 0..4"));
    }
  }
}

int32_t tellTwo(hewn_custom_call *c) {
  EXPECT_EQ(c->num_outputs, 0);
  c->sizes[0] = told[0];
  c->sizes[1] = told[1];
  return HEWN_OK;
}

TEST(Custom, SizesThatAShapeFunctionTells) {
  Tensor<float> x({1}, {0});
  Tensor<int64_t> sizes({2}, {0, 0});
  Params params(tellTwo, 0, 2, 0, HEWN_CUSTOM_TELLS);
  params.add({0});
  told[0] = 6, told[1] = 0;
  ASSERT_EQ(call(params, {part(x, FLOAT)}, {part(sizes, INT64)}), HEWN_OK);
  EXPECT_THAT(sizes.data, ElementsAre(6, 0));
  told[1] = -3;
  EXPECT_EQ(call(params, {part(x, FLOAT)}, {part(sizes, INT64)}), HEWN_OP_FAILED);
}

int32_t readSizes(hewn_custom_call *c) {
  EXPECT_EQ(c->num_inputs, 1);
  EXPECT_EQ(c->sizes[0], 2);
  return HEWN_OK;
}

TEST(Custom, SizesThatAreTold) {
  Tensor<int64_t> sizes({1}, {2});
  Tensor<float> x({1}, {0}), y({2}, {0, 0});
  Params params(readSizes, 0, 1, 1, HEWN_CUSTOM_IS_TOLD);
  params.add({0, 0, 0}).add({-1});
  EXPECT_EQ(call(params, {part(sizes, INT64), part(x, FLOAT)}, {part(y, FLOAT)}), HEWN_OK);
}

//===-- Services and failures ---------------------------------------------===//

int32_t work(hewn_custom_call *c) {
  auto *first = static_cast<char *>(hewn_custom_scratch(c, 100)),
       *second = static_cast<char *>(hewn_custom_scratch(c, 0));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_NE(second, nullptr);
  std::memset(first, 1, 100);
  char *kept = static_cast<char *>(hewn_custom_keep(c, 3));
  std::memcpy(kept, "ab", 3);
  static_cast<const char **>(hewn_custom_data(c->outputs[0]))[0] = kept;
  std::vector<int> done(10);
  EXPECT_GE(hewn_custom_threads(c), 1);
  hewn_custom_parallel_for(
      c, 10,
      [](void *arg, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          (*static_cast<std::vector<int> *>(arg))[size_t(i)] = 1;
      },
      &done);
  EXPECT_THAT(done, testing::Each(1));
  return HEWN_OK;
}

TEST(Custom, Services) {
  Tensor<const char *> y({1}, {nullptr});
  Params params(work, 0, 0, 0, HEWN_CUSTOM_COUNTS);
  params.add({1}).add({-1});
  ASSERT_EQ(call(params, {}, {part(y, INT64)}), HEWN_OK);
}

int32_t sayNo(hewn_custom_call *c) { return hewn_custom_fail(c, "{a} is no {b}", 4, 7); }
int32_t forgetToReturn(hewn_custom_call *c) {
  hewn_custom_scratch(c, 8);
  hewn_custom_fail(c, "no", 0, 0);
  return HEWN_OK;
}
int32_t sayNothing(hewn_custom_call *) { return 42; }
int32_t askForTooMuch(hewn_custom_call *c) { return hewn_custom_scratch(c, INT64_MAX) ? HEWN_OK : HEWN_OUT_OF_MEMORY; }

TEST(Custom, Failures) {
  struct {
    hewn_custom_fn *function;
    int32_t code;
    const char *message;
  } cases[] = {{sayNo, HEWN_OP_FAILED, "node 'the node': 4 is no 7"},
               {forgetToReturn, HEWN_OP_FAILED, "node 'the node': no"},
               {sayNothing, HEWN_OP_FAILED, "node 'the node': the custom op failed without a message: it returned 42"},
               {askForTooMuch, HEWN_OUT_OF_MEMORY, ""}};
  for (const auto &one : cases) {
    std::string message;
    EXPECT_EQ(call(Params(one.function, 0, 0, 0, HEWN_CUSTOM_COUNTS), {}, {}, &message), one.code);
    EXPECT_THAT(message, HasSubstr(one.message));
  }
}

/// A custom op that gets more inputs than the runtime stores on the stack.
int32_t countInputs(hewn_custom_call *c) {
  EXPECT_EQ(c->num_inputs, 100);
  return HEWN_OK;
}

TEST(Custom, ManyInputs) {
  Tensor<float> x({1}, {0});
  Params params(countInputs, 0, 0, 0, HEWN_CUSTOM_COUNTS);
  params.add(std::vector<int64_t>(100, 0));
  EXPECT_EQ(call(params, std::vector<hewn_part_tensor>(100, part(x, FLOAT)), {}), HEWN_OK);
}

} // namespace
