// SPDX-License-Identifier: Apache-2.0
//
// The interface of a program: inputs, outputs, symbols and sizes, read from `func.func @main`. The
// descriptor, the typed functions and the header are generated from it.
#ifndef HEWN_LIB_CODEGEN_PROGRAMINTERFACE_H
#define HEWN_LIB_CODEGEN_PROGRAMINTERFACE_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace hewn::codegen {

struct TensorInterface {
  std::string name;
  mlir::Type elementType;
  graph::Dims dims;
  /// True if a dim depends on data in some case of the model.
  bool dynamic = false;
  /// For each dim that differs between the cases of the model, the expressions of all cases as
  /// text; an empty text for other dims. The list may be shorter than the rank.
  std::vector<std::string> unlike = {};
  /// For sequences and optionals: the kind of the value (hewn_kind in runtime.h), and the element
  /// type and rank of its tensors. A negative rank means any rank.
  int32_t kind = 0;
  mlir::Type held = nullptr;
  int32_t heldRank = 0;
  /// Role of a tensor that is the keys or the values of a map (hewn_role in runtime.h).
  uint32_t role = 0;

  /// Returns the name of the map of which the tensor is the keys or the values.
  llvm::StringRef mapName() const { return llvm::StringRef(name).rsplit('_').first; }
};

struct SymbolInterface {
  std::string name;
  int64_t min = 0, max = INT64_MAX;
};

/// The arena size as an expression. Each level is an expression over the symbols and the previous
/// levels; `bytes` and offsets refer to levels by name.
struct ArenaSize {
  graph::DimExpr bytes = {};
  std::vector<std::pair<std::string, graph::DimExpr>> levels = {};
  bool operator==(const ArenaSize &other) const = default;
};

/// The code of a program, as the descriptor refers to it.
struct ProgramCode {
  ArenaSize arena = {};
  /// Symbol of the function that runs the program, or empty if the case has no program.
  std::string run = {};
  bool operator==(const ProgramCode &other) const = default;
};

/// Properties of a variant, which is the code of the model for one instruction set.
struct VariantInterface {
  /// Name of the target, and the CPU features that it requires as bits of services.h.
  std::string target;
  uint64_t cpuFeatures = 0;
  /// The programs of the variant, one per case of the model.
  std::vector<ProgramCode> programs = {};
  /// LLVM's name of the CPU for which the code was compiled, such as "znver4" if `target` is
  /// "host".
  std::string cpu = {};
};

/// Properties of a case of the model, which has a program of its own.
struct CaseInterface {
  /// Condition of the case as text, such as "n = 1". Empty if the model has one case.
  std::string condition;
  std::vector<TensorInterface> outputs;
  /// Reason why the case has no program; an empty text if it has one.
  std::string refusal = {};
};

struct ProgramInterface {
  /// Name of the model as a C identifier, which is the prefix of all exported symbols.
  std::string name;
  /// Digest and target of the artifact, as text.
  std::string digest, target;
  /// Inputs and outputs of the model. An output has the dims on which all cases agree; if its rank
  /// differs between cases, those of the largest rank.
  std::vector<TensorInterface> inputs, outputs;
  /// Symbols of the model. If the model is partitioned, the last symbol is the number of the rank
  /// that runs.
  std::vector<SymbolInterface> symbols;
  /// Number of ranks of a partitioned model; 0 if the model is not partitioned.
  int32_t numRanks = 0;
  /// For each rank, the number of bytes of the weights that it reads.
  std::string partition;
  /// Number of bytes of the weights that each rank reads.
  std::vector<uint64_t> weightsByRank;
  /// Decision tree that selects a case by the symbols' values, and the list of cases.
  graph::CaseTree tree;
  std::vector<CaseInterface> cases;
  /// Metadata of the model, sorted by key.
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Variants in the order in which a loader tries them.
  std::vector<VariantInterface> variants;

  bool hasSymbol(llvm::StringRef symbol) const;
  /// Returns this interface with the outputs of case `number` only.
  ProgramInterface ofCase(size_t number) const;
};

/// Returns the interface of a model with a single case. Digest, target and variants are not set. If
/// an input or output has a type that the C API does not support, emits an error on `program` and
/// fails.
mlir::FailureOr<ProgramInterface> readInterface(mlir::func::FuncOp program, llvm::StringRef name);

/// A case of a model. `program` is null if the case cannot run, and `refusal` is the reason.
struct CaseProgram {
  llvm::ArrayRef<graph::Fact> facts;
  mlir::func::FuncOp program;
  std::string refusal;
};
/// Returns the interface of a model with several cases, at least one of which has a program.
mlir::FailureOr<ProgramInterface> readInterface(const graph::CaseTree &tree, llvm::ArrayRef<CaseProgram> cases,
                                                llvm::StringRef name);

/// Returns the arena size that the memory plan recorded as attributes of the program.
ArenaSize readArenaSize(mlir::func::FuncOp program);

/// Returns a C name similar to `text`: "ResNet-50" becomes ResNet_50, "class" becomes class_.
std::string cName(llvm::StringRef text);
/// Returns a C name for a parameter, similar to `text`. Names that may be macros, which are those
/// in capital letters, get a suffix.
std::string parameterName(llvm::StringRef text);
/// Returns a C name for the symbol of a model, similar to `text`. Names of libc functions get a
/// suffix: "exp" becomes exp_model.
std::string modelName(llvm::StringRef text);
/// Numbers of an element type: DLPack code and bits, ONNX TensorProto.DataType; and its C type.
struct ElementCodes {
  uint8_t dlCode, dlBits;
  int32_t onnx;
  llvm::StringRef c;
};
std::optional<ElementCodes> elementCodes(mlir::Type elementType);

} // namespace hewn::codegen

#endif
