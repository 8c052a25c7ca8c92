// SPDX-License-Identifier: Apache-2.0
//
// What a program shows to its callers: inputs, outputs, symbols, sizes. Read off `func.func @main`; the descriptor, the
// typed functions and the header are all made from it.
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
  /// Whether a dim is known only after a run: in some case, where there are several.
  bool dynamic = false;
  /// For each dim in which the cases differ the text of both, else empty; shorter where all the rest agree.
  std::vector<std::string> unlike = {};
  /// Of what is no tensor: runtime.h's hewn_kind, the type of its tensors and their rank, negative for any.
  int32_t kind = 0;
  mlir::Type held = nullptr;
  int32_t heldRank = 0;
};

struct SymbolInterface {
  std::string name;
  int64_t min = 0, max = INT64_MAX;
};

/// A closed form: levels by name, to which offsets refer as well, each over the symbols and the ones before it.
struct ArenaSize {
  graph::DimExpr bytes = {};
  std::vector<std::pair<std::string, graph::DimExpr>> levels = {};
  bool operator==(const ArenaSize &other) const = default;
};

/// A program as the descriptor calls it.
struct ProgramCode {
  ArenaSize arena = {};
  /// The symbol of the function that runs it; empty: there is none.
  std::string run = {};
  bool operator==(const ProgramCode &other) const = default;
};

/// What differs from one set of instructions to another.
struct VariantInterface {
  /// The machine's name, and bits of services.h.
  std::string target;
  uint64_t cpuFeatures = 0;
  /// One a case.
  std::vector<ProgramCode> programs = {};
};

/// What differs from one case of the model to another.
struct CaseInterface {
  /// "n = 1"; empty where there is one case.
  std::string condition;
  std::vector<TensorInterface> outputs;
  /// Why there is no program; empty: there is one.
  std::string refusal = {};
};

struct ProgramInterface {
  /// A C name: the prefix of all that is exported.
  std::string name;
  /// What the compiler says of the artifact, as text.
  std::string digest, target;
  /// Outputs have the dims that all cases agree in; of unlike ranks the largest.
  std::vector<TensorInterface> inputs, outputs;
  /// Where there are ranks, the last one is the number of the rank.
  std::vector<SymbolInterface> symbols;
  /// Of a model that is split over so many; 0: it is not.
  int32_t numRanks = 0;
  /// And how: "tensor=2,pipeline=1".
  std::string partition;
  /// How many bytes of the weights each reads.
  std::vector<uint64_t> weightsByRank;
  /// Which case the symbols' values choose, and what it is.
  graph::CaseTree tree;
  std::vector<CaseInterface> cases;
  /// In the order in which a loader tries them.
  std::vector<VariantInterface> variants;

  bool hasSymbol(llvm::StringRef symbol) const;
  /// As the program of one case sees it.
  ProgramInterface ofCase(size_t number) const;
};

/// All but the digest, the target and the variants, of a model with one case. Fails with an error on `program` where an input or
/// output has no place in C.
mlir::FailureOr<ProgramInterface> readInterface(mlir::func::FuncOp program, llvm::StringRef name);

/// A case of a model: a null program is one that can't be run.
struct CaseProgram {
  llvm::ArrayRef<graph::Fact> facts;
  mlir::func::FuncOp program;
  std::string refusal;
};
/// The same of a model with several, of which one has a program at least.
mlir::FailureOr<ProgramInterface> readInterface(const graph::CaseTree &tree, llvm::ArrayRef<CaseProgram> cases,
                                                llvm::StringRef name);

/// What the plan says on the program of its arena.
ArenaSize readArenaSize(mlir::func::FuncOp program);

/// A C name as near to `text` as one can be: "ResNet-50" is ResNet_50, "class" is class_.
std::string cName(llvm::StringRef text);
/// The same for the symbol of a model, which must not be one of the C library's: "exp" is exp_model.
std::string modelName(llvm::StringRef text);
/// DLPack's code and bits, ONNX's TensorProto.DataType, and the C type of an element.
struct ElementCodes {
  uint8_t dlCode, dlBits;
  int32_t onnx;
  llvm::StringRef c;
};
std::optional<ElementCodes> elementCodes(mlir::Type elementType);

} // namespace hewn::codegen

#endif
