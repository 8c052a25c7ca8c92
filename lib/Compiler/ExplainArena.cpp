// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says of the arena: its size beside what is live, and a picture of what lies where when.
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Compilation.h"
#include "lib/Transforms/Plan/Arena/Offsets.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace hewn {

namespace {

constexpr size_t kMaxRows = 40, kColumns = 64, kLongestFormula = 400;
/// The size of each symbol in the picture of an arena that has some.
constexpr int64_t kPicturedSize = 128;

/// One launch, part or loop, and what lies in the arena while it runs.
struct Row {
  std::string name;
  unsigned position;
  int64_t live = 0;
};

std::string rowName(Operation *op) {
  if (auto launch = dyn_cast<plan::LaunchOp>(op))
    return launch.getKernel().str();
  return op->getName().stripDialect().str();
}

struct Picture {
  std::vector<Row> rows;
  /// Whether a row stands for several ops, the fullest of which it shows.
  bool merged = false;
};

/// A row for each op that has a buffer in the arena; of many, one for several neighbours.
Picture pictureOf(const plan::PlannedArena &arena, const plan::PlannedArena::Sized &sized) {
  std::vector<Row> all;
  llvm::DenseSet<unsigned> seen;
  for (const plan::PlannedArena::Buffer &buffer : arena.buffers())
    if (seen.insert(buffer.life.begin).second)
      all.push_back({rowName(buffer.value.getDefiningOp()), buffer.life.begin});
  llvm::sort(all, [](const Row &a, const Row &b) { return a.position < b.position; });
  for (Row &row : all)
    for (const plan::ArenaBlock &block : sized.blocks)
      if (block.life.begin <= row.position && row.position <= block.life.end)
        row.live += block.size;
  size_t each = (all.size() + kMaxRows - 1) / kMaxRows;
  Picture picture;
  picture.merged = each > 1;
  for (size_t first = 0; first < all.size(); first += each) {
    auto group = llvm::MutableArrayRef(all).slice(first, std::min(each, all.size() - first));
    picture.rows.push_back(*llvm::max_element(group, [](const Row &a, const Row &b) { return a.live < b.live; }));
  }
  return picture;
}

void draw(llvm::raw_ostream &os, const plan::PlannedArena &arena, const plan::PlannedArena::Sized &sized) {
  Picture picture = pictureOf(arena, sized);
  size_t width = 0;
  for (const Row &row : picture.rows)
    width = std::max(width, row.name.size());
  double cell = double(sized.bytes) / double(kColumns);
  os << "  from left to right: offsets, " << llvm::format("%.0f", cell)
     << " bytes a character; a letter: a buffer, '.': free; down: time";
  if (picture.merged)
    os << ", of neighbouring kernels the fullest";
  os << "\n";
  for (const Row &row : picture.rows) {
    std::string line(kColumns, '.');
    for (auto [i, block] : llvm::enumerate(sized.blocks)) {
      if (row.position < block.life.begin || block.life.end < row.position)
        continue;
      static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
      for (size_t c = 0; c < kColumns; ++c) {
        double middle = (double(c) + 0.5) * cell;
        if (double(block.offset) <= middle && middle < double(block.offset + block.size))
          line[c] = letters[i % 26];
      }
    }
    os << "  " << row.name << std::string(width - row.name.size(), ' ') << " |" << line << "| " << row.live << "\n";
  }
}

void printSize(llvm::raw_ostream &os, const plan::PlannedArena::Sized &sized) {
  os << sized.bytes << " bytes, at most " << sized.live << " alive at once, ratio "
     << llvm::format("%.3f", double(sized.bytes) / double(std::max<int64_t>(sized.live, 1))) << "\n";
}

/// The closed form, where it can be read: $0, $1, ... are what it says behind it.
void printFormula(llvm::raw_ostream &os, func::FuncOp program) {
  std::string text;
  auto put = [&](Attribute attr) {
    if (std::optional<graph::DimExpr> expr = graph::DimExpr::fromAttr(attr))
      text += expr->str();
  };
  put(program->getAttr(plan::kArenaBytesAttr));
  text += " bytes";
  auto levels = program->getAttrOfType<ArrayAttr>(plan::kArenaLevelsAttr);
  for (auto [i, level] : llvm::enumerate(levels ? levels.getValue() : ArrayRef<Attribute>())) {
    text += (i ? ", $" : ", where $") + std::to_string(i) + " is ";
    put(level);
  }
  if (text.size() <= kLongestFormula)
    os << text << "\n";
  else
    os << "a closed form of " << (levels ? levels.size() : 0) << " levels, which --emit=plan shows\n";
}

void describe(llvm::raw_ostream &os, func::FuncOp program) {
  plan::PlannedArena arena(program);
  os << "arena: ";
  std::vector<plan::Sample> samples = plan::samplesOf(program);
  if (arena.buffers().empty()) {
    os << "0 bytes\n";
    return;
  }
  if (samples.front().empty()) {
    printSize(os, arena.at({}));
    draw(os, arena, arena.at({}));
    return;
  }
  printFormula(os, program);
  plan::Sample pictured = samples.front();
  for (const plan::Sample &sample : samples) {
    bool alike = llvm::all_of(sample, [&](auto &entry) { return entry.second == sample.front().second; });
    if (!alike && samples.size() > 1)
      continue;
    os << "  where each of ";
    llvm::interleaveComma(sample, os, [&](auto &entry) { os << entry.first; });
    os << " is " << sample.front().second << ": ";
    printSize(os, arena.at(sample));
    if (sample.front().second <= kPicturedSize)
      pictured = sample;
  }
  os << "  where each is " << pictured.front().second << ":\n";
  draw(os, arena, arena.at(pictured));
}

} // namespace

std::string describeArena(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.walk([&](func::FuncOp function) {
    if (function->hasAttr(plan::kArenaBytesAttr))
      describe(os, function);
  });
  return text;
}

} // namespace hewn
