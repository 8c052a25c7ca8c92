// SPDX-License-Identifier: Apache-2.0
//
// Which ops of a program the ranks share, and how: what partitioning decides. It is the same on all ranks.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_SHARDING_H
#define HEWN_LIB_TRANSFORMS_PARTITION_SHARDING_H

#include "dialects/Graph/Analysis/Cuts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <variant>

namespace hewn::partition {

/// Whose remarks these are.
inline constexpr llvm::StringLiteral kPass = "hewn-partition";

/// A rank makes its part of the result.
struct Shared {
  graph::Cut result;
};
/// A rank makes a sum of which all ranks' sum is the result: operand `operand` is cut along a dim that is summed over. Of that a rank then
/// has all, or the part that `part` says.
struct Summed {
  unsigned operand;
  graph::Cut cut;
  std::optional<graph::Cut> part = std::nullopt;
};
using Sharding = std::variant<Shared, Summed>;

/// What a rank does of each op; of those that are not in it all, as the model without ranks.
using Shardings = llvm::DenseMap<mlir::Operation *, Sharding>;

/// On ops that do the same for several micro-batches: the same number, while ranks choose. All are shared as the first one is.
inline constexpr llvm::StringLiteral kTwinAttr = "twin";

/// The value's bytes, where dims that only a run knows are taken for middling ones.
double bytesOf(mlir::Value value);

/// How many elements the op computes with: all that it reads and makes, of a contraction all products too. Dims as above.
double workOf(mlir::Operation *op);

/// The ops of the block that compute and of constants alone, and constants; `andSizes`: of constants and sizes, which all ranks know.
llvm::DenseSet<mlir::Operation *> findConstantOps(mlir::Block &block, bool andSizes = false);

/// The bytes of the largest constant that the op reads, of those that findConstantOps has found.
double constantBytes(mlir::Operation *op, const llvm::DenseSet<mlir::Operation *> &constant);

/// How the op makes a rank's share.
graph::CutForm formOf(mlir::Operation *op, const Sharding &sharding, int64_t ranks);

/// Megatron's scheme (Shoeybi et al., 2019, "Megatron-LM") without its layers' names: an op with constants is cut along a dim of theirs;
/// what follows goes on with parts (GSPMD) up to a contraction that sums over the cut dim, whose constants are cut along it as
/// well, and one sum over the ranks makes the whole again. Of all the ways to begin, that is taken which moves the fewest bytes between ranks
/// for the constants that it divides. A constant that several read is divided once where they take the same part of it: what the others
/// would move for that is looked at with each one's choice.
/// Ops of `others` are no choice's: they want their operands whole, and make their results so.
Shardings chooseShardings(mlir::Block &block, int64_t ranks, const llvm::DenseSet<mlir::Operation *> &others);

/// What it takes to hand `bytes` from rank to rank once or twice, all ranks together, in the bytes by which ranks choose: `bytes` times the other
/// ranks, and for each rank what a message costs at least.
double handing(double bytes, int64_t ranks, double times = 1);

} // namespace hewn::partition

#endif
