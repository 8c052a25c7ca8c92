// SPDX-License-Identifier: Apache-2.0
// Tests strings and sequences: runtime functions that read handles, memory that a context keeps for
// handles, and handles as inputs of callers.
#include "FakeModel.h"
#include "hewn/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr int32_t kUint8 = 2, kInt32 = 6, kInt64 = 7, kFloat = 1;
using Body = std::function<void(hewn_context *)>;

/// Calls `body` inside of a run of a model, and returns the status code of the run.
int32_t within(const Body &body, std::string *message = nullptr) {
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    body(context);
    return hewn_rt_code(context);
  });
  int32_t code = model.run();
  if (message)
    *message = model.message;
  return code;
}

template <typename T> struct Operand {
  std::vector<T> data;
  std::vector<int64_t> dims;
  int32_t dtype;
  hewn_part_tensor part() { return {data.data(), dtype, static_cast<int32_t>(dims.size()), dims.data()}; }
};
using Words = Operand<int64_t>;

Words strings(const std::vector<const char *> &texts) {
  Words words{{}, {static_cast<int64_t>(texts.size())}, kInt64};
  for (const char *text : texts)
    words.data.push_back(reinterpret_cast<int64_t>(text));
  return words;
}
Words word(int64_t value = 0) { return {{value}, {}, kInt64}; }
Operand<uint8_t> bytes(const char *text) {
  return {{text, text + std::strlen(text) + 1}, {static_cast<int64_t>(std::strlen(text) + 1)}, kUint8};
}
std::vector<std::string> textsOf(const Words &words) {
  std::vector<std::string> texts;
  for (int64_t address : words.data)
    texts.push_back(reinterpret_cast<const char *>(address));
  return texts;
}

int32_t call(hewn_context *context, hewn_part_fn *fn, std::vector<hewn_part_tensor> in, hewn_part_tensor &out,
             std::vector<int64_t> params = {}) {
  params.push_back(0);
  return fn(context, "/the/node", static_cast<int32_t>(in.size()), in.data(), 1, &out, params.data());
}

//===-- Text --------------------------------------------------------------===//

TEST(Text, EqualAndConcat) {
  Words a = strings({"one", nullptr, "b\xc3\xa4r"}), b = strings({"two", "", "b\xc3\xa4r"}),
        both = strings({"", "", ""});
  Operand<uint8_t> same{{7, 7, 7}, {3}, 9};
  ASSERT_EQ(within([&](hewn_context *context) {
              hewn_part_tensor out = same.part(), joined = both.part();
              call(context, hewn_part_textequal, {a.part(), b.part()}, out);
              call(context, hewn_part_textconcat, {a.part(), b.part()}, joined);
              EXPECT_THAT(textsOf(both), ElementsAre("onetwo", "", "b\xc3\xa4rb\xc3\xa4r"));
            }),
            HEWN_OK);
  EXPECT_THAT(same.data, ElementsAre(0, 1, 1));
}

/// Splits one string and returns its substrings. A first call of the runtime computes the number of
/// substrings, a second one their contents.
std::vector<std::string> substrings(const char *text, const char *delimiter, int64_t most = -1) {
  std::vector<std::string> found;
  EXPECT_EQ(within([&](hewn_context *context) {
              Words x = strings({text}), count = word();
              Operand<uint8_t> cut = bytes(delimiter);
              hewn_part_tensor counted = count.part();
              call(context, hewn_part_textfields, {x.part(), cut.part()}, counted, {most});
              Words split{std::vector<int64_t>(size_t(count.data[0])), {1, count.data[0]}, kInt64};
              hewn_part_tensor out = split.part();
              call(context, hewn_part_textsplit, {x.part(), cut.part()}, out, {most});
              found = textsOf(split);
            }),
            HEWN_OK);
  return found;
}

TEST(Text, Split) {
  EXPECT_THAT(substrings("a.b..c", "."), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(substrings("a.b..c", ".", 1), ElementsAre("a", "b..c"));
  EXPECT_THAT(substrings("  hello \t world ", ""), ElementsAre("hello", "world"));
  EXPECT_THAT(substrings("  hello  big world ", "", 1), ElementsAre("hello", "big world"));
  EXPECT_THAT(substrings("o--xo--y", "o--"), ElementsAre("", "x", "y"));
  EXPECT_THAT(substrings("", ","), ElementsAre());
  EXPECT_THAT(substrings("   ", ""), ElementsAre());
}

TEST(Text, Normalize) {
  Words x = strings({"Monday", "tuesday", "MONDAY"}), dropped = strings({"monday"}), y = strings({"", "", ""});
  ASSERT_EQ(within([&](hewn_context *context) {
              hewn_part_tensor out = y.part();
              call(context, hewn_part_textnormalize, {x.part(), dropped.part()}, out, {2, 0});
              EXPECT_STREQ(reinterpret_cast<const char *>(y.data[0]), "TUESDAY");
              EXPECT_EQ(y.dims[0], 1);
              y.dims[0] = 3;
              call(context, hewn_part_textnormalize, {x.part(), dropped.part()}, out, {0, 1});
            }),
            HEWN_OK);
  EXPECT_EQ(y.dims[0], 3);
}

TEST(Text, ConstantsMustLieInTheirBytes) {
  Operand<uint8_t> text = bytes("abc");
  Words starts{{1, 9}, {2}, kInt64}, out = strings({"", ""});
  std::string message;
  hewn_part_tensor result = out.part();
  EXPECT_NE(within([&](hewn_context *c) { call(c, hewn_part_text, {text.part(), starts.part()}, result); }, &message),
            HEWN_OK);
  EXPECT_THAT(message, HasSubstr("begins at byte 9 of 4"));
}

/// Returns a hash table of 8 slots, for entries with these hashes.
std::vector<int32_t> slotsOf(const std::vector<uint64_t> &hashes) {
  std::vector<int32_t> slots(8, -1);
  for (size_t i = 0; i < hashes.size(); ++i) {
    size_t at = hashes[i] & 7;
    while (slots[at] >= 0)
      at = (at + 1) & 7;
    slots[at] = static_cast<int32_t>(i);
  }
  return slots;
}

TEST(Lookup, StringsAndNumbers) {
  Words x = strings({"b", "d", nullptr}), keys = strings({"", "a", "b"}), places{{0, 0, 0}, {3}, kInt64};
  Operand<float> numbers{{2.5f, NAN, -0.0f, 7}, {4}, kFloat}, sorted{{0.0f, 2.5f, NAN}, {3}, kFloat};
  Words found{{0, 0, 0, 0}, {4}, kInt64};
  std::vector<uint64_t> textHashes, numberHashes;
  for (const char *text : {"", "a", "b"})
    textHashes.push_back(hewn_hash_text(text));
  for (uint32_t bits : {0u, 0x40200000u, 0x7fc00000u})
    numberHashes.push_back(hewn_hash_word(0, hewn_part_float_key(bits, 32, 0x7f800000)));
  Operand<int32_t> texts{slotsOf(textHashes), {8}, kInt32}, slots{slotsOf(numberHashes), {8}, kInt32};
  ASSERT_EQ(within([&](hewn_context *context) {
              hewn_part_tensor out = places.part(), other = found.part();
              call(context, hewn_part_lookup, {x.part(), keys.part(), texts.part()}, out, {1});
              call(context, hewn_part_lookup, {numbers.part(), sorted.part(), slots.part()}, other, {0});
            }),
            HEWN_OK);
  EXPECT_THAT(places.data, ElementsAre(2, 3, 0));
  EXPECT_THAT(found.data, ElementsAre(1, 2, 0, 3));
}

//===-- Lists -------------------------------------------------------------===//

Operand<float> row(std::vector<float> values) {
  int64_t n = static_cast<int64_t>(values.size());
  return {std::move(values), {n}, kFloat};
}

std::vector<int64_t> lengths(const Words &list) {
  std::vector<int64_t> all;
  const auto *seen = reinterpret_cast<const hewn_sequence *>(list.data[0]);
  for (int64_t i = 0; i < seen->length; ++i)
    all.push_back(seen->elements[i].shape[0]);
  return all;
}

class Lists : public testing::Test {
protected:
  void inRun(const Body &body) { ASSERT_EQ(code = within(body, &message), code); }
  Words insert(hewn_context *context, Words list, size_t n, int64_t place) {
    Operand<float> element = row(std::vector<float>(n, static_cast<float>(n)));
    Words at = word(place), longer = word();
    hewn_part_tensor out = longer.part();
    call(context, hewn_part_listinsert, {list.part(), element.part(), at.part()}, out);
    return longer;
  }
  std::string message;
  int32_t code = HEWN_OK;
};

TEST_F(Lists, InsertLeavesTheOldOneAlone) {
  inRun([&](hewn_context *context) {
    Words one = insert(context, word(), 1, INT64_MAX), two = insert(context, one, 2, INT64_MAX);
    // Both lists extend `two`: the second insertion must not overwrite the element of the first
    // one.
    Words three = insert(context, two, 3, INT64_MAX), other = insert(context, two, 4, INT64_MAX);
    Words front = insert(context, three, 5, 0), middle = insert(context, three, 6, -1);
    EXPECT_THAT(lengths(one), ElementsAre(1));
    EXPECT_THAT(lengths(two), ElementsAre(1, 2));
    EXPECT_THAT(lengths(three), ElementsAre(1, 2, 3));
    EXPECT_THAT(lengths(other), ElementsAre(1, 2, 4));
    EXPECT_THAT(lengths(front), ElementsAre(5, 1, 2, 3));
    EXPECT_THAT(lengths(middle), ElementsAre(1, 2, 6, 3));
    Words shorter = word(), at = word(1);
    hewn_part_tensor out = shorter.part();
    call(context, hewn_part_listerase, {three.part(), at.part()}, out);
    EXPECT_THAT(lengths(shorter), ElementsAre(1, 3));
  });
  EXPECT_EQ(code, HEWN_OK) << message;
}

TEST_F(Lists, PlacesOutside) {
  inRun([&](hewn_context *context) { insert(context, insert(context, word(), 1, INT64_MAX), 1, 3); });
  EXPECT_EQ(code, HEWN_INDEX_OUT_OF_RANGE);
  EXPECT_THAT(message, HasSubstr("position 3 is out of range for a sequence of length 1"));
  inRun([&](hewn_context *context) {
    Words list = word(), at = word(0), dims{{0}, {1}, kInt64};
    hewn_part_tensor out = dims.part();
    call(context, hewn_part_listdims, {list.part(), at.part()}, out, {1});
  });
  EXPECT_THAT(message, HasSubstr("position 0 is out of range for a sequence of length 0"));
}

TEST_F(Lists, SplitAndJoin) {
  Operand<float> x{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, 5}, kFloat}, whole{std::vector<float>(10), {2, 5}, kFloat};
  inRun([&](hewn_context *context) {
    Words sizes = word(2), list = word(), dims{{0, 0}, {2}, kInt64};
    hewn_part_tensor out = list.part(), told = dims.part(), joined = whole.part();
    call(context, hewn_part_listsplit, {x.part(), sizes.part()}, out, {1, 0, 0});
    const auto *seen = reinterpret_cast<const hewn_sequence *>(list.data[0]);
    EXPECT_EQ(seen->length, 3);
    EXPECT_EQ(static_cast<const float *>(seen->elements[2].data)[1], 9);
    call(context, hewn_part_listjointdims, {list.part()}, told, {2, 1, 0});
    EXPECT_THAT(dims.data, ElementsAre(2, 5));
    call(context, hewn_part_listjoin, {list.part()}, joined, {1, 0});
  });
  EXPECT_EQ(code, HEWN_OK) << message;
  EXPECT_EQ(whole.data, x.data);
  inRun([&](hewn_context *context) {
    Words sizes{{2, 2}, {2}, kInt64}, list = word();
    hewn_part_tensor out = list.part();
    call(context, hewn_part_listsplit, {x.part(), sizes.part()}, out, {1, 0, 0});
  });
  EXPECT_THAT(message, HasSubstr("do not add up to the dim size 5"));
}

TEST_F(Lists, UnlikeTensorsAreNotJoined) {
  inRun([&](hewn_context *context) {
    Words list = insert(context, insert(context, word(), 2, INT64_MAX), 3, INT64_MAX), dims{{0, 0}, {2}, kInt64};
    hewn_part_tensor out = dims.part();
    call(context, hewn_part_listjointdims, {list.part()}, out, {1, 0, 1});
  });
  EXPECT_THAT(message, HasSubstr("between concatenated tensors: 3 and 2"));
}

//===-- Kept memory -------------------------------------------------------===//

TEST(Kept, StaysForOneMoreRun) {
  static std::vector<char *> given;
  BodyModel model({});
  model.variant.run = [](hewn_context *context, const hewn_frame *) -> int32_t {
    if (!given.empty())
      // A handle from the previous run stays valid, so callers may pass it to the next run.
      EXPECT_STREQ(given.back(), "text");
    for (int i = 0; i < 1000; ++i)
      std::strcpy(static_cast<char *>(hewn_rt_keep(context, 5)), "text");
    auto *wide = static_cast<char *>(hewn_rt_keep(context, 100000));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(wide) % 64, 0u);
    std::memset(wide, 1, 100000);
    given.push_back(static_cast<char *>(hewn_rt_keep(context, 5)));
    std::strcpy(given.back(), "text");
    return HEWN_OK;
  };
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&model.model, nullptr, &context).code, HEWN_OK);
  Tensor<float> out({}, {0});
  DLTensor view = out.view(float32);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(hewn_run(&model.model, context, nullptr, &view).code, HEWN_OK);
  EXPECT_STREQ(given.back(), "text");
  hewn_context_destroy(context);
}

/// Passes a sequence from run to run: each run appends the element that `make` returns, which is
/// equal to `wanted`, and the next run gets the result as its input. Elements are floats or strings
/// (int64_t).
template <typename T>
void feedBack(DLDataType dtype, Operand<T> wanted, const std::function<Operand<T>(hewn_context *)> &make) {
  BodyModel model([&](hewn_context *context, const hewn_frame *frame) {
    Words list{{0}, {}, kInt64}, end = word(INT64_MAX), longer = word();
    std::memcpy(list.data.data(), frame->inputs[0], sizeof(void *));
    Operand<T> element = make(context);
    hewn_part_tensor out = longer.part();
    call(context, hewn_part_listinsert, {list.part(), element.part(), end.part()}, out, {std::is_same_v<T, int64_t>});
    std::memcpy(frame->outputs[0], longer.data.data(), sizeof(void *));
    return hewn_rt_code(context);
  });
  constexpr DLDataType handle{kDLOpaqueHandle, 64, 1};
  hewn_tensor_info input = {"in", handle, 0, nullptr, nullptr, HEWN_KIND_SEQUENCE, dtype, 1, 0};
  model.output = {"out", handle, 0, nullptr, nullptr, HEWN_KIND_SEQUENCE, dtype, 1, 0};
  model.model.inputs = &input;
  model.model.num_inputs = 1;
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&model.model, nullptr, &context).code, HEWN_OK);
  const hewn_sequence none = {0, nullptr}, *list = &none;
  for (int64_t n = 1; n < 6; ++n) {
    Tensor<const hewn_sequence *> in({}, {list}), out({}, {nullptr});
    ASSERT_EQ(model.runIn(context, in.view(handle), out.view(handle)), HEWN_OK) << model.message;
    list = out.data[0];
    ASSERT_EQ(list->length, n);
    // Checks all elements of the sequence, including those that much earlier runs appended.
    for (int64_t i = 0; i < n; ++i) {
      const DLTensor &tensor = list->elements[i];
      ASSERT_EQ(tensor.shape[0], wanted.dims[0]);
      for (int64_t k = 0; k < tensor.shape[0]; ++k)
        if constexpr (std::is_same_v<T, int64_t>)
          EXPECT_STREQ(static_cast<const char *const *>(tensor.data)[k],
                       reinterpret_cast<const char *>(wanted.data[k]));
        else
          EXPECT_EQ(static_cast<const T *>(tensor.data)[k], wanted.data[k]);
    }
  }
  hewn_context_destroy(context);
}

TEST(Kept, SequencesThatAreFedBack) {
  feedBack<float>(float32, row({1, 2, 3}), [](hewn_context *) { return row({1, 2, 3}); });
}

TEST(Kept, StringsThatAreFedBack) {
  feedBack<int64_t>({kDLOpaqueHandle, 64, 1}, strings({"aa", "", "longer than the others"}), [](hewn_context *context) {
    Words a = strings({"a", "", "longer "}), b = strings({"a", "", "than the others"}), both = a;
    hewn_part_tensor out = both.part();
    call(context, hewn_part_textconcat, {a.part(), b.part()}, out);
    return both;
  });
}

/// Returns options whose allocator adds the sizes of all requests to `asked`.
hewn_context_options counting(size_t &asked) {
  hewn_context_options options = defaultOptions();
  options.allocator = {[](void *user, size_t bytes, size_t alignment) {
                         *static_cast<size_t *>(user) += bytes;
                         void *memory = nullptr;
                         return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
                       },
                       [](void *, void *memory) { std::free(memory); }, &asked};
  return options;
}

TEST(Kept, WhatIsLargeTakesNoMoreThanItself) {
  size_t asked = 0;
  hewn_context_options options = counting(asked);
  constexpr size_t large = size_t(40) << 20;
  BodyModel model([](hewn_context *context, const hewn_frame *) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_NE(hewn_rt_keep(context, 24), nullptr);
      EXPECT_NE(hewn_rt_keep(context, large), nullptr);
    }
    return hewn_rt_code(context);
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
  EXPECT_LT(asked, 4 * large + (size_t(1) << 20));
}

TEST(Kept, WhatIsSplitIsCopiedOnce) {
  size_t asked = 0;
  hewn_context_options options = counting(asked);
  constexpr int64_t columns = 1 << 18;
  Operand<float> x{std::vector<float>(2 * columns), {2, columns}, kFloat};
  std::iota(x.data.begin(), x.data.end(), 0.0f);
  BodyModel model([&](hewn_context *context, const hewn_frame *) {
    Words size = word(columns / 4), list = word();
    hewn_part_tensor out = list.part();
    call(context, hewn_part_listsplit, {x.part(), size.part()}, out, {1, 0, 0});
    const auto *made = reinterpret_cast<const hewn_sequence *>(list.data[0]);
    EXPECT_EQ(made->length, 4);
    EXPECT_EQ(static_cast<const float *>(made->elements[1].data)[columns / 4], x.data[size_t(columns + columns / 4)]);
    return hewn_rt_code(context);
  });
  EXPECT_EQ(model.run(&options), HEWN_OK);
  EXPECT_LT(asked, x.data.size() * sizeof(float) * 5 / 4);
}

TEST(Kept, NoMemory) {
  std::string message;
  EXPECT_EQ(within([](hewn_context *context) { EXPECT_EQ(hewn_rt_keep(context, INT64_MAX - 8), nullptr); }, &message),
            HEWN_OUT_OF_MEMORY);
  EXPECT_THAT(message, HasSubstr("out of memory"));
}

} // namespace
