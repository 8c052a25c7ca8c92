// SPDX-License-Identifier: Apache-2.0
//
// What quantizing costs and brings, for people.
#include "tools/hewn/QuantizeReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;
namespace json = llvm::json;

namespace hewn::tool {

namespace {

/// A number of a JSON object; nullopt where it has none.
std::optional<double> number(const json::Object &object, StringRef key) { return object.getNumber(key); }

std::string text(const json::Object &object, StringRef key) { return object.getString(key).value_or("").str(); }

std::string decibels(const json::Object &object, StringRef key) {
  std::optional<double> value = number(object, key);
  return !value ? "" : *value >= 200 ? "200" : llvm::formatv("{0:f1}", *value).str();
}

std::string bytes(double count) {
  return count < 1e6 ? llvm::formatv("{0:f1} kB", count / 1e3).str() : llvm::formatv("{0:f1} MB", count / 1e6).str();
}

/// What a report says in one line.
std::string headline(const json::Object &report) {
  const json::Object empty, *sizes = report.getObject("weight_bytes");
  double before = number(sizes ? *sizes : empty, "float32").value_or(0),
         after = number(sizes ? *sizes : empty, "quantized").value_or(0);
  const json::Array *layers = report.getArray("layers");
  std::string line = llvm::formatv("{0} of {1} contractions quantized",
                                   report.getInteger("quantized_layers").value_or(0), layers ? layers->size() : 0);
  if (before > 0)
    line += "; their weights take " + bytes(after) + " instead of " + bytes(before);
  if (int64_t samples = report.getInteger("samples").value_or(0); samples > 0)
    line += llvm::formatv("; {0} samples, {1} of them compared", samples,
                          report.getInteger("samples_compared").value_or(0));
  const json::Object *times = report.getObject("milliseconds");
  if (double before = number(times ? *times : empty, "float32").value_or(0),
      after = number(times ? *times : empty, "quantized").value_or(0);
      before > 0 && after > 0)
    line += llvm::formatv("; a run takes {0:f3} ms on this machine, {1:f3} ms in float32", after, before);
  return line;
}

/// What the model of the machine expects.
std::string cycles(const json::Object &layer) {
  std::optional<int64_t> floats = layer.getInteger("float_cycles"), integers = layer.getInteger("integer_cycles");
  return floats && integers ? llvm::formatv("{0} cycles expected, {1} in float32", *integers, *floats).str() : "";
}

void eachLayer(const json::Object &report, llvm::function_ref<void(const json::Object &)> visit) {
  if (const json::Array *layers = report.getArray("layers"))
    for (const json::Value &layer : *layers)
      if (const json::Object *object = layer.getAsObject())
        visit(*object);
}

/// In the order of their names: a JSON object has none.
void eachOutput(const json::Object &report, llvm::function_ref<void(StringRef, const json::Object &)> visit) {
  if (const json::Object *outputs = report.getObject("outputs")) {
    std::vector<StringRef> names;
    for (const auto &entry : *outputs)
      names.push_back(entry.first);
    llvm::sort(names);
    for (StringRef name : names)
      visit(name, *outputs->getObject(name));
  }
}

std::string asText(const json::Object &report) {
  std::string all = headline(report) + "\n";
  llvm::raw_string_ostream os(all);
  eachOutput(report, [&](StringRef name, const json::Object &output) {
    os << "output " << name << ": " << decibels(output, "sqnr_db") << " dB, cosine "
       << llvm::formatv("{0:f6}, largest error {1:e2}", number(output, "cosine").value_or(0),
                        number(output, "max_abs_error").value_or(0));
    if (std::optional<double> same = number(output, "argmax_agreement"))
      os << llvm::formatv(", the same argmax in {0:f1} %", 100 * *same);
    os << "\n";
  });
  eachLayer(report, [&](const json::Object &layer) {
    os << "  " << text(layer, "node") << " (" << text(layer, "op") << "): ";
    if (std::string why = text(layer, "why"); !why.empty()) {
      os << "float32: " << why << "\n";
      return;
    }
    os << text(layer, "weights") << " weights " << decibels(layer, "weights_sqnr_db") << " dB";
    if (number(layer, "activations_sqnr_db"))
      os << ", " << text(layer, "activations") << " activations " << decibels(layer, "activations_sqnr_db") << " dB"
         << llvm::formatv(", {0:f3} % clipped", 100 * number(layer, "clipped").value_or(0));
    if (number(layer, "operand_sqnr_db"))
      os << "; its operand has " << decibels(layer, "operand_sqnr_db") << " dB after all that is before it";
    if (std::string expected = cycles(layer); !expected.empty())
      os << "; " << expected;
    os << "\n";
  });
  return all;
}

std::string escaped(const std::string &text) {
  std::string safe;
  llvm::raw_string_ostream os(safe);
  llvm::printHTMLEscaped(text, os);
  return safe;
}

/// A bar of up to 60 dB with its number.
std::string bar(const json::Object &layer, StringRef key) {
  std::optional<double> value = number(layer, key);
  if (!value)
    return "<td></td>";
  constexpr double most = 60, pixels = 120, fair = 20, good = 30;
  double width = std::clamp(*value, 0.0, most) / most * pixels;
  StringRef color = *value < fair ? "#c0392b" : *value < good ? "#d68910" : "#1e8449";
  return llvm::formatv("<td><svg width=\"{0}\" height=\"12\" role=\"img\"><rect width=\"{1:f1}\" height=\"12\" "
                       "fill=\"{2}\"/></svg> {3}</td>",
                       pixels, width, color, decibels(layer, key));
}

/// The operand's signal to noise from layer to layer.
std::string curve(const json::Object &report) {
  std::vector<double> points;
  eachLayer(report, [&](const json::Object &layer) {
    if (std::optional<double> value = number(layer, "operand_sqnr_db"))
      points.push_back(*value);
  });
  if (points.size() < 2)
    return "";
  constexpr double width = 900, height = 180, most = 80;
  std::string path;
  for (auto [i, value] : llvm::enumerate(points))
    path += llvm::formatv("{0}{1:f1} {2:f1} ", i ? "L" : "M", double(i) / double(points.size() - 1) * width,
                          height - std::clamp(value, 0.0, most) / most * height);
  std::string grid;
  for (double at = 0; at <= most; at += 20)
    grid += llvm::formatv(
        "<line x1=\"0\" x2=\"{0}\" y1=\"{1:f1}\" y2=\"{1:f1}\" stroke=\"#ddd\"/><text x=\"{2}\" y=\"{1:f1}\" "
        "font-size=\"11\">{3} dB</text>",
        width, height - at / most * height, width + 6, at);
  return llvm::formatv(
      "<h2>Signal to noise of each layer's operand, from first to last</h2>\n<svg viewBox=\"0 -8 960 {0}\" "
      "width=\"960\" role=\"img\">{1}<path d=\"{2}\" fill=\"none\" stroke=\"#1f618d\" stroke-width=\"2\"/></svg>\n",
      height + 16, grid, path);
}

std::string asPage(const json::Object &report) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Quantization</title>\n"
      "<style>body{font:14px system-ui,sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse}"
      "td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #eee;white-space:nowrap}"
      "td.why{white-space:normal;color:#666}</style>\n<h1>Quantization</h1>\n";
  llvm::raw_string_ostream os(page);
  os << "<p>" << escaped(headline(report)) << "</p>\n";
  os << "<h2>Outputs</h2>\n<table><tr><th>output<th>SQNR, dB<th>cosine<th>largest error<th>same argmax</tr>\n";
  eachOutput(report, [&](StringRef name, const json::Object &output) {
    os << "<tr><td>" << escaped(name.str()) << "</td>" << bar(output, "sqnr_db")
       << llvm::formatv("<td>{0:f6}</td><td>{1:e2}</td><td>", number(output, "cosine").value_or(0),
                        number(output, "max_abs_error").value_or(0));
    if (std::optional<double> same = number(output, "argmax_agreement"))
      os << llvm::formatv("{0:f1} %", 100 * *same);
    os << "</td></tr>\n";
  });
  os << "</table>\n" << curve(report);
  os << "<h2>Layers</h2>\n<table><tr><th>node<th>op<th>weights<th>SQNR, dB<th>activations<th>SQNR, "
        "dB<th>clipped<th>operand, dB<th>its cosine<th>its largest error<th>expected<th></tr>\n";
  eachLayer(report, [&](const json::Object &layer) {
    os << "<tr><td>" << escaped(text(layer, "node")) << "</td><td>" << escaped(text(layer, "op")) << "</td><td>"
       << text(layer, "weights") << "</td>" << bar(layer, "weights_sqnr_db") << "<td>" << text(layer, "activations")
       << "</td>" << bar(layer, "activations_sqnr_db") << "<td>";
    if (std::optional<double> clipped = number(layer, "clipped"))
      os << llvm::formatv("{0:f3} %", 100 * *clipped);
    os << "</td>" << bar(layer, "operand_sqnr_db") << "<td>";
    if (std::optional<double> cosine = number(layer, "operand_cosine"))
      os << llvm::formatv("{0:f6}</td><td>{1:e2}", *cosine, number(layer, "operand_max_abs_error").value_or(0));
    else
      os << "</td><td>";
    os << "</td><td>" << cycles(layer) << "</td><td class=\"why\">" << escaped(text(layer, "why")) << "</td></tr>\n";
  });
  os << "</table>\n";
  if (const json::Value *quantization = report.get("quantization"))
    os << "<h2>The quantization</h2>\n<details><summary>as <code>--quantize</code> takes it</summary><pre>"
       << escaped(llvm::formatv("{0:2}", *quantization).str()) << "</pre></details>\n";
  os << "</html>\n";
  return page;
}

} // namespace

std::string reportAs(StringRef extension, const std::string &given) {
  llvm::Expected<json::Value> parsed = json::parse(given);
  const json::Object *report = parsed ? parsed->getAsObject() : nullptr;
  std::string made = extension == ".json" || !report ? given : extension == ".html" ? asPage(*report) : asText(*report);
  if (!parsed)
    llvm::consumeError(parsed.takeError());
  return made;
}

} // namespace hewn::tool
