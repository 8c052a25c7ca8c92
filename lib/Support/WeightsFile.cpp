// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/WeightsFile.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Support/JsonReader.h"
#include "lib/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/EndianStream.h"
#include <map>

using llvm::ArrayRef;
using llvm::Error;
using llvm::StringRef;
namespace json = llvm::json;

namespace hewn {

namespace {

constexpr llvm::Align kHeaderAlignment = llvm::Align::Constant<64>();
/// A key of the header that is not a tensor.
constexpr StringRef kMetadata = "__metadata__";

Error refuse(StringRef path, const llvm::Twine &why) {
  return llvm::createStringError("'" + path + "' can't be read as a file of weights: " + why);
}

std::string quoted(StringRef key) { return "'" + printable(key) + "'"; }

struct Tensor {
  StringRef key;
  uint64_t begin, end;
};

/// Returns the tensor that `value`, an entry of the header, describes. `total`: bytes of all
/// tensors.
llvm::Expected<Tensor> tensorOf(StringRef path, StringRef key, const json::Value &value, uint64_t total) {
  const json::Object *entry = value.getAsObject();
  const json::Array *shape = entry ? entry->getArray("shape") : nullptr;
  const json::Array *offsets = entry ? entry->getArray("data_offsets") : nullptr;
  if (!shape || !offsets || offsets->size() != 2)
    return refuse(path, quoted(key) + " has no shape and data_offsets");
  if (entry->getString("dtype") != StringRef("U8"))
    return refuse(path, quoted(key) + " does not have the dtype U8; hewn writes all weights as bytes");
  std::optional<uint64_t> begin = (*offsets)[0].getAsUINT64(), end = (*offsets)[1].getAsUINT64();
  if (!begin || !end || *begin > *end || *end > total)
    return refuse(path, quoted(key) + " is not within the " + llvm::Twine(total) + " bytes of the file's data");
  if (shape->size() != 1 || (*shape)[0].getAsUINT64() != *end - *begin)
    return refuse(path, quoted(key) + " has " + llvm::Twine(*end - *begin) + " bytes, and its shape has another size");
  return Tensor{key, *begin, *end};
}

} // namespace

Error readWeights(StringRef path, WeightStore &store) {
  std::string why;
  std::shared_ptr<const llvm::MemoryBuffer> file = openRegular(path, why);
  if (!file)
    return llvm::createStringError("can't read " + path + ": " + why);
  StringRef bytes = file->getBuffer();
  uint64_t headerBytes = bytes.size() < sizeof(uint64_t) ? 0 : llvm::support::endian::read64le(bytes.data());
  if (headerBytes == 0 || headerBytes > bytes.size() - sizeof(uint64_t))
    return refuse(path, "it is truncated, or no safetensors file");
  llvm::Expected<json::Value> header = parseJson(bytes.substr(sizeof(uint64_t), headerBytes));
  if (!header)
    return refuse(path, "its header is not JSON: " + llvm::toString(header.takeError()));
  const json::Object *object = header->getAsObject();
  if (!object)
    return refuse(path, "its header is no JSON object");
  StringRef data = bytes.substr(sizeof(uint64_t) + headerBytes);
  std::vector<Tensor> tensors;
  for (const auto &[key, value] : *object) {
    if (StringRef(key) == kMetadata)
      continue;
    llvm::Expected<Tensor> tensor = tensorOf(path, key, value, data.size());
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(*tensor);
  }
  llvm::sort(tensors, [](const Tensor &a, const Tensor &b) {
    return std::tuple(a.begin, a.end, a.key) < std::tuple(b.begin, b.end, b.key);
  });
  uint64_t end = 0;
  for (const Tensor &tensor : tensors) {
    if (tensor.begin != end)
      return refuse(path, quoted(tensor.key) + (tensor.begin < end ? " overlaps another weight" : " follows a gap"));
    end = tensor.end;
  }
  if (end != data.size())
    return refuse(path, llvm::Twine(data.size() - end) + " bytes at its end belong to no weight");
  for (const Tensor &tensor : tensors) {
    ArrayRef<char> content(data.data() + tensor.begin, tensor.end - tensor.begin);
    if (!store.addUnder(tensor.key, content, file))
      return refuse(path, "there are other bytes with the key " + quoted(tensor.key));
  }
  store.noteMapping(std::move(file));
  return Error::success();
}

llvm::Expected<OutputFile> writeWeights(StringRef path, ArrayRef<StringRef> keys, const WeightStore &store) {
  auto fail = [&](StringRef key, StringRef why) {
    return llvm::createStringError("can't write weights to '" + path + "': " + quoted(key) + " " + why);
  };
  std::map<StringRef, ArrayRef<char>> weights;
  for (StringRef key : keys) {
    std::optional<ArrayRef<char>> bytes = store.find(key);
    if (!bytes)
      return fail(key, "has no bytes");
    if (!json::isUTF8(key) || key == kMetadata)
      return fail(key, "can't be a key of the file");
    weights[key] = *bytes;
  }
  std::string header;
  llvm::raw_string_ostream os(header);
  json::OStream out(os);
  uint64_t end = 0;
  out.object([&] {
    for (const auto &[key, bytes] : weights) {
      uint64_t begin = end;
      end += bytes.size();
      out.attributeObject(key, [&] {
        out.attribute("dtype", "U8");
        out.attributeArray("shape", [&] { out.value(end - begin); });
        out.attributeArray("data_offsets", [&] {
          out.value(begin);
          out.value(end);
        });
      });
    }
  });
  // aligns the data of the file to cache lines; the format allows spaces after the header
  header.append(size_t(llvm::offsetToAlignment(sizeof(uint64_t) + header.size(), kHeaderAlignment)), ' ');
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  llvm::support::endian::write<uint64_t>(file->stream(), header.size(), llvm::endianness::little);
  file->stream() << header;
  for (const auto &[key, bytes] : weights) {
    file->stream().write(bytes.data(), bytes.size());
    store.letGo(bytes);
  }
  return file;
}

} // namespace hewn
