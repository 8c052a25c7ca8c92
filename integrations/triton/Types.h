// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_TYPES_H
#define HEWN_INTEGRATIONS_TRITON_TYPES_H

/// \file
/// What a tensor is to Triton and to hewn: types, shapes, strings.

#include "integrations/triton/TritonApi.h"

#include "hewn/runtime.h"
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace hewn::triton {

/// An error of Triton's, which is deleted unless it is released to the server. None: all is well.
struct ErrorDeleter {
  void operator()(TRITONSERVER_Error *error) const { TRITONSERVER_ErrorDelete(error); }
};
using Error = std::unique_ptr<TRITONSERVER_Error, ErrorDeleter>;

Error makeError(TRITONSERVER_Error_Code code, const std::string &message);
/// Takes no memory of this library's, so that it tells where there is none.
Error makeError(TRITONSERVER_Error_Code code, const char *message);
/// Where a caller is wrong.
Error invalid(const std::string &message);
/// What a status of the runtime is to Triton; none for HEWN_OK.
Error errorOf(const hewn_status &status);
/// What `body` gives, an Error; what it throws is one as well.
template <typename Body> Error orThrown(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return makeError(TRITONSERVER_ERROR_UNAVAILABLE, "hewn's backend has no memory for this");
  } catch (const std::exception &thrown) {
    return makeError(TRITONSERVER_ERROR_INTERNAL, thrown.what());
  } catch (...) {
    return makeError(TRITONSERVER_ERROR_INTERNAL, "something was thrown");
  }
}
void log(TRITONSERVER_LogLevel level, const char *text);
/// Logs what can't be told to anybody else.
void logIfError(TRITONSERVER_Error *error);

/// TRITONSERVER_TYPE_INVALID where Triton has no such type (8-bit and 4-bit floats, integers below 8 bits).
TRITONSERVER_DataType typeOf(DLDataType type);
bool isString(DLDataType type);
/// Of one element; of strings that of a pointer.
size_t bytesOf(DLDataType type);
/// "[2, 3]"
std::string shapeText(std::span<const int64_t> dims);

/// False where the product doesn't fit into 63 bits, or a dim is negative.
bool countElements(std::span<const int64_t> dims, int64_t &count);

/// Memory that starts at a cache line, which is what generated code reads fastest. Grows, and is kept.
class Buffer {
public:
  /// Room for so many bytes; what was in it is gone. Throws std::bad_alloc.
  unsigned char *room(size_t bytes);

private:
  struct Free {
    void operator()(unsigned char *memory) const;
  };
  std::unique_ptr<unsigned char, Free> memory;
  size_t size = 0;
};

/// Strings as Triton has them: each a length of four bytes, little-endian, and so many bytes; and as hewn has them: pointers to text that a
/// zero byte ends.
class Strings {
public:
  void clear() { texts.clear(); }
  /// Appends `count` elements of `bytes`, which must be all that is there. An error names `input`.
  Error read(std::span<const unsigned char> bytes, int64_t count, const char *input);
  /// Good until the next change of this object.
  const char *const *pointers();
  /// How many bytes `count` elements take, and their bytes.
  static uint64_t writtenBytes(const char *const *elements, int64_t count);
  static void write(const char *const *elements, int64_t count, unsigned char *to);

private:
  std::vector<std::string> texts;
  std::vector<const char *> starts;
};

} // namespace hewn::triton

#endif
