// SPDX-License-Identifier: Apache-2.0
//
// Chooses which ops of a program the ranks shard, and how. The choice is the same on all ranks.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_SHARDING_H
#define HEWN_LIB_TRANSFORMS_PARTITION_SHARDING_H

#include "dialects/Graph/Analysis/Sharding.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <variant>

namespace hewn::partition {

/// The pass name under which sharding decisions emit remarks.
inline constexpr llvm::StringLiteral kPass = "hewn-partition";

/// A sharding in which each rank computes its shard of the result.
struct Shared {
  graph::DimSharding result;
};
/// A sharding in which each rank computes a partial sum of the result: operand `operand` is sharded
/// along a reduction dim. After the sum over ranks, a rank has the full result, or only the shard
/// `part` of it.
struct Summed {
  unsigned operand;
  graph::DimSharding cut;
  std::optional<graph::DimSharding> part = std::nullopt;
};
using Sharding = std::variant<Shared, Summed>;

/// The chosen sharding of each op. Ops without an entry are computed in full on each rank.
using Shardings = llvm::DenseMap<mlir::Operation *, Sharding>;

/// Attribute that numbers ops during partitioning. Ops that are copies of one op for several
/// micro-batches have equal numbers. All of them are sharded like the first one.
inline constexpr llvm::StringLiteral kTwinAttr = "twin";

/// Returns the bytes of the value, with an assumed size for dynamic dims.
double bytesOf(mlir::Value value);

/// Returns the number of element operations of the op: elements read and written, plus the
/// multiply-adds of a contraction. Dynamic dims have an assumed size.
double workOf(mlir::Operation *op);

/// Returns the constants of the block, and the ops that compute on constants only. With `andSizes`,
/// also returns ops on sizes, which all ranks know.
llvm::DenseSet<mlir::Operation *> findConstantOps(mlir::Block &block, bool andSizes = false);

/// Returns the bytes of the op's largest operand whose producer is in `constant`, the result of
/// findConstantOps().
double constantBytes(mlir::Operation *op, const llvm::DenseSet<mlir::Operation *> &constant);

/// Returns the sharding rule by which the op computes a rank's shard: which parts of its operands
/// it reads.
graph::ShardingRule formOf(mlir::Operation *op, const Sharding &sharding, int64_t ranks);

/// Chooses shardings for tensor parallelism (Shoeybi et al., 2019, "Megatron-LM"), without
/// knowledge of layer types. A trial starts at an op with constants, which it shards along a dim.
/// The sharding propagates to users (GSPMD), up to a contraction that reduces over the sharded dim.
/// The constants of that contraction are sharded along the same dim, and one sum over the ranks
/// restores the full value. Among all trials, the one with the fewest transferred bytes per sharded
/// constant byte is taken. A constant that several ops read is sharded once if they use the same
/// shard; each trial includes the cost for these other ops. Ops of `others` are not sharded: they
/// need full operands and produce full results.
Shardings chooseShardings(mlir::Block &block, int64_t ranks, const llvm::DenseSet<mlir::Operation *> &others);

/// Returns the cost of `times` transfers of `bytes` between ranks, over all ranks, in equivalent
/// bytes: `bytes` times the number of other ranks, plus the minimum cost of a message per rank.
double handing(double bytes, int64_t ranks, double times = 1);

} // namespace hewn::partition

#endif
