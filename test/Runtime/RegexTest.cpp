// SPDX-License-Identifier: Apache-2.0
// Tests the runtime function of RegexFullMatch: the matches, and that a context compiles a pattern
// only once.
#ifdef HEWN_HAS_REGEX

#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// An allocator that counts allocations.
struct Counted {
  int made = 0, live = 0;
  hewn_allocator allocator() {
    return {[](void *user, size_t bytes, size_t alignment) {
              auto *self = static_cast<Counted *>(user);
              ++self->made;
              ++self->live;
              return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
            },
            [](void *user, void *memory) {
              --static_cast<Counted *>(user)->live;
              std::free(memory);
            },
            this};
  }
};

/// Sets the elements of `found` for those of the strings "ab", "abb" and "" that `pattern` matches
/// in full.
int32_t match(hewn_context *context, const char *pattern, std::vector<uint8_t> &found) {
  const char *texts[] = {"ab", "abb", nullptr};
  int64_t count = 3, length = static_cast<int64_t>(std::strlen(pattern)) + 1;
  found.assign(3, 9);
  hewn_part_tensor in[] = {{texts, 7, 1, &count}, {const_cast<char *>(pattern), 2, 1, &length}};
  hewn_part_tensor out[] = {{found.data(), 9, 1, &count}};
  return hewn_part_textmatch(context, "/the/node", 2, in, 1, out, nullptr);
}

TEST(Regex, IsCompiledOnceAContext) {
  Counted counted;
  hewn_context_options options = defaultOptions();
  options.allocator = counted.allocator();
  std::vector<uint8_t> found;
  const char *pattern = "a.";
  BodyModel model([&](hewn_context *context, const hewn_frame *) { return match(context, pattern, found); });
  hewn_context *context = nullptr;
  ASSERT_EQ(hewn_context_create(&model.model, &options, &context).code, HEWN_OK);
  auto allocationsOfARun = [&] {
    int before = counted.made;
    EXPECT_EQ(model.runIn(context), HEWN_OK) << model.message;
    return counted.made - before;
  };
  int first = allocationsOfARun();
  EXPECT_THAT(found, ElementsAre(1, 0, 0));
  int second = allocationsOfARun(), held = counted.live;
  EXPECT_THAT(found, ElementsAre(1, 0, 0));
  EXPECT_LT(second, first);
  pattern = "a?b*"; // the context compiles a pattern that it has not seen yet
  EXPECT_EQ(allocationsOfARun(), first);
  EXPECT_THAT(found, ElementsAre(1, 1, 1));
  EXPECT_GT(counted.live, held);
  pattern = "a.";
  held = counted.live;
  EXPECT_EQ(allocationsOfARun(), second);
  EXPECT_THAT(found, ElementsAre(1, 0, 0));
  EXPECT_EQ(counted.live, held);
  hewn_context_destroy(context);
  EXPECT_EQ(counted.live, 0);
}

TEST(Regex, BadPatternsAreTold) {
  std::vector<uint8_t> found;
  BodyModel model([&](hewn_context *context, const hewn_frame *) { return match(context, "a(b", found); });
  EXPECT_EQ(model.run(), HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(model.message, HasSubstr("invalid regular expression"));
  EXPECT_THAT(model.message, HasSubstr("at byte 3"));
  int64_t where = 0;
  char why[100];
  EXPECT_FALSE(hewn_part_textpattern("a(b", &where, why, sizeof(why)));
  EXPECT_EQ(where, 3);
  EXPECT_THAT(why, HasSubstr("parenthes"));
  EXPECT_TRUE(hewn_part_textpattern("a(b)", &where, why, sizeof(why)));
}

} // namespace

#endif
