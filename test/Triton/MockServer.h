// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TEST_TRITON_MOCKSERVER_H
#define HEWN_TEST_TRITON_MOCKSERVER_H

/// \file
/// The server's half of Triton's backend API, small enough to see through: the backend is loaded by dlopen and finds its functions here.
/// What is wrong with how the backend calls it (a request released twice, a response that is sent and deleted) ends the test.

#include "integrations/triton/TritonApi.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string message;
};
struct TRITONSERVER_Message {
  std::string json;
};
struct TRITONBACKEND_Backend {
  TRITONSERVER_Message config{"{}"};
};
struct TRITONBACKEND_Model {
  std::string name, location, config;
  TRITONBACKEND_Backend *backend = nullptr;
  void *state = nullptr;
};
struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model *model = nullptr;
  void *state = nullptr;
  /// Rows of each run that was reported.
  std::vector<uint64_t> runs;
};

/// Memory at an address that is `shift` behind a multiple of 64.
struct Bytes {
  explicit Bytes(size_t size, size_t shift = 0) : storage(size + 128), size(size) {
    start = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) + shift;
  }
  Bytes(Bytes &&) = default;
  std::vector<unsigned char> storage;
  unsigned char *start;
  size_t size;
};

struct TRITONBACKEND_Input {
  TRITONSERVER_DataType type;
  std::vector<int64_t> shape;
  std::vector<Bytes> parts;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
};
struct TRITONBACKEND_Output {
  TRITONSERVER_DataType type;
  std::vector<int64_t> shape;
  std::unique_ptr<Bytes> bytes;
  unsigned char *place = nullptr; ///< instead of `bytes`: the client's shared memory
};
struct TRITONBACKEND_State : TRITONBACKEND_Output {
  bool isKept = false;
};
struct TRITONBACKEND_Response {
  TRITONBACKEND_Request *request;
};

struct TRITONBACKEND_Request {
  std::map<std::string, TRITONBACKEND_Input> inputs;
  std::vector<std::string> wanted;
  /// How the buffers of its outputs are: behind a multiple of 64, and where.
  size_t outputShift = 0;
  TRITONSERVER_MemoryType outputMemory = TRITONSERVER_MEMORY_CPU;
  /// Outputs that are wanted in the client's shared memory: where.
  std::map<std::string, unsigned char *> places;

  // What came of it.
  int responses = 0, sent = 0, released = 0;
  std::map<std::string, TRITONBACKEND_Output> outputs;
  std::map<std::string, TRITONBACKEND_State> states;
  bool hasError = false;
  TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNKNOWN;
  std::string message;
  std::vector<bool> reported; ///< success or not

  template <typename T>
  void input(const std::string &name, TRITONSERVER_DataType type, std::vector<int64_t> shape, std::vector<T> values,
             size_t shift = 0) {
    rawInput(name, type, std::move(shape), values.data(), values.size() * sizeof(T), shift);
  }
  void rawInput(const std::string &name, TRITONSERVER_DataType type, std::vector<int64_t> shape, const void *from,
                size_t bytes, size_t shift = 0);
  template <typename T> std::vector<T> output(const std::string &name) const {
    const TRITONBACKEND_Output &found = outputs.at(name);
    std::vector<T> values(found.bytes->size / sizeof(T)); // which may lie at any address
    if (!values.empty())
      std::memcpy(values.data(), found.bytes->start, found.bytes->size);
    return values;
  }
};

// ThreadSanitizer's operator new is linked into the program and can't be replaced.
#if defined(__SANITIZE_THREAD__)
#define HEWN_TEST_HAS_OWN_NEW 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEWN_TEST_HAS_OWN_NEW 0
#endif
#endif
#ifndef HEWN_TEST_HAS_OWN_NEW
#define HEWN_TEST_HAS_OWN_NEW 1
#endif

/// The backend, loaded, and what the server does wrong on request.
class MockServer {
public:
  /// Loads the library; ends the test where that can't be done.
  explicit MockServer(const std::string &backend);
  MockServer(const MockServer &) = delete;

  /// Both are empty where all went well, else "code: message".
  std::string load(TRITONBACKEND_Model &model);
  void unload(TRITONBACKEND_Model &model);
  std::string start(TRITONBACKEND_ModelInstance &instance, TRITONBACKEND_Model &model);
  void stop(TRITONBACKEND_ModelInstance &instance);
  /// `allocations`: `allocationsLeft` while the backend runs; `isEnough`: whether that were not all.
  std::string execute(TRITONBACKEND_ModelInstance &instance, std::vector<TRITONBACKEND_Request *> requests,
                      int allocations = -1, bool *isEnough = nullptr);
  std::string initialize();

  TRITONBACKEND_Backend backend;
  /// The next call but so many of the function fails; one of no function does.
  static std::string failing;
  static int failingAfter;
  static uint32_t apiMinor;
  static std::vector<std::string> warnings;
  /// The backend's next allocation but so many, in this thread, throws std::bad_alloc; negative: none does, or it has. Wants
  /// HEWN_TEST_HAS_OWN_NEW.
  static thread_local int allocationsLeft;

private:
  template <typename F> F *find(const char *name);
  void *library;
};

#endif
