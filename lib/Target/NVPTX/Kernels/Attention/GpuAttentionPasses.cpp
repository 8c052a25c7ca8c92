// SPDX-License-Identifier: Apache-2.0
//
// Fused attention with any row-wise ops between the GEMMs, in several passes over the columns: one
// pass for each reduction that depends on another's result, which recomputes the scores, and one
// pass for the second GEMM.
#include "lib/Codegen/StorageRounding.h"
#include "lib/Target/NVPTX/Kernels/Attention/GpuAttention.h"

using namespace mlir;
using hewn::graph::FusedAttention;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

class AttentionPasses : public GpuAttention {
public:
  using GpuAttention::GpuAttention;

private:
  /// Groups the reductions by level, so that a reduction depends on results of earlier levels only.
  SmallVector<SmallVector<ReduceOpInterface>> levels() {
    llvm::DenseMap<Operation *, unsigned> level;
    SmallVector<SmallVector<ReduceOpInterface>> lists;
    for (Operation *op : attention.middle) {
      unsigned own = 0;
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && level.contains(maker))
          own = std::max(own, level[maker] + (isa<ReduceOpInterface>(maker) ? 1 : 0));
      level[op] = own;
      if (auto reduce = dyn_cast<ReduceOpInterface>(op)) {
        lists.resize(std::max<size_t>(lists.size(), own + 1));
        lists[own].push_back(reduce);
      }
    }
    return lists;
  }

  /// Each finished reduction's result tensor, and its values for the lane's rows.
  SmallVector<std::pair<Value, SmallVector<Value>>> known;

  Value readRow(Value tensor, size_t i, Value score, Index column) {
    for (auto &[value, ofRows] : known)
      e.bind(value, ofRows[rowOf(i)]);
    Value element = readAt(tensor, score, placeOf(i, column));
    for (auto &[value, ofRows] : known)
      e.unbind(value);
    return element;
  }

  SmallVector<Value> sumsOfRows() override {
    known.clear();
    for (const SmallVector<ReduceOpInterface> &reductions : levels())
      reducePass(reductions);
    SmallVector<Value> start(numSums(), number(0));
    return overTiles(start, /*adds=*/true, [&](ValueRange carried, ArrayRef<Value> made, Index from) {
      SmallVector<Value> weights;
      for (auto [i, score] : llvm::enumerate(made)) {
        Index column = columnOf(i, from);
        Value weight = readRow(attention.weights, i, score, column), has = hasColumn(i, from);
        weights.push_back(has ? e.selectElement(has, weight, number(0)) : weight);
      }
      return addValues(SmallVector<Value>(carried), weights);
    });
  }

  void reducePass(ArrayRef<ReduceOpInterface> reductions) {
    SmallVector<Value> start;
    SmallVector<size_t> sizes;
    for (ReduceOpInterface reduce : reductions) {
      SmallVector<Value> identity = reduce.identity(b, loc(), 0);
      sizes.push_back(identity.size());
      for (int64_t r = 0; r < 2; ++r)
        llvm::append_range(start, identity);
    }
    SmallVector<Value> states =
        overTiles(start, /*adds=*/false, [&](ValueRange carried, ArrayRef<Value> made, Index from) {
          SmallVector<Value> now(carried);
          for (auto [i, score] : llvm::enumerate(made)) {
            Index column = columnOf(i, from);
            Value has = hasColumn(i, from);
            size_t offset = 0;
            for (auto [reduction, size] : llvm::zip(reductions, sizes)) {
              ReduceOpInterface reduce = reduction;
              Value element = readRow(reduce->getOperand(0), i, score, column);
              if (reduce.usesPosition())
                element = roundToStorageType(b, loc(), reduce->getOperand(0), element);
              Value position = reduce.usesPosition() ? e.toElement(column, b.getI64Type()) : Value();
              auto own = MutableArrayRef(now).slice(offset + rowOf(i) * size, size);
              SmallVector<Value> lifted = reduce.lift(b, loc(), element, position);
              SmallVector<Value> merged = reduce.merge(b, loc(), SmallVector<Value>(own), lifted);
              for (auto [state, next] : llvm::zip(own, merged))
                state = has ? Value(arith::SelectOp::create(b, loc(), has, next, state)) : next;
              offset += 2 * size;
            }
          }
          return now;
        });
    Value count = e.toElement(e.expression(space.back()), b.getI64Type());
    ArrayRef<Value> rest = states;
    for (auto [reduction, size] : llvm::zip(reductions, sizes)) {
      ReduceOpInterface reduce = reduction;
      SmallVector<Value> ofRows;
      for (int64_t r = 0; r < 2; ++r) {
        ofRows.push_back(reduce.finish(b, loc(), meet(reduce, SmallVector<Value>(rest.take_front(size))), count));
        rest = rest.drop_front(size);
      }
      known.push_back({reduce->getResult(0), ofRows});
    }
  }
};

} // namespace

void emitAttentionPasses(KernelContext &k, OpBuilder &b, const FusedAttention &attention,
                         plan::GpuAttentionAttr schedule) {
  AttentionPasses(k, b, attention, schedule, std::nullopt).run();
}

} // namespace hewn::codegen
