// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Pages/Page.h"
#include "hewn/compiler.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/Pages/Style.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <cmath>

using llvm::formatv;
using llvm::StringRef;

namespace hewn::tool {

std::string escaped(StringRef text) {
  std::string safe;
  llvm::raw_string_ostream os(safe);
  llvm::printHTMLEscaped(printable(text), os);
  return safe;
}

std::string escapedLines(StringRef text) {
  std::string all;
  for (StringRef line : llvm::split(text, '\n'))
    all += (all.empty() ? "" : "\n") + escaped(line);
  return all;
}

/// Prints a number with three significant digits. Numbers of 100 or more are printed as integers.
static std::string threeDigits(double number) {
  double size = std::abs(number);
  if (size >= 99.95 || number == 0)
    return formatv("{0:f0}", number);
  if (number == std::floor(number))
    return formatv("{0:f0}", number);
  return size >= 9.995 ? formatv("{0:f1}", number) : formatv("{0:f2}", number);
}

static std::string scaled(double count, llvm::ArrayRef<StringRef> units) {
  size_t unit = 0;
  while (std::abs(count) >= 999.5 && unit + 1 < units.size()) {
    count /= 1e3;
    ++unit;
  }
  std::string digits = unit == 0 && count == std::floor(count) ? formatv("{0:f0}", count).str() : threeDigits(count);
  return units[unit].empty() ? digits : digits + " " + units[unit].str();
}

std::string shownBytes(double count) { return scaled(count, {"B", "kB", "MB", "GB", "TB"}); }
std::string shownCount(double count) { return scaled(count, {"", "k", "M", "G", "T", "P"}); }
std::string shownRate(double perSecond, StringRef unit) {
  std::string number = shownCount(perSecond);
  return number + (llvm::isDigit(number.back()) ? " " : "") + unit.str();
}
std::string shownTime(double milliseconds) {
  if (milliseconds < 0.9995e-3)
    return threeDigits(milliseconds * 1e6) + " ns";
  if (milliseconds < 0.9995)
    return threeDigits(milliseconds * 1e3) + " µs";
  return milliseconds < 999.5 ? threeDigits(milliseconds) + " ms" : threeDigits(milliseconds / 1e3) + " s";
}
std::string shownShare(double part) { return formatv("{0:f1} %", 100 * part); }

std::string countedText(int64_t count, StringRef one) {
  return std::to_string(count) + " " + one.str() + (count == 1 ? "" : "s");
}

std::string launchesText(int64_t count) { return std::to_string(count) + (count == 1 ? " launch" : " launches"); }

Cell textCell(StringRef text) { return {escaped(text)}; }

Cell numberCell(std::optional<double> number, llvm::function_ref<std::string(double)> shown) {
  return {number ? escaped(shown(*number)) : "", number};
}

Cell barCell(std::optional<double> part, StringRef text, StringRef tone) {
  if (!part)
    return {};
  return {formatv("<div class=\"bar\"><i aria-hidden=\"true\"><b class=\"{0}\" "
                  "style=\"width:{1:f1}%\"></b></i><span>{2}</span></div>",
                  tone, 100 * std::clamp(*part, 0.0, 1.0), escaped(text)),
          *part};
}

Page::Page(StringRef title, StringRef about) : title(title), about(about) {}

void Page::section(StringRef id, StringRef heading, StringRef note) {
  if (isOpen)
    out << "</section>\n";
  isOpen = true;
  navigation += formatv("<li><a href=\"#{0}\">{1}</a></li>", id, escaped(heading));
  out << formatv("<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n", id,
                 escaped(heading));
  if (!note.empty())
    out << "<p class=\"note\">" << escaped(note) << "</p>\n";
}

void Page::paragraph(StringRef text) { out << "<p>" << escaped(text) << "</p>\n"; }
void Page::empty(StringRef text) { out << "<p class=\"empty\">" << escaped(text) << "</p>\n"; }

void Page::tiles(llvm::ArrayRef<Tile> tiles) {
  out << "<dl class=\"tiles\">\n";
  for (const Tile &tile : tiles) {
    out << "<div><dt>" << escaped(tile.label) << "</dt><dd><span class=\"value\">" << escaped(tile.value) << "</span>";
    if (!tile.note.empty())
      out << "<br><span class=\"note\">" << escaped(tile.note) << "</span>";
    out << "</dd></div>\n";
  }
  out << "</dl>\n";
}

/// Tables with more columns than this use a dense style.
static constexpr size_t kFewColumns = 8;

void Page::table(StringRef label, llvm::ArrayRef<Column> columns, llvm::ArrayRef<std::vector<Cell>> rows,
                 size_t shown) {
  if (rows.size() <= shown + shown / 4)
    shown = 0;
  std::string id = "table-" + std::to_string(++tables);
  if (shown > 0)
    out << formatv("<div class=\"filter\"><label for=\"{0}-filter\">Show only</label><input id=\"{0}-filter\" "
                   "type=\"search\" placeholder=\"name or part of a name\"><span id=\"{0}-count\" class=\"quiet\" "
                   "role=\"status\"></span></div>\n",
                   id);
  out << formatv("<table id=\"{0}\"{3} data-sortable data-shown=\"{1}\" aria-label=\"{2}\">\n<thead><tr>", id, shown,
                 escaped(label), columns.size() > kFewColumns ? " class=\"dense\"" : "");
  auto classOf = [](const Column &column) {
    return column.isNumber ? " class=\"number\"" : column.isWide ? " class=\"wide\"" : "";
  };
  for (const Column &column : columns)
    out << formatv("<th scope=\"col\" aria-sort=\"none\"{0}><button>{1}</button></th>", classOf(column),
                   escaped(column.name));
  out << "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell> &row : rows) {
    out << "<tr>";
    for (auto [column, cell] : llvm::zip_equal(columns, row)) {
      out << formatv("<td data-label=\"{0}\"{1}", escaped(column.name), classOf(column));
      if (cell.number)
        out << formatv(" data-number=\"{0:e8}\"", *cell.number);
      out << ">" << cell.html << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</tbody>\n</table>\n";
  if (shown > 0)
    out << formatv("<button class=\"more\" id=\"{0}-more\" hidden>Show all {1}</button>\n", id, rows.size());
}

void Page::details(StringRef summary, StringRef html) {
  out << "<details><summary>" << escaped(summary) << "</summary>" << html << "</details>\n";
}

std::string Page::finish() {
  if (isOpen)
    out << "</section>\n";
  std::string script = pageScript().str() + scripts;
  std::array<uint8_t, 32> digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(script));
  std::string page;
  llvm::raw_string_ostream os(page);
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
     << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src "
        "'sha256-"
     << llvm::encodeBase64(digest) << "'; base-uri 'none'; form-action 'none'\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
     << "<meta name=\"generator\" content=\"hewn " << hewn_compiler_version() << "\">\n"
     << "<title>" << escaped(title) << "</title>\n<style>" << pageStyle()
     << "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n<h1>"
     << escaped(title) << "</h1>\n<p class=\"quiet\">" << escaped(about) << "</p>\n</header>\n"
     << "<nav aria-label=\"Sections\"><ul>" << navigation << "</ul></nav>\n<main id=\"main\">\n"
     << text << "</main>\n<footer>Generated by hewn " << hewn_compiler_version()
     << ". This file is self-contained and loads nothing.</footer>\n<div id=\"tip\" role=\"tooltip\" "
        "hidden></div>\n<script>"
     << script << "</script>\n</body>\n</html>\n";
  return page;
}

} // namespace hewn::tool
