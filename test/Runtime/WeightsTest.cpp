// SPDX-License-Identifier: Apache-2.0
// Tests the weights file: how it is found, its checks, sharing between contexts, errors.
#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using testing::HasSubstr;

namespace {

class Weights : public testing::Test {
protected:
  void SetUp() override {
    name = "fake-" + std::to_string(getpid()) + ".weights";
    fake.model.weights = nullptr;
    fake.model.weights_file = name.c_str();
    path = testing::TempDir() + name;
    bytes = weightsBytes(fake.model);
  }
  void TearDown() override { std::remove(path.c_str()); }

  void write(const std::string &content) { std::ofstream(path, std::ios::binary) << content; }

  hewn_status create(hewn_context **context) {
    hewn_context_options options = defaultOptions();
    options.weights_path = path.c_str();
    options.flags = flags;
    return hewn_context_create(&fake.model, &options, context);
  }

  /// Creates a context, expects the status HEWN_IO, and returns the error message.
  std::string failure() {
    hewn_context *context = nullptr;
    hewn_status status = create(&context);
    EXPECT_EQ(status.code, HEWN_IO);
    std::string message = status.message;
    // The caller can only read the error message of a context whose creation failed.
    EXPECT_EQ(hewn_run(&fake.model, context, nullptr, nullptr).code, HEWN_IO);
    hewn_context_destroy(context);
    return message;
  }

  /// Runs the model on zero inputs and returns the first element of the output.
  float firstTotal(hewn_context *context) {
    float zeros[3] = {}, total[3] = {};
    const void *in[] = {zeros, zeros};
    void *out[] = {total, nullptr};
    int64_t batch = 1;
    EXPECT_EQ(hewn_run_pointers(&fake.model, context, in, out, nullptr, &batch).code, HEWN_OK);
    hewn_output_release(context, out[1]);
    return total[0];
  }

  FakeModel fake;
  std::string name, path, bytes;
  uint32_t flags = 0;
};

TEST_F(Weights, MappedFromAPath) {
  write(bytes);
  hewn_context *context = nullptr;
  hewn_status status = create(&context);
  ASSERT_EQ(status.code, HEWN_OK) << status.message;
  EXPECT_EQ(firstTotal(context), 1);
  hewn_context_destroy(context);
  for (uint64_t word : fake.state.opaque)
    EXPECT_EQ(word, 0u); // the file is unmapped, and the state of the model is reset
}

TEST_F(Weights, FoundBesideTheBinary) {
  char binary[4096];
  ssize_t length = readlink("/proc/self/exe", binary, sizeof(binary));
  ASSERT_GT(length, 0);
  path = std::string(binary, static_cast<size_t>(length));
  path = path.substr(0, path.rfind('/') + 1) + name;
  write(bytes);
  static FakeModel beside; // static: the runtime finds the binary by the descriptor's address
  beside.model.weights = nullptr;
  beside.model.weights_file = name.c_str();
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&beside.model, nullptr, &context);
  EXPECT_EQ(status.code, HEWN_OK) << status.message;
  hewn_context_destroy(context);
}

TEST_F(Weights, SharedByContexts) {
  write(bytes);
  hewn_context *first = nullptr, *second = nullptr;
  ASSERT_EQ(create(&first).code, HEWN_OK);
  std::remove(path.c_str()); // the second context shares the mapping
  ASSERT_EQ(create(&second).code, HEWN_OK);
  hewn_context_destroy(first);
  EXPECT_EQ(firstTotal(second), 1);
  hewn_context_destroy(second);
  EXPECT_THAT(failure(), HasSubstr("does not exist"));
}

TEST_F(Weights, CreatedAndDestroyedByManyThreads) {
  write(bytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        hewn_context *context = nullptr;
        EXPECT_EQ(create(&context).code, HEWN_OK);
        EXPECT_EQ(firstTotal(context), 1);
        hewn_context_destroy(context);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Weights, Missing) {
  std::string message = failure();
  EXPECT_EQ(message, "model 'fake': weights file '" + path + "' does not exist");
}

TEST_F(Weights, Truncated) {
  write(bytes.substr(0, bytes.size() - 4));
  EXPECT_THAT(failure(), HasSubstr("is truncated: 76 bytes expected, got 72"));
  write(bytes.substr(0, 10));
  EXPECT_THAT(failure(), HasSubstr("is truncated: 76 bytes expected, got 10"));
  write("");
  EXPECT_THAT(failure(), HasSubstr("got 0"));
}

TEST_F(Weights, TooLong) {
  write(bytes + "x");
  EXPECT_THAT(failure(), HasSubstr("is too long: 76 bytes expected, got 77"));
}

TEST_F(Weights, OfAnotherModel) {
  bytes[16] = 'f';
  write(bytes);
  EXPECT_THAT(failure(), HasSubstr("belongs to another model: digest '0123456789abcdef' expected, got "
                                   "'f123456789abcdef'"));
}

TEST_F(Weights, NotAWeightsFile) {
  bytes[0] = 'X';
  write(bytes);
  EXPECT_THAT(failure(), HasSubstr("is not a weights file of hewn"));
}

TEST_F(Weights, OfAnotherVersion) {
  bytes[6] = 9;
  write(bytes);
  EXPECT_THAT(failure(), HasSubstr("another version of hewn"));
}

TEST_F(Weights, NotAFile) {
  path = testing::TempDir();
  EXPECT_THAT(failure(), HasSubstr("is not a regular file"));
}

TEST_F(Weights, VerifiedWhenAskedFor) {
  write(bytes);
  for (uint32_t more : {0u, uint32_t(HEWN_COPY_WEIGHTS)}) {
    flags = HEWN_VERIFY_WEIGHTS | more;
    hewn_context *context = nullptr;
    hewn_status status = create(&context);
    ASSERT_EQ(status.code, HEWN_OK) << status.message;
    EXPECT_EQ(firstTotal(context), 1);
    hewn_context_destroy(context);
  }
  bytes.back() ^= 1;
  write(bytes);
  EXPECT_THAT(failure(), HasSubstr("is damaged: the checksum does not match the data"));
  flags = 0;
  hewn_context *context = nullptr;
  EXPECT_EQ(create(&context).code, HEWN_OK);
  hewn_context *second = nullptr; // creating it verifies the existing mapping
  flags = HEWN_VERIFY_WEIGHTS;
  EXPECT_EQ(create(&second).code, HEWN_IO);
  hewn_context_destroy(second);
  EXPECT_EQ(firstTotal(context), 1);
  hewn_context_destroy(context);
  for (uint64_t word : fake.state.opaque)
    EXPECT_EQ(word, 0u);
}

TEST_F(Weights, ADamagedFileIsNamedByItsPath) {
  flags = HEWN_VERIFY_WEIGHTS;
  bytes.back() ^= 1;
  write(bytes);
  for (uint32_t more : {0u, uint32_t(HEWN_COPY_WEIGHTS)}) {
    flags = HEWN_VERIFY_WEIGHTS | more;
    EXPECT_EQ(failure(), "model 'fake': weights file '" + path + "' is damaged: the checksum does not match the data");
  }
  flags = 0; // maps the damaged file
  hewn_context *context = nullptr, *second = nullptr;
  ASSERT_EQ(create(&context).code, HEWN_OK);
  hewn_context_options options = defaultOptions(); // no path: verifies the mapping
  options.flags = HEWN_VERIFY_WEIGHTS;
  hewn_status status = hewn_context_create(&fake.model, &options, &second);
  EXPECT_EQ(status.message,
            "model 'fake': weights file '" + path + "' is damaged: the checksum does not match the data");
  hewn_context_destroy(second);
  hewn_context_destroy(context);
}

TEST_F(Weights, VerifyChecksTheGivenFileThoughWeightsAreShared) {
  write(bytes);
  hewn_context *first = nullptr, *second = nullptr;
  ASSERT_EQ(create(&first).code, HEWN_OK);
  flags = HEWN_VERIFY_WEIGHTS;
  ASSERT_EQ(create(&second).code, HEWN_OK); // the same file
  hewn_context_destroy(second);
  std::string shared = path;
  path = testing::TempDir() + "other-" + name;
  EXPECT_EQ(failure(), "model 'fake': weights file '" + path + "' does not exist");
  std::string damaged = bytes, foreign = bytes;
  damaged.back() ^= 1;
  write(damaged);
  EXPECT_EQ(failure(), "model 'fake': weights file '" + path + "' is damaged: the checksum does not match the data");
  foreign[16] = 'f';
  write(foreign);
  EXPECT_THAT(failure(), HasSubstr("belongs to another model"));
  std::remove(path.c_str());
  path = shared;
  EXPECT_EQ(firstTotal(first), 1);
  hewn_context_destroy(first);
  for (uint64_t word : fake.state.opaque)
    EXPECT_EQ(word, 0u);
}

/// The content of a weights file in aligned memory.
struct alignas(64) Memory {
  explicit Memory(const std::string &content) : size(content.size()) { content.copy(data, sizeof(data)); }
  char data[128] = {};
  size_t size;
};

TEST_F(Weights, InTheCallersMemory) {
  Memory memory(bytes);
  hewn_context_options options = defaultOptions();
  options.weights = memory.data;
  options.weights_bytes = memory.size;
  hewn_context *first = nullptr, *second = nullptr, *mapped = nullptr;
  options.flags = HEWN_VERIFY_WEIGHTS;
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &first).code, HEWN_OK);
  ASSERT_EQ(hewn_context_create(&fake.model, &options, &second).code, HEWN_OK);
  write(bytes);
  ASSERT_EQ(create(&mapped).code, HEWN_OK); // maps the file: memory is not shared with other contexts
  hewn_context_destroy(first);
  EXPECT_EQ(firstTotal(second), 1);
  hewn_context_destroy(second);
  memory = Memory("");
  EXPECT_EQ(firstTotal(mapped), 1);
  hewn_context_destroy(mapped);
  for (uint64_t word : fake.state.opaque)
    EXPECT_EQ(word, 0u);
}

TEST_F(Weights, APathWithoutAFile) {
  const float embedded[] = {1, 2, 3};
  for (const void *weights : {static_cast<const void *>(embedded), static_cast<const void *>(nullptr)}) {
    fake.model.weights = static_cast<const unsigned char *>(weights);
    fake.model.weights_file = nullptr;
    hewn_context *context = nullptr;
    hewn_status status = create(&context);
    EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
    EXPECT_STREQ(status.message, weights ? "options.weights_path is set, but the model's binary contains its weights"
                                         : "options.weights_path is set, but the model has no weights");
    hewn_context_destroy(context);
  }
}

TEST_F(Weights, InMemoryThatDoesNotFit) {
  auto refusal = [&](const std::string &content, int32_t code, size_t offset = 0, const char *file = nullptr) {
    Memory memory(std::string(offset, ' ') + content);
    hewn_context_options options = defaultOptions();
    options.weights = memory.data + offset;
    options.weights_bytes = content.size();
    options.weights_path = file;
    options.flags = flags;
    hewn_context *context = nullptr;
    hewn_status status = hewn_context_create(&fake.model, &options, &context);
    EXPECT_EQ(status.code, code);
    std::string message = status.message;
    hewn_context_destroy(context);
    return message;
  };
  EXPECT_EQ(refusal(bytes, HEWN_INVALID_ARGUMENT, 4), "options.weights is not aligned to 64 bytes");
  EXPECT_EQ(refusal(bytes, HEWN_INVALID_ARGUMENT, 0, "x"), "options.weights and options.weights_path are both set");
  EXPECT_EQ(refusal("", HEWN_IO), "model 'fake': options.weights is truncated: 76 bytes expected, got 0");
  EXPECT_EQ(refusal(bytes.substr(0, 75), HEWN_IO),
            "model 'fake': options.weights is truncated: 76 bytes expected, got 75");
  EXPECT_EQ(refusal(bytes + "x", HEWN_IO), "model 'fake': options.weights is too long: 76 bytes expected, got 77");
  EXPECT_EQ(refusal("X" + bytes.substr(1), HEWN_IO), "model 'fake': options.weights is not a weights file of hewn");
  std::string foreign = bytes, damaged = bytes;
  foreign[16] = 'f';
  damaged.back() ^= 1;
  EXPECT_THAT(refusal(foreign, HEWN_IO), HasSubstr("options.weights belongs to another model: digest"));
  EXPECT_EQ(refusal(damaged, HEWN_OK), "");
  flags = HEWN_VERIFY_WEIGHTS;
  EXPECT_EQ(refusal(damaged, HEWN_IO),
            "model 'fake': options.weights is damaged: the checksum does not match the data");
  flags = HEWN_COPY_WEIGHTS;
  EXPECT_THAT(refusal(bytes, HEWN_INVALID_ARGUMENT), HasSubstr("leave HEWN_COPY_WEIGHTS out"));
  flags = 0;
  fake.model.weights_file = nullptr;
  EXPECT_EQ(refusal(bytes, HEWN_INVALID_ARGUMENT), "options.weights is set, but the model has no weights");
  alignas(64) static const unsigned char embedded[64] = {};
  fake.model.weights = embedded;
  EXPECT_EQ(refusal(bytes, HEWN_INVALID_ARGUMENT),
            "options.weights is set, but the model's binary contains its weights");
  hewn_context_options options = defaultOptions();
  options.weights_bytes = 1;
  hewn_context *context = nullptr;
  EXPECT_STREQ(hewn_context_create(&fake.model, &options, &context).message,
               "options.weights_bytes is set, but options.weights is NULL");
  EXPECT_EQ(context, nullptr);
}

TEST_F(Weights, ACopyOutlivesTheFile) {
  write(bytes);
  flags = HEWN_COPY_WEIGHTS;
  hewn_context *context = nullptr, *second = nullptr;
  ASSERT_EQ(create(&context).code, HEWN_OK);
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  ASSERT_EQ(create(&second).code, HEWN_OK); // shares the first context's copy
  EXPECT_EQ(firstTotal(context), 1);
  hewn_context_destroy(context);
  EXPECT_EQ(firstTotal(second), 1);
  hewn_context_destroy(second);
  EXPECT_THAT(failure(), HasSubstr("is truncated: 76 bytes expected, got 0"));
  write(bytes + "x");
  EXPECT_THAT(failure(), HasSubstr("is too long: 76 bytes expected, got 77"));
}

TEST_F(Weights, ACopyIsAskedForByTheFirst) {
  write(bytes);
  hewn_context *first = nullptr, *second = nullptr;
  ASSERT_EQ(create(&first).code, HEWN_OK);
  flags = HEWN_COPY_WEIGHTS;
  hewn_status status = create(&second);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(status.message, HasSubstr("set the flag for the first context"));
  hewn_context_destroy(second);
  hewn_context_destroy(first);
}

TEST_F(Weights, NoFlagThatNobodyKnows) {
  write(bytes);
  flags = 1u << 31;
  hewn_context *context = nullptr;
  hewn_status status = create(&context);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_THAT(status.message, HasSubstr("options.flags"));
  hewn_context_destroy(context);
}

TEST_F(Weights, AFifoDoesNotMakeItWait) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(failure(), HasSubstr("is not a regular file"));
}

} // namespace
