// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Tensors.h"

#include "dialects/Graph/Graph.h"
#include "dialects/Handle/Handle.h"
#include "lib/Importer/ONNX/OnnxTypes.h"
#include "lib/Support/Files/InputFile.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace hewn::importer {

using onnx::TensorProto;

/// Limits of the elements and bytes of a constant that is stored in the IR. Larger constants are
/// stored in the weight store. Shape inference reads the constants in the IR, and the text of the
/// IR shows them.
static constexpr int64_t kShortElements = 64, kShortBytes = 256;

/// Returns the size of a tensor's element in bits; strings and sequences are handles of 64 bits.
static int64_t bitsOf(Type elementType) {
  return elementType.isIntOrFloat() ? int64_t(elementType.getIntOrFloatBitWidth()) : 64;
}

/// Returns the number of elements that share a byte in ONNX files: 1 unless the type has less than
/// 8 bits. Bools have a byte each.
static int64_t elementsInByte(Type elementType) {
  int64_t bits = bitsOf(elementType);
  return bits > 1 && bits < 8 ? 8 / bits : 1;
}

/// Returns element `i` of a tensor whose elements of `bits` bits are packed into bytes.
static uint8_t packedElement(ArrayRef<char> bytes, int64_t i, unsigned bits) {
  int64_t perByte = 8 / bits;
  return (uint8_t(bytes[i / perByte]) >> (i % perByte * bits)) & ((1u << bits) - 1);
}

std::optional<int64_t> tensorBytes(ArrayRef<int64_t> dims, Type elementType, std::string &reason) {
  int64_t elements = 1;
  bool overflow = false, empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      reason = "has the negative dim " + std::to_string(dim);
      return std::nullopt;
    }
    empty |= dim == 0;
    overflow |= llvm::MulOverflow(elements, dim, elements);
  }
  int64_t bits = bitsOf(elementType);
  int64_t perByte = elementsInByte(elementType), bytes = 0;
  // Rejects larger tensors, which would not fit a 48-bit address space.
  constexpr int64_t most = int64_t(1) << 47;
  overflow |= !empty && (elements < 0 || elements > most);
  overflow |= !overflow && llvm::MulOverflow(elements, std::max<int64_t>(bits / 8, 1), bytes);
  if (!empty && (overflow || bytes > most)) {
    reason = "has more elements than memory can hold";
    return std::nullopt;
  }
  return empty ? 0 : perByte > 1 ? (elements + perByte - 1) / perByte : bytes;
}

//===----------------------------------------------------------------------===//
// Bytes as a constant
//===----------------------------------------------------------------------===//

/// Converts the bytes of a short tensor to an elements attribute. A conversion is needed because
/// MLIR's attributes store integers smaller than a byte differently from ONNX.
static DenseElementsAttr denseElements(RankedTensorType type, ArrayRef<char> bytes) {
  Type element = type.getElementType();
  int64_t count = type.getNumElements();
  if (count == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (element.isInteger(1)) {
    SmallVector<bool> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(bytes[i] != 0);
    return DenseElementsAttr::get(type, values);
  }
  if (unsigned bits = element.getIntOrFloatBitWidth(); elementsInByte(element) > 1) {
    SmallVector<APInt> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(APInt(bits, packedElement(bytes, i, bits)));
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

static bool isShort(RankedTensorType type, size_t bytes) {
  return type.getNumElements() <= kShortElements && bytes <= kShortBytes;
}

Constant Tensors::make(RankedTensorType type, std::vector<char> bytes, StringRef key) {
  if (elementsInByte(type.getElementType()) == 1 && isShort(type, bytes.size()))
    return {type, denseElements(type, bytes)};
  int64_t size = bytes.size();
  return {type, graph::WeightAttr::get(context, weights.addNamed(key, std::move(bytes)), 0, size)};
}

std::optional<Constant> Tensors::read(const TensorProto &tensor, StringRef key, std::shared_ptr<const void> owner,
                                      std::string &reason) {
  if (namesOnly)
    if (std::optional<Constant> named = nameOnly(tensor, key))
      return named;
  std::optional<Bytes> bytes = locate(tensor, reason);
  if (!bytes)
    return std::nullopt;
  int64_t inByte = elementsInByte(bytes->type.getElementType());
  bool isShared = inByte > 1;
  if (isShort(bytes->type, bytes->data.size()) && !(isShared && isa<FloatType>(bytes->type.getElementType())))
    return Constant{bytes->type, denseElements(bytes->type, bytes->data)};
  // Normalizes bools to 0 and 1, which kernels require; files may contain any byte.
  if (bytes->type.getElementType().isInteger(1) && llvm::any_of(bytes->data, [](char c) { return c & ~1; })) {
    std::vector<char> clean;
    for (char c : bytes->data)
      clean.push_back(c != 0);
    return make(bytes->type, std::move(clean), key);
  }
  // Unpacks elements smaller than a byte: kernels use one byte per element.
  if (isShared) {
    std::vector<char> apart;
    for (int64_t i = 0, n = bytes->type.getNumElements(); i < n; ++i)
      apart.push_back(char(packedElement(bytes->data, i, unsigned(8 / inByte))));
    return make(bytes->type, std::move(apart), key);
  }
  int64_t size = bytes->data.size();
  if (!bytes->key.empty())
    return Constant{bytes->type, graph::WeightAttr::get(context, bytes->key, bytes->offset, size)};
  if (!bytes->owned.empty())
    return make(bytes->type, std::move(bytes->owned), key);
  if (!owner)
    return make(bytes->type, std::vector<char>(bytes->data.begin(), bytes->data.end()), key);
  std::string &own = keys[{bytes->data.data(), bytes->data.size()}];
  if (own.empty())
    own = weights.add(key, bytes->data, std::move(owner));
  return Constant{bytes->type, graph::WeightAttr::get(context, own, 0, size)};
}

std::optional<Constant> Tensors::nameOnly(const TensorProto &tensor, StringRef key) {
  Type element = elementType(context, tensor.data_type());
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  std::string refused; // not used: `locate` reports the reason for rejecting a tensor
  std::optional<int64_t> size =
      element && !handle::isHandle(element) ? tensorBytes(dims, element, refused) : std::nullopt;
  if (!size)
    return std::nullopt;
  auto type = RankedTensorType::get(dims, element);
  if (isShort(type, size_t(*size)))
    return std::nullopt;
  int64_t kept = elementsInByte(element) > 1 ? type.getNumElements() : *size;
  return Constant{type, graph::WeightAttr::get(context, weights.name(key), 0, kept)};
}

bool Tensors::visitElements(const TensorProto &tensor, std::string &reason,
                            llvm::function_ref<bool(Type, const APInt &)> visit) {
  std::optional<Bytes> bytes = locate(tensor, reason);
  if (!bytes)
    return false;
  Type element = bytes->type.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth(), size = std::max(bits / 8, 1u);
  bool good = bits <= 64 && elementsInByte(element) == 1;
  for (int64_t i = 0, n = bytes->type.getNumElements(); good && i < n; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, bytes->data.data() + i * size, size);
    good = visit(element, APInt(bits, word, /*isSigned=*/false, /*implicitTrunc=*/true));
  }
  if (!good)
    reason = "has elements of type " + dataTypeName(tensor.data_type());
  return good;
}

static bool isSigned(Type element, unsigned bits) { return element.isSignlessInteger() && bits > 1; }

std::optional<SmallVector<int64_t>> Tensors::integers(const TensorProto &tensor, std::string &reason) {
  SmallVector<int64_t> integers;
  auto visit = [&](Type element, const APInt &word) {
    integers.push_back(isSigned(element, word.getBitWidth()) ? word.getSExtValue() : int64_t(word.getZExtValue()));
    return isa<IntegerType>(element);
  };
  return visitElements(tensor, reason, visit) ? std::optional(integers) : std::nullopt;
}

std::optional<SmallVector<double>> Tensors::numbers(const TensorProto &tensor, std::string &reason) {
  SmallVector<double> numbers;
  auto visit = [&](Type element, const APInt &word) {
    if (auto type = dyn_cast<FloatType>(element))
      numbers.push_back(FloatAttr::get(type, APFloat(type.getFloatSemantics(), word)).getValueAsDouble());
    else
      numbers.push_back(isSigned(element, word.getBitWidth()) ? double(word.getSExtValue())
                                                              : double(word.getZExtValue()));
    return true;
  };
  return visitElements(tensor, reason, visit) ? std::optional(numbers) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Location of the bytes
//===----------------------------------------------------------------------===//

/// Copies the values of a typed field (such as float_data), converted to elements of type `To`.
/// Returns false if the field does not have `count` values.
template <typename To, typename Field>
static bool convert(const Field &field, int64_t count, std::vector<char> &bytes) {
  if (field.size() != count)
    return false;
  bytes.resize(count * sizeof(To));
  for (int64_t i = 0; i < count; ++i) {
    To value = static_cast<To>(field[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return true;
}

/// Reads the elements from a typed field of the tensor (such as int32_data). ONNX stores small
/// types in fields of larger types: for example, int32_data contains the bits of float16 elements.
static bool typedBytes(const TensorProto &tensor, Type element, int64_t count, std::vector<char> &bytes) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (element.isF32())
    return convert<float>(tensor.float_data(), count, bytes);
  if (element.isF64())
    return convert<double>(tensor.double_data(), count, bytes);
  if (bits == 64 && element.isUnsignedInteger())
    return convert<uint64_t>(tensor.uint64_data(), count, bytes);
  if (bits == 64)
    return convert<int64_t>(tensor.int64_data(), count, bytes);
  if (bits == 32 && element.isUnsignedInteger())
    return convert<uint32_t>(tensor.uint64_data(), count, bytes);
  if (bits == 32)
    return convert<int32_t>(tensor.int32_data(), count, bytes);
  if (bits == 16)
    return convert<uint16_t>(tensor.int32_data(), count, bytes);
  int64_t inByte = elementsInByte(element);
  return convert<uint8_t>(tensor.int32_data(), (count + inByte - 1) / inByte, bytes);
}

std::optional<Tensors::Bytes> Tensors::locate(const TensorProto &tensor, std::string &reason) {
  Type element = elementType(context, tensor.data_type());
  if (!element) {
    reason = "has elements of type " + dataTypeName(tensor.data_type()) + ", which hewn does not support";
    return std::nullopt;
  }
  if (handle::isHandle(element)) {
    reason = "has elements of type " + dataTypeName(tensor.data_type()) + " where numbers are expected";
    return std::nullopt;
  }
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> size = tensorBytes(dims, element, reason);
  if (!size)
    return std::nullopt;
  if (tensor.has_segment()) {
    reason = "is stored in segments, which hewn does not support";
    return std::nullopt;
  }
  Bytes bytes;
  bytes.type = RankedTensorType::get(dims, element);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (!locateExternal(tensor, bytes, reason))
      return std::nullopt;
  } else if (auto outside = raw.find(&tensor); outside != raw.end()) {
    bytes.data = outside->second;
  } else if (tensor.has_raw_data()) {
    bytes.data = ArrayRef(tensor.raw_data().data(), tensor.raw_data().size());
  } else {
    if (!typedBytes(tensor, element, bytes.type.getNumElements(), bytes.owned)) {
      reason = "does not contain the " + std::to_string(bytes.type.getNumElements()) + " elements of its dims";
      return std::nullopt;
    }
    bytes.data = bytes.owned;
  }
  if (int64_t(bytes.data.size()) != *size) {
    reason = "holds " + std::to_string(bytes.data.size()) + " bytes, but its dims need " + std::to_string(*size);
    return std::nullopt;
  }
  return bytes;
}

const Tensors::File *Tensors::mapFile(StringRef location, std::string &reason) {
  auto found = files.find(location);
  if (found != files.end())
    return &found->second;
  if (folder.empty()) {
    reason = "is stored in the file '" + location.str() +
             "', but the model has no folder: pass its path instead of its bytes";
    return nullptr;
  }
  // Models are untrusted, so they may refer to external data only in regular files in their own
  // folder.
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, location);
  // Reuses the mapping of an external file that the import of another case of the model has mapped.
  auto known = llvm::find_if(weights.mappedFiles(),
                             [&](const auto &mapping) { return mapping->getBufferIdentifier() == path.str(); });
  std::shared_ptr<const llvm::MemoryBuffer> mapping = known == weights.mappedFiles().end() ? nullptr : *known;
  if (!mapping) {
    std::string refused;
    mapping = openInside(folder, location, refused);
    if (!mapping) {
      reason = "is stored in '" + location.str() + "', which " + refused;
      return nullptr;
    }
    weights.noteMapping(mapping);
  }
  ArrayRef<char> all(mapping->getBufferStart(), mapping->getBufferSize());
  return &(files[location] = {weights.add(location, all, mapping), mapping});
}

bool Tensors::locateExternal(const TensorProto &tensor, Bytes &bytes, std::string &reason) {
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    uint64_t number;
    if (entry.key() == "location")
      location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length")
      continue;
    if (StringRef(entry.value()).getAsInteger(10, number)) {
      reason = "has the invalid external " + entry.key() + " '" + entry.value() + "'";
      return false;
    }
    if (entry.key() == "offset")
      offset = number;
    else
      length = number;
  }
  const File *file = mapFile(location, reason);
  if (!file)
    return false;
  uint64_t size = file->mapping->getBufferSize();
  if (offset > size || (length && *length > size - offset)) {
    reason = "exceeds the file '" + location.str() + "', which has " + std::to_string(size) + " bytes";
    return false;
  }
  bytes.key = file->key;
  bytes.offset = int64_t(offset);
  bytes.data = ArrayRef(file->mapping->getBufferStart() + offset, length.value_or(size - offset));
  return true;
}

//===----------------------------------------------------------------------===//
// Sparse tensors
//===----------------------------------------------------------------------===//

std::optional<Constant> Tensors::read(const onnx::SparseTensorProto &tensor, StringRef key, std::string &reason) {
  std::optional<Bytes> values = locate(tensor.values(), reason);
  std::optional<Bytes> indices = values ? locate(tensor.indices(), reason) : std::nullopt;
  if (!indices)
    return std::nullopt;
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  Type element = values->type.getElementType();
  std::optional<int64_t> size = tensorBytes(dims, element, reason);
  int64_t count = values->type.getNumElements(), rank = dims.size(), width = element.getIntOrFloatBitWidth() / 8;
  bool flat = indices->type.getRank() == 1;
  width = std::max<int64_t>(width, 1);
  if (!size || elementsInByte(element) > 1 || !indices->type.getElementType().isInteger(64) ||
      indices->type.getNumElements() != count * (flat ? 1 : rank)) {
    if (reason.empty())
      reason = "is a sparse tensor with a shape mismatch between values and indices";
    return std::nullopt;
  }
  // The total size of all sparse tensors after conversion to dense tensors is limited, because it
  // can be much larger than the file that contains them.
  if (*size > limits.bytes - denseBytes) {
    reason = "is a sparse tensor of " + std::to_string(*size) +
             " bytes, and all sparse tensors together take more than " + limitText("bytes", limits.bytes);
    return std::nullopt;
  }
  denseBytes += *size;
  std::vector<char> dense(*size, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t linear = 0;
    for (int64_t d = 0; d < (flat ? 1 : rank); ++d) {
      int64_t index, extent = flat ? *size / width : dims[d];
      std::memcpy(&index, indices->data.data() + 8 * (flat ? i : i * rank + d), 8);
      if (index < 0 || index >= extent) {
        reason = "has the sparse index " + std::to_string(index) + " outside of its dims";
        return std::nullopt;
      }
      linear = flat ? index : linear * dims[d] + index;
    }
    std::memcpy(dense.data() + linear * width, values->data.data() + i * width, width);
  }
  return make(RankedTensorType::get(dims, element), std::move(dense), key);
}

} // namespace hewn::importer
