// SPDX-License-Identifier: Apache-2.0
#include "integrations/triton/Types.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hewn::triton {

Error makeError(TRITONSERVER_Error_Code code, const std::string &message) { return makeError(code, message.c_str()); }

Error makeError(TRITONSERVER_Error_Code code, const char *message) {
  return Error(TRITONSERVER_ErrorNew(code, message));
}

Error invalid(const std::string &message) { return makeError(TRITONSERVER_ERROR_INVALID_ARG, message); }

Error errorOf(const hewn_status &status) {
  switch (status.code) {
  case HEWN_OK:
    return nullptr;
  case HEWN_INVALID_ARGUMENT:
  case HEWN_INDEX_OUT_OF_RANGE:
    return invalid(status.message);
  case HEWN_OUT_OF_MEMORY:
  case HEWN_IO:
    return makeError(TRITONSERVER_ERROR_UNAVAILABLE, status.message);
  case HEWN_UNSUPPORTED:
    return makeError(TRITONSERVER_ERROR_UNSUPPORTED, status.message);
  default:
    return makeError(TRITONSERVER_ERROR_INTERNAL, status.message);
  }
}

void log(TRITONSERVER_LogLevel level, const char *text) {
  Error(TRITONSERVER_LogMessage(level, __FILE__, __LINE__, text));
}

void logIfError(TRITONSERVER_Error *error) {
  Error owned(error);
  if (owned)
    log(TRITONSERVER_LOG_ERROR, TRITONSERVER_ErrorMessage(owned.get()));
}

bool isString(DLDataType type) { return type.code == kDLOpaqueHandle; }

TRITONSERVER_DataType typeOf(DLDataType type) {
  if (type.lanes != 1)
    return TRITONSERVER_TYPE_INVALID;
  if (isString(type))
    return TRITONSERVER_TYPE_BYTES;
  // The tables of Triton's types are indexed by log2(bits) - 3, for 8, 16, 32 and 64 bits.
  constexpr TRITONSERVER_DataType none = TRITONSERVER_TYPE_INVALID;
  constexpr TRITONSERVER_DataType ints[] = {TRITONSERVER_TYPE_INT8, TRITONSERVER_TYPE_INT16, TRITONSERVER_TYPE_INT32,
                                            TRITONSERVER_TYPE_INT64};
  constexpr TRITONSERVER_DataType uints[] = {TRITONSERVER_TYPE_UINT8, TRITONSERVER_TYPE_UINT16,
                                             TRITONSERVER_TYPE_UINT32, TRITONSERVER_TYPE_UINT64};
  constexpr TRITONSERVER_DataType floats[] = {none, TRITONSERVER_TYPE_FP16, TRITONSERVER_TYPE_FP32,
                                              TRITONSERVER_TYPE_FP64};
  if (type.bits < 8 || type.bits > 64 || !std::has_single_bit(type.bits))
    return none;
  int place = std::countr_zero(type.bits) - 3;
  switch (type.code) {
  case kDLInt:
    return ints[place];
  case kDLUInt:
    return uints[place];
  case kDLFloat:
    return floats[place];
  case kDLBfloat:
    return type.bits == 16 ? TRITONSERVER_TYPE_BF16 : none;
  case HEWN_DL_BOOL:
    return type.bits == 8 ? TRITONSERVER_TYPE_BOOL : none;
  default:
    return none;
  }
}

size_t bytesOf(DLDataType type) { return type.bits / 8; }

std::string shapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

bool countElements(std::span<const int64_t> dims, int64_t &count) {
  count = 1;
  bool isEmpty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return false;
    if (dim == 0)
      isEmpty = true;
    else if (__builtin_mul_overflow(count, dim, &count))
      return false;
  }
  if (isEmpty)
    count = 0;
  return true;
}

void Buffer::Free::operator()(unsigned char *memory) const { std::free(memory); }

unsigned char *Buffer::room(size_t bytes) {
  constexpr size_t line = 64;
  if (bytes > size || !memory) {
    size_t rounded = bytes / line * line + line;
    if (rounded < bytes)
      throw std::bad_alloc();
    size = 0;
    memory.reset(); // frees the old memory first, to keep the peak low
    memory.reset(static_cast<unsigned char *>(std::aligned_alloc(line, rounded)));
    if (!memory)
      throw std::bad_alloc();
    size = rounded;
  }
  return memory.get();
}

static uint32_t readLength(const unsigned char *from) {
  return uint32_t(from[0]) | uint32_t(from[1]) << 8 | uint32_t(from[2]) << 16 | uint32_t(from[3]) << 24;
}

Error Strings::read(std::span<const unsigned char> bytes, int64_t count, const char *input) {
  auto wrong = [&](const std::string &why) { return invalid("input '" + std::string(input) + "': " + why); };
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length = bytes.size() < 4 ? 0 : readLength(bytes.data());
    if (bytes.size() < 4 || bytes.size() - 4 < length)
      return wrong("the data ends within string " + std::to_string(i) + " of " + std::to_string(count));
    const char *text = reinterpret_cast<const char *>(bytes.data() + 4);
    if (std::memchr(text, 0, length))
      return wrong("string " + std::to_string(i) + " contains a zero byte, which is not supported");
    texts.emplace_back(text, length);
    bytes = bytes.subspan(4 + size_t(length));
  }
  if (!bytes.empty())
    return wrong(std::to_string(bytes.size()) + " bytes follow its " + std::to_string(count) + " strings");
  return nullptr;
}

const char *const *Strings::pointers() {
  starts.clear();
  for (const std::string &text : texts)
    starts.push_back(text.c_str());
  return starts.data();
}

uint64_t Strings::writtenBytes(const char *const *elements, int64_t count) {
  uint64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i)
    bytes += 4 + (elements[i] ? std::strlen(elements[i]) : 0);
  return bytes;
}

void Strings::write(const char *const *elements, int64_t count, unsigned char *to) {
  for (int64_t i = 0; i < count; ++i) {
    size_t length = elements[i] ? std::strlen(elements[i]) : 0;
    for (int byte = 0; byte < 4; ++byte)
      *to++ = static_cast<unsigned char>(length >> (8 * byte));
    if (length)
      std::memcpy(to, elements[i], length);
    to += length;
  }
}

} // namespace hewn::triton
