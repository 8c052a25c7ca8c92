// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_TEST_TRITON_MOCKSERVER_H
#define HEWN_TEST_TRITON_MOCKSERVER_H

/// \file Implements the server's half of Triton's backend API as a mock. The backend is loaded with
/// dlopen and resolves the server's functions in this program. A violation of the API by the
/// backend (for example a request that is released twice, or a sent response that is deleted)
/// aborts the test.

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
  /// Number of rows of each run, as the backend reported them.
  std::vector<uint64_t> runs;
};

/// A buffer whose address is `shift` bytes after a multiple of 64.
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
  unsigned char *place = nullptr; ///< the client's shared memory, used instead of `bytes`
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
  /// Offset of output buffers from a multiple of 64, in bytes.
  size_t outputShift = 0;
  TRITONSERVER_MemoryType outputMemory = TRITONSERVER_MEMORY_CPU;
  /// Addresses in the client's shared memory to which the backend has to write the requested
  /// outputs.
  std::map<std::string, unsigned char *> places;

  // Results that the backend sent for the request.
  int responses = 0, sent = 0, released = 0;
  std::map<std::string, TRITONBACKEND_Output> outputs;
  std::map<std::string, TRITONBACKEND_State> states;
  bool hasError = false;
  TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNKNOWN;
  std::string message;
  std::vector<bool> reported; ///< true for each reported success

  template <typename T>
  void input(const std::string &name, TRITONSERVER_DataType type, std::vector<int64_t> shape, std::vector<T> values,
             size_t shift = 0) {
    rawInput(name, type, std::move(shape), values.data(), values.size() * sizeof(T), shift);
  }
  void rawInput(const std::string &name, TRITONSERVER_DataType type, std::vector<int64_t> shape, const void *from,
                size_t bytes, size_t shift = 0);
  template <typename T> std::vector<T> output(const std::string &name) const {
    const TRITONBACKEND_Output &found = outputs.at(name);
    std::vector<T> values(found.bytes->size / sizeof(T)); // the source can be unaligned
    if (!values.empty())
      std::memcpy(values.data(), found.bytes->start, found.bytes->size);
    return values;
  }
};

// ThreadSanitizer links its own operator new into the program, which cannot be replaced.
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

/// Loads the backend, calls it as the server does, and simulates server failures.
class MockServer {
public:
  /// Loads the library of the backend. Aborts the test on failure.
  explicit MockServer(const std::string &backend);
  MockServer(const MockServer &) = delete;

  /// load() and start() return "" on success, otherwise "code: message".
  std::string load(TRITONBACKEND_Model &model);
  void unload(TRITONBACKEND_Model &model);
  std::string start(TRITONBACKEND_ModelInstance &instance, TRITONBACKEND_Model &model);
  void stop(TRITONBACKEND_ModelInstance &instance);
  /// Executes requests in the backend. `allocations` is the value of `allocationsLeft` while the
  /// backend runs. `isEnough` is set to true if the backend needed fewer allocations.
  std::string execute(TRITONBACKEND_ModelInstance &instance, std::vector<TRITONBACKEND_Request *> requests,
                      int allocations = -1, bool *isEnough = nullptr);
  std::string initialize();

  TRITONBACKEND_Backend backend;
  /// Name of the server function that fails once, after `failingAfter` successful calls. If the
  /// name is empty, no function fails.
  static std::string failing;
  static int failingAfter;
  static uint32_t apiMinor;
  static std::vector<std::string> warnings;
  /// Number of allocations of this thread that succeed before one throws std::bad_alloc. If it is
  /// negative, no allocation fails, or one has already failed. Needs HEWN_TEST_HAS_OWN_NEW.
  static thread_local int allocationsLeft;

private:
  template <typename F> F *find(const char *name);
  void *library;
};

#endif
