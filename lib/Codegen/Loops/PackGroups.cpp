// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/PackGroups.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Loops/RegisterTranspose.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-lower-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

static constexpr int64_t kWordBits = 32;

/// Returns true if dim `innermost` is innermost in all operands that have the result's rank and
/// vary along `column` or `grouped`.
static bool areInnermostAlong(KernelContext &k, unsigned column, unsigned grouped, unsigned innermost) {
  return llvm::all_of(k.kernel.getBody().getArguments(), [&](Value input) {
    SmallVector<int64_t> order = graph::significantOrder(cast<RankedTensorType>(input.getType()));
    bool varies = graph::getRank(input) == graph::getRank(k.results[0]) &&
                  (llvm::is_contained(order, int64_t(column)) || llvm::is_contained(order, int64_t(grouped)));
    return !varies || order.back() == int64_t(innermost);
  });
}

std::optional<GroupPacking> planGroups(KernelContext &k, int64_t lanes) {
  constexpr int64_t mostOps = 128;
  const Buffer &output = k.outputs[0];
  std::optional<GroupPacking> packing;
  if (k.results.size() != 1 || output.groupDim < 0 || output.blockDim < 0)
    return packing;
  int64_t bits = storageType(output.elementType).getIntOrFloatBitWidth(), group = output.group;
  DimExpr depth = graph::getDims(k.results[0])[size_t(output.groupDim)];
  int64_t ops = llvm::range_size(k.kernel.getBody().front());
  for (bool alongGroups : {false, true}) {
    auto column = unsigned(output.blockDim), grouped = unsigned(output.groupDim);
    int64_t rows = alongGroups ? lanes : group;
    if (output.block % lanes == 0 && bits * group == kWordBits && lanes / group >= 2 && depth.mod(rows).is(0) &&
        rows * ops <= mostOps && areInnermostAlong(k, column, grouped, alongGroups ? grouped : column))
      packing = GroupPacking{column, grouped, group, alongGroups};
  }
  if (!packing)
    LDBG() << k.kernel.getName()
           << " is not packed in registers: its panels are not full vectors, the grouped dim is not a "
           << "multiple of words or vectors, another dim is innermost in its operands, or it has too many ops";
  return packing;
}

namespace {

class GroupPacker {
public:
  GroupPacker(KernelContext &k, OpBuilder &b, const GroupPacking &packing, int64_t lanes)
      : k(k), packing(packing), dims(graph::getDims(k.results[0])), at(dims.size()),
        e(b, k.loc(), lanes, k.symbols, k.inputs) {}

  void run() {
    Dims outer;
    SmallVector<int64_t> outerDims;
    for (int64_t d : memoryOrder(k.results[0]))
      if (unsigned(d) != packing.column && unsigned(d) != packing.grouped) {
        outerDims.push_back(d);
        outer.push_back(dims[d]);
      }
    outer.push_back(packing.alongGroups ? dims[packing.column].ceilDiv(e.lanes)
                                        : dims[packing.grouped].floorDiv(packing.group));
    constexpr int64_t stepsOfAnElement = 32;
    DimExpr work = vectorWork(graph::numElements(dims), e.lanes, stepsOfAnElement);
    overTasks(k, e, outer, work, [&](ArrayRef<Index> indices) {
      for (auto [d, index] : llvm::zip_first(outerDims, indices))
        at[d] = index;
      packing.alongGroups ? packAlongGroups(indices.back()) : packAlongColumns(indices.back());
    });
  }

private:
  /// Packs word number `word` along the grouped dim, for all columns.
  void packAlongColumns(Index word) {
    Index first = e.mul(word, e.constant(packing.group));
    vectorLoop(e, dims[packing.column], [&](Index columns) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < packing.group; ++i)
        rows.push_back(element(columns, e.add(first, e.constant(i))));
      store({columns.base}, first, columnsOf(e.b, e.loc, rows));
    });
  }

  /// Packs vector number `tile` of the columns: loads a vector along the grouped dim for each
  /// column, and transposes the words of these vectors.
  void packAlongGroups(Index tile) {
    Index begin = e.mul(tile, e.constant(e.lanes)), last = e.sub(e.expression(dims[packing.column]), e.constant(1));
    bool isWhole = dims[packing.column].mod(e.lanes).is(0);
    int64_t words = e.lanes / packing.group;
    e.forEach(e.constant(0), e.expression(dims[packing.grouped]), e.lanes, [&](Index depth) {
      SmallVector<Value> lines;
      // Past the last column, read the last column again: the stores include the panel's padding.
      for (int64_t i = 0; i < e.lanes; ++i) {
        Index column = e.add(begin, e.constant(i));
        Value line = element(isWhole ? column : e.min(column, last), {depth.base, 1});
        lines.push_back(vector::BitCastOp::create(e.b, e.loc, VectorType::get({words}, e.b.getI32Type()), line));
      }
      lines = columnsOf(e.b, e.loc, lines);
      for (int64_t word = 0; word < words; ++word)
        store(begin, e.add(depth, e.constant(word * packing.group)),
              ArrayRef(lines).slice(size_t(word * packing.group), size_t(packing.group)));
    });
  }

  /// Returns the result's elements at an index, as integers of the same width. One of `column` and
  /// `depth` is a vector index.
  Value element(Index column, Index depth) {
    at[packing.column] = column;
    at[packing.grouped] = depth;
    Type type = k.outputs[0].elementType;
    Value stored = e.toStorage(e.broadcast(e.read(k.results[0], at)), type);
    auto bits = IntegerType::get(e.b.getContext(), storageType(type).getIntOrFloatBitWidth());
    return vector::BitCastOp::create(e.b, e.loc, VectorType::get({e.lanes}, bits), stored);
  }

  /// Stores the vectors contiguously, starting at the element with these indices. The stores need
  /// no mask, since panels are padded to full vectors of columns.
  void store(Index column, Index depth, ArrayRef<Value> vectors) {
    const Buffer &output = k.outputs[0];
    at[packing.column] = column;
    at[packing.grouped] = depth;
    Index from = e.offset(output, at);
    auto type = VectorType::get({e.lanes}, storageType(output.elementType));
    for (auto [i, vector] : llvm::enumerate(vectors))
      vector::StoreOp::create(e.b, e.loc, vector::BitCastOp::create(e.b, e.loc, type, vector), output.memref,
                              e.add(from, e.constant(int64_t(i) * e.lanes)).base);
  }

  KernelContext &k;
  const GroupPacking &packing;
  Dims dims;
  SmallVector<Index> at;
  ElementEmitter e;
};

} // namespace

void emitGroups(KernelContext &k, OpBuilder &b, const GroupPacking &packing, int64_t lanes) {
  GroupPacker(k, b, packing, lanes).run();
}

} // namespace hewn::codegen
