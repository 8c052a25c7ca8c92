// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_INTEGRATIONS_TRITON_TYPES_H
#define HEWN_INTEGRATIONS_TRITON_TYPES_H

/// \file
/// Conversions between Triton's and hewn's errors, element types, shapes and strings.

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

/// Owns an error of Triton until it is released to the server. Null means success.
struct ErrorDeleter {
  void operator()(TRITONSERVER_Error *error) const { TRITONSERVER_ErrorDelete(error); }
};
using Error = std::unique_ptr<TRITONSERVER_Error, ErrorDeleter>;

Error makeError(TRITONSERVER_Error_Code code, const std::string &message);
/// Returns an error of Triton. Does not allocate memory in this library, so that it can report that
/// memory is exhausted.
Error makeError(TRITONSERVER_Error_Code code, const char *message);
/// Returns an error with the code INVALID_ARG, for mistakes of the client or in the configuration.
Error invalid(const std::string &message);
/// Converts a status of the runtime. Returns null for HEWN_OK.
Error errorOf(const hewn_status &status);
/// Calls `body`, which returns an Error, and converts exceptions to errors.
template <typename Body> Error orThrown(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return makeError(TRITONSERVER_ERROR_UNAVAILABLE, "hewn backend: out of memory");
  } catch (const std::exception &thrown) {
    return makeError(TRITONSERVER_ERROR_INTERNAL, thrown.what());
  } catch (...) {
    return makeError(TRITONSERVER_ERROR_INTERNAL, "hewn backend: unknown exception");
  }
}
void log(TRITONSERVER_LogLevel level, const char *text);
/// Logs and deletes an error that cannot be returned to the server. Does nothing if `error` is
/// null.
void logIfError(TRITONSERVER_Error *error);

/// Converts DLPack's type to Triton's. Returns TRITONSERVER_TYPE_INVALID if Triton has no
/// corresponding type (8-bit and 4-bit floats, integers of fewer than 8 bits).
TRITONSERVER_DataType typeOf(DLDataType type);
bool isString(DLDataType type);
/// Size of one element in bytes; for strings, the size of a pointer.
size_t bytesOf(DLDataType type);
/// Returns a shape as text, for example "[2, 3]".
std::string shapeText(std::span<const int64_t> dims);

/// Multiplies the dims into `count`. Returns false if a dim is negative or the result exceeds 63
/// bits.
bool countElements(std::span<const int64_t> dims, int64_t &count);

/// A reusable buffer that is aligned to a cache line (64 bytes), which generated code reads
/// fastest. It never shrinks.
class Buffer {
public:
  /// Returns at least `bytes` bytes of uninitialized memory; previous contents are lost. Throws
  /// std::bad_alloc.
  unsigned char *room(size_t bytes);

private:
  struct Free {
    void operator()(unsigned char *memory) const;
  };
  std::unique_ptr<unsigned char, Free> memory;
  size_t size = 0;
};

/// Converts between Triton's strings (a 4-byte little-endian length, then the bytes) and hewn's
/// strings (pointers to null-terminated text).
class Strings {
public:
  void clear() { texts.clear(); }
  /// Appends `count` strings from `bytes` in Triton's format, which must have exactly this length.
  /// Error messages name `input`.
  Error read(std::span<const unsigned char> bytes, int64_t count, const char *input);
  /// Returns pointers to the strings, which are valid until this object changes.
  const char *const *pointers();
  /// Returns the size in bytes of `count` strings in Triton's format.
  static uint64_t writtenBytes(const char *const *elements, int64_t count);
  /// Writes `count` strings in Triton's format to `to`.
  static void write(const char *const *elements, int64_t count, unsigned char *to);

private:
  std::vector<std::string> texts;
  std::vector<const char *> starts;
};

} // namespace hewn::triton

#endif
