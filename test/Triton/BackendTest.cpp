// SPDX-License-Identifier: Apache-2.0
//
// Tests the backend with a mock server, which triggers situations that are rare in the real server.
#include "test/Triton/MockServer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

namespace fs = std::filesystem;

namespace {

constexpr const char *kPicked = R"(<ir_version: 8, opset_import: ["" : 17]>
picked (float[batch] x, float[batch, n] z, int64[batch, n] i) => (float[batch] y, float[batch, n] w) {
  y = Neg(x)
  w = GatherElements <axis = 1>(z, i)
})";
constexpr const char *kMixed = R"(<ir_version: 8, opset_import: ["" : 17]>
mixed (float x, string[n] s, float[m, 2] z) => (float y, string[n] t, int64[2, k] found) {
  y = Neg(x)
  t = Identity(s)
  found = NonZero(z)
})";
constexpr const char *kSummed = R"(<ir_version: 8, opset_import: ["" : 17]>
summed (float[batch, 2] x, float[batch, 2] past) => (float[batch, 2] y, float[batch, 2] present) <float two = {2}> {
  present = Add(x, past)
  y = Mul(present, two)
})";
constexpr const char *kSquare = R"(<ir_version: 8, opset_import: ["" : 17]>
square (float[batch, 2] x) => (float[batch, m] y) {
  twice = Concat <axis = 0>(x, x)
  columns = Transpose(twice)
  y = MatMul(x, columns)
})";
constexpr const char *kNegated = R"(<ir_version: 8, opset_import: ["" : 17]>
negated (float[batch, n] x) => (float[batch, n] y) { y = Neg(x) })";
constexpr const char *kNarrow = R"(<ir_version: 10, opset_import: ["" : 19]>
narrow (float[2] x) => (float8e4m3fn[2] y) { y = Cast <to = 17>(x) })";
constexpr const char *kSequence = R"(<ir_version: 10, opset_import: ["" : 19]>
listed (float[4, 2] x) => (seq(float[4, 1]) y) { y = SplitToSequence <axis = 1>(x) })";

constexpr const char *kPickedConfig = R"({"max_batch_size": 8,
  "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [1], "reshape": {"shape": []}},
            {"name": "z", "data_type": "TYPE_FP32", "dims": ["-1"]}, {"name": "i", "data_type": "TYPE_INT64", "dims": [-1]}],
  "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [1], "reshape": {"shape": []}},
             {"name": "w", "data_type": "TYPE_FP32", "dims": [-1]}]})";
constexpr const char *kMixedConfig = R"({"max_batch_size": 0,
  "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [1]}, {"name": "s", "data_type": "TYPE_STRING", "dims": [-1]},
            {"name": "z", "data_type": "TYPE_FP32", "dims": [-1, 2]}],
  "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [1]}, {"name": "t", "data_type": "TYPE_STRING", "dims": [-1]},
             {"name": "found", "data_type": "TYPE_INT64", "dims": [2, -1]}]})";
constexpr const char *kSummedConfig = R"({"max_batch_size": 4,
  "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2]}],
  "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}],
  "sequence_batching": {"state": [{"input_name": "past", "output_name": "present", "data_type": "TYPE_FP32", "dims": [2]}]}})";

/// Compiles the models into a folder before the first test, and deletes the folder after the last
/// one.
class Repository : public testing::Environment {
public:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hewn-triton-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    for (auto [name, text] : {std::pair("picked", kPicked),
                              {"mixed", kMixed},
                              {"summed", kSummed},
                              {"square", kSquare},
                              {"negated", kNegated}})
      make(name, text, "--triton " + folder.string());
    for (auto [name, text] : {std::pair("narrow", kNarrow), {"listed", kSequence}}) {
      fs::create_directories(folder / name / "1");
      make(name, text, "-o " + (folder / name / "1/model.so").string());
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  static inline fs::path folder;

private:
  static void make(const std::string &name, const char *text, const std::string &place) {
    fs::path model = folder / (name + ".onnxtxt");
    std::ofstream(model) << text;
    std::string command = std::string(HEWN_TOOL) + " compile " + model.string() + " --quiet " + place;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
};

class Backend : public testing::Test {
protected:
  MockServer server{HEWN_TRITON_BACKEND};
  TRITONBACKEND_Model model;
  TRITONBACKEND_ModelInstance instance;
  std::deque<TRITONBACKEND_Request> requests;
  bool isServed = false;

  void SetUp() override {
    MockServer::failing.clear();
    MockServer::warnings.clear();
    ASSERT_EQ(server.initialize(), "");
  }
  void TearDown() override {
    if (!isServed)
      return;
    server.stop(instance);
    server.unload(model);
  }
  std::string load(const std::string &name, const std::string &config) {
    model = {name, (Repository::folder / name).string(), config};
    return server.load(model);
  }
  void serve(const std::string &name, const std::string &config) {
    ASSERT_EQ(load(name, config), "");
    ASSERT_EQ(server.start(instance, model), "");
    isServed = true;
  }
  /// Creates a request for the model "picked". Its input z[r][c] is 10 r + c + first, and its
  /// indices i count down.
  TRITONBACKEND_Request &picked(int64_t rows, int64_t n, float first, size_t shift = 0) {
    TRITONBACKEND_Request &request = requests.emplace_back();
    std::vector<float> x, z;
    std::vector<int64_t> i;
    for (int64_t r = 0; r < rows; ++r) {
      x.push_back(first + float(r));
      for (int64_t c = 0; c < n; ++c) {
        z.push_back(first + 10 * float(r) + float(c));
        i.push_back(n - 1 - c);
      }
    }
    request.input("x", TRITONSERVER_TYPE_FP32, {rows}, x, shift);
    request.input("z", TRITONSERVER_TYPE_FP32, {rows, n}, z, shift);
    request.input("i", TRITONSERVER_TYPE_INT64, {rows, n}, i, shift);
    request.wanted = {"y", "w"};
    return request;
  }
  static void expectPicked(const TRITONBACKEND_Request &request, int64_t rows, int64_t n, float first) {
    EXPECT_FALSE(request.hasError) << request.message;
    std::vector<float> y, w;
    for (int64_t r = 0; r < rows; ++r) {
      y.push_back(-first - float(r));
      for (int64_t c = 0; c < n; ++c)
        w.push_back(first + 10 * float(r) + float(n - 1 - c));
    }
    ASSERT_TRUE(request.outputs.contains("y") && request.outputs.contains("w"));
    EXPECT_EQ(request.output<float>("y"), y);
    EXPECT_EQ(request.output<float>("w"), w);
    EXPECT_EQ(request.outputs.at("w").shape, (std::vector<int64_t>{rows, n}));
    EXPECT_EQ(request.reported, std::vector<bool>{true});
  }
  std::vector<TRITONBACKEND_Request *> all() {
    std::vector<TRITONBACKEND_Request *> handles;
    for (TRITONBACKEND_Request &request : requests)
      handles.push_back(&request);
    return handles;
  }
  void expectFailure(const TRITONBACKEND_Request &request, const std::string &part,
                     TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_INVALID_ARG) {
    EXPECT_TRUE(request.hasError);
    EXPECT_EQ(request.code, code) << request.message;
    EXPECT_NE(request.message.find(part), std::string::npos) << request.message;
    EXPECT_EQ(request.reported, std::vector<bool>{false});
  }
};

TEST_F(Backend, RunsRequestsTogether) {
  serve("picked", kPickedConfig);
  picked(2, 3, 0);
  picked(1, 3, 100);
  picked(3, 3, 200);
  ASSERT_EQ(server.execute(instance, all()), "");
  expectPicked(requests[0], 2, 3, 0);
  expectPicked(requests[1], 1, 3, 100);
  expectPicked(requests[2], 3, 3, 200);
  EXPECT_EQ(instance.runs, (std::vector<uint64_t>{6}));
}

TEST_F(Backend, RunsApartWhatDoesNotFitTogether) {
  serve("picked", kPickedConfig);
  picked(5, 3, 0);
  picked(2, 4, 100); // the dim n differs from the other requests'
  picked(4, 3, 200); // exceeds max_batch_size: nine rows instead of eight
  picked(3, 3, 300);
  ASSERT_EQ(server.execute(instance, all()), "");
  expectPicked(requests[0], 5, 3, 0);
  expectPicked(requests[1], 2, 4, 100);
  expectPicked(requests[2], 4, 3, 200);
  expectPicked(requests[3], 3, 3, 300);
  EXPECT_EQ(instance.runs, (std::vector<uint64_t>{8, 2, 4}));
}

TEST_F(Backend, AWrongIndexFailsAlone) {
  serve("picked", kPickedConfig);
  picked(2, 3, 0);
  picked(2, 3, 100).input<int64_t>("i", TRITONSERVER_TYPE_INT64, {2, 3}, {0, 1, 2, 77, 1, 0});
  picked(1, 3, 200);
  ASSERT_EQ(server.execute(instance, all()), "");
  expectPicked(requests[0], 2, 3, 0);
  expectFailure(requests[1], "77");
  expectPicked(requests[2], 1, 3, 200);
}

TEST_F(Backend, AWrongTensorFailsAlone) {
  serve("picked", kPickedConfig);
  picked(1, 3, 0);
  picked(1, 3, 1).inputs.erase("z");
  picked(1, 3, 2).input<double>("z", TRITONSERVER_TYPE_FP64, {1, 3}, {1, 2, 3});
  picked(1, 3, 3).input<float>("z", TRITONSERVER_TYPE_FP32, {3}, {1, 2, 3});
  picked(1, 3, 4).input<float>("z", TRITONSERVER_TYPE_FP32, {1, 4}, {1, 2, 3, 4});
  picked(1, 3, 5).input<float>("z", TRITONSERVER_TYPE_FP32, {1, 3}, {1, 2});
  picked(1, 3, 6).inputs.at("z").memory = TRITONSERVER_MEMORY_GPU;
  picked(1, 3, 7).outputMemory = TRITONSERVER_MEMORY_GPU;
  picked(1, 3, 8).input<float>("z", TRITONSERVER_TYPE_FP32, {1, -3}, {});
  picked(1, 3, 9).input<float>("z", TRITONSERVER_TYPE_FP32, {1, INT64_MAX}, {});
  ASSERT_EQ(server.execute(instance, all()), "");
  expectPicked(requests[0], 1, 3, 0);
  expectFailure(requests[1], "unknown request input name z");
  expectFailure(requests[2], "input 'z' is FP64, but the model expects FP32");
  expectFailure(requests[3], "input 'z' is [3], but the model expects [batch, n]");
  expectFailure(requests[4], "input 'i' is [1, 3], but the model expects [batch, n], where 'n' is already 4");
  expectFailure(requests[5], "input 'z' has 8 bytes, but shape [1, 3] of FP32 requires a different size");
  expectFailure(requests[6], "input 'z' is in GPU memory", TRITONSERVER_ERROR_UNSUPPORTED);
  expectFailure(requests[7], "the buffer of output 'y' is in GPU memory", TRITONSERVER_ERROR_UNSUPPORTED);
  expectFailure(requests[8], "input 'z' is [1, -3], but the model expects [batch, n] with 'n' at least 0");
  expectFailure(requests[9], "input 'z' has 0 bytes");
}

TEST_F(Backend, TakesPartsAndAddressesOfAnyKind) {
  serve("picked", kPickedConfig);
  // Starts at an address that is not aligned to the element type.
  TRITONBACKEND_Request &request = picked(2, 3, 5, 1);
  request.outputShift = 3;
  std::vector<Bytes> &parts = request.inputs.at("z").parts;
  Bytes second(11, 2); // starts in the middle of an element
  std::copy(parts[0].start + 13, parts[0].start + 24, second.start);
  parts[0].size = 13;
  parts.push_back(std::move(second));
  ASSERT_EQ(server.execute(instance, all()), "");
  expectPicked(request, 2, 3, 5);
}

TEST_F(Backend, SharedMemoryMayLieOverInputsAndOutputs) {
  serve("picked", kPickedConfig);
  constexpr int64_t n = 100;
  TRITONBACKEND_Request &over = picked(1, n, 5); // the output 'w' overlaps the input 'z'
  unsigned char *z = over.inputs.at("z").parts[0].start;
  over.places["w"] = z;
  TRITONBACKEND_Request &both = picked(1, n, 7); // the output 'y' is inside of 'w', which is written later
  Bytes room(n * sizeof(float));
  both.places = {{"y", room.start + 4}, {"w", room.start}};
  ASSERT_EQ(server.execute(instance, {&over}), "");
  ASSERT_EQ(server.execute(instance, {&both}), "");
  for (auto [found, first] : {std::pair(z, 5.0f), {room.start, 7.0f}}) {
    std::vector<float> w(n), want;
    std::memcpy(w.data(), found, n * sizeof(float));
    for (int64_t c = 0; c < n; ++c)
      want.push_back(first + float(n - 1 - c));
    EXPECT_EQ(w, want);
  }
  EXPECT_EQ(over.output<float>("y"), (std::vector<float>{-5}));
}

TEST_F(Backend, RowsThatAreTooManyToAdd) {
  serve("negated", R"({"max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1]}],
                       "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [-1]}]})");
  for (int64_t rows : {INT64_MAX, INT64_MAX, int64_t(2)}) {
    TRITONBACKEND_Request &request = requests.emplace_back();
    request.input<float>("x", TRITONSERVER_TYPE_FP32, {rows, 0}, {});
    request.wanted = {"y"};
  }
  ASSERT_EQ(server.execute(instance, all()), "");
  EXPECT_FALSE(requests[2].hasError) << requests[2].message;
  EXPECT_EQ(requests[2].outputs.at("y").shape, (std::vector<int64_t>{2, 0}));
}

TEST_F(Backend, AnswersAllOrNoneWhereMemoryEnds) {
  if (!HEWN_TEST_HAS_OWN_NEW)
    GTEST_SKIP() << "ThreadSanitizer has an operator new of its own; the run with AddressSanitizer tests it";
  serve("picked", kPickedConfig);
  int refused = 0, failed = 0;
  bool isEnough = false;
  for (int left = 0; !isEnough && left < 10000; ++left) {
    requests.clear();
    picked(2, 3, 0);
    picked(1, 3, 100);
    picked(1, 4, 200);
    std::vector<TRITONBACKEND_Request *> handles = all();
    // the mock server checks that the backend has released the requests
    std::string told = server.execute(instance, handles, left, &isEnough);
    const std::string why = "hewn backend: out of memory";
    if (!told.empty()) {
      ++refused;
      EXPECT_EQ(told, std::to_string(TRITONSERVER_ERROR_UNAVAILABLE) + ": " + why);
      continue;
    }
    for (const TRITONBACKEND_Request &request : requests)
      if (request.hasError) {
        ++failed;
        expectFailure(request, why, TRITONSERVER_ERROR_UNAVAILABLE);
      }
  }
  EXPECT_TRUE(isEnough);
  EXPECT_GT(refused, 0);
  EXPECT_GT(failed, 0);
  expectPicked(requests[0], 2, 3, 0);
  expectPicked(requests[1], 1, 3, 100);
  expectPicked(requests[2], 1, 4, 200);
}

TEST_F(Backend, GivesOnlyWhatIsAskedFor) {
  serve("picked", kPickedConfig);
  picked(2, 3, 0).wanted = {"w"};
  picked(2, 3, 0).wanted = {};
  ASSERT_EQ(server.execute(instance, all()), "");
  EXPECT_FALSE(requests[0].outputs.contains("y"));
  EXPECT_EQ(requests[0].output<float>("w"), (std::vector<float>{2, 1, 0, 12, 11, 10}));
  EXPECT_TRUE(requests[1].outputs.empty());
}

TEST_F(Backend, NoRowsAreRight) {
  serve("picked", kPickedConfig);
  picked(0, 3, 0);
  picked(2, 0, 0);
  ASSERT_EQ(server.execute(instance, all()), "");
  expectPicked(requests[0], 0, 3, 0);
  expectPicked(requests[1], 2, 0, 0);
}

std::string packed(std::initializer_list<std::string> texts) {
  std::string made;
  for (const std::string &text : texts) {
    uint32_t length = uint32_t(text.size());
    made.append(reinterpret_cast<const char *>(&length), 4).append(text);
  }
  return made;
}

TEST_F(Backend, StringsScalarsAndSizesThatDependOnData) {
  serve("mixed", kMixedConfig);
  auto ask = [&](const std::string &bytes, int64_t count) -> TRITONBACKEND_Request & {
    TRITONBACKEND_Request &request = requests.emplace_back();
    request.input<float>("x", TRITONSERVER_TYPE_FP32, {1}, {3});
    request.rawInput("s", TRITONSERVER_TYPE_BYTES, {count}, bytes.data(), bytes.size());
    request.input<float>("z", TRITONSERVER_TYPE_FP32, {3, 2}, {0, 1, 0, 0, 5, 0});
    request.wanted = {"y", "t", "found"};
    return request;
  };
  std::string three = packed({"one", "", "a text of more than sixteen bytes"});
  ask(three, 3);
  ask("", 0);
  ask(three.substr(0, three.size() - 1), 3);
  ask(three, 2);
  ask(packed({std::string("a\0b", 3)}), 1);
  ask("\x01\x02", 1);
  ASSERT_EQ(server.execute(instance, all()), "");
  EXPECT_FALSE(requests[0].hasError) << requests[0].message;
  EXPECT_EQ(requests[0].output<float>("y"), (std::vector<float>{-3}));
  EXPECT_EQ(requests[0].outputs.at("y").shape, (std::vector<int64_t>{1}));
  std::vector<char> texts = requests[0].output<char>("t");
  EXPECT_EQ(std::string(texts.begin(), texts.end()), three);
  EXPECT_EQ(requests[0].output<int64_t>("found"), (std::vector<int64_t>{0, 2, 1, 0}));
  EXPECT_EQ(requests[0].outputs.at("found").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_FALSE(requests[1].hasError) << requests[1].message;
  EXPECT_TRUE(requests[1].output<char>("t").empty());
  expectFailure(requests[2], "input 's': the data ends within string 2 of 3");
  expectFailure(requests[3], "input 's': 37 bytes follow its 2 strings");
  expectFailure(requests[4], "input 's': string 0 contains a zero byte");
  expectFailure(requests[5], "input 's': the data ends within string 0 of 1");
}

TEST_F(Backend, StatesAreKeptOfWhatWentRight) {
  serve("summed", kSummedConfig);
  for (float first : {1.0f, 10.0f}) {
    TRITONBACKEND_Request &request = requests.emplace_back();
    request.input<float>("x", TRITONSERVER_TYPE_FP32, {1, 2}, {first, first + 1});
    request.input<float>("past", TRITONSERVER_TYPE_FP32, {1, 2}, {100, 200});
    request.wanted = {"y"};
  }
  // the server's function fails once, for the second request of the batch
  MockServer::failing = "OutputBuffer";
  MockServer::failingAfter = 1;
  ASSERT_EQ(server.execute(instance, all()), "");
  EXPECT_EQ(requests[0].output<float>("y"), (std::vector<float>{202, 404}));
  const TRITONBACKEND_State &state = requests[0].states.at("present");
  EXPECT_TRUE(state.isKept);
  EXPECT_EQ(state.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*reinterpret_cast<const float *>(state.bytes->start), 101);
  expectFailure(requests[1], "the server can't", TRITONSERVER_ERROR_INTERNAL);
  EXPECT_FALSE(requests[1].states.at("present").isKept);
}

TEST_F(Backend, TheServersFailuresAreNotOurs) {
  serve("picked", kPickedConfig);
  picked(1, 3, 0);
  picked(1, 3, 100);
  MockServer::failing = "ResponseNew";
  MockServer::failingAfter = 1;
  EXPECT_EQ(server.execute(instance, all()), "1: the server can't"); // the server owns the requests again
  MockServer::failing = "InputBuffer";
  MockServer::failingAfter = 0;
  ASSERT_EQ(server.execute(instance, all()), "");
  expectFailure(requests[0], "the server can't", TRITONSERVER_ERROR_INTERNAL);
  expectPicked(requests[1], 1, 3, 100);

  TRITONBACKEND_ModelInstance second;
  MockServer::failing = "ModelInstanceSetState";
  EXPECT_EQ(server.start(second, model), "1: the server can't");
  TRITONBACKEND_Model other;
  std::swap(other, model);
  MockServer::failing = "ModelSetState";
  EXPECT_EQ(load("picked", kPickedConfig), "1: the server can't");
  server.unload(model); // the server unloads a model that failed to load
  std::swap(other, model);
}

TEST_F(Backend, InstancesRunAtOnce) {
  std::string config = kPickedConfig;
  config.insert(1, R"("parameters": {"threads": {"string_value": "2"}}, )");
  serve("picked", config);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      TRITONBACKEND_ModelInstance own;
      EXPECT_EQ(server.start(own, model), "");
      for (int round = 0; round < 20; ++round) {
        TRITONBACKEND_Request request;
        request.input<float>("x", TRITONSERVER_TYPE_FP32, {1}, {float(t)});
        request.input<float>("z", TRITONSERVER_TYPE_FP32, {1, 2}, {float(t), float(round)});
        request.input<int64_t>("i", TRITONSERVER_TYPE_INT64, {1, 2}, {1, 0});
        request.wanted = {"y", "w"};
        EXPECT_EQ(server.execute(own, {&request}), "");
        EXPECT_EQ(request.output<float>("w"), (std::vector<float>{float(round), float(t)}));
      }
      server.stop(own);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Backend, TooManyThreadsAreToldOnce) {
  server.backend.config.json = R"({"cmdline": {"threads": "1000000"}})";
  ASSERT_EQ(load("picked", kPickedConfig), "");
  // the configuration requests more threads than any system allows
  EXPECT_NE(server.start(instance, model), "");
  server.unload(model);
  unsigned processors = std::thread::hardware_concurrency();
  server.backend.config.json = R"({"cmdline": {"threads": ")" + std::to_string(processors + 1) + "\"}}";
  serve("picked", kPickedConfig);
  TRITONBACKEND_ModelInstance second;
  ASSERT_EQ(server.start(second, model), "");
  server.stop(second);
  ASSERT_EQ(MockServer::warnings.size(), 1u);
  EXPECT_NE(MockServer::warnings[0].find("model 'picked': its instances have more threads than"), std::string::npos);
}

TEST_F(Backend, LoadsAndUnloads) {
  for (int round = 0; round < 20; ++round) {
    serve("picked", kPickedConfig);
    requests.clear();
    picked(2, 3, 0);
    ASSERT_EQ(server.execute(instance, all()), "");
    expectPicked(requests[0], 2, 3, 0);
    server.stop(instance);
    server.unload(model);
    isServed = false;
  }
}

TEST_F(Backend, RefusesWhatItCantServe) {
  auto expect = [&](const std::string &name, const std::string &config, const std::string &part) {
    std::string told = load(name, config);
    EXPECT_NE(told.find(part), std::string::npos) << told;
    server.unload(model);
  };
  expect("nowhere", kPickedConfig, "nowhere/1/model.so");
  expect("narrow", "{}", "output 'y' has a type that Triton does not support (DLPack type code 10, 8 bits)");
  expect("listed", "{}", "output 'y' is a sequence or optional; Triton only supports tensors");
  expect("picked", "[]", "the config of the model is not a JSON object");
  expect("picked", R"({"max_batch_size": 0})", "the config does not list input 'x', which the model requires");
  expect("mixed", R"({"max_batch_size": 2})", "max_batch_size is 2, but the first dim of 'x' is not dynamic");
  expect("square", R"({"max_batch_size": 2})", "'batch' is also in dim 1 of 'y', so requests cannot be batched");
  expect("picked", R"({"default_model_filename": "../1/model.so"})",
         "default_model_filename is '../1/model.so', must be the name of a file in the version folder");
  fs::create_directories(Repository::folder / "text/1");
  std::ofstream(Repository::folder / "text/1/model.so") << "no library";
  expect("text", kPickedConfig, "model.so");
}

TEST_F(Backend, RefusesAnOlderApi) {
  MockServer::apiMinor = 9;
  EXPECT_NE(server.initialize().find("the backend API of the server is 1.9, but the hewn backend requires 1.10"),
            std::string::npos);
  MockServer::apiMinor = 13;
}

const auto *const repository = testing::AddGlobalTestEnvironment(new Repository);

} // namespace
