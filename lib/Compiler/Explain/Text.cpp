// SPDX-License-Identifier: Apache-2.0
//
// Writes the explanation as text.
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

/// Returns a text such as "1 constant" or "2 constants".
std::string counted(int64_t count, StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

/// Returns the first few of the names as a text, with the number of names that are omitted.
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
    os << "    per launch: " << kernel.work->flop.str() << " flop in contractions, " << kernel.work->bytes.str()
       << " bytes";
    if (kernel.launchesARun)
      os << "; " << *kernel.launchesARun << (*kernel.launchesARun == 1 ? " launch" : " launches") << " per run";
    os << "\n";
  }
  auto tell = [&](StringRef what, llvm::ArrayRef<std::string> types) {
    if (!types.empty())
      os << "    " << what << " " << llvm::join(types, ", ") << "\n";
  };
  tell("inputs:", kernel.inputs);
  tell("constants:", kernel.constants);
  tell("outputs:", kernel.outputs);
}

/// Returns a count with a prefix of its unit: "12.3 M", "4.0 k".
std::string scaled(double count) {
  constexpr StringRef prefixes[] = {"", "k", "M", "G", "T"};
  size_t p = 0;
  for (; count >= 1000 && p + 1 < std::size(prefixes); ++p)
    count /= 1000;
  return llvm::formatv(p ? "{0:f1} {1}" : "{0:f0} {1}", count, prefixes[p]).str();
}

/// Prints the work of a run, the kernels with the most operations, and the memory, in at most three
/// lines.
void printSummary(raw_ostream &os, const ExplainedVariant &variant) {
  int64_t launches = 0, flop = 0, bytes = 0;
  bool isKnown = true;
  std::vector<std::pair<int64_t, const ExplainedKernel *>> heaviest;
  for (const ExplainedKernel &kernel : variant.kernels) {
    isKnown &= kernel.work && kernel.work->isConstant() && kernel.launchesARun;
    if (!isKnown)
      break;
    int64_t own = *kernel.work->flop.constant() * *kernel.launchesARun;
    launches += *kernel.launchesARun;
    flop += own;
    bytes += *kernel.work->bytes.constant() * *kernel.launchesARun;
    heaviest.push_back({own, &kernel});
  }
  os << counted(int64_t(variant.kernels.size()), "kernel") << ", ";
  if (isKnown)
    os << launches << (launches == 1 ? " launch" : " launches") << " per run: " << scaled(double(flop))
       << "flop in contractions, " << scaled(double(bytes)) << "B read and written\n";
  else
    os << "launched " << counted(variant.launches, "time")
       << " in the program; the work depends on dynamic sizes: set them by --dim\n";
  llvm::stable_sort(heaviest, [](const auto &a, const auto &b) { return a.first > b.first; });
  constexpr size_t kShown = 3;
  for (size_t i = 0; isKnown && flop > 0 && i < std::min(kShown, heaviest.size()); ++i) {
    auto [own, kernel] = heaviest[i];
    if (own > 0)
      os << (i ? ", " : "most flop: ") << kernel->name
         << llvm::formatv(" {0:f0} %", 100.0 * double(own) / double(flop));
  }
  if (isKnown && flop > 0)
    os << "\n";
  os << "memory: " << scaled(double(variant.weightBytes)) << "B of weights";
  if (!variant.arenas.empty() && variant.arenas.front().pictured.symbols.empty())
    os << ", " << scaled(double(variant.arenas.front().pictured.bytes)) << "B for intermediate values";
  os << "\n";
}

void printKernels(raw_ostream &os, const ExplainedVariant &variant) {
  os << "kernels: " << variant.kernels.size() << ", launched " << counted(variant.launches, "time")
     << " in the program\n";
  for (const ExplainedKernel &kernel : variant.kernels)
    print(os, kernel);
  os << "layout conversions inside kernels: " << variant.relayouts << "\n";
}

void printSize(raw_ostream &os, const ExplainedArena::Size &size) {
  os << size.bytes << " bytes, at most " << size.live << " live at once, ratio "
     << llvm::format("%.3f", double(size.bytes) / double(std::max<int64_t>(size.live, 1))) << "\n";
}

/// Prints the formula of the arena size, unless the formula is too long to read.
void printFormula(raw_ostream &os, const ExplainedArena &arena) {
  std::string text = arena.formula + " bytes";
  for (auto [i, level] : llvm::enumerate(arena.levels))
    text += (i ? ", $" : ", where $") + std::to_string(i) + " is " + level;
  if (text.size() <= kLongestFormula)
    os << text << "\n";
  else
    os << "a formula with " << arena.levels.size() << " levels (see --emit=plan)\n";
}

/// Draws the buffers of the arena over time. If the drawing has too many rows, each printed row
/// represents several adjacent ones.
void draw(raw_ostream &os, const ExplainedArena &arena) {
  size_t each = (arena.rows.size() + kMaxRows - 1) / kMaxRows, width = 0;
  std::vector<const ExplainedArena::Row *> rows;
  for (size_t first = 0; first < arena.rows.size(); first += each) {
    llvm::ArrayRef group = llvm::ArrayRef(arena.rows).slice(first, std::min(each, arena.rows.size() - first));
    rows.push_back(llvm::max_element(group, [](const auto &a, const auto &b) { return a.live < b.live; }));
    width = std::max(width, rows.back()->name.size());
  }
  double cell = double(arena.pictured.bytes) / double(kColumns);
  os << "  columns: offsets, " << llvm::format("%.0f", cell)
     << " bytes per character; letters: buffers, '.': free; rows: time";
  if (each > 1)
    os << ", one row for several kernels";
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
    os << "  with each of " << llvm::join(llvm::make_first_range(size.symbols), ", ") << " = "
       << size.symbols.front().second << ": ";
    printSize(os, size);
  }
  os << "  with each = " << arena.pictured.symbols.front().second << ":\n";
  draw(os, arena);
}

void printTime(raw_ostream &os, const ExplainedTime &time) {
  auto microseconds = [](double count) { return llvm::formatv("{0:f1} us", count).str(); };
  for (auto [i, persistent] : llvm::enumerate(time.joints)) {
    os << "persistent kernel " << i << ": from " << persistent.first << " on, " << persistent.launches
       << " launches and copies; estimated " << microseconds(persistent.launchedMicroseconds) << " as launches, "
       << microseconds(persistent.joinedMicroseconds) << " as one kernel; blocks of " << persistent.threads
       << " threads with about " << persistent.registers << " registers, " << persistent.blocksAtOnce
       << " per streaming multiprocessor";
    if (persistent.keptBytes > 0)
      os << "; each block keeps up to " << persistent.keptBytes << " bytes of constants on chip across loop iterations";
    os << "\n";
  }
  os << "estimate: a run takes " << microseconds(time.microseconds) << "; " << microseconds(time.apartMicroseconds)
     << " with one launch per kernel";
  if (time.assumedSize)
    os << "; dynamic sizes are assumed to be " << *time.assumedSize;
  os << "\n";
}

/// Returns the variant's title as a line, if there are several variants.
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
    os << "cases: " << cases.size() << ", selected by the inputs' dims at run time\n";
  for (const auto &[condition, refusal] : cases)
    os << "  where " << condition << (refusal.empty() ? "" : ": not compiled, " + refusal) << "\n";
  if (variants.size() == 1 && variants.front().hasKernels)
    printSummary(os, variants.front());
  if (!remarks.empty())
    os << "missed optimizations are listed at the end, with reasons\n";
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
      os << "communication: " << counted(*variant.meetings, "transfer") << " per run, " << variant.moved.str()
         << " bytes\n";
    if (variant.time)
      printTime(os, *variant.time);
  }
  if (!remarks.empty())
    os << "missed optimizations:\n" << remarks;
  os << "stages:";
  for (const auto &[stage, seconds] : stageSeconds)
    os << llvm::formatv(" {0} {1:f2} s", stage, seconds);
  os << "\n";
  return text;
}

} // namespace hewn
