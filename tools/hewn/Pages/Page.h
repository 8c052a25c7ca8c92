// SPDX-License-Identifier: Apache-2.0
//
// A self-contained HTML file, in which quantize, explain and profile present their records. Names
// come from untrusted models: every text goes through `escaped`, and the page's
// Content-Security-Policy only allows its own script and no loading.
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

/// Escapes a text for HTML elements and quoted attributes. Line breaks and control characters are
/// made printable, as for terminals.
std::string escaped(llvm::StringRef text);

/// Escapes a text of several lines; keeps the line breaks.
std::string escapedLines(llvm::StringRef text);

// Numbers as text: three significant digits and a unit.
std::string shownBytes(double count);       ///< "4.19 MB"
std::string shownTime(double milliseconds); ///< "1.24 ms", "830 µs"
std::string shownCount(double count);       ///< "8.21 G"
std::string shownShare(double part);        ///< "12.5 %"

std::string shownRate(double perSecond, llvm::StringRef unit); ///< "2.04 TFLOP/s"

/// Returns a count with its noun: "1 kernel", "12 kernels".
std::string countedText(int64_t count, llvm::StringRef one);
std::string launchesText(int64_t count);

/// A cell of a table: its HTML, and the key by which its column is sorted if that is not its text.
struct Cell {
  std::string html;
  std::optional<double> number = std::nullopt;
};
/// Return a table cell with a text, or with a number that `shown` formats. The cell is empty if
/// there is no number.
Cell textCell(llvm::StringRef text);
Cell numberCell(std::optional<double> number, llvm::function_ref<std::string(double)> shown);
/// Returns a cell with a text and a bar, whose length is `part` (in [0, 1]) of the cell's width.
/// `tone` is a CSS class: compute, memory, good, fair, poor.
Cell barCell(std::optional<double> part, llvm::StringRef text, llvm::StringRef tone);

struct Column {
  std::string name;
  bool isNumber = false;
  /// True if the column takes the width that the other columns do not need.
  bool isWide = false;
};

class Page {
public:
  /// `title` is the heading of the page, `about` the line below the heading; both are plain text.
  Page(llvm::StringRef title, llvm::StringRef about);

  llvm::raw_ostream &os() { return out; }
  /// Starts a section with a heading. `note` is plain text below the heading, or empty.
  void section(llvm::StringRef id, llvm::StringRef heading, llvm::StringRef note = "");
  void paragraph(llvm::StringRef text);
  /// Adds a text that says why the section has no contents.
  void empty(llvm::StringRef text);
  /// A figure in the overview of a page: its label, its value and optionally an explanation.
  struct Tile {
    std::string label, value, note = "";
  };
  void tiles(llvm::ArrayRef<Tile> tiles);
  /// Adds a table. A click on a column heading sorts the table; on small screens, each row is shown
  /// as a card. Only the first `shown` rows are visible at first; 0 shows all.
  void table(llvm::StringRef label, llvm::ArrayRef<Column> columns, llvm::ArrayRef<std::vector<Cell>> rows,
             size_t shown = 0);
  /// Adds HTML that is hidden until the reader opens it; only `summary` is visible.
  void details(llvm::StringRef summary, llvm::StringRef html);

  /// Adds a script, which runs after the script of every page.
  void addScript(llvm::StringRef script) { scripts += script; }

  std::string finish();

private:
  std::string text, navigation;
  llvm::raw_string_ostream out{text};
  std::string title, about, scripts;
  bool isOpen = false;
  int tables = 0;
};

} // namespace hewn::tool

#endif
