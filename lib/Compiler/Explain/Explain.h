// SPDX-License-Identifier: Apache-2.0
//
// The data of `hewn explain`, which is printed as text and as JSON.
#ifndef HEWN_LIB_COMPILER_EXPLAIN_EXPLAIN_H
#define HEWN_LIB_COMPILER_EXPLAIN_EXPLAIN_H

#include "dialects/Plan/Plan.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace hewn {

/// Returns how often the launch is executed in a run: the trip counts of the enclosing loops,
/// multiplied. Returns nullopt if one of them is dynamic.
std::optional<int64_t> launchesARun(plan::LaunchOp launch);

/// The minimal work of one launch of a kernel: arithmetic operations and memory traffic.
struct Work {
  /// Number of multiplications plus additions of the kernel's contractions. The definition of the
  /// contraction is counted, not a faster algorithm such as Winograd.
  graph::DimExpr flop{0};
  /// Number of bytes of the kernel's operands and results, each tensor counted once. If only
  /// indexing ops read an operand, such as the table of a gather, its bytes count only up to the
  /// number that these ops copy.
  graph::DimExpr bytes{0};
  /// Returns true if the operation count and the byte count are both static.
  bool isConstant() const { return flop.constant() && bytes.constant(); }
};
/// Returns the work of one launch of the kernel, in terms of the program's symbols. Returns nullopt
/// if its launches have different work.
std::optional<Work> workOf(plan::KernelOp kernel, llvm::ArrayRef<plan::LaunchOp> launches);

/// Returns the operand type of the kernel's contraction with the most work, or an empty string if
/// the kernel has no contraction.
std::string multipliedType(plan::KernelOp kernel);

struct ExplainedKernel {
  std::string name;
  /// `why`: reason why the kernel's ops were fused. `schedule`: the kernel's schedule, as MLIR
  /// prints it. Empty if unknown.
  std::string why, schedule;
  /// `tuningKey`: key of the kernel in a tuning file. `candidates`: schedules that tuning can try,
  /// the cost model's choice first. Both are empty if there is only one schedule.
  std::string tuningKey = "";
  std::vector<std::string> candidates = {};
  /// `launches`: number of the kernel's launches in the program text. `launchesARun`: number of
  /// executed launches in a run, or nullopt if it is dynamic.
  int64_t launches = 0;
  std::optional<int64_t> launchesARun = std::nullopt;
  std::optional<Work> work = std::nullopt;
  /// Operand type of the contraction with the most work, or empty if the kernel has no contraction.
  std::string multiplies = "";
  /// Number of bytes of constants among the operands that one launch of the kernel reads. It is
  /// nullopt if the kernel's `work` is.
  std::optional<int64_t> constantBytes = std::nullopt;
  /// `launchNodes`: ONNX nodes that each launch in the program text computes. `nodes`: their union.
  std::vector<std::vector<std::string>> launchNodes = {};
  std::vector<std::string> nodes = {};
  /// ONNX names in the locations of the ops in the kernel's body, and in the locations of the ops
  /// that compute each output of the kernel.
  std::vector<std::string> bodyNames = {};
  std::vector<std::vector<std::string>> outputNames = {};
  /// Types of the kernel's inputs, constants and outputs, as MLIR prints them.
  std::vector<std::string> inputs = {}, constants = {}, outputs = {};
};

/// A node of the ONNX model, of one of its functions, or of a body of a control flow node.
struct ExplainedNode {
  /// Position of the node in the order of the import.
  unsigned number = 0;
  std::string op = "";
  /// Names of the node's inputs and outputs, without those that the node omits.
  std::vector<std::string> inputs = {}, outputs = {};
};

/// The program of the kernels stage as a graph. Steps refer to values by their index in `values`.
struct ExplainedGraph {
  struct Value {
    /// `type`: as MLIR prints it. `elementType`, `dims` and `layout` are parts of the type; dynamic
    /// dims are formulas, and the layout of a row-major tensor is empty. `constant`: key of the
    /// weight if the value is one.
    std::string type = "", elementType = "", layout = "", constant = "";
    std::vector<std::string> dims = {};
    bool isConstant = false;
  };
  struct Body;
  struct Step {
    /// `op`: name of the op. `kernel`: the launched kernel, or empty.
    std::string op = "", kernel = "";
    /// Position of the launch among the launches of its kernel in the program text.
    int64_t launch = 0;
    /// True if the step does no work at run time.
    bool isView = false;
    /// Names of the ONNX nodes that the step computes.
    std::vector<std::string> nodes = {};
    std::vector<unsigned> inputs = {}, outputs = {};
    /// Branches, or the body of a loop. The steps in them may use outer values.
    std::vector<Body> bodies = {};
  };
  struct Body {
    std::vector<unsigned> arguments = {}, results = {};
    std::vector<Step> steps = {};
  };
  std::vector<Value> values = {};
  Body program = {};
  /// Names of the program's inputs and outputs.
  std::vector<std::string> inputNames = {}, outputNames = {};
};

struct ExplainedArena {
  struct Size {
    /// The assumed value of each symbol. Empty if all dims are static.
    std::vector<std::pair<std::string, int64_t>> symbols;
    int64_t bytes = 0;
    /// The largest number of bytes of the arena's buffers that are live at the same time.
    int64_t live = 0;
  };
  struct Block {
    /// Lifetime of the buffer: positions in the program text of the first and the last op that use
    /// it.
    unsigned begin, end;
    int64_t offset, bytes;
    /// `kernel`: launch, runtime call or loop that produces the value in the buffer. `node`: ONNX
    /// node that the value is computed for. `values`: names of the node's outputs. The value in the
    /// buffer is one of these outputs or an intermediate value of the node.
    std::string kernel = "", node = "";
    std::vector<std::string> values = {};
    /// Type of the value in the buffer, as MLIR prints it.
    std::string type = "";
  };
  /// A row of the drawing: a launch, runtime call or loop, and the number of bytes that are live
  /// while it runs.
  struct Row {
    std::string name;
    unsigned position;
    int64_t live = 0;
  };
  /// `formula`: arena size as a formula of symbols. `levels`: subexpressions that the formula
  /// refers to as $0, $1, ...
  std::string formula = "";
  std::vector<std::string> levels = {};
  /// Arena sizes for sample values of the symbols. Empty if the arena has no buffers.
  std::vector<Size> sizes = {};
  /// The size for which the placement of buffers over time is drawn, followed by the buffers and
  /// the rows of the drawing.
  Size pictured = {};
  std::vector<Block> blocks = {};
  std::vector<Row> rows = {};
};

/// Times that a device's cost model estimates.
struct ExplainedTime {
  struct PersistentKernel {
    std::string first;
    int64_t launches, threads, registers, blocksAtOnce, keptBytes;
    double launchedMicroseconds, joinedMicroseconds;
  };
  std::vector<PersistentKernel> joints = {};
  double microseconds = 0, apartMicroseconds = 0;
  /// Value that the time estimate assumes for dynamic sizes, or nullopt if all sizes are static.
  std::optional<int64_t> assumedSize = std::nullopt;
};

/// Data about a variant: the program for one target and case.
struct ExplainedVariant {
  /// Title of the variant, such as "x86-64-v3, where n = 1". Empty if there is only one variant.
  std::string title;
  /// False if the compile starts from the text of a later stage, which contains functions instead
  /// of kernels.
  bool hasKernels = false;
  std::vector<ExplainedKernel> kernels = {};
  /// Nullopt if there are no kernels.
  std::optional<ExplainedGraph> graph = std::nullopt;
  int64_t launches = 0, relayouts = 0;
  std::vector<ExplainedArena> arenas = {};
  struct Copy {
    std::string to, type;
  };
  std::vector<Copy> copies = {};
  int64_t weightBytes = 0, weightConstants = 0;
  /// For the program of one rank: `meetings` is the number of its transfers in a run, `moved` the
  /// number of bytes that they transfer (graph::movedBytes), in terms of the program's symbols.
  std::optional<int64_t> meetings = std::nullopt;
  graph::DimExpr moved{0};
  std::optional<ExplainedTime> time = std::nullopt;
};

struct Explanation {
  std::string target;
  /// Identifiers of the targets, as in tuning files.
  std::vector<std::string> machines = {};
  /// The condition of each case of the model, and the reason if the case cannot be compiled. Empty
  /// if there is only one case.
  std::vector<std::pair<std::string, std::string>> cases = {};
  std::vector<ExplainedVariant> variants = {};
  /// `remarks`: text of the missed-optimization remarks, grouped by reason. `allRemarks`: all
  /// remarks as JSON.
  std::string remarks = "";
  llvm::json::Array allRemarks = {};
  std::vector<std::pair<std::string, double>> stageSeconds = {};
  /// The ONNX nodes by name.
  llvm::StringMap<ExplainedNode> nodes = {};

  std::string text() const;
  /// Returns the explanation as JSON (docs/reference/json.md).
  llvm::json::Object json() const;
};

/// Appends the names of the ONNX nodes in an MLIR location to `nodes`, except for names that the
/// list already contains.
void addNodes(mlir::Location location, std::vector<std::string> &nodes);
/// Collects the data about kernels from a module of the kernels stage.
void explainKernels(mlir::ModuleOp module, ExplainedVariant &variant);
/// Collects the program as a graph from a module of the kernels stage.
void explainGraph(mlir::ModuleOp module, ExplainedVariant &variant);
/// Removes from the steps of a graph the names that are not keys of `nodes`.
void keepNodes(ExplainedGraph &graph, const llvm::StringMap<ExplainedNode> &nodes);
/// Collect the data about the arena and about weights from a module of the plan stage.
void explainArena(mlir::ModuleOp module, const llvm::StringMap<ExplainedNode> &onnxNodes, ExplainedVariant &variant);
void explainWeights(mlir::ModuleOp module, ExplainedVariant &variant);
/// Collects the transfers from the plan-stage module of rank `rank`.
void explainTransfers(mlir::ModuleOp module, int64_t rank, ExplainedVariant &variant);
/// Collects estimated times from the module. Does nothing for targets whose cost model estimates
/// none.
void explainTime(mlir::ModuleOp module, ExplainedVariant &variant);

} // namespace hewn

#endif
