// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Pages/Sections.h"
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Roofline.h"
#include "tools/hewn/Pages/Pictures.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace json = llvm::json;
using llvm::formatv;
using llvm::StringRef;

namespace hewn::tool {

static std::string capitalized(StringRef text) {
  std::string all = text.str();
  if (!all.empty())
    all.front() = llvm::toUpper(all.front());
  return all;
}

void tellSuggestions(Page &page, const json::Object &record) {
  page.section("next", "Suggestions",
               "Derived from the measurements, by decreasing possible saving. Savings are upper bounds by the roofline "
               "model: measure the effect.");
  const json::Array *list = record.getArray("suggestions");
  if (!list || list->empty()) {
    page.empty("No flag is known to have a large effect.");
    return;
  }
  page.os() << "<ol class=\"todo\">\n";
  eachObject(record, "suggestions", [&](const json::Object &one) {
    page.os() << "<li><h3>" << escaped(textOf(one, "title")) << "</h3><p>"
              << escaped(capitalized(textOf(one, "evidence"))) << ".</p>";
    if (std::optional<double> most = one.getNumber("saves_at_most_milliseconds"))
      page.os() << "<p class=\"quiet\">Saves at most " << escaped(shownTime(*most)) << " per run.</p>";
    page.os() << "<p class=\"try\">Try <code>" << escaped(textOf(one, "try")) << "</code></p></li>\n";
  });
  page.os() << "</ol>\n";
}

std::string machineText(const json::Object &record) {
  const json::Object *machine = record.getObject("machine");
  if (!machine)
    return "The roofs are unknown: " + textOf(record, "machine_unavailable").str() + ".";
  std::string all = "Measured on this machine in " + shownTime(1e3 * machine->getNumber("seconds").value_or(0)) +
                    ", with " + countedText(machine->getInteger("threads").value_or(1), "thread") + " of code for " +
                    textOf(*machine, "target").str() + ": ";
  eachObject(*machine, "peaks", [&](const json::Object &peak) {
    StringRef type = textOf(peak, "multiplies");
    all += shownRate(numberOf(peak, "flop_per_second"), "FLOP/s") + " of " +
           (type == "f32"    ? "float32"
            : type == "bf16" ? "bfloat16"
                             : type.ltrim("sui").str() + "-bit integers") +
           ", ";
  });
  const json::Array *bandwidths = machine->getArray("bandwidths");
  for (size_t i = 0; bandwidths && i < bandwidths->size(); i += std::max<size_t>(1, bandwidths->size() - 1))
    if (const json::Object *one = (*bandwidths)[i].getAsObject())
      all += std::string(i ? " and " : "reads of ") + shownBytes(one->getNumber("bytes_per_second").value_or(0)) +
             "/s from " + shownBytes(one->getNumber("bytes").value_or(0));
  return all + ". The roof of a kernel is the peak rate of its element type, or the bandwidth for its operands and "
               "results, which is that of a cache if they fit.";
}

void tellRemarks(Page &page, const json::Object &explanation) {
  page.section("undone", "Missed optimizations",
               "Fusions, layouts, in-place writes and faster forms that passes did not apply, by decreasing frequency "
               "of the reason. --remarks=FILE writes each with its node.");
  struct Group {
    int64_t count = 0;
    std::vector<std::string> nodes;
  };
  llvm::MapVector<std::pair<StringRef, StringRef>, Group> groups;
  eachObject(explanation, "remarks", [&](const json::Object &remark) {
    Group &group = groups[{textOf(remark, "name"), textOf(remark, "reason")}];
    ++group.count;
    std::string node = textOf(remark, "node").str();
    if (!node.empty() && !llvm::is_contained(group.nodes, node))
      group.nodes.push_back(std::move(node));
  });
  if (groups.empty()) {
    page.empty("There are no missed optimizations.");
    return;
  }
  auto sorted = groups.takeVector();
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) { return a.second.count > b.second.count; });
  std::vector<std::vector<Cell>> rows;
  for (const auto &[key, group] : sorted) {
    constexpr size_t told = 4;
    std::string first, all;
    for (auto [i, node] : llvm::enumerate(group.nodes)) {
      (i < told ? first : all) += escaped(node) + "<br>";
    }
    std::string nodes = first;
    if (!all.empty())
      nodes += formatv("<details><summary>{0} more</summary>{1}</details>", group.nodes.size() - told, all);
    rows.push_back({textCell(key.first),
                    textCell(key.second),
                    {"<div class=\"nodes\">" + nodes + "</div>"},
                    numberCell(double(group.count), shownCount)});
  }
  page.table("Missed optimizations", {{"Optimization"}, {"Reason", false, true}, {"Nodes"}, {"Times", true}}, rows, 20);
}

void tellArenas(Page &page, llvm::ArrayRef<const json::Object *> variants) {
  page.section("arena", "Arena",
               "The memory of values between kernels, by address and step. Values can share addresses at different "
               "steps.");
  bool isNone = true;
  for (const json::Object *variant : variants) {
    StringRef title = textOf(*variant, "title");
    if (!title.empty())
      page.os() << "<h3>" << escaped(title) << "</h3>\n";
    eachObject(*variant, "arenas", [&](const json::Object &arena) {
      drawArena(page, arena);
      isNone = false;
    });
  }
  if (isNone)
    page.empty("There is no arena.");
}

Cell kernelCell(const json::Object &kernel, StringRef name) {
  std::string html = "<span class=\"mono\">" + escaped(name) + "</span>";
  constexpr size_t told = 4;
  if (std::string nodes = nodesText(kernel, told); !nodes.empty())
    html += "<div class=\"nodes\">" + escaped(nodes) + "</div>";
  std::string more;
  auto add = [&](StringRef label, StringRef value) {
    if (!value.empty())
      more += "<br>" + escaped((label + ": " + value).str());
  };
  if (const json::Array *nodes = kernel.getArray("nodes"); nodes && nodes->size() > told)
    add("nodes", nodesText(kernel, nodes->size()));
  add("FLOP per launch", textOf(kernel, "flop_formula"));
  add("bytes", textOf(kernel, "bytes_formula"));
  add("reason", textOf(kernel, "why"));
  add("schedule", textOf(kernel, "schedule"));
  for (StringRef key : {"inputs", "constants", "outputs"})
    if (const json::Array *types = kernel.getArray(key); types && !types->empty()) {
      std::string list;
      for (const json::Value &type : *types)
        list += (list.empty() ? "" : ", ") + type.getAsString().value_or("").str();
      add(key, list);
    }
  if (!more.empty())
    html += "<details class=\"nodes\"><summary>details</summary>" + StringRef(more).drop_front(4).str() + "</details>";
  return {html};
}

Cell workCell(const json::Object &kernel, StringRef key) {
  std::optional<double> count = kernel.getNumber(key);
  return numberCell(count, key == "flop" ? shownCount : shownBytes);
}

} // namespace hewn::tool
