// SPDX-License-Identifier: Apache-2.0
//
// Applies layouts to constants when compiling.
//
//     %w1 = graph.relayout %w : ... -> tensor<64x3x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>>
//     →   %w1 = graph.constant {value = #graph.weight<"w.packed", 0 : 6912>} : tensor<...>
//
// Views of constants become constants of another type over the same bytes first, so a transposed weight is packed in
// one go. Left alone: weights that the table does not have (text that was read back), 4-bit elements.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Graph/GraphOps.h"
#include "lib/Support/WeightTable.h"
#include "lib/Transforms/Layout/Passes.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_PACKCONSTANTSPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

struct Memory {
  SmallVector<int64_t> strides;
  int64_t blockDim = -1, block = 1, groupDim = -1, group = 1, elements;

  explicit Memory(RankedTensorType type) : strides(type.getRank(), 0), elements(graph::storedTogether(type)) {
    if (auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding()); layout && layout.getBlockDim() >= 0) {
      blockDim = layout.getBlockDim();
      block = layout.getBlock();
      groupDim = layout.getGroupDim();
      group = layout.getGroup();
    }
    graph::Dims dims = llvm::map_to_vector<4>(type.getShape(), [](int64_t d) { return graph::DimExpr(d); });
    graph::Dims extents = graph::storedExtents(type, dims);
    SmallVector<int64_t> order = graph::memoryOrder(type);
    for (int64_t d : llvm::reverse(order)) {
      strides[d] = elements;
      elements *= *extents[d].constant();
    }
  }
  int64_t along(unsigned d, int64_t index) const {
    if (int64_t(d) == blockDim)
      return index / block * strides[d] + index % block * group;
    return int64_t(d) == groupDim ? index / group * strides[d] + index % group : index * strides[d];
  }
};

/// Copies every element of `from` to its place in `to`; the dim that is innermost in `to` is the inner loop.
template <typename T>
void permute(const T *from, T *to, RankedTensorType type, const Memory &source, const Memory &target) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rank = shape.size(), inner = rank - 1;
  for (int64_t d = 0; d < rank; ++d)
    if (d == target.blockDim || (target.blockDim < 0 && target.strides[d] == 1 && shape[d] > 1))
      inner = d;
  SmallVector<int64_t> at(rank, 0);
  std::vector<int64_t> sourceInner(shape[inner]), targetInner(shape[inner]);
  for (int64_t i = 0; i < shape[inner]; ++i) {
    sourceInner[i] = source.along(inner, i);
    targetInner[i] = target.along(inner, i);
  }
  while (true) {
    int64_t s = 0, t = 0;
    for (int64_t d = 0; d < rank; ++d)
      if (d != inner) {
        s += source.along(d, at[d]);
        t += target.along(d, at[d]);
      }
    for (int64_t i = 0; i < shape[inner]; ++i)
      to[t + targetInner[i]] = from[s + sourceInner[i]];
    int64_t d = rank - 1;
    for (; d >= 0; --d) {
      if (d == inner)
        continue;
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// The windows of float32 weights as the layout of `to` has them, row-major in all else; `shape` becomes what is there then.
/// In double precision: the transformed weights are rounded once.
std::vector<float> transformWindows(const float *from, const Memory &source, RankedTensorType to,
                                    SmallVector<int64_t> &shape) {
  auto layout = cast<graph::LayoutAttr>(to.getEncoding());
  const graph::Winograd &f = *graph::winograd(layout.getTile());
  constexpr int64_t window = graph::Winograd::window;
  int64_t h = layout.getWindows()[0], w = layout.getWindows()[1], rank = to.getRank();
  shape.assign(to.getShape().begin(), to.getShape().end());
  shape[h] = shape[w] = f.size;
  SmallVector<int64_t> strides(rank, 1), at(rank, 0);
  for (int64_t d = rank - 1; d-- > 0;)
    strides[d] = strides[d + 1] * shape[d + 1];
  std::vector<float> out(strides[0] * shape[0]);
  while (true) {
    int64_t s = 0, t = 0;
    for (int64_t d = 0; d < rank; ++d)
      if (d != h && d != w) {
        s += source.along(d, at[d]);
        t += strides[d] * at[d];
      }
    for (int64_t i = 0; i < f.size; ++i)
      for (int64_t j = 0; j < f.size; ++j) {
        double sum = 0;
        for (int64_t y = 0; y < window; ++y)
          for (int64_t x = 0; x < window; ++x)
            sum +=
                f.filter[i * window + y] * f.filter[j * window + x] * from[s + source.along(h, y) + source.along(w, x)];
        out[t + i * strides[h] + j * strides[w]] = float(sum);
      }
    int64_t d = rank - 1;
    for (; d >= 0; --d) {
      if (d == h || d == w)
        continue;
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
    if (d < 0)
      return out;
  }
}

struct PackConstantsPass : impl::PackConstantsPassBase<PackConstantsPass> {
  PackConstantsPass() = default;
  explicit PackConstantsPass(WeightTable *weights) : weights(weights) {}
  WeightTable *weights = nullptr;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (op->getNumOperands() == 1 && op->getOperand(0).getDefiningOp<graph::ConstantOp>())
        ops.push_back(op);
    });
    llvm::MapVector<std::pair<Value, Type>, Value> done;
    for (Operation *op : ops) {
      if (!isa<graph::RelayoutOp>(op))
        continue;
      Value &packed = done[{op->getOperand(0), op->getResult(0).getType()}];
      if (!packed)
        packed = pack(op);
      if (!packed)
        continue;
      op->getResult(0).replaceAllUsesWith(packed);
      op->erase();
    }
  }

  /// The constant that `op`, a change of layout of a constant, gives; null where its bytes are not at hand.
  Value pack(Operation *op) {
    auto constant = op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    auto from = cast<RankedTensorType>(constant.getResult().getType()),
         to = cast<RankedTensorType>(op->getResult(0).getType());
    OpBuilder b(constant);
    b.setInsertionPointAfter(constant);
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()); splat && !hasBlock(to))
      return graph::ConstantOp::create(b, constant.getLoc(), to, splat);
    unsigned bits = from.getElementTypeBitWidth();
    int64_t size = bits == 1 ? 1 : bits / 8;
    if (!weights || size == 0 || from.getNumElements() == 0)
      return {};
    Memory source(from), target(to);
    auto packed = [&](StringRef key) {
      auto weight = graph::WeightAttr::get(op->getContext(), key, 0, target.elements * size);
      return graph::ConstantOp::create(b, constant.getLoc(), to, weight);
    };
    std::vector<char> dense;
    ArrayRef<char> bytes;
    std::string key = "constant", description;
    if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue())) {
      llvm::raw_string_ostream(description) << weight << " as " << from << " to " << to;
      if (StringRef known = weights->derived(description); !known.empty())
        return packed(known);
      bytes = weights->bytes(weight);
      key = weight.getKey().str();
    } else if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue())) {
      if (bits == 1)
        return {};
      if (elements.isSplat())
        for (int64_t i = 0; i < from.getNumElements(); ++i)
          dense.insert(dense.end(), elements.getRawData().begin(), elements.getRawData().end());
      else
        dense.assign(elements.getRawData().begin(), elements.getRawData().end());
      bytes = dense;
    }
    if (int64_t(bytes.size()) < source.elements * size)
      return {};
    std::vector<char> out(target.elements * size, 0);
    std::vector<float> transformed;
    if (graph::winogradTile(to) && from.getElementType().isF32()) {
      SmallVector<int64_t> shape;
      transformed = transformWindows(reinterpret_cast<const float *>(bytes.data()), source, to, shape);
      WeightTable::letGo(bytes);
      bytes = {reinterpret_cast<const char *>(transformed.data()), transformed.size() * sizeof(float)};
      from = RankedTensorType::get(shape, from.getElementType());
      source = Memory(from);
    }
    switch (size) {
    case 1:
      permute<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), reinterpret_cast<uint8_t *>(out.data()), from,
                       source, target);
      break;
    case 2:
      permute<uint16_t>(reinterpret_cast<const uint16_t *>(bytes.data()), reinterpret_cast<uint16_t *>(out.data()),
                        from, source, target);
      break;
    case 4:
      permute<uint32_t>(reinterpret_cast<const uint32_t *>(bytes.data()), reinterpret_cast<uint32_t *>(out.data()),
                        from, source, target);
      break;
    default:
      permute<uint64_t>(reinterpret_cast<const uint64_t *>(bytes.data()), reinterpret_cast<uint64_t *>(out.data()),
                        from, source, target);
    }
    WeightTable::letGo(bytes);
    std::string name = weights->add(key + ".packed", std::move(out));
    if (!description.empty())
      weights->derived(description) = name;
    return packed(name);
  }

  static bool hasBlock(RankedTensorType type) {
    auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
    return layout && layout.getBlockDim() >= 0;
  }
};

} // namespace

std::unique_ptr<Pass> createPackConstantsPass(WeightTable *weights) {
  return std::make_unique<PackConstantsPass>(weights);
}

} // namespace hewn
