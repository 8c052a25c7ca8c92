// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says, for readers.
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Support/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::raw_ostream;
using llvm::StringRef;

namespace hewn {

namespace {

constexpr size_t kMaxRows = 40, kColumns = 64, kLongestFormula = 400;

/// "1 constant", "2 constants".
std::string counted(int64_t count, StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

/// The first ones, and how many more there are.
std::string nodesText(const std::vector<std::string> &nodes) {
  constexpr size_t told = 6;
  std::vector<std::string> names;
  for (const std::string &node : llvm::ArrayRef(nodes).take_front(told))
    names.push_back(printable(node));
  std::string text = llvm::join(names, ", ");
  return nodes.size() > told ? text + " and " + std::to_string(nodes.size() - told) + " more" : text;
}

void print(raw_ostream &os, const ExplainedKernel &kernel) {
  os << "  " << kernel.name << " x" << kernel.launches;
  if (!kernel.why.empty())
    os << "  because: " << kernel.why;
  os << "\n";
  if (!kernel.nodes.empty())
    os << "    nodes: " << nodesText(kernel.nodes) << "\n";
  if (!kernel.schedule.empty())
    os << "    schedule: " << kernel.schedule << "\n";
  if (kernel.work) {
    os << "    a launch: " << kernel.work->flop.str() << " flop in contractions, " << kernel.work->bytes.str()
       << " bytes";
    if (kernel.launchesARun)
      os << "; " << *kernel.launchesARun << (*kernel.launchesARun == 1 ? " launch" : " launches") << " a run";
    os << "\n";
  }
  auto tell = [&](StringRef what, llvm::ArrayRef<std::string> types) {
    if (!types.empty())
      os << "    " << what << " " << llvm::join(types, ", ") << "\n";
  };
  tell("takes", kernel.inputs);
  tell("with constants", kernel.constants);
  tell("makes", kernel.outputs);
}

void printKernels(raw_ostream &os, const ExplainedVariant &variant) {
  os << "kernels: " << variant.kernels.size() << ", launched " << counted(variant.launches, "time")
     << " in the program's text\n";
  for (const ExplainedKernel &kernel : variant.kernels)
    print(os, kernel);
  os << "changes of layout inside kernels: " << variant.relayouts << "\n";
}

void printSize(raw_ostream &os, const ExplainedArena::Size &size) {
  os << size.bytes << " bytes, at most " << size.live << " alive at once, ratio "
     << llvm::format("%.3f", double(size.bytes) / double(std::max<int64_t>(size.live, 1))) << "\n";
}

/// The closed form, where it can be read.
void printFormula(raw_ostream &os, const ExplainedArena &arena) {
  std::string text = arena.formula + " bytes";
  for (auto [i, level] : llvm::enumerate(arena.levels))
    text += (i ? ", $" : ", where $") + std::to_string(i) + " is " + level;
  if (text.size() <= kLongestFormula)
    os << text << "\n";
  else
    os << "a closed form of " << arena.levels.size() << " levels, which --emit=plan shows\n";
}

/// Of many rows, one for several neighbours.
void draw(raw_ostream &os, const ExplainedArena &arena) {
  size_t each = (arena.rows.size() + kMaxRows - 1) / kMaxRows, width = 0;
  std::vector<const ExplainedArena::Row *> rows;
  for (size_t first = 0; first < arena.rows.size(); first += each) {
    llvm::ArrayRef group = llvm::ArrayRef(arena.rows).slice(first, std::min(each, arena.rows.size() - first));
    rows.push_back(llvm::max_element(group, [](const auto &a, const auto &b) { return a.live < b.live; }));
    width = std::max(width, rows.back()->name.size());
  }
  double cell = double(arena.pictured.bytes) / double(kColumns);
  os << "  from left to right: offsets, " << llvm::format("%.0f", cell)
     << " bytes a character; a letter: a buffer, '.': free; down: time";
  if (each > 1)
    os << ", of neighbouring kernels the fullest";
  os << "\n";
  for (const ExplainedArena::Row *row : rows) {
    std::string line(kColumns, '.');
    for (auto [i, block] : llvm::enumerate(arena.blocks)) {
      if (row->position < block.begin || block.end < row->position)
        continue;
      static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
      for (size_t c = 0; c < kColumns; ++c) {
        double middle = (double(c) + 0.5) * cell;
        if (double(block.offset) <= middle && middle < double(block.offset + block.bytes))
          line[c] = letters[i % 26];
      }
    }
    os << "  " << row->name << std::string(width - row->name.size(), ' ') << " |" << line << "| " << row->live << "\n";
  }
}

void print(raw_ostream &os, const ExplainedArena &arena) {
  os << "arena: ";
  if (arena.sizes.empty()) {
    os << "0 bytes\n";
    return;
  }
  if (arena.pictured.symbols.empty()) {
    printSize(os, arena.sizes.front());
    draw(os, arena);
    return;
  }
  printFormula(os, arena);
  for (const ExplainedArena::Size &size : arena.sizes) {
    os << "  where each of " << llvm::join(llvm::make_first_range(size.symbols), ", ") << " is "
       << size.symbols.front().second << ": ";
    printSize(os, size);
  }
  os << "  where each is " << arena.pictured.symbols.front().second << ":\n";
  draw(os, arena);
}

void printTime(raw_ostream &os, const ExplainedTime &time) {
  auto microseconds = [](double count) { return llvm::formatv("{0:f1} us", count).str(); };
  for (auto [i, joint] : llvm::enumerate(time.joints)) {
    os << "joint kernel " << i << ": from " << joint.first << " on, " << joint.launches
       << " launches and copies; by the model " << microseconds(joint.launchedMicroseconds) << " one by one, "
       << microseconds(joint.joinedMicroseconds) << " as one; blocks of " << joint.threads << " threads of some "
       << joint.registers << " registers, " << joint.blocksAtOnce << " at once on a processor";
    if (joint.keptBytes > 0)
      os << "; each block keeps up to " << joint.keptBytes << " bytes of constants on chip over the steps of its loops";
    os << "\n";
  }
  os << "predicted: a run takes " << microseconds(time.microseconds) << "; " << microseconds(time.apartMicroseconds)
     << " with a launch for each kernel";
  if (time.assumedSize)
    os << "; sizes that are not known are taken for " << *time.assumedSize;
  os << "\n";
}

/// A line of its own where there are several.
std::string heading(const ExplainedVariant &variant) {
  if (variant.title.empty())
    return "";
  return (StringRef(variant.title).starts_with("where") ? "" : "for ") + variant.title + "\n";
}

} // namespace

std::string Explanation::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "target: " << target << "\n";
  if (!cases.empty())
    os << "cases: " << cases.size() << ", chosen by the inputs' dims when run\n";
  for (const auto &[condition, refusal] : cases)
    os << "  where " << condition << (refusal.empty() ? "" : ": none, " + refusal) << "\n";
  for (const ExplainedVariant &variant : variants)
    if (variant.hasKernels) {
      os << heading(variant);
      printKernels(os, variant);
    }
  for (const ExplainedVariant &variant : variants) {
    os << heading(variant);
    for (const ExplainedArena &arena : variant.arenas)
      print(os, arena);
    for (const ExplainedVariant::Copy &copy : variant.copies)
      os << "copy to the " << copy.to << ": " << copy.type << "\n";
    os << "weights: " << variant.weightBytes << " bytes in " << counted(variant.weightConstants, "constant") << "\n";
    if (variant.meetings)
      os << "other ranks: met " << counted(*variant.meetings, "time") << " a run, " << variant.moved.str()
         << " bytes moved\n";
    if (variant.time)
      printTime(os, *variant.time);
  }
  if (!remarks.empty())
    os << "not done, and why:\n" << remarks;
  os << "stages:";
  for (const auto &[stage, seconds] : stageSeconds)
    os << llvm::formatv(" {0} {1:f2} s", stage, seconds);
  os << "\n";
  return text;
}

} // namespace hewn
