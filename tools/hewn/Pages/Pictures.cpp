// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Pages/Pictures.h"
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Roofline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace json = llvm::json;
using llvm::formatv;
using llvm::StringRef;

namespace hewn::tool {

/// Length of an SVG axis that stretches with the window. Renderers are imprecise for coordinates of
/// many millions.
static constexpr double kUnits = 1000;

std::string nodesText(const json::Object &kernel, size_t most) { return nodesText(kernel.getArray("nodes"), most); }

std::string nodesText(const json::Array *nodes, size_t most) {
  std::string all;
  for (size_t i = 0; nodes && i < std::min(most, nodes->size()); ++i)
    all += (i ? ", " : "") + (*nodes)[i].getAsString().value_or("").str();
  if (nodes && nodes->size() > most)
    all += " and " + std::to_string(nodes->size() - most) + " more";
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Arena
//===------------------------------------------------------------------------------------------===//

namespace {

/// The steps of an arena's diagram: numbers the program positions of ops as 0, 1, 2, ... and names
/// the steps.
class Steps {
public:
  explicit Steps(const json::Object &layout) {
    eachObject(layout, "ops", [&](const json::Object &op) {
      positions.push_back(op.getInteger("position").value_or(0));
      names.push_back(textOf(op, "name").str());
      live.push_back(numberOf(op, "live_bytes"));
    });
  }
  size_t count() const { return positions.size(); }
  /// Returns the first step at or after a program position.
  size_t at(int64_t position) const { return size_t(llvm::lower_bound(positions, position) - positions.begin()); }

  std::vector<int64_t> positions;
  std::vector<std::string> names;
  std::vector<double> live;
};

/// Describes the contents of a buffer: the names of its values, then "of node conv1".
std::string valueText(const json::Object &block) {
  std::string node = textOf(block, "node").str(), values;
  if (const json::Array *list = block.getArray("values"))
    for (const json::Value &value : *list)
      values += (values.empty() ? "" : ", ") + value.getAsString().value_or("").str();
  if (node.empty())
    return "a value of " + textOf(block, "kernel").str();
  return values.empty() ? "for node " + node : values + "\nof node " + node;
}

} // namespace

static void drawBlocks(Page &page, const json::Object &layout, const Steps &steps, double bytes) {
  size_t index = 0;
  eachObject(layout, "blocks", [&](const json::Object &block) {
    double offset = numberOf(block, "offset"), size = numberOf(block, "bytes");
    size_t first = steps.at(block.getInteger("begin").value_or(0)),
           behind = std::max(first + 1, steps.at(block.getInteger("end").value_or(0) + 1));
    std::string about = valueText(block) + "\n" + shownBytes(size) + " at " + shownBytes(offset) + "\ncomputed by " +
                        textOf(block, "kernel").str() + (first + 1 == behind ? ", step " : ", steps ") +
                        std::to_string(first + 1);
    if (behind > first + 1)
      about += " to " + std::to_string(behind);
    // HTML preserves &#10; in attributes, so that the label has several lines.
    std::string label;
    for (StringRef line : llvm::split(about, '\n'))
      label += (label.empty() ? "" : "&#10;") + escaped(line);
    page.os() << formatv("<rect data-item role=\"img\" aria-label=\"{0}\" class=\"c{1}\" x=\"{2}\" y=\"{3:f2}\" "
                         "width=\"{4}\" height=\"{5:f2}\"/>\n",
                         label, index++ % 6, first, kUnits * (bytes - offset - size) / bytes, behind - first,
                         std::max(kUnits * size / bytes, kUnits / 500));
  });
}

void drawArena(Page &page, const json::Object &arena) {
  const json::Object *layout = arena.getObject("layout");
  if (!layout) {
    page.empty("The arena is empty: every value is an input, an output or a constant.");
    return;
  }
  const json::Object *at = layout->getObject("at");
  double bytes = std::max(numberOf(*at, "bytes"), 1.0), live = numberOf(*at, "live_bytes");
  Steps steps(*layout);
  std::string sizes;
  if (const json::Object *dims = at->getObject("dims"))
    for (const auto &dim : *dims)
      sizes += (sizes.empty() ? ", for " : ", ") + dim.first.str() + " = " +
               std::to_string(dim.second.getAsInteger().value_or(0));
  page.paragraph(shownBytes(bytes) + " for " + countedText(int64_t(layout->getArray("blocks")->size()), "buffer") +
                 sizes + "; at most " + shownBytes(live) + " are live at the same time, so " +
                 (bytes <= live ? "the arena has the minimum size."
                                : shownShare((bytes - live) / bytes) + " is lost to fragmentation."));
  page.os() << formatv("<ul class=\"legend\"><li>Horizontal: steps of a run, 1 to {0}</li><li>Vertical: "
                       "addresses</li><li>Dashed: live bytes</li><li>Arrow keys: next buffer</li></ul>\n",
                       steps.count());
  page.os() << formatv("<div class=\"picture arena\" data-picture role=\"group\" aria-label=\"Buffers of the arena, "
                       "{0}\">\n<div class=\"y\" aria-hidden=\"true\"><span>{0}</span><span>0</span></div>\n<div "
                       "class=\"area middle\"><svg viewBox=\"0 0 {1} {2:f0}\" preserveAspectRatio=\"none\">\n",
                       escaped(shownBytes(bytes)), std::max<size_t>(steps.count(), 1), kUnits);
  drawBlocks(page, *layout, steps, bytes);
  std::string line;
  for (auto [i, alive] : llvm::enumerate(steps.live))
    line += formatv("{0},{1:f2} {2},{1:f2} ", i, kUnits * (bytes - alive) / bytes, i + 1);
  page.os() << formatv("<polyline class=\"live\" points=\"{0}\"/>\n</svg></div>\n", line);
  page.os() << formatv("<div class=\"x\" aria-hidden=\"true\"><span>{0}</span><span>{1}</span></div></div>\n",
                       escaped(steps.count() ? steps.names.front() : ""),
                       escaped(steps.count() ? steps.names.back() : ""));
}

//===------------------------------------------------------------------------------------------===//
// Roofline
//===------------------------------------------------------------------------------------------===//

namespace {

/// A logarithmic axis. Positions are percentages of its length.
struct LogAxis {
  double low, high;
  double at(double value) const { return std::clamp(100 * std::log(value / low) / std::log(high / low), 0.0, 100.0); }
};

/// Returns an axis between powers of ten that includes all values.
LogAxis axisOf(llvm::ArrayRef<double> values) {
  double low = std::pow(10, std::floor(std::log10(*llvm::min_element(values)))),
         high = std::pow(10, std::ceil(std::log10(*llvm::max_element(values)) + 0.05));
  return {low, high > low ? high : 10 * low};
}

struct Roof {
  std::string name;
  double rate;
};

/// Prints a power of ten.
std::string plainNumber(double number) {
  return number < 1 ? StringRef(formatv("{0:f4}", number).str()).rtrim('0').str() : formatv("{0:f0}", number).str();
}

/// Returns the name of a type, for example "float32".
std::string typeText(StringRef type) {
  if (type == "f32")
    return "float32";
  if (type == "bf16")
    return "bfloat16";
  return type.ltrim("sui").str() + "-bit integers";
}

} // namespace

/// Collects the peak arithmetic rates, and the bandwidths of memory and of the nearest cache.
static void roofsOf(const json::Object &machine, std::vector<Roof> &peaks, std::vector<Roof> &bandwidths) {
  eachObject(machine, "peaks", [&](const json::Object &peak) {
    peaks.push_back({typeText(textOf(peak, "multiplies")), numberOf(peak, "flop_per_second")});
  });
  const json::Array *list = machine.getArray("bandwidths");
  auto add = [&](const json::Value &value, StringRef name) {
    if (const json::Object *one = value.getAsObject())
      bandwidths.push_back({name.str(), numberOf(*one, "bytes_per_second")});
  };
  if (list && !list->empty()) {
    add(list->front(), "caches");
    add(list->back(), "memory");
  }
}

static void drawRoofs(Page &page, llvm::ArrayRef<Roof> peaks, llvm::ArrayRef<Roof> bandwidths, LogAxis x, LogAxis y) {
  page.os() << "<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\n";
  for (double at = x.low; at <= x.high * 1.01; at *= 10)
    page.os() << formatv("<line class=\"grid\" x1=\"{0:f2}\" x2=\"{0:f2}\" y1=\"0\" y2=\"100\"/>", x.at(at));
  for (double at = y.low; at <= y.high * 1.01; at *= 10)
    page.os() << formatv("<line class=\"grid\" x1=\"0\" x2=\"100\" y1=\"{0:f2}\" y2=\"{0:f2}\"/>", 100 - y.at(at));
  double top = llvm::max_element(peaks, [](const Roof &a, const Roof &b) { return a.rate < b.rate; })->rate;
  for (const Roof &bandwidth : bandwidths) {
    // In the roofline diagram, the line of a bandwidth starts at the edge and ends where it reaches
    // the highest arithmetic peak.
    double from = std::max(x.low, y.low / bandwidth.rate), to = std::min(x.high, top / bandwidth.rate);
    if (from < to)
      page.os() << formatv("<polyline class=\"roof\" points=\"{0:f2},{1:f2} {2:f2},{3:f2}\"/>", x.at(from),
                           100 - y.at(from * bandwidth.rate), x.at(to), 100 - y.at(to * bandwidth.rate));
  }
  for (const Roof &peak : peaks) {
    double from = std::clamp(peak.rate / bandwidths.front().rate, x.low, x.high);
    page.os() << formatv("<polyline class=\"roof\" points=\"{0:f2},{1:f2} 100,{1:f2}\"/>", x.at(from),
                         100 - y.at(peak.rate));
  }
  page.os() << "</svg>\n";
  for (const Roof &bandwidth : bandwidths) {
    // Place the label of a bandwidth where its line is below the lowest peak, since the diagram has
    // few kernels there.
    double low = llvm::min_element(peaks, [](const Roof &a, const Roof &b) { return a.rate < b.rate; })->rate;
    double at = std::max(x.low * 1.5, low / bandwidth.rate / 4);
    page.os() << formatv("<span class=\"mark slope\" style=\"left:{0:f2}%;bottom:{1:f2}%\">{2}: {3}/s</span>\n",
                         x.at(at), std::min(y.at(at * bandwidth.rate), 93.0), escaped(bandwidth.name),
                         escaped(shownBytes(bandwidth.rate)));
  }
  // The labels of arithmetic peaks are at the right ends of their lines. A label that would overlap
  // another one is shifted upward.
  double last = -100;
  std::vector<Roof> sorted(peaks.begin(), peaks.end());
  llvm::sort(sorted, [](const Roof &a, const Roof &b) { return a.rate < b.rate; });
  for (const Roof &peak : sorted) {
    double at = std::max(y.at(peak.rate), last + 6);
    page.os() << formatv("<span class=\"mark\" style=\"right:.3rem;bottom:calc({0:f2}% + 3px)\">{1}: {2}</span>\n",
                         std::min(at, 93.0), escaped(peak.name), escaped(shownRate(peak.rate, "FLOP/s")));
    last = at;
  }
}

static void drawDots(Page &page, llvm::ArrayRef<RooflineDot> dots, LogAxis x, LogAxis y) {
  for (const RooflineDot &dot : dots) {
    double rate = dot.flop / dot.milliseconds * 1e3, pixels = 8 + 32 * std::sqrt(dot.share);
    std::string label = escaped(dot.name);
    for (const std::string &line :
         {dot.nodes, shownTime(dot.milliseconds) + ", " + shownShare(dot.share) + " of the run",
          shownRate(rate, "FLOP/s") + ", " + shownCount(dot.flop / dot.bytes) + " FLOP per byte"})
      if (!line.empty())
        label += "&#10;" + escaped(line);
    page.os() << formatv("<span class=\"dot {0}\" data-item role=\"img\" aria-label=\"{1}\" "
                         "style=\"left:{2:f2}%;bottom:{3:f2}%;width:{4:f1}px;height:{4:f1}px\"></span>\n",
                         dot.isCompute ? "compute" : "memory", label, x.at(dot.flop / dot.bytes), y.at(rate), pixels);
  }
}

void drawRoofline(Page &page, const json::Object &machine, llvm::ArrayRef<RooflineDot> dots) {
  std::vector<Roof> peaks, bandwidths;
  roofsOf(machine, peaks, bandwidths);
  if (peaks.empty() || bandwidths.empty() || dots.empty()) {
    page.empty("The roofline shows contractions of known size; no kernel has one.");
    return;
  }
  std::vector<double> intensities = {0.1, 100}, rates;
  for (const Roof &peak : peaks)
    rates.push_back(peak.rate);
  for (const RooflineDot &dot : dots) {
    intensities.push_back(dot.flop / dot.bytes);
    rates.push_back(dot.flop / dot.milliseconds * 1e3);
  }
  LogAxis x = axisOf(intensities), y = axisOf(rates);
  drawRoofLegend(page);
  page.os() << formatv("<div class=\"picture\" data-picture role=\"group\" aria-label=\"Roofline: {0} kernels\">\n<div "
                       "class=\"y\" aria-hidden=\"true\"><span>{1}</span><span>{2}</span></div>\n<div "
                       "class=\"area tall\">\n",
                       dots.size(), escaped(shownRate(y.high, "FLOP/s")), escaped(shownRate(y.low, "FLOP/s")));
  drawRoofs(page, peaks, bandwidths, x, y);
  drawDots(page, dots, x, y);
  page.os() << formatv("</div>\n<div class=\"x\" aria-hidden=\"true\"><span>{0}</span><span>FLOP per byte of operands "
                       "and results</span><span>{1}</span></div></div>\n",
                       escaped(plainNumber(x.low)), escaped(plainNumber(x.high)));
}

void drawRoofLegend(Page &page) {
  page.os() << "<ul class=\"legend\"><li><i class=\"compute\"></i>compute-bound</li><li><i "
               "class=\"memory\"></i>memory-bound</li><li><i class=\"unknown\"></i>work unknown</li></ul>\n";
}

//===------------------------------------------------------------------------------------------===//
// Timeline
//===------------------------------------------------------------------------------------------===//

/// Maximum number of slices that are drawn in a track; the longest ones are drawn. With more,
/// slices would be too thin to see or to point at.
static constexpr size_t kMostSlices = 2000;

static void drawLane(Page &page, StringRef name, const std::vector<Slice> &all, double total,
                     llvm::function_ref<std::string(StringRef)> classOf,
                     llvm::function_ref<std::string(StringRef, size_t)> nodesOf) {
  struct Numbered {
    const Slice *slice;
    size_t number;
  };
  std::vector<Numbered> slices;
  std::map<std::string, size_t> seen;
  for (const Slice &slice : all)
    slices.push_back({&slice, seen[slice.kernel]++});
  if (slices.size() > kMostSlices) {
    llvm::sort(slices, [](const auto &a, const auto &b) { return a.slice->duration > b.slice->duration; });
    slices.resize(kMostSlices);
    llvm::sort(slices, [](const auto &a, const auto &b) { return a.slice->begin < b.slice->begin; });
  }
  page.os() << formatv("<span>{0}</span><div class=\"area\" data-picture role=\"group\" aria-label=\"{0}\"><svg "
                       "viewBox=\"0 0 {1:f0} 1\" preserveAspectRatio=\"none\">\n",
                       escaped(name), kUnits);
  for (const auto &[each, number] : slices) {
    const Slice &slice = *each;
    std::string label = escaped(slice.kernel), nodes = nodesOf(slice.kernel, number);
    if (!nodes.empty())
      label += "&#10;" + escaped(nodes);
    label += "&#10;" + escaped(shownTime(slice.duration / 1e3) + ", starting at " + shownTime(slice.begin / 1e3));
    page.os() << formatv("<rect data-item role=\"img\" aria-label=\"{0}\" class=\"{1}\" x=\"{2:f3}\" y=\"0\" "
                         "width=\"{3:f3}\" height=\"1\"/>\n",
                         label, classOf(slice.kernel), kUnits * slice.begin / total, kUnits * slice.duration / total);
  }
  page.os() << "</svg></div>\n";
}

void drawTimeline(Page &page, const TracedRun &run, int threads, llvm::function_ref<std::string(StringRef)> toneOf,
                  llvm::function_ref<std::string(StringRef, size_t)> nodesOf) {
  if (run.launches.size() > kMostSlices)
    page.paragraph("The " + std::to_string(kMostSlices) + " longest of " + std::to_string(run.launches.size()) +
                   " launches are drawn.");
  page.os() << "<div class=\"lanes\">\n";
  drawLane(
      page, "kernels", run.launches, run.total, [&](StringRef kernel) { return "fill-" + toneOf(kernel); }, nodesOf);
  bool isShared = llvm::any_of(run.tasks, [](const auto &tasks) { return !tasks.empty(); });
  for (int lane = 0; isShared && lane < threads; ++lane)
    drawLane(
        page, "thread " + std::to_string(lane + 1),
        size_t(lane) < run.tasks.size() ? run.tasks[size_t(lane)] : std::vector<Slice>(), run.total,
        [](StringRef) { return std::string("fill-task"); }, [](StringRef, size_t) { return std::string(); });
  page.os() << formatv("<div class=\"x\" aria-hidden=\"true\"><span>0</span><span>{0}</span></div></div>\n",
                       escaped(shownTime(run.total / 1e3)));
}

} // namespace hewn::tool
