// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says: one record of it, which is shown as text and as JSON.
#ifndef HEWN_LIB_COMPILER_EXPLAIN_EXPLAIN_H
#define HEWN_LIB_COMPILER_EXPLAIN_EXPLAIN_H

#include "dialects/Plan/Plan.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace hewn {

/// How often a run does the launch, by the steps of the counted loops around it; nullopt where that is known only when run.
std::optional<int64_t> launchesARun(plan::LaunchOp launch);

/// The work of one launch.
struct Work {
  /// Multiplications and additions of contractions, as their definition has them.
  graph::DimExpr flop{0};
  /// Bytes of operands and results, each once; of an operand that is only moved from, as by a gather, no more than is moved.
  graph::DimExpr bytes{0};
  /// Whether no dim is known only when run.
  bool isConstant() const { return flop.constant() && bytes.constant(); }
};
/// In the program's symbols; nullopt where a launch of the kernel has other work than the first one.
std::optional<Work> workOf(plan::KernelOp kernel, llvm::ArrayRef<plan::LaunchOp> launches);

/// The element type that the kernel's contractions multiply, those with the most work; empty where it has none.
std::string multipliedType(plan::KernelOp kernel);

struct ExplainedKernel {
  std::string name;
  /// What brought its ops together, and how it is computed, as MLIR has it; empty where that is not told.
  std::string why, schedule;
  /// How a tuning knows it, and the schedules that a search may try, the model's first; none where there is one way to do it.
  std::string tuningKey = "";
  std::vector<std::string> candidates = {};
  /// In the program's text, and in a run.
  int64_t launches = 0;
  std::optional<int64_t> launchesARun = std::nullopt;
  std::optional<Work> work = std::nullopt;
  /// The element type that its contractions multiply, those with the most work; empty where it has none.
  std::string multiplies = "";
  /// Of the bytes of a launch those that are constants; nullopt as for `work`.
  std::optional<int64_t> constantBytes = std::nullopt;
  /// The ONNX nodes that it computes: of each launch in the program's text, which may be of one kernel for many nodes; and of all.
  std::vector<std::vector<std::string>> launchNodes = {};
  std::vector<std::string> nodes = {};
  /// Names in the locations of its own ops, and of each output those of the op that makes it.
  std::vector<std::string> bodyNames = {};
  std::vector<std::vector<std::string>> outputNames = {};
  /// Types, as MLIR has them.
  std::vector<std::string> inputs = {}, constants = {}, outputs = {};
};

struct ExplainedArena {
  struct Size {
    /// Of each symbol; none where all dims are static.
    std::vector<std::pair<std::string, int64_t>> symbols;
    int64_t bytes = 0;
    /// The most that is alive at once.
    int64_t live = 0;
  };
  struct Block {
    /// Positions of ops in the program's text, both in the lifetime.
    unsigned begin, end;
    int64_t offset, bytes;
    /// The launch, part or loop that makes it; the ONNX node that it is made for, and the names of that node's outputs: the value is one of
    /// them, or one on the way there.
    std::string kernel = "", node = "";
    std::vector<std::string> values = {};
    /// As MLIR has it.
    std::string type = "";
  };
  /// One launch, part or loop, and what lies in the arena while it runs.
  struct Row {
    std::string name;
    unsigned position;
    int64_t live = 0;
  };
  /// The closed form, where there are symbols: the levels that it speaks of as $0, $1, ...
  std::string formula = "";
  std::vector<std::string> levels = {};
  /// None where nothing lies in the arena.
  std::vector<Size> sizes = {};
  /// What lies where when, for one of the sizes.
  Size pictured = {};
  std::vector<Block> blocks = {};
  std::vector<Row> rows = {};
};

/// By the model of a device.
struct ExplainedTime {
  struct Joint {
    std::string first;
    int64_t launches, threads, registers, blocksAtOnce, keptBytes;
    double launchedMicroseconds, joinedMicroseconds;
  };
  std::vector<Joint> joints = {};
  double microseconds = 0, apartMicroseconds = 0;
  /// What sizes that are not known are taken for.
  std::optional<int64_t> assumedSize = std::nullopt;
};

/// A program: one for each machine and case.
struct ExplainedVariant {
  /// "x86-64-v3, where n = 1"; empty where there is one.
  std::string title;
  /// A text of a later stage has functions in their place, and nothing is told of them.
  bool hasKernels = false;
  std::vector<ExplainedKernel> kernels = {};
  int64_t launches = 0, relayouts = 0;
  std::vector<ExplainedArena> arenas = {};
  struct Copy {
    std::string to, type;
  };
  std::vector<Copy> copies = {};
  int64_t weightBytes = 0, weightConstants = 0;
  /// Of the program of one rank: how many times it meets others in a run, and the bytes that it moves then (graph::movedBytes), in the program's
  /// symbols.
  std::optional<int64_t> meetings = std::nullopt;
  graph::DimExpr moved{0};
  std::optional<ExplainedTime> time = std::nullopt;
};

struct Explanation {
  std::string target;
  /// The machines that code is made for, as a tuning names them.
  std::vector<std::string> machines = {};
  /// Conditions on dims and, where there is no program, why; one case is none.
  std::vector<std::pair<std::string, std::string>> cases = {};
  std::vector<ExplainedVariant> variants = {};
  /// What passes did not do: by reason for readers, and all of it.
  std::string remarks = "";
  llvm::json::Array allRemarks = {};
  std::vector<std::pair<std::string, double>> stageSeconds = {};
  /// The names of each node's outputs.
  llvm::StringMap<std::vector<std::string>> valuesOfNode = {};

  std::string text() const;
  /// docs/reference/json.md.
  llvm::json::Object json() const;
};

/// The ONNX nodes that a location names, each once.
void addNodes(mlir::Location location, std::vector<std::string> &nodes);
/// Of a module of the kernels stage.
void explainKernels(mlir::ModuleOp module, ExplainedVariant &variant);
/// Of one of the plan stage.
void explainArena(mlir::ModuleOp module, const llvm::StringMap<std::vector<std::string>> &valuesOfNode,
                  ExplainedVariant &variant);
void explainWeights(mlir::ModuleOp module, ExplainedVariant &variant);
/// Of a module of the plan stage that is rank `rank`'s.
void explainTransfers(mlir::ModuleOp module, int64_t rank, ExplainedVariant &variant);
/// Nothing for machines that have no such model.
void explainTime(mlir::ModuleOp module, ExplainedVariant &variant);

} // namespace hewn

#endif
