// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Npy.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Support/Files/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>
#include <zlib.h>

using llvm::StringRef;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;

namespace hewn::tool {

constexpr uint8_t boolCode = 6; // HEWN_DL_BOOL

/// Returns numpy's type descriptor: byte order, letter and size. Types that numpy lacks are
/// described as raw bytes ("V"), as by the package ml_dtypes.
static std::string descrOf(DLDataType type) {
  std::string size = std::to_string((type.bits + 7) / 8);
  if (type.code == boolCode)
    return "|b1";
  char letter = type.code == kDLInt                        ? 'i'
                : type.code == kDLUInt                     ? 'u'
                : type.code == kDLFloat && type.bits >= 16 ? 'f'
                                                           : 'V';
  return (type.bits <= 8 ? "|" : "<") + std::string(1, letter) + size;
}

static bool typeFrom(StringRef descr, DLDataType &type) {
  if (descr.size() < 3)
    return false;
  int bytes;
  if (descr.drop_front(2).getAsInteger(10, bytes) || bytes < 1 || bytes > 16)
    return false;
  switch (descr[1]) {
  case 'b':
    type = {boolCode, 8, 1};
    return bytes == 1;
  case 'i':
    type = {kDLInt, uint8_t(bytes * 8), 1};
    return true;
  case 'u':
    type = {kDLUInt, uint8_t(bytes * 8), 1};
    return true;
  case 'f':
    type = {kDLFloat, uint8_t(bytes * 8), 1};
    return true;
  case 'V':
    type = {kDLBfloat, uint8_t(bytes * 8), 1};
    return bytes == 2;
  default:
    return false;
  }
}

/// Returns the text after `'key':` in the header, a Python dict written by numpy.
static StringRef valueOf(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  return at == StringRef::npos ? StringRef() : header.drop_front(at + key.size() + 3).ltrim();
}

/// Returns the elements of an array in Fortran order (the first index varies fastest) in C order.
static std::vector<char> inCOrder(StringRef bytes, llvm::ArrayRef<int64_t> shape, size_t width) {
  std::vector<char> out;
  out.reserve(bytes.size());
  std::vector<size_t> steps, index(shape.size(), 0);
  size_t step = width;
  for (int64_t dim : shape) {
    steps.push_back(step);
    step *= size_t(dim);
  }
  for (size_t at = 0; out.size() < bytes.size();) {
    out.insert(out.end(), bytes.begin() + at, bytes.begin() + at + width);
    for (size_t d = shape.size(); d-- > 0;) {
      at += steps[d];
      if (++index[d] < size_t(shape[d]))
        break;
      at -= steps[d] * size_t(shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

static bool parse(StringRef data, const std::string &path, Array &array, std::string &problem) {
  auto bad = [&](const char *why) {
    problem = path + ": " + why;
    return false;
  };
  if (data.size() < 12 || !data.starts_with("\x93NUMPY"))
    return bad("not an .npy file");
  size_t start = data[6] == 1 ? 10 : 12;
  uint64_t length = data[6] == 1 ? read16le(data.data() + 8) : read32le(data.data() + 8);
  if (data.size() < start + length)
    return bad("truncated");
  StringRef header = data.substr(start, length);
  StringRef descr = valueOf(header, "descr");
  if (!descr.consume_front("'"))
    return bad("structured arrays are not supported");
  descr = descr.take_until([](char c) { return c == '\''; });
  if (!typeFrom(descr, array.type)) {
    problem = path + ": element type " + descr.str() + " is not supported";
    return false;
  }
  StringRef shape = valueOf(header, "shape");
  if (!shape.consume_front("("))
    return bad("has no shape");
  array.shape.clear();
  uint64_t elements = 1;
  while (!(shape = shape.ltrim(" ,")).empty() && shape.front() != ')') {
    int64_t dim;
    if (shape.consumeInteger(10, dim) || dim < 0)
      return bad("has an invalid shape");
    if (dim && elements > (uint64_t(1) << 48) / uint64_t(dim))
      return bad("is too large");
    elements *= uint64_t(dim);
    array.shape.push_back(dim);
  }
  StringRef body = data.drop_front(start + length);
  uint64_t bytes = elements * array.elementBytes();
  if (body.size() < bytes)
    return bad("truncated");
  body = body.take_front(bytes);
  size_t width = size_t(array.elementBytes());
  if (valueOf(header, "fortran_order").starts_with("True") && array.shape.size() > 1)
    array.bytes = inCOrder(body, array.shape, width);
  else
    array.bytes.assign(body.begin(), body.end());
  if (descr.front() == '>')
    for (auto element = array.bytes.begin(); element != array.bytes.end(); element += std::ptrdiff_t(width))
      std::reverse(element, element + std::ptrdiff_t(width));
  return true;
}

static std::string print(const Array &array) {
  std::string shape;
  for (int64_t dim : array.shape)
    shape += std::to_string(dim) + ", ";
  std::string header = "{'descr': '" + descrOf(array.type) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += char(header.size() & 0xff);
  text += char(header.size() >> 8);
  return text + header + std::string(array.bytes.begin(), array.bytes.end());
}

static std::unique_ptr<llvm::MemoryBuffer> readFile(const std::string &path, std::string &problem) {
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openRegular(path, why);
  if (!file)
    problem = "can't read " + path + ": " + why;
  return file;
}

static bool write(const std::string &path, StringRef text, std::string &problem) {
  llvm::Error error = writeFile(path, text);
  if (error)
    problem = llvm::toString(std::move(error));
  return problem.empty();
}

bool readNpy(const std::string &path, Array &array, std::string &problem) {
  std::unique_ptr<llvm::MemoryBuffer> file = readFile(path, problem);
  return file && parse(file->getBuffer(), path, array, problem);
}

bool writeNpy(const std::string &path, const Array &array, std::string &problem) {
  return write(path, print(array), problem);
}

/// Unpacks a member of a zip file; `method` is 0 (stored) or 8 (deflate).
static bool unpack(StringRef packed, int method, uint64_t size, std::string &out) {
  if (method == 0) {
    out = packed.str();
    return true;
  }
  // The size comes from an untrusted file and determines an allocation: reject sizes above
  // deflate's maximum compression ratio.
  constexpr uint64_t ratio = 1032;
  if (method != 8 || size > packed.size() * ratio)
    return false;
  out.resize(size);
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = uInt(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(size);
  bool fine = inflateInit2(&stream, -MAX_WBITS) == Z_OK && inflate(&stream, Z_FINISH) == Z_STREAM_END;
  inflateEnd(&stream);
  return fine && stream.total_out == size;
}

bool readNpz(const std::string &path, std::vector<std::pair<std::string, Array>> &arrays, std::string &problem) {
  std::unique_ptr<llvm::MemoryBuffer> file = readFile(path, problem);
  if (!file)
    return false;
  StringRef data = file->getBuffer();
  auto bad = [&](const char *why) {
    problem = path + ": " + why;
    return false;
  };
  size_t end = data.rfind(StringRef("PK\x05\x06", 4));
  if (end == StringRef::npos || data.size() < end + 22)
    return bad("not an .npz file");
  unsigned count = read16le(data.data() + end + 10);
  uint64_t at = read32le(data.data() + end + 16), sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (at + 46 > data.size() || !data.substr(at).starts_with(StringRef("PK\x01\x02", 4)))
      return bad("the zip directory is damaged");
    const char *entry = data.data() + at;
    int method = read16le(entry + 10);
    uint64_t packed = read32le(entry + 20), size = read32le(entry + 24), local = read32le(entry + 42);
    unsigned nameLength = read16le(entry + 28), extra = read16le(entry + 30), comment = read16le(entry + 32);
    if (at + 46 + nameLength > data.size() || local + 30 > data.size())
      return bad("the zip directory is damaged");
    StringRef name = data.substr(at + 46, nameLength);
    uint64_t body = local + 30 + read16le(data.data() + local + 26) + read16le(data.data() + local + 28);
    std::string text;
    sum += packed; // the members' packed sizes exceed the size of the zip file if members overlap
    if (packed == 0xffffffff || body > data.size() || packed > data.size() - body || sum > data.size() ||
        !unpack(data.substr(body, packed), method, size, text))
      return bad("a member cannot be unpacked");
    Array array;
    if (!parse(text, path + ":" + name.str(), array, problem))
      return false;
    name.consume_back(".npy");
    arrays.push_back({name.str(), std::move(array)});
    at += 46 + nameLength + extra + comment;
  }
  return true;
}

bool writeNpz(const std::string &path, const std::vector<std::pair<std::string, Array>> &arrays, std::string &problem) {
  std::string out, directory;
  auto number = [](std::string &to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      to += char(value >> (8 * i));
  };
  for (auto &[name, array] : arrays) {
    std::string text = print(array), file = name + ".npy";
    if (text.size() >= 0xffffffff || out.size() + text.size() >= 0xffffffff) {
      problem = path + ": an .npz file is limited to 4 GB; write separate files with --output-dir";
      return false;
    }
    uint64_t at = out.size(), sum = crc32(0, reinterpret_cast<const Bytef *>(text.data()), uInt(text.size()));
    std::string common;
    number(common, 20, 2); // version of the zip format that a reader needs
    number(common, 0, 2);
    number(common, 0, 2);          // compression method: stored
    number(common, 0x00210000, 4); // time stamp 1980-01-01, so that equal arrays give equal files
    number(common, sum, 4);
    number(common, text.size(), 4);
    number(common, text.size(), 4);
    number(common, file.size(), 2);
    number(common, 0, 2);
    out += "PK\x03\x04" + common + file + text;
    directory += std::string("PK\x01\x02\x14\x00", 6) + common;
    number(directory, 0, 2); // length of the comment
    number(directory, 0, 2);
    number(directory, 0, 2);
    number(directory, 0, 4);
    number(directory, at, 4);
    directory += file;
  }
  std::string end("PK\x05\x06\0\0\0\0", 8);
  number(end, arrays.size(), 2);
  number(end, arrays.size(), 2);
  number(end, directory.size(), 4);
  number(end, out.size(), 4);
  number(end, 0, 2);
  return write(path, out + directory + end, problem);
}

} // namespace hewn::tool
