// SPDX-License-Identifier: Apache-2.0
//
// Cuts: a tensor that lies in equal parts, along one of its dims.
//
// Along that dim the tensor is `blocks` blocks, each of which is divided evenly among the parts; part p is the p-th share of
// every block, one after another. One block is the plain case, a half or a quarter of the dim. Several are what a reshape or a
// split makes of one: the queries, keys and values that one product makes side by side ([3 * heads * 64] is cut by heads in 3 blocks).
//
// What is divided may be a symbol, such as the items n of a batch, and n a factor of the dim: dim = blocks * n * unit. A part then has
// blocks * ceil(n / count) * unit elements along it, what there is of n being filled up behind. [n * seq, 64] is cut by items in 1 block with
// a unit of seq; [seq * n, 64] in seq blocks with a unit of 1.
//
// An op makes one part of its result of parts of some operands, and of others as a whole, or it does not: that is its cut form. Ops of all
// kinds have one where the elements along a dim do not depend on each other (GSPMD's method: Xu et al., 2021, "GSPMD: General and
// Scalable Parallelization for ML Computation Graphs").
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_CUTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_CUTS_H

#include "dialects/Graph/Analysis/Shapes.h"

namespace hewn::graph {

struct Cut {
  int64_t dim = 0;
  DimExpr blocks = 1;
  bool operator==(const Cut &other) const { return dim == other.dim && blocks == other.blocks; }
};

/// How many equal parts there are. Where `count` is no number, it is the whole dim: parts of one element each. `items` other than 0: what is
/// divided, a factor of each block; parts have ceil(items / count) of them. Without it `count` divides the blocks.
struct Parts {
  DimExpr count;
  DimExpr items = 0;
  Parts(DimExpr count, DimExpr items = 0) : count(std::move(count)), items(std::move(items)) {}
};

/// How an op makes one part of its result.
struct CutForm {
  /// For each operand how it is cut; nullopt: it is needed whole.
  llvm::SmallVector<std::optional<Cut>> operands;
  /// The attributes of the op that makes a part.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

/// The form of an op of one result that is cut into `parts`, asked of its kind; nullopt where it has none, or where the result can't be cut so.
std::optional<CutForm> cutForm(mlir::Operation *op, const Cut &cut, const Parts &parts);

/// How an op makes sums that only together are its result; nullopt where it does not if `operand` is cut so. A contraction does along a dim that is
/// summed over; a lookup along the dim that it looks up in, in one block: what other parts have is 0 (`makeSummand` in
/// Collective/Collective.h).
std::optional<CutForm> sumForm(mlir::Operation *op, unsigned operand, const Cut &cut);

/// The cuts of an op's result that make it of operand `operand` cut so, along any dim; those in fewer blocks first.
llvm::SmallVector<Cut> cutsThrough(mlir::Operation *op, unsigned operand, const Cut &cut, int64_t parts);

/// How many elements along the cut dim a part has of `dim`; nullopt where it can't be cut so.
std::optional<DimExpr> sizeOfPart(const DimExpr &dim, const Cut &cut, const Parts &parts);
/// So many elements of a block one behind the other are in a part together wherever it begins: those of an item, or of a share.
std::optional<DimExpr> grainOf(const DimExpr &dim, const Cut &cut, const Parts &parts);
/// The dims of a part, of what can be cut so.
Dims dimsOfPart(Dims dims, const Cut &cut, const Parts &parts);
/// Whether a tensor of these dims can be cut so.
bool isCuttable(const Dims &dims, const Cut &cut, int64_t parts);

/// The attributes of the op without those of its results' dims.
llvm::SmallVector<mlir::NamedAttribute> ownAttributes(mlir::Operation *op);
/// The same with the cut dim of those that attribute `name` lists, of the result's last ones, as a part has it; where it is another one there
/// (1, which is repeated), it stays.
llvm::SmallVector<mlir::NamedAttribute> withPart(mlir::Operation *op, llvm::StringRef name, const Cut &cut,
                                                 const Parts &parts);

} // namespace hewn::graph

#endif
