// SPDX-License-Identifier: Apache-2.0
//
// Constant tensors of a model: from protobuf fields, raw bytes or external files to a typed attribute. Short ones
// become dense elements, long ones weights.
#ifndef HEWN_LIB_IMPORTER_ONNX_TENSORS_H
#define HEWN_LIB_IMPORTER_ONNX_TENSORS_H

#include "lib/Support/Limits.h"
#include "lib/Support/WeightTable.h"
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

/// Raw bytes that lie outside of their protobuf message.
using RawBytes = llvm::DenseMap<const onnx::TensorProto *, llvm::ArrayRef<char>>;

class Tensors {
public:
  /// `folder` is where external data lies; empty: external data is refused.
  Tensors(mlir::MLIRContext *context, WeightTable &weights, std::string folder, const RawBytes &raw,
          const Limits &limits, bool namesOnly)
      : context(context), weights(weights), folder(std::move(folder)), raw(raw), limits(limits), namesOnly(namesOnly) {}

  /// Reads a tensor; nullopt, and why in `reason`, where it is ill-formed. `key` names its bytes. With an `owner`,
  /// which keeps `tensor` alive, raw bytes are not copied.
  std::optional<Constant> read(const onnx::TensorProto &tensor, llvm::StringRef key, std::shared_ptr<const void> owner,
                               std::string &reason);
  /// The same of a sparse tensor, made dense.
  std::optional<Constant> read(const onnx::SparseTensorProto &tensor, llvm::StringRef key, std::string &reason);

  /// The elements of a tensor of integers; nullopt, and why in `reason`, where it is ill-formed or has others.
  std::optional<llvm::SmallVector<int64_t>> integers(const onnx::TensorProto &tensor, std::string &reason);
  /// The elements of a tensor of whole bytes each, as numbers; nullopt, and why in `reason`, where it is ill-formed.
  std::optional<llvm::SmallVector<double>> numbers(const onnx::TensorProto &tensor, std::string &reason);

  /// A constant of such bytes.
  Constant make(mlir::RankedTensorType type, std::vector<char> bytes, llvm::StringRef key);

private:
  /// Shows each element as its bits until `visit` says no.
  bool visitElements(const onnx::TensorProto &tensor, std::string &reason,
                     llvm::function_ref<bool(mlir::Type, const llvm::APInt &)> visit);
  /// A tensor's bytes, wherever they lie.
  struct Bytes {
    mlir::RankedTensorType type;
    llvm::ArrayRef<char> data;
    std::vector<char> owned; // what `data` points into, where the bytes had to be made
    std::string key;         // of the external file, where they lie in one
    int64_t offset = 0;      // in it
  };
  struct File {
    std::string key;
    std::shared_ptr<const llvm::MemoryBuffer> mapping;
  };
  /// A long tensor by its name and type; nullopt where it is short, or ill-formed.
  std::optional<Constant> nameOnly(const onnx::TensorProto &tensor, llvm::StringRef key);
  std::optional<Bytes> locate(const onnx::TensorProto &tensor, std::string &reason);
  bool locateExternal(const onnx::TensorProto &tensor, Bytes &bytes, std::string &reason);
  const File *mapFile(llvm::StringRef location, std::string &reason);

  mlir::MLIRContext *context;
  WeightTable &weights;
  std::string folder;
  const RawBytes &raw;
  const Limits &limits;
  /// Whether long tensors are names alone.
  const bool namesOnly;
  int64_t denseBytes = 0;      // of all sparse tensors
  llvm::StringMap<File> files; // by location
  /// Keys of the messages' own bytes, which stay where they are: a body that is put in place many times has them each time.
  llvm::DenseMap<std::pair<const char *, size_t>, std::string> keys;
};

/// Checks dims (none negative, their product with the element size fits) and returns the byte count of such a tensor,
/// elements of less than a byte, but for bools, several a byte. nullopt and `reason` otherwise.
std::optional<int64_t> tensorBytes(llvm::ArrayRef<int64_t> dims, mlir::Type elementType, std::string &reason);

} // namespace hewn::importer

#endif
