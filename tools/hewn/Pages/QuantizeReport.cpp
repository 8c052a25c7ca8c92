// SPDX-License-Identifier: Apache-2.0
//
// What quantizing costs and brings, for people.
#include "tools/hewn/Pages/QuantizeReport.h"
#include "tools/hewn/Pages/Page.h"
#include "tools/hewn/Record.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;
namespace json = llvm::json;

namespace hewn::tool {

namespace {

std::string decibels(const json::Object &object, StringRef key) {
  std::optional<double> value = object.getNumber(key);
  return !value ? "" : *value >= 200 ? "200" : llvm::formatv("{0:f1}", *value).str();
}

/// Which samples nothing was fitted to, behind the number of those that were compared.
std::string heldOut(const json::Object &report) {
  constexpr size_t shown = 8;
  const json::Array *numbers = report.getArray("held_out");
  if (!numbers || numbers->empty())
    return ", which are those that it was fitted to";
  std::vector<std::string> names;
  for (const json::Value &number : *numbers)
    names.push_back(std::to_string(number.getAsInteger().value_or(0)));
  if (names.size() > shown) {
    std::string last = names.back();
    names.resize(shown - 2);
    names.insert(names.end(), {"...", std::move(last)});
  }
  int64_t fits = report.getInteger("fits").value_or(1);
  return ", which were held out (" + llvm::join(names, ", ") +
         (fits > 1 ? llvm::formatv("), each of one of {0} fits)", fits).str() : ")");
}

/// What a report says in one line.
std::string headline(const json::Object &report) {
  const json::Object empty, *sizes = report.getObject("weight_bytes");
  double before = (sizes ? *sizes : empty).getNumber("float32").value_or(0),
         after = (sizes ? *sizes : empty).getNumber("quantized").value_or(0);
  const json::Array *layers = report.getArray("layers");
  std::string line = llvm::formatv("{0} of {1} contractions and tables quantized",
                                   report.getInteger("quantized_layers").value_or(0), layers ? layers->size() : 0);
  if (before > 0)
    line += "; their weights take " + shownBytes(after) + " instead of " + shownBytes(before);
  if (int64_t samples = report.getInteger("samples").value_or(0); samples > 0)
    line += llvm::formatv("; {0} samples, {1} of them compared{2}", samples,
                          report.getInteger("samples_compared").value_or(0), heldOut(report));
  const json::Object *times = report.getObject("milliseconds");
  if (double before = (times ? *times : empty).getNumber("float32").value_or(0),
      after = (times ? *times : empty).getNumber("quantized").value_or(0);
      before > 0 && after > 0)
    line += llvm::formatv("; a run takes {0:f3} ms on this machine, {1:f3} ms in float32", after, before);
  return line;
}

/// What the model of the machine expects.
std::string cycles(const json::Object &layer) {
  std::optional<int64_t> floats = layer.getInteger("float_cycles"), integers = layer.getInteger("integer_cycles");
  return floats && integers ? llvm::formatv("{0} cycles expected, {1} in float32", *integers, *floats).str() : "";
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
       << llvm::formatv("{0:f6}, largest error {1:e2}", output.getNumber("cosine").value_or(0),
                        output.getNumber("max_abs_error").value_or(0));
    if (std::optional<double> same = output.getNumber("argmax_agreement"))
      os << llvm::formatv(", the same argmax in {0:f1} %", 100 * *same);
    os << "\n";
  });
  eachObject(report, "layers", [&](const json::Object &layer) {
    os << "  " << textOf(layer, "node") << " (" << textOf(layer, "op") << "): ";
    if (StringRef why = textOf(layer, "why"); !why.empty()) {
      os << "float32: " << why << "\n";
      return;
    }
    os << textOf(layer, "weights") << " weights " << decibels(layer, "weights_sqnr_db") << " dB";
    if (layer.getNumber("activations_sqnr_db"))
      os << ", " << textOf(layer, "activations") << " activations " << decibels(layer, "activations_sqnr_db") << " dB"
         << llvm::formatv(", {0:f3} % clipped", 100 * layer.getNumber("clipped").value_or(0));
    if (layer.getNumber("operand_sqnr_db"))
      os << "; its operand has " << decibels(layer, "operand_sqnr_db") << " dB after all that is before it";
    if (std::string expected = cycles(layer); !expected.empty())
      os << "; " << expected;
    os << "\n";
  });
  return all;
}

/// A bar of up to 60 dB with its number.
Cell decibelsCell(const json::Object &object, StringRef key) {
  constexpr double most = 60, fair = 20, good = 30;
  std::optional<double> value = object.getNumber(key);
  if (!value)
    return {};
  StringRef tone = *value < fair ? "poor" : *value < good ? "fair" : "good";
  Cell cell = barCell(*value / most, decibels(object, key), tone);
  cell.number = value;
  return cell;
}

std::string sixDigits(double number) { return llvm::formatv("{0:f6}", number); }
std::string twoDigits(double number) { return llvm::formatv("{0:e2}", number); }

/// The operand's signal to noise from layer to layer.
void drawCurve(Page &page, const json::Object &report) {
  constexpr double most = 80;
  std::vector<std::pair<std::string, double>> points;
  eachObject(report, "layers", [&](const json::Object &layer) {
    if (std::optional<double> value = layer.getNumber("operand_sqnr_db"))
      points.push_back({textOf(layer, "node").str(), *value});
  });
  if (points.size() < 2)
    return;
  page.section("curve", "Signal to noise, layer by layer",
               "Of each layer's operand, after all that is before it, from the first layer to the last, up to 80 dB.");
  page.os()
      << "<div class=\"picture\" data-picture role=\"group\" aria-label=\"Signal to noise of each layer's "
         "operand\">\n<div class=\"y\" aria-hidden=\"true\"><span>80 dB</span><span>40</span><span>0</span></div>\n"
         "<div class=\"area middle\"><svg viewBox=\"0 0 100 80\" preserveAspectRatio=\"none\" "
         "aria-hidden=\"true\">";
  for (int at = 20; at < int(most); at += 20)
    page.os() << llvm::formatv("<line class=\"grid\" x1=\"0\" x2=\"100\" y1=\"{0}\" y2=\"{0}\"/>", at);
  page.os() << "<polyline class=\"roof\" points=\"";
  auto left = [&](size_t i) { return 2 + 96 * double(i) / double(points.size() - 1); };
  auto below = [&](double value) { return std::clamp(value, 0.0, most); };
  for (auto [i, point] : llvm::enumerate(points))
    page.os() << llvm::formatv("{0:f2},{1:f2} ", left(i), most - below(point.second));
  page.os() << "\"/></svg>\n";
  for (auto [i, point] : llvm::enumerate(points))
    page.os() << llvm::formatv("<span class=\"dot compute\" data-item role=\"img\" aria-label=\"{0}&#10;{1:f1} dB\" "
                               "style=\"left:{2:f2}%;bottom:{3:f2}%;width:9px;height:9px\"></span>\n",
                               escaped(point.first), point.second, left(i), 100 * below(point.second) / most);
  page.os() << "</div>\n<div class=\"x\" aria-hidden=\"true\"><span>" << escaped(points.front().first)
            << "</span><span>" << escaped(points.back().first) << "</span></div></div>\n";
}

void tellOutputs(Page &page, const json::Object &report) {
  page.section("outputs", "Outputs",
               "Beside the model in float32, over the samples that were compared: those that were held out, where "
               "there are so many.");
  std::vector<std::vector<Cell>> rows;
  eachOutput(report, [&](StringRef name, const json::Object &output) {
    auto percent = [](double part) { return shownShare(part); };
    rows.push_back({textCell(name), decibelsCell(output, "sqnr_db"), numberCell(output.getNumber("cosine"), sixDigits),
                    numberCell(output.getNumber("max_abs_error"), twoDigits),
                    numberCell(output.getNumber("argmax_agreement"), percent)});
  });
  if (rows.empty())
    page.empty("Nothing was compared: without --calibrate there are no samples.");
  else
    page.table(
        "Outputs",
        {{"Output", false, true}, {"SQNR, dB", true}, {"Cosine", true}, {"Largest error", true}, {"Same argmax", true}},
        rows);
}

void tellLayers(Page &page, const json::Object &report) {
  page.section("layers", "Layers",
               "Weights and activations by themselves, and the operand after all that is before it, beside float32. "
               "Cycles are what "
               "the model of the machine expects.");
  std::vector<std::vector<Cell>> rows;
  auto percent = [](double part) { return llvm::formatv("{0:f3} %", 100 * part).str(); };
  eachObject(report, "layers", [&](const json::Object &layer) {
    std::string why = textOf(layer, "why").str();
    rows.push_back(
        {{"<span class=\"mono\">" + escaped(textOf(layer, "node")) + "</span><div class=\"nodes\">" +
          escaped(why.empty() ? textOf(layer, "op").str() : textOf(layer, "op").str() + ", float32: " + why) +
          "</div>"},
         textCell(textOf(layer, "weights")),
         decibelsCell(layer, "weights_sqnr_db"),
         textCell(textOf(layer, "activations")),
         decibelsCell(layer, "activations_sqnr_db"),
         numberCell(layer.getNumber("clipped"), percent),
         decibelsCell(layer, "operand_sqnr_db"),
         numberCell(layer.getNumber("operand_cosine"), sixDigits),
         numberCell(layer.getNumber("operand_max_abs_error"), twoDigits),
         numberCell(layer.getNumber("integer_cycles"), shownCount),
         numberCell(layer.getNumber("float_cycles"), shownCount)});
  });
  if (rows.empty())
    page.empty("The model has no contraction.");
  else
    page.table("Layers",
               {{"Layer", false, true},
                {"Weights"},
                {"SQNR, dB", true},
                {"Activations"},
                {"SQNR, dB", true},
                {"Clipped", true},
                {"Operand, dB", true},
                {"Its cosine", true},
                {"Largest error", true},
                {"Cycles", true},
                {"In float32", true}},
               rows, 40);
}

std::string asPage(const json::Object &report) {
  Page page("Quantization", headline(report));
  tellOutputs(page, report);
  drawCurve(page, report);
  tellLayers(page, report);
  if (const json::Value *quantization = report.get("quantization")) {
    page.section("quantization", "The quantization", "As --quantize takes it.");
    page.details("The file", "<pre>" + escapedLines(llvm::formatv("{0:2}", *quantization).str()) + "</pre>");
  }
  return page.finish();
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
