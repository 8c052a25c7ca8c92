// SPDX-License-Identifier: Apache-2.0
//
// Converts the constant tensors of a model to typed attributes, from protobuf fields, raw bytes or
// external files. Short tensors become elements attributes, long ones become weights.
#ifndef HEWN_LIB_IMPORTER_ONNX_TENSORS_H
#define HEWN_LIB_IMPORTER_ONNX_TENSORS_H

#include "lib/Support/Limits.h"
#include "lib/Support/WeightStore.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace onnx {
class TensorProto;
class SparseTensorProto;
} // namespace onnx

namespace hewn::importer {

struct Constant {
  mlir::RankedTensorType type;
  mlir::Attribute value; // DenseElementsAttr or graph::WeightAttr
};

/// Raw bytes of tensors that are stored outside of their protobuf messages, in the mapped model
/// file.
using RawBytes = llvm::DenseMap<const onnx::TensorProto *, llvm::ArrayRef<char>>;

class Tensors {
public:
  /// `folder` is the folder of external data; if it is empty, external data is an error.
  Tensors(mlir::MLIRContext *context, WeightStore &weights, std::string folder, const RawBytes &raw,
          const Limits &limits, bool namesOnly)
      : context(context), weights(weights), folder(std::move(folder)), raw(raw), limits(limits), namesOnly(namesOnly) {}

  /// Reads a tensor of the model. If it is ill-formed, returns nullopt and sets `reason`. `key` is
  /// the key under which the weight store should store the tensor. If `owner` is given, it keeps
  /// `tensor` alive, so that raw bytes need not be copied.
  std::optional<Constant> read(const onnx::TensorProto &tensor, llvm::StringRef key, std::shared_ptr<const void> owner,
                               std::string &reason);
  /// Reads a sparse tensor of the model and converts it to a dense one.
  std::optional<Constant> read(const onnx::SparseTensorProto &tensor, llvm::StringRef key, std::string &reason);

  /// Returns the elements of an integer tensor. If it is ill-formed or has another element type,
  /// returns nullopt and sets `reason`.
  std::optional<llvm::SmallVector<int64_t>> integers(const onnx::TensorProto &tensor, std::string &reason);
  /// Returns the elements of a tensor as double, for element types of at least one byte. If the
  /// tensor is ill-formed, returns nullopt and sets `reason`.
  std::optional<llvm::SmallVector<double>> numbers(const onnx::TensorProto &tensor, std::string &reason);

  /// Creates a constant from the bytes of a tensor.
  Constant make(mlir::RankedTensorType type, std::vector<char> bytes, llvm::StringRef key);

private:
  /// Calls `visit` with the bits of each element of a tensor, in order, until `visit` returns
  /// false.
  bool visitElements(const onnx::TensorProto &tensor, std::string &reason,
                     llvm::function_ref<bool(mlir::Type, const llvm::APInt &)> visit);
  /// The bytes of a tensor, and where they are stored.
  struct Bytes {
    mlir::RankedTensorType type;
    llvm::ArrayRef<char> data;
    std::vector<char> owned; // storage of `data`, if the bytes had to be converted
    std::string key;         // key of the external file, if the bytes are in one
    int64_t offset = 0;      // offset in the external file
  };
  struct File {
    std::string key;
    std::shared_ptr<const llvm::MemoryBuffer> mapping;
  };
  /// Returns a constant for a long tensor with a key and a type, but without bytes. Returns nullopt
  /// if the tensor is short or ill-formed.
  std::optional<Constant> nameOnly(const onnx::TensorProto &tensor, llvm::StringRef key);
  std::optional<Bytes> locate(const onnx::TensorProto &tensor, std::string &reason);
  bool locateExternal(const onnx::TensorProto &tensor, Bytes &bytes, std::string &reason);
  const File *mapFile(llvm::StringRef location, std::string &reason);

  mlir::MLIRContext *context;
  WeightStore &weights;
  std::string folder;
  const RawBytes &raw;
  const Limits &limits;
  /// True if long tensors are imported without their data.
  const bool namesOnly;
  // total size in bytes of all sparse tensors after conversion to dense ones
  int64_t denseBytes = 0;
  llvm::StringMap<File> files; // external files, by the location that the model gives
  /// Keys of bytes that are stored in protobuf messages, by address and size. If a function body is
  /// expanded several times, its constants have one key.
  llvm::DenseMap<std::pair<const char *, size_t>, std::string> keys;
};

/// Returns the size in bytes of a tensor in a file. Elements smaller than a byte are packed, except
/// for bools. If a dim is negative or the size overflows, returns nullopt and sets `reason`.
std::optional<int64_t> tensorBytes(llvm::ArrayRef<int64_t> dims, mlir::Type elementType, std::string &reason);

} // namespace hewn::importer

#endif
