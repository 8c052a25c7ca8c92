// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Arena/PlannedArena.h"
#include "lib/Transforms/Plan/Arena/Offsets.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

static std::optional<DimExpr> offsetOf(Attribute attr) {
  auto place = dyn_cast_or_null<BufferAttr>(attr);
  return place && place.getKind() == BufferKind::Arena ? place.getOffset() : std::nullopt;
}

PlannedArena::PlannedArena(FunctionOpInterface program) {
  Liveness liveness(program);
  for (auto &[value, life] : liveness.lifetimes()) {
    auto result = cast<OpResult>(value);
    auto places = result.getOwner()->getAttrOfType<ArrayAttr>(kBuffersAttr);
    if (places && result.getResultNumber() < places.size())
      if (std::optional<DimExpr> offset = offsetOf(places[result.getResultNumber()]))
        list.push_back({value, life, *offset, bufferBytes(value)});
  }
  llvm::DenseMap<Value, size_t> index;
  for (auto [i, buffer] : llvm::enumerate(list))
    index[buffer.value] = i;
  for (const Buffer &buffer : list)
    for (Value taken : overwritableBuffers(buffer.value.getDefiningOp()))
      if (auto found = index.find(taken); found != index.end())
        if (Buffer &before = list[found->second];
            before.offset == buffer.offset && before.life.end == buffer.life.begin) {
          --before.life.end;
          break;
        }
  program->walk([&](Operation *op) {
    auto staging = op->getAttrOfType<ArrayAttr>(kStagingAttr);
    for (auto [i, attr] : llvm::enumerate(staging ? staging.getValue() : ArrayRef<Attribute>()))
      if (std::optional<DimExpr> offset = offsetOf(attr); offset && i < op->getNumResults())
        list.push_back({op->getResult(i), liveness.handOver(op), *offset, bufferBytes(op->getResult(i))});
  });
  if (auto attr = program->getAttrOfType<ArrayAttr>(kArenaLevelsAttr))
    for (auto [i, level] : llvm::enumerate(attr))
      levels.push_back({levelName(i), DimExpr::fromAttr(level).value_or(DimExpr(0))});
  bytes = DimExpr::fromAttr(program->getAttr(kArenaBytesAttr)).value_or(DimExpr(0));
}

PlannedArena::Sized PlannedArena::at(const Sample &sample) const {
  Sample values = sample;
  for (auto &[name, level] : levels)
    values[name] = evaluate(level, values);
  Sized sized;
  for (const Buffer &buffer : list) {
    int64_t size = std::max<int64_t>(0, evaluate(aligned(buffer.bytes), values));
    sized.blocks.push_back({size, buffer.life, evaluate(buffer.offset, values)});
  }
  sized.bytes = evaluate(bytes, values);
  sized.live = liveAtOnce(sized.blocks);
  return sized;
}

bool PlannedArena::fits(const Sample &sample) const {
  Sample values = sample;
  double largest = 0;
  for (auto &[name, level] : levels) {
    largest = std::max(largest, boundOf(level, values));
    values[name] = evaluate(level, values);
  }
  for (const Buffer &buffer : list)
    largest = std::max(largest, boundOf(buffer.offset, values) + boundOf(buffer.bytes, values));
  return std::max(largest, boundOf(bytes, values)) <= 0x1p62;
}

} // namespace hewn::plan
