// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Pages/Graph/GraphSection.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Roofline.h"
#include "tools/hewn/Pages/Graph/TypeText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <functional>

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

static constexpr char kGraphScript[] =
#include "tools/hewn/Pages/Graph/Script.inc"
    ;

/// Returns a text for the page, in which control characters are visible, as in `escaped`.
static json::Value shown(StringRef text) { return jsonText(printable(text)); }

namespace {

/// A figure by which the steps can be colored: its name, its unit, and its value for a launch of a
/// kernel.
struct Metric {
  StringRef name, unit;
  std::function<std::optional<double>(const json::Object &kernel, int64_t launch)> of;
};

/// A variant of the model, and the records of its kernels.
struct ShownVariant {
  const json::Object *variant;
  llvm::StringMap<const json::Object *> kernels;
};

/// Converts the records to the data of the script (model.js): lists instead of objects, and indices
/// instead of names.
class GraphData {
public:
  GraphData(const json::Object &explanation, std::vector<Metric> metrics) : metrics(std::move(metrics)) {
    eachObject(explanation, "nodes", [&](const json::Object &node) { onnxNodes[textOf(node, "name")] = &node; });
    eachObject(explanation, "remarks", [&](const json::Object &remark) { remarks.push_back(&remark); });
  }

  /// Adds the graph of a variant.
  void add(const ShownVariant &one) {
    const json::Object &graph = *one.variant->getObject("graph");
    current = &one;
    kernelNumbers.clear();
    json::Array kernels, values;
    eachObject(*one.variant, "kernels", [&](const json::Object &kernel) {
      kernelNumbers[textOf(kernel, "name")] = int64_t(kernels.size());
      kernels.push_back(toJson(kernel));
    });
    eachObject(graph, "values", [&](const json::Object &value) {
      valueTypes.push_back(&value);
      json::Object entry{{"s", shown(shapeText(value))}, {"d", shown(elementText(value))}};
      if (value.getBoolean("constant").value_or(false))
        entry["c"] = 1;
      values.push_back(std::move(entry));
    });
    auto namesOf = [&](StringRef key) {
      json::Array list;
      for (const json::Value &name : *graph.getArray(key))
        list.push_back(shown(name.getAsString().value_or("")));
      return list;
    };
    graphs.push_back(json::Object{{"title", shown(textOf(*one.variant, "title"))},
                                  {"kernels", std::move(kernels)},
                                  {"program", bodyOf(graph, "")},
                                  {"values", std::move(values)},
                                  {"inputs", namesOf("input_names")},
                                  {"outputs", namesOf("output_names")}});
    addRemarks(textOf(*one.variant, "title"));
    valueTypes.clear();
  }

  /// Returns the data as JSON that can be the text of a script element.
  std::string text() {
    json::Array named;
    for (const Metric &metric : metrics)
      named.push_back(json::Array{metric.name, metric.unit});
    json::Object all{{"nodes", std::move(nodes)},          {"names", std::move(names)},
                     {"metrics", std::move(named)},        {"remarks", std::move(remarkTexts)},
                     {"remarks_of", std::move(remarksOf)}, {"graphs", std::move(graphs)}};
    // "<" could end the script element, in whose text nothing is escaped.
    std::string safe;
    for (char c : llvm::formatv("{0}", json::Value(std::move(all))).str())
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
    return safe;
  }

private:
  int64_t nameNumber(StringRef name) {
    auto [entry, isNew] = nameNumbers.try_emplace(name, int64_t(names.size()));
    if (isNew)
      names.push_back(shown(name));
    return entry->second;
  }

  int64_t nodeNumber(StringRef name) {
    auto [entry, isNew] = nodeNumbers.try_emplace(name, int64_t(nodes.size()));
    if (!isNew)
      return entry->second;
    json::Array inputs, outputs;
    const json::Object *node = onnxNodes.lookup(name);
    for (auto [key, list] : {std::pair("inputs", &inputs), std::pair("outputs", &outputs)})
      if (const json::Array *values = node ? node->getArray(key) : nullptr)
        for (const json::Value &value : *values)
          list->push_back(nameNumber(value.getAsString().value_or("")));
    nodes.push_back(
        json::Array{shown(name), shown(node ? textOf(*node, "op") : ""), std::move(inputs), std::move(outputs)});
    return entry->second;
  }

  /// Returns the record of a kernel for the panel. `kernel` is from explain's record; profile's may
  /// have its figures.
  json::Object toJson(const json::Object &kernel) const {
    const json::Object *measured = current->kernels.lookup(textOf(kernel, "name"));
    const json::Object &figures = measured ? *measured : kernel;
    json::Array facts;
    auto add = [&](StringRef name, const std::string &text) {
      if (!text.empty())
        facts.push_back(json::Array{name, shown(text)});
    };
    auto number = [&](StringRef key, llvm::function_ref<std::string(double)> text) {
      std::optional<double> value = figures.getNumber(key);
      return value ? text(*value) : std::string();
    };
    std::optional<double> time = figures.getNumber("milliseconds"), least = figures.getNumber("least_milliseconds"),
                          flop = figures.getNumber("flop"), bytes = figures.getNumber("bytes");
    double launches = figures.getNumber(time ? "launches" : "launches_per_run").value_or(0);
    add("Launches per run", launches > 0 ? shownCount(launches) : "dynamic");
    if (time) {
      add("Time of all launches", shownTime(*time));
      add("Share of the run", shownShare(numberOf(figures, "share")));
      if (flop && *flop > 0 && *time > 0)
        add("Rate", shownRate(*flop * launches / *time * 1e3, "FLOP/s"));
    }
    add("FLOP per launch", flop ? shownCount(*flop) : textOf(kernel, "flop_formula").str());
    add("Bytes per launch", bytes ? shownBytes(*bytes) : textOf(kernel, "bytes_formula").str());
    if (flop && bytes && *flop > 0 && *bytes > 0)
      add("FLOP per byte", shownCount(*flop / *bytes));
    add("Lower bound of all launches", number("least_milliseconds", shownTime));
    add("Roof", textOf(figures, "roof").str());
    if (time && least && *time > 0)
      add("Of its roof", shownShare(*least / *time));
    add("Multiplies", textOf(kernel, "multiplies").str());
    return json::Object{{"name", shown(textOf(kernel, "name"))},
                        {"why", shown(textOf(kernel, "why"))},
                        {"schedule", shown(textOf(kernel, "schedule"))},
                        {"facts", std::move(facts)}};
  }

  json::Object bodyOf(const json::Object &body, StringRef title) {
    json::Array steps;
    eachObject(body, "steps", [&](const json::Object &step) { steps.push_back(stepOf(step)); });
    return json::Object{{"a", json::Array(*body.getArray("arguments"))},
                        {"r", json::Array(*body.getArray("results"))},
                        {"s", std::move(steps)},
                        {"t", title.str()}};
  }

  json::Object stepOf(const json::Object &step) {
    json::Array inputs, weights, numbers;
    for (const json::Value &value : *step.getArray("inputs")) {
      const json::Object &type = *valueTypes[size_t(value.getAsInteger().value_or(0))];
      if (!type.getBoolean("constant").value_or(false)) {
        inputs.push_back(value);
        continue;
      }
      StringRef key = textOf(type, "weight");
      weights.push_back(shown((key.empty() ? "" : key.str() + ": ") + shapeText(type) + " " + elementText(type)));
    }
    for (const json::Value &node : *step.getArray("nodes"))
      numbers.push_back(nodeNumber(node.getAsString().value_or("")));
    json::Object made{{"o", textOf(step, "op")},
                      {"n", std::move(numbers)},
                      {"i", std::move(inputs)},
                      {"u", json::Array(*step.getArray("outputs"))}};
    if (!weights.empty())
      made["w"] = std::move(weights);
    if (step.getBoolean("view").value_or(false))
      made["v"] = 1;
    if (auto found = kernelNumbers.find(textOf(step, "kernel")); found != kernelNumbers.end()) {
      made["k"] = found->second;
      made["m"] = metricsOf(textOf(step, "kernel"), step.getInteger("launch").value_or(0));
    }
    if (const json::Array *bodies = step.getArray("bodies")) {
      json::Array all;
      for (auto [i, body] : llvm::enumerate(*bodies)) {
        std::string title = bodies->size() == 1   ? "body, for each step"
                            : bodies->size() == 2 ? (i == 0 ? "then" : "else")
                                                  : "branch " + std::to_string(i);
        all.push_back(bodyOf(*body.getAsObject(), title));
      }
      made["b"] = std::move(all);
    }
    return made;
  }

  json::Array metricsOf(StringRef kernel, int64_t launch) const {
    json::Array values;
    const json::Object *record = current->kernels.lookup(kernel);
    for (const Metric &metric : metrics) {
      std::optional<double> value = record ? metric.of(*record, launch) : std::nullopt;
      values.push_back(value && std::isfinite(*value) ? json::Value(int64_t(std::llround(*value)))
                                                      : json::Value(nullptr));
    }
    return values;
  }

  /// Adds the remarks about the nodes of the variant with this title.
  void addRemarks(StringRef title) {
    llvm::StringMap<int64_t> known;
    for (const json::Object *remark : remarks) {
      auto node = nodeNumbers.find(textOf(*remark, "node"));
      std::optional<StringRef> variant = remark->getString("variant");
      if (node == nodeNumbers.end() || (variant && *variant != title))
        continue;
      std::string text = textOf(*remark, "name").str() + ": " + textOf(*remark, "reason").str();
      if (StringRef producer = textOf(*remark, "producer"); !producer.empty())
        text += " (producer: " + producer.str() + ")";
      auto [entry, isNew] = known.try_emplace(text, int64_t(remarkTexts.size()));
      if (isNew)
        remarkTexts.push_back(shown(text));
      std::string key = std::to_string(node->second);
      json::Value &list = remarksOf.try_emplace(key, json::Array()).first->second;
      if (!llvm::is_contained(*list.getAsArray(), json::Value(entry->second)))
        list.getAsArray()->push_back(entry->second);
    }
  }

  const ShownVariant *current = nullptr;
  std::vector<Metric> metrics;
  llvm::StringMap<const json::Object *> onnxNodes;
  std::vector<const json::Object *> remarks, valueTypes;
  llvm::StringMap<int64_t> nameNumbers, nodeNumbers, kernelNumbers;
  json::Array names, nodes, remarkTexts, graphs;
  json::Object remarksOf;
};

} // namespace

/// Adds the controls of the graph, the canvas, and the data.
static void addGraph(Page &page, GraphData &data, llvm::ArrayRef<Metric> metrics,
                     llvm::ArrayRef<ShownVariant> variants) {
  auto &os = page.os();
  auto button = [&](StringRef action, StringRef text, StringRef label) {
    os << "<button class=\"more\" data-do=\"" << action << "\" aria-label=\"" << label << "\">" << text << "</button>";
  };
  os << "<noscript><p class=\"empty\">The graph is drawn by the script of this page. The table of kernels below shows "
        "the same kernels and nodes.</p></noscript>\n<div id=\"model-graph\" hidden>\n<div class=\"graph-bar\">"
        "<label for=\"graph-search\">Find</label><input id=\"graph-search\" type=\"search\" autocomplete=\"off\" "
        "placeholder=\"node, op or kernel ( / )\">";
  button("previous", "&#8593;", "Previous match");
  button("next", "&#8595;", "Next match");
  os << "<span id=\"graph-count\" class=\"quiet\" role=\"status\"></span><span class=\"space\"></span><span "
        "class=\"pair\"><label for=\"graph-color\">Color by</label><select id=\"graph-color\">";
  for (const Metric &metric : metrics)
    os << "<option>" << escaped(metric.name) << "</option>";
  os << "</select></span>";
  if (variants.size() > 1) {
    os << "<span class=\"pair\"><label for=\"graph-variant\">Variant</label><select id=\"graph-variant\">";
    for (const ShownVariant &one : variants)
      os << "<option>" << escaped(textOf(*one.variant, "title")) << "</option>";
    os << "</select></span>";
  }
  button("open", "Show nodes", "Show or hide the ONNX nodes of all kernels");
  button("out", "&#8722;", "Zoom out");
  button("in", "+", "Zoom in");
  button("fit", "Fit", "Fit the graph into the window");
  button("full", "Full window", "Use the full window");
  os << "</div>\n<div class=\"graph-stage\"><div class=\"graph-canvas\"><canvas tabindex=\"0\" role=\"application\" "
        "aria-label=\"Graph of the model\" aria-describedby=\"graph-help\"></canvas></div><aside aria-label=\"Selected "
        "step\" hidden></aside></div>\n<ul class=\"legend\"></ul>\n<p id=\"graph-told\" class=\"unseen\" "
        "role=\"status\"></p>\n<p id=\"graph-help\" class=\"note\">Click a box for its details; double-click or press "
        "e to show its ONNX nodes. Drag to move; the wheel zooms once the graph has the focus. Arrow keys go to the "
        "steps before and after, + and &#8722; zoom, 0 fits, / searches, Enter goes to the next match, Esc "
        "closes.</p>\n</div>\n<script type=\"application/json\" id=\"model-graph-data\">"
     << data.text() << "</script>\n";
  page.addScript(kGraphScript);
}

static bool hasGraph(const json::Object &variant) { return variant.getObject("graph") && variant.getArray("kernels"); }

/// Returns how often a launch in the program text runs, for a kernel of explain's record.
static std::optional<double> runsOfLaunch(const json::Object &kernel) {
  std::optional<double> all = kernel.getNumber("launches_per_run"), text = kernel.getNumber("launches");
  return all && text && *text > 0 ? std::optional(*all / *text) : std::nullopt;
}

static std::optional<double> product(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

void tellExplainedGraph(Page &page, const json::Object &record) {
  page.section("graph", "Graph",
               "The kernels of the model and the values between them, with shapes and layouts. A kernel is titled by "
               "the ONNX nodes that are fused into it.");
  std::vector<ShownVariant> variants;
  eachObject(record, "variants", [&](const json::Object &variant) {
    if (!hasGraph(variant))
      return;
    ShownVariant &one = variants.emplace_back(ShownVariant{&variant, {}});
    eachObject(variant, "kernels", [&](const json::Object &kernel) { one.kernels[textOf(kernel, "name")] = &kernel; });
  });
  if (variants.empty()) {
    page.empty("There are no kernels to draw a graph of.");
    return;
  }
  std::vector<Metric> metrics = {
      {"Lower bound of the time", "ns",
       [](const json::Object &kernel, int64_t) -> std::optional<double> {
         std::optional<double> all = kernel.getNumber("least_milliseconds"), launches = kernel.getNumber("launches");
         return all && launches ? std::optional(1e6 * *all / *launches) : std::nullopt;
       }},
      {"Bytes", "B",
       [](const json::Object &kernel, int64_t) { return product(kernel.getNumber("bytes"), runsOfLaunch(kernel)); }},
      {"FLOP", "FLOP",
       [](const json::Object &kernel, int64_t) { return product(kernel.getNumber("flop"), runsOfLaunch(kernel)); }}};
  GraphData data(record, metrics);
  for (const ShownVariant &variant : variants)
    data.add(variant);
  addGraph(page, data, metrics, variants);
}

/// Returns true if a traced kernel, "name [condition]", is one of the variant's kernels.
static bool isOf(StringRef traced, const json::Object &variant, std::optional<int64_t> rank) {
  StringRef condition = traced.split(" [").second, own = conditionOf(variant);
  condition.consume_back("]");
  if (rank) // the last part of the condition is the number of the rank
    return own.ends_with(" = " + std::to_string(*rank)) && own.starts_with(condition);
  return own == condition;
}

void tellProfiledGraph(Page &page, const json::Object &record, const TracedRun &run) {
  page.section("graph", "Graph",
               "The kernels of the model and the values between them, with shapes and layouts. A kernel is titled by "
               "the ONNX nodes that are fused into it. Times are of the fastest run; in a loop, of all steps.");
  const json::Object *explanation = record.getObject("explanation");
  if (!explanation) {
    page.empty("A compiled library does not contain the graph of its model: profile the model (.onnx) instead.");
    return;
  }
  const json::Object &fastest = *record.getObject("fastest_run");
  llvm::StringMap<std::vector<double>> launches;
  for (const Slice &slice : run.launches)
    launches[StringRef(slice.kernel).split(" [").first].push_back(slice.duration);
  std::vector<ShownVariant> variants;
  for (const json::Object *variant : explainedVariants(*explanation, textOf(record, "target"))) {
    ShownVariant one{variant, {}};
    eachObject(fastest, "kernels", [&](const json::Object &kernel) {
      StringRef traced = textOf(kernel, "kernel");
      if (isOf(traced, *variant, fastest.getInteger("rank")))
        one.kernels[traced.split(" [").first] = &kernel;
    });
    if (hasGraph(*variant) && !one.kernels.empty())
      variants.push_back(std::move(one));
  }
  if (variants.empty()) {
    page.empty("No kernel ran: every output is an input, a constant, or a view of one.");
    return;
  }
  llvm::StringMap<double> inText;
  eachObject(*variants.front().variant, "kernels",
             [&](const json::Object &kernel) { inText[textOf(kernel, "name")] = numberOf(kernel, "launches"); });
  auto nameOf = [](const json::Object &kernel) { return textOf(kernel, "kernel").split(" [").first; };
  auto runs = [=](const json::Object &kernel) -> std::optional<double> {
    double text = inText.lookup(nameOf(kernel));
    return text > 0 ? std::optional(numberOf(kernel, "launches") / text) : std::nullopt;
  };
  std::vector<Metric> metrics = {
      {"Time", "ns",
       [&](const json::Object &kernel, int64_t launch) -> std::optional<double> {
         double text = inText.lookup(nameOf(kernel));
         const std::vector<double> &each = launches[nameOf(kernel)];
         if (double(each.size()) == text && size_t(launch) < each.size())
           return 1e3 * each[size_t(launch)];
         return text > 0 ? std::optional(1e6 * numberOf(kernel, "milliseconds") / text) : std::nullopt;
       }},
      {"Bytes", "B",
       [=](const json::Object &kernel, int64_t) { return product(kernel.getNumber("bytes"), runs(kernel)); }},
      {"FLOP", "FLOP",
       [=](const json::Object &kernel, int64_t) { return product(kernel.getNumber("flop"), runs(kernel)); }}};
  GraphData data(*explanation, metrics);
  for (const ShownVariant &variant : variants)
    data.add(variant);
  addGraph(page, data, metrics, variants);
}

} // namespace hewn::tool
