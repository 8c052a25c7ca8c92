// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/FileKind.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/Endian.h"

using llvm::StringLiteral;
using llvm::StringRef;

namespace hewn {

namespace {
/// The bytes at a fixed offset by which a file format is recognized.
struct Signature {
  size_t offset;
  StringLiteral bytes;
  StringLiteral text;
};
constexpr StringLiteral kPickle = "it is a Python pickle, as PyTorch and scikit-learn write: export the model to ONNX";
constexpr StringLiteral kImage = "it is an image";
constexpr StringLiteral kWebPage = "it is a web page: download the file itself";
const Signature signatures[] = {
    {0, "PK\x03\x04", "it is a ZIP archive, such as a .pt file of PyTorch or an .npz file: export the model to ONNX"},
    {0, "\x80\x02", kPickle},
    {0, "\x80\x03", kPickle},
    {0, "\x80\x04", kPickle},
    {0, "\x80\x05", kPickle},
    {0, "GGUF", "it is a GGUF file, which hewn does not read: export the model to ONNX"},
    {4, "TFL3", "it is a TensorFlow Lite model: convert it to ONNX (tf2onnx)"},
    {4, "ORTM", "it is a model in ORT format: use the .onnx file that it was made from"},
    {0, "\x89HDF\r\n", "it is an HDF5 file, as Keras writes: convert the model to ONNX (tf2onnx)"},
    {0, "\x93NUMPY", "it is a NumPy array, not a model"},
    {0, "HEWNW", "it is the weights file of a compiled model"},
    {0, "version https://git-lfs", "it is a pointer of Git LFS to the file, not the file: run git lfs pull"},
    {0, "\x1f\x8b", "it is a gzip archive: unpack it"},
    {0, "\x89PNG", kImage},
    {0, "\xff\xd8\xff", kImage},
    {0, "<?xml", "it is an XML file, such as the .xml file of an OpenVINO model: use the .onnx file"},
    {0, "<!DOCTYPE", kWebPage},
    {0, "<!doctype", kWebPage},
    {0, "<html", kWebPage}};

/// A safetensors file begins with the length of its JSON header, 8 bytes little-endian.
bool isSafetensors(StringRef bytes) {
  return bytes.size() > 8 && bytes[8] == '{' &&
         llvm::support::endian::read64le(bytes.data()) <= uint64_t(bytes.size()) - 8;
}
} // namespace

StringRef knownFileKind(StringRef bytes) {
  if (bytes.empty())
    return "it is empty";
  for (const Signature &signature : signatures)
    if (bytes.substr(signature.offset).starts_with(signature.bytes))
      return signature.text;
  if (isSafetensors(bytes))
    return "it is a safetensors file, which has weights but no graph: export the model to ONNX";
  return llvm::identify_magic(bytes) == llvm::file_magic::unknown ? "" : "it is compiled code, not a model";
}

} // namespace hewn
