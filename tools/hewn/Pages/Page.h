// SPDX-License-Identifier: Apache-2.0
//
// One self-contained HTML file: what quantize, explain and profile show of their records. Names come from strangers' models: every text
// goes through `escaped`, and the page's own policy (Content-Security-Policy) lets nothing run or load but the script that it brings.
#ifndef HEWN_TOOLS_HEWN_PAGE_H
#define HEWN_TOOLS_HEWN_PAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::tool {

/// Text as HTML, in elements and in quoted attributes; one line, as terminals get it.
std::string escaped(llvm::StringRef text);

/// The same of several lines, which stay.
std::string escapedLines(llvm::StringRef text);

// Numbers for readers: three digits that tell, and a unit.
std::string shownBytes(double count);       ///< "4.19 MB"
std::string shownTime(double milliseconds); ///< "1.24 ms", "830 µs"
std::string shownCount(double count);       ///< "8.21 G"
std::string shownShare(double part);        ///< "12.5 %"

std::string shownRate(double perSecond, llvm::StringRef unit); ///< "2.04 TFLOP/s"

/// "1 kernel", "12 kernels".
std::string countedText(int64_t count, llvm::StringRef one);
std::string launchesText(int64_t count);

/// A cell of a table: HTML, and what the column is sorted by where that is not the text.
struct Cell {
  std::string html;
  std::optional<double> number = std::nullopt;
};
/// A text, as HTML; a number as it is shown; nothing.
Cell textCell(llvm::StringRef text);
Cell numberCell(std::optional<double> number, llvm::function_ref<std::string(double)> shown);
/// A bar of `part` in [0, 1], with a text beside it. `tone`: a class of the style: compute, memory, good, fair, poor.
Cell barCell(std::optional<double> part, llvm::StringRef text, llvm::StringRef tone);

struct Column {
  std::string name;
  bool isNumber = false;
  /// It takes what is left of the width.
  bool isWide = false;
};

class Page {
public:
  /// `title` is the heading; `about` stands below it, both as plain text.
  Page(llvm::StringRef title, llvm::StringRef about);

  llvm::raw_ostream &os() { return out; }
  /// Begins a region, named by its heading. `note` is plain text below the heading, or empty.
  void section(llvm::StringRef id, llvm::StringRef heading, llvm::StringRef note = "");
  void paragraph(llvm::StringRef text);
  /// In place of what is not there, and why.
  void empty(llvm::StringRef text);
  /// Figures of a glance: label, value and, where there is one, what the value means.
  struct Tile {
    std::string label, value, note = "";
  };
  void tiles(llvm::ArrayRef<Tile> tiles);
  /// Sorted by a click on a heading; on narrow screens each row is a card. Below `shown` rows the rest unfolds; 0: all are shown.
  void table(llvm::StringRef label, llvm::ArrayRef<Column> columns, llvm::ArrayRef<std::vector<Cell>> rows,
             size_t shown = 0);
  /// Folded away behind `summary`.
  void details(llvm::StringRef summary, llvm::StringRef html);

  std::string finish();

private:
  std::string text, navigation;
  llvm::raw_string_ostream out{text};
  std::string title, about;
  bool isOpen = false;
  int tables = 0;
};

} // namespace hewn::tool

#endif
