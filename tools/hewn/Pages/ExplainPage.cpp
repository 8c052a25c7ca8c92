// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Roofline.h"
#include "tools/hewn/Pages/Graph/GraphSection.h"
#include "tools/hewn/Pages/Pages.h"
#include "tools/hewn/Pages/Pictures.h"
#include "tools/hewn/Pages/Sections.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace json = llvm::json;
using llvm::formatv;
using llvm::StringRef;

namespace hewn::tool {

namespace {

/// Sums of figures over all kernels of a variant.
struct Totals {
  int64_t kernels = 0;
  double flop = 0, milliseconds = 0;
  bool isWhole = true;
};

} // namespace

static Totals totalsOf(const json::Object &variant) {
  Totals totals;
  eachObject(variant, "kernels", [&](const json::Object &kernel) {
    ++totals.kernels;
    std::optional<double> flop = kernel.getNumber("flop"), least = kernel.getNumber("least_milliseconds");
    totals.isWhole &= flop.has_value() && least.has_value();
    totals.flop += flop.value_or(0) * kernel.getNumber("launches_per_run").value_or(1);
    totals.milliseconds += least.value_or(0);
  });
  return totals;
}

static void tellOverview(Page &page, const json::Object &variant) {
  Totals totals = totalsOf(variant);
  double arena = 0;
  eachObject(variant, "arenas", [&](const json::Object &one) {
    if (const json::Object *layout = one.getObject("layout"))
      arena += layout->getObject("at")->getNumber("bytes").value_or(0);
  });
  const json::Object *weights = variant.getObject("weights");
  std::vector<Page::Tile> tiles = {
      {"Kernels", shownCount(double(totals.kernels)), launchesText(variant.getInteger("launches").value_or(0))},
      {"Arithmetic", totals.isWhole || totals.flop > 0 ? shownRate(totals.flop, "FLOP") : "unknown",
       totals.isWhole ? "per run, in contractions" : "per run, kernels of known size only"},
      {"Lower bound", totals.milliseconds > 0 ? shownTime(totals.milliseconds) : "unknown",
       totals.milliseconds > 0 ? "per run, by the roofline" : ""},
      {"Arena", shownBytes(arena), "between kernels"},
      {"Weights", shownBytes(weights ? weights->getNumber("bytes").value_or(0) : 0),
       countedText(weights ? weights->getInteger("constants").value_or(0) : 0, "constant")},
      {"Layout changes", shownCount(variant.getNumber("layout_changes").value_or(0)), "inside of kernels"}};
  page.tiles(tiles);
  std::string dims;
  for (const auto &[name, size] : picturedDims(variant))
    dims += (dims.empty() ? "" : ", ") + name + " = " + std::to_string(size);
  if (!dims.empty())
    page.paragraph("Dynamic dims are assumed to be " + dims + ".");
}

static void tellKernels(Page &page, const json::Object &variant) {
  if (!variant.getArray("kernels")) {
    page.empty("The text of a later stage contains functions instead of kernels; they are not listed.");
    return;
  }
  if (totalsOf(variant).kernels == 0) {
    page.empty("There is no kernel: every output is an input, a constant, or a view of one.");
    return;
  }
  double longest = 1e-12;
  eachObject(variant, "kernels",
             [&](const json::Object &kernel) { longest = std::max(longest, numberOf(kernel, "least_milliseconds")); });
  std::vector<std::vector<Cell>> rows;
  eachObject(variant, "kernels", [&](const json::Object &kernel) {
    std::optional<double> least = kernel.getNumber("least_milliseconds"), flop = kernel.getNumber("flop"),
                          bytes = kernel.getNumber("bytes"), part;
    if (least)
      part = *least / longest;
    std::optional<double> intensity;
    if (flop && bytes && *bytes > 0 && *flop > 0)
      intensity = *flop / *bytes;
    rows.push_back({kernelCell(kernel, textOf(kernel, "name")),
                    numberCell(kernel.getNumber("launches_per_run"), shownCount), workCell(kernel, "flop"),
                    workCell(kernel, "bytes"), numberCell(intensity, shownCount), textCell(textOf(kernel, "roof")),
                    barCell(part, least ? shownTime(*least) : "", least ? textOf(kernel, "roof") : "unknown")});
  });
  page.table("Kernels",
             {{"Kernel", false, true},
              {"Launches", true},
              {"FLOP", true},
              {"Bytes", true},
              {"FLOP per byte", true},
              {"Roof"},
              {"Lower bound per run", true}},
             rows, 40);
}

static void tellStages(Page &page, const json::Object &record) {
  page.section("compile", "Compile time", "By stage, in this compilation, which did not generate code.");
  double all = 0;
  eachObject(record, "stages", [&](const json::Object &stage) { all += stage.getNumber("seconds").value_or(0); });
  std::string legend;
  page.os() << "<div class=\"stages\" aria-hidden=\"true\">";
  size_t index = 0;
  eachObject(record, "stages", [&](const json::Object &stage) {
    double seconds = stage.getNumber("seconds").value_or(0);
    std::string color = formatv("background:var(--a{0})", index++ % 6);
    page.os() << formatv("<span style=\"width:{0:f2}%;{1}\"></span>", 100 * seconds / std::max(all, 1e-12), color);
    legend += formatv("<li><i style=\"{0}\"></i>{1}: {2}</li>", color, escaped(textOf(stage, "stage")),
                      escaped(shownTime(1e3 * seconds)));
  });
  page.os() << "</div>\n<ul class=\"legend\">" << legend << "</ul>\n";
}

std::string explainPage(const json::Object &record, StringRef file) {
  Page page(("How hewn compiles " + llvm::sys::path::filename(file).str()).c_str(),
            (file + ", for " + textOf(record, "target")).str());
  std::vector<const json::Object *> variants;
  eachObject(record, "variants", [&](const json::Object &variant) { variants.push_back(&variant); });
  page.section("overview", "Overview");
  for (const json::Object *variant : variants) {
    if (variants.size() > 1)
      page.os() << "<h3>" << escaped(textOf(*variant, "title")) << "</h3>\n";
    tellOverview(page, *variant);
  }
  if (variants.empty())
    page.empty("No case of the model can be compiled.");
  tellSuggestions(page, record);
  tellExplainedGraph(page, record);
  page.section("kernels", "Kernels",
               "In execution order. FLOP and bytes are per launch. FLOP counts the multiplications and additions of "
               "contractions; bytes counts each operand and result once. " +
                   machineText(record));
  for (const json::Object *variant : variants) {
    if (variants.size() > 1)
      page.os() << "<h3>" << escaped(textOf(*variant, "title")) << "</h3>\n";
    tellKernels(page, *variant);
  }
  tellArenas(page, variants);
  tellRemarks(page, record);
  tellStages(page, record);
  return page.finish();
}

} // namespace hewn::tool
