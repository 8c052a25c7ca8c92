// SPDX-License-Identifier: Apache-2.0
//
// Report of a quantization (accuracy, size, time) as text and as a page.
#include "tools/hewn/Pages/QuantizeReport.h"
#include "lib/Tools/Models/Record.h"
#include "tools/hewn/Pages/Page.h"

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

/// Returns the text that lists the held-out samples. In the report, it follows the number of
/// compared samples.
std::string heldOut(const json::Object &report) {
  constexpr size_t shown = 8;
  const json::Array *numbers = report.getArray("held_out");
  if (!numbers || numbers->empty())
    return " (the calibration samples themselves)";
  std::vector<std::string> names;
  for (const json::Value &number : *numbers)
    names.push_back(std::to_string(number.getAsInteger().value_or(0)));
  if (names.size() > shown) {
    std::string last = names.back();
    names.resize(shown - 2);
    names.insert(names.end(), {"...", std::move(last)});
  }
  int64_t fits = report.getInteger("fits").value_or(1);
  return " (held out from calibration: " + llvm::join(names, ", ") +
         (fits > 1 ? llvm::formatv("; each from one of {0} calibrations)", fits).str() : ")");
}

/// Returns the result of a quantization (size and accuracy) as one line of text.
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

/// Returns the cycles of a layer that the cost model estimates, in integers and in float32, as
/// text.
std::string cycles(const json::Object &layer) {
  std::optional<int64_t> floats = layer.getInteger("float_cycles"), integers = layer.getInteger("integer_cycles");
  return floats && integers ? llvm::formatv("estimated {0} cycles, {1} in float32", *integers, *floats).str() : "";
}

/// Calls the visitor for each output, sorted by name because a JSON object has no order.
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

/// Signal-to-noise ratios in decibels from which a tensor is graded fair or good.
constexpr double kFairDecibels = 20, kGoodDecibels = 30;

StringRef gradeOf(double decibels) {
  return decibels < kFairDecibels ? "poor" : decibels < kGoodDecibels ? "fair" : "good";
}

/// Prints the grade of the least accurate output, and how many contractions fell back to float32,
/// in at most two lines.
void tellVerdict(llvm::raw_ostream &os, const json::Object &report) {
  std::string least;
  double lowest = 0;
  size_t count = 0;
  eachOutput(report, [&](StringRef name, const json::Object &output) {
    double value = output.getNumber("sqnr_db").value_or(0);
    if (count++ == 0 || value < lowest) {
      least = name.str();
      lowest = value;
    }
  });
  if (report.getInteger("quantized_layers").value_or(0) == 0) {
    os << "accuracy: that of float32, because nothing is quantized\n";
  } else if (count == 0) {
    os << "accuracy: unknown, because no output was compared; pass samples by --calibrate\n";
  } else {
    StringRef grade = gradeOf(lowest);
    os << "accuracy: " << grade << ": ";
    if (count > 1)
      os << "the least accurate of " << count << " outputs, " << least << ", has ";
    else
      os << "output " << least << " has ";
    os << llvm::formatv("{0:f1} dB", std::min(lowest, 200.0));
    if (grade != "good")
      os << llvm::formatv("; --min-sqnr {0:f0} keeps more contractions in float32", kGoodDecibels);
    os << "\n";
  }
  if (const json::Array *returned = report.getArray("returned_to_float"); returned && !returned->empty())
    os << returned->size() << (returned->size() == 1 ? " contraction stays" : " contractions stay")
       << " in float32 to satisfy the error bound\n";
}

std::string asText(const json::Object &report) {
  std::string all = headline(report) + "\n";
  llvm::raw_string_ostream os(all);
  tellVerdict(os, report);
  eachOutput(report, [&](StringRef name, const json::Object &output) {
    os << "output " << name << ": " << decibels(output, "sqnr_db") << " dB, cosine "
       << llvm::formatv("{0:f6}, largest error {1:e2}", output.getNumber("cosine").value_or(0),
                        output.getNumber("max_abs_error").value_or(0));
    if (std::optional<double> same = output.getNumber("argmax_agreement"))
      os << llvm::formatv(", same argmax in {0:f1} %", 100 * *same);
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
      os << "; operand " << decibels(layer, "operand_sqnr_db") << " dB including all preceding layers";
    if (std::string expected = cycles(layer); !expected.empty())
      os << "; " << expected;
    os << "\n";
  });
  return all;
}

/// Returns a cell with a number of decibels and a bar, which has full length at 60 dB.
Cell decibelsCell(const json::Object &object, StringRef key) {
  constexpr double most = 60;
  std::optional<double> value = object.getNumber(key);
  if (!value)
    return {};
  Cell cell = barCell(*value / most, decibels(object, key), gradeOf(*value));
  cell.number = value;
  return cell;
}

std::string sixDigits(double number) { return llvm::formatv("{0:f6}", number); }
std::string twoDigits(double number) { return llvm::formatv("{0:e2}", number); }

/// Draws the signal-to-noise ratio of the quantized operand of each layer.
void drawCurve(Page &page, const json::Object &report) {
  constexpr double most = 80;
  std::vector<std::pair<std::string, double>> points;
  eachObject(report, "layers", [&](const json::Object &layer) {
    if (std::optional<double> value = layer.getNumber("operand_sqnr_db"))
      points.push_back({textOf(layer, "node").str(), *value});
  });
  if (points.size() < 2)
    return;
  page.section("curve", "Signal-to-noise ratio by layer",
               "Ratio of each layer's operand including all preceding layers, from the first layer to the last, up to "
               "80 dB.");
  page.os()
      << "<div class=\"picture\" data-picture role=\"group\" aria-label=\"Signal-to-noise ratio of each layer's "
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
  page.section(
      "outputs", "Outputs",
      "Compared with the float32 model over the held-out samples, or over the calibration samples if there are "
      "too few.");
  std::vector<std::vector<Cell>> rows;
  eachOutput(report, [&](StringRef name, const json::Object &output) {
    auto percent = [](double part) { return shownShare(part); };
    rows.push_back({textCell(name), decibelsCell(output, "sqnr_db"), numberCell(output.getNumber("cosine"), sixDigits),
                    numberCell(output.getNumber("max_abs_error"), twoDigits),
                    numberCell(output.getNumber("argmax_agreement"), percent)});
  });
  if (rows.empty())
    page.empty("Nothing was compared: samples require --calibrate.");
  else
    page.table(
        "Outputs",
        {{"Output", false, true}, {"SQNR, dB", true}, {"Cosine", true}, {"Largest error", true}, {"Same argmax", true}},
        rows);
}

void tellLayers(Page &page, const json::Object &report) {
  page.section("layers", "Layers",
               "Compared with float32: weights and activations of each layer alone, and the operand including all "
               "preceding layers. Cycles are estimates of the cost model.");
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
                {"Operand cosine", true},
                {"Largest error", true},
                {"Cycles", true},
                {"Cycles in float32", true}},
               rows, 40);
}

std::string asPage(const json::Object &report) {
  Page page("Quantization", headline(report));
  tellOutputs(page, report);
  drawCurve(page, report);
  tellLayers(page, report);
  if (const json::Value *quantization = report.get("quantization")) {
    page.section("quantization", "Quantization file", "Input for --quantize.");
    page.details("File contents", "<pre>" + escapedLines(llvm::formatv("{0:2}", *quantization).str()) + "</pre>");
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
