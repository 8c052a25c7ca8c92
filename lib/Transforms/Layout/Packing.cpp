// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Layout/Packing.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Support/HalfFloats.h"

using namespace mlir;

namespace hewn {

namespace {

int64_t elementBytes(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 1 ? 1 : bits / 8;
}

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
  std::vector<int64_t> offsetsAlong(unsigned d, int64_t extent) const {
    std::vector<int64_t> offsets(extent);
    for (int64_t i = 0; i < extent; ++i)
      offsets[i] = along(d, i);
    return offsets;
  }
};

/// Calls `body` with the offsets in the source and in the destination, for every index of the dims
/// that are not in `skipped`.
void forEachOtherIndex(ArrayRef<int64_t> shape, ArrayRef<int64_t> skipped, const Memory &source, const Memory &target,
                       llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t rank = shape.size();
  SmallVector<int64_t> at(rank, 0);
  while (true) {
    int64_t s = 0, t = 0;
    for (int64_t d = 0; d < rank; ++d) {
      s += source.along(d, at[d]);
      t += target.along(d, at[d]);
    }
    body(s, t);
    int64_t d = rank - 1;
    for (; d >= 0; --d) {
      if (llvm::is_contained(skipped, d))
        continue;
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// Returns the dim that is contiguous in the layout `memory`, among the dims whose size is not 1.
int64_t innermost(ArrayRef<int64_t> shape, const Memory &memory) {
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d == memory.blockDim || (memory.blockDim < 0 && memory.strides[d] == 1 && shape[d] > 1))
      return d;
  return int64_t(shape.size()) - 1;
}

/// Copies every element of a tensor to its offset in the layout `to`. Copies square tiles, so that
/// entire cache lines are read and written.
template <typename T>
void permute(const T *from, T *to, ArrayRef<int64_t> shape, const Memory &source, const Memory &target) {
  if (shape.empty()) {
    *to = *from;
    return;
  }
  int64_t inner = innermost(shape, target), other = innermost(shape, source);
  std::vector<int64_t> sourceInner = source.offsetsAlong(inner, shape[inner]),
                       targetInner = target.offsetsAlong(inner, shape[inner]), sourceOther{0}, targetOther{0};
  SmallVector<int64_t> skipped = {inner};
  if (other != inner) {
    sourceOther = source.offsetsAlong(other, shape[other]);
    targetOther = target.offsetsAlong(other, shape[other]);
    skipped.push_back(other);
  }
  constexpr size_t tile = 16;
  forEachOtherIndex(shape, skipped, source, target, [&](int64_t s, int64_t t) {
    for (size_t first = 0; first < sourceOther.size(); first += tile) {
      size_t last = std::min(first + tile, sourceOther.size());
      for (size_t i = 0; i < sourceInner.size(); ++i)
        for (size_t j = first; j < last; ++j)
          to[t + targetInner[i] + targetOther[j]] = from[s + sourceInner[i] + sourceOther[j]];
    }
  });
}

double toDouble(float x) { return x; }
void fromDouble(double x, float &to) { to = float(x); }

// Returns the value of a float16.
double toDouble(uint16_t bits) { return doubleOfHalf(bits); }
void fromDouble(double x, uint16_t &to) { to = halfOfDouble(x); }

/// Computes the Winograd transform G g G^T of every 3x3 filter, in double precision, so that
/// weights are rounded once.
template <typename T>
void transformWindows(const T *from, T *to, RankedTensorType type, const Memory &source, const Memory &target) {
  auto layout = cast<graph::LayoutAttr>(type.getEncoding());
  const graph::Winograd &f = *graph::winograd(layout.getTile());
  constexpr int64_t window = graph::Winograd::window, most = 6;
  int64_t h = layout.getWindows()[0], w = layout.getWindows()[1], inner = target.blockDim, size = f.size;
  ArrayRef<int64_t> shape = type.getShape();
  std::vector<int64_t> sourceInner = source.offsetsAlong(inner, shape[inner]),
                       targetInner = target.offsetsAlong(inner, shape[inner]);
  int64_t read[window * window], write[most * most];
  for (int64_t i = 0; i < window * window; ++i)
    read[i] = source.along(h, i / window) + source.along(w, i % window);
  for (int64_t i = 0; i < size * size; ++i)
    write[i] = target.along(h, i / size) + target.along(w, i % size);
  forEachOtherIndex(shape, {h, w, inner}, source, target, [&](int64_t s, int64_t t) {
    for (int64_t k = 0; k < shape[inner]; ++k) {
      double g[window * window], half[most][window];
      for (int64_t i = 0; i < window * window; ++i)
        g[i] = toDouble(from[s + sourceInner[k] + read[i]]);
      for (int64_t i = 0; i < size; ++i)
        for (int64_t x = 0; x < window; ++x) {
          half[i][x] = 0;
          for (int64_t y = 0; y < window; ++y)
            half[i][x] += f.filter[i * window + y] * g[y * window + x];
        }
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < size; ++j) {
          double sum = 0;
          for (int64_t x = 0; x < window; ++x)
            sum += half[i][x] * f.filter[j * window + x];
          fromDouble(sum, to[t + targetInner[k] + write[i * size + j]]);
        }
    }
  });
}

template <typename T>
void permuteBytes(ArrayRef<char> bytes, std::vector<char> &out, ArrayRef<int64_t> shape, const Memory &source,
                  const Memory &target) {
  permute(reinterpret_cast<const T *>(bytes.data()), reinterpret_cast<T *>(out.data()), shape, source, target);
}

} // namespace

bool canPack(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

int64_t packedBytes(RankedTensorType type) { return Memory(type).elements * elementBytes(type.getElementType()); }

bool isSameMemory(RankedTensorType from, RankedTensorType to) {
  Memory source(from), target(to);
  auto hasSameOffsets = [&](unsigned d) {
    return llvm::all_of(llvm::seq<int64_t>(0, from.getDimSize(d)),
                        [&](int64_t i) { return source.along(d, i) == target.along(d, i); });
  };
  return graph::winogradTile(from) == graph::winogradTile(to) && source.elements == from.getNumElements() &&
         target.elements == source.elements && llvm::all_of(llvm::seq<unsigned>(0, from.getRank()), hasSameOffsets);
}

std::vector<char> packElements(ArrayRef<char> bytes, RankedTensorType from, RankedTensorType to) {
  Memory source(from), target(to);
  std::vector<char> out(packedBytes(to), 0);
  if (graph::winogradTile(to) != 0 && graph::winogradTile(from) == 0) {
    auto transform = [&]<typename T>(T *result) {
      transformWindows(reinterpret_cast<const T *>(bytes.data()), result, to, source, target);
    };
    if (from.getElementType().isF16())
      transform(reinterpret_cast<uint16_t *>(out.data()));
    else
      transform(reinterpret_cast<float *>(out.data()));
    return out;
  }
  switch (elementBytes(from.getElementType())) {
  case 1:
    permuteBytes<uint8_t>(bytes, out, from.getShape(), source, target);
    break;
  case 2:
    permuteBytes<uint16_t>(bytes, out, from.getShape(), source, target);
    break;
  case 4:
    permuteBytes<uint32_t>(bytes, out, from.getShape(), source, target);
    break;
  default:
    permuteBytes<uint64_t>(bytes, out, from.getShape(), source, target);
  }
  return out;
}

} // namespace hewn
