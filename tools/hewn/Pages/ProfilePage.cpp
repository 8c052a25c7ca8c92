// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/ProfileRecord.h"
#include "lib/Tools/Profile/Roofline.h"
#include "lib/Tools/Profile/Transfers.h"
#include "tools/hewn/Pages/Graph/GraphSection.h"
#include "tools/hewn/Pages/Pages.h"
#include "tools/hewn/Pages/Pictures.h"
#include "tools/hewn/Pages/Sections.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

static std::string dimsText(const json::Object &record) {
  std::string all;
  if (const json::Object *dims = record.getObject("dims"))
    for (const auto &dim : *dims)
      all +=
          (all.empty() ? "" : ", ") + dim.first.str() + " = " + std::to_string(dim.second.getAsInteger().value_or(0));
  return all;
}

static void tellRunOverview(Page &page, const json::Object &record) {
  const json::Object &run = *record.getObject("fastest_run"), &times = *record.getObject("milliseconds");
  double total = numberOf(run, "milliseconds"), least = 0, known = 0, flop = 0;
  eachObject(run, "kernels", [&](const json::Object &kernel) {
    if (std::optional<double> one = kernel.getNumber("least_milliseconds")) {
      least += *one;
      known += numberOf(kernel, "milliseconds");
    }
    flop += numberOf(kernel, "flop") * numberOf(kernel, "launches");
  });
  page.section("overview", "Overview");
  std::vector<Page::Tile> tiles = {
      {"Fastest run", shownTime(total), launchesText(run.getInteger("launches").value_or(0))},
      {"Median", shownTime(numberOf(times, "p50")),
       "p99 " + shownTime(numberOf(times, "p99")) + "; " + countedText(record.getInteger("runs").value_or(0), "run")},
      {"Throughput", shownCount(numberOf(record, "runs_per_second")) + "/s", "runs, from the mean"}};
  if (flop > 0)
    tiles.push_back(
        {"Arithmetic", shownRate(flop / total * 1e3, "FLOP/s"), shownRate(flop, "FLOP") + " in contractions"});
  if (least > 0)
    tiles.push_back({"Of the roofline", shownShare(least / known), "lower bound " + shownTime(least)});
  if (record.getArray("ranks"))
    tiles.push_back({"With other ranks", shownShare(numberOf(run, "transfer_milliseconds") / total),
                     run.getNumber("waited_milliseconds")
                         ? shownTime(numberOf(run, "waited_milliseconds")) + " of waiting"
                         : shownTime(numberOf(run, "transfer_milliseconds"))});
  tiles.push_back({"Between kernels", shownShare(numberOf(run, "between_kernels_milliseconds") / total),
                   shownTime(numberOf(run, "between_kernels_milliseconds"))});
  if (std::optional<double> busy = run.getNumber("busy_share"))
    tiles.push_back(
        {"Threads busy", shownShare(*busy), countedText(record.getInteger("threads").value_or(1), "thread")});
  page.tiles(tiles);
}

static void tellKernelTimes(Page &page, const json::Object &record) {
  const json::Object &run = *record.getObject("fastest_run");
  bool isCounted = record.getInteger("counted_runs").value_or(0) > 0;
  page.section(
      "kernels", "Kernels",
      "Fastest run, with the runtime's trace hook enabled; hewn bench measures the time without it. FLOP and bytes "
      "are per launch.");
  page.paragraph(isCounted ? "Cycles, instructions and cache misses are hardware counts of all threads, the mean of " +
                                 countedText(record.getInteger("counted_runs").value_or(0), "separate run") + "."
                           : "No hardware counters: " + textOf(record, "counters_unavailable").str() + ".");
  std::vector<Column> columns = {{"Kernel", false, true}, {"Launches", true}, {"FLOP", true},       {"Bytes", true},
                                 {"FLOP/s", true},        {"Time", true},     {"Of its roof", true}};
  if (isCounted)
    columns.insert(columns.end(), {{"Instr. per cycle", true}, {"Cache misses", true}});
  std::vector<std::vector<Cell>> rows;
  double longest = 1e-12;
  eachObject(run, "kernels",
             [&](const json::Object &kernel) { longest = std::max(longest, numberOf(kernel, "milliseconds")); });
  auto timeCell = [&](double time, StringRef roof) {
    return barCell(time / longest, shownTime(time), roof.empty() ? "unknown" : roof);
  };
  eachObject(run, "kernels", [&](const json::Object &kernel) {
    double time = numberOf(kernel, "milliseconds"), launches = numberOf(kernel, "launches");
    std::optional<double> flop = kernel.getNumber("flop"), least = kernel.getNumber("least_milliseconds"), rate, ofRoof;
    if (flop && *flop > 0 && time > 0)
      rate = *flop * launches / time * 1e3;
    if (least && time > 0)
      ofRoof = *least / time;
    constexpr double good = 0.7, fair = 0.35;
    StringRef tone = !ofRoof           ? "unknown"
                     : *ofRoof >= good ? "good"
                     : *ofRoof >= fair ? "fair"
                                       : "poor",
              roof = textOf(kernel, "roof");
    std::vector<Cell> row = {kernelCell(kernel, textOf(kernel, "kernel")),
                             numberCell(launches, shownCount),
                             workCell(kernel, "flop"),
                             workCell(kernel, "bytes"),
                             numberCell(rate, shownCount),
                             timeCell(time, roof),
                             barCell(ofRoof, ofRoof ? shownShare(*ofRoof) : "", tone)};
    if (isCounted) {
      const json::Object *counters = kernel.getObject("counters");
      std::optional<double> perCycle, misses;
      if (counters) {
        perCycle = numberOf(*counters, "instructions") / std::max(numberOf(*counters, "cycles"), 1.0);
        misses = numberOf(*counters, "cache_misses");
      }
      row.push_back(numberCell(perCycle, shownCount));
      row.push_back(numberCell(misses, shownCount));
    }
    rows.push_back(std::move(row));
  });
  if (rows.empty())
    page.empty("No kernel ran: every output is an input, a constant, or a view of one.");
  else
    page.table("Kernels", columns, rows, 30);
}

static void tellRoofline(Page &page, const json::Object &record) {
  page.section("roofline", "Roofline", machineText(record));
  const json::Object *machine = record.getObject("machine");
  std::vector<RooflineDot> dots;
  eachObject(*record.getObject("fastest_run"), "kernels", [&](const json::Object &kernel) {
    double launches = numberOf(kernel, "launches"), flop = numberOf(kernel, "flop"), bytes = numberOf(kernel, "bytes"),
           time = numberOf(kernel, "milliseconds");
    if (flop > 0 && bytes > 0 && time > 0 && kernel.getString("roof"))
      dots.push_back({textOf(kernel, "kernel").str(), nodesText(kernel, 3), flop * launches, bytes * launches, time,
                      numberOf(kernel, "share"), textOf(kernel, "roof") == "compute"});
  });
  if (!machine)
    page.empty("The roofs are unknown, so there is no diagram.");
  else if (!record.getObject("explanation"))
    page.empty("A compiled library does not contain the work of its kernels: profile the model (.onnx) instead.");
  else
    drawRoofline(page, *machine, dots);
}

/// Adds the transfers between ranks, if the model is split.
static void tellRanks(Page &page, const json::Object &record) {
  if (!record.getArray("ranks"))
    return;
  page.section("ranks", "Between ranks",
               "Fastest run, by rank. A rank waits until the others are ready; in the remaining time, bytes are "
               "transferred at the given rate. The kernels on this page are those of rank " +
                   std::to_string(record.getObject("fastest_run")->getInteger("rank").value_or(0)) + ".");
  std::vector<Column> columns = {{"Transfer", false, true}, {"Rank", true},   {"Times", true}, {"Time", true},
                                 {"Of its run", true},      {"Waited", true}, {"Moved", true}, {"Rate", true}};
  std::vector<std::vector<Cell>> rows;
  eachObject(record, "ranks", [&](const json::Object &rank) {
    eachObject(rank, "transfers", [&](const json::Object &transfer) {
      double share = numberOf(transfer, "share");
      rows.push_back(
          {textCell(transferName(transfer)), numberCell(numberOf(rank, "rank"), shownCount),
           numberCell(numberOf(transfer, "times"), shownCount),
           numberCell(numberOf(transfer, "milliseconds"), shownTime), barCell(share, shownShare(share), "memory"),
           numberCell(transfer.getNumber("waited_milliseconds"), shownTime),
           numberCell(numberOf(transfer, "moved_bytes"), shownBytes),
           numberCell(transfer.getNumber("bytes_per_second"), [](double rate) { return shownRate(rate, "B/s"); })});
    });
  });
  if (rows.empty())
    page.empty("There are no transfers between ranks.");
  else
    page.table("Transfers", columns, rows, 30);
}

std::string profilePage(const json::Object &record, const TracedRun &run, StringRef file) {
  std::string dims = dimsText(record);
  std::string about = file.str() + ", code for " + textOf(record, "target").str() + ", " +
                      countedText(record.getInteger("threads").value_or(1), "thread") + ", " +
                      textOf(record, "cpu").str();
  Page page("Profile of " + llvm::sys::path::filename(file).str(), dims.empty() ? about : about + ", " + dims);
  tellRunOverview(page, record);
  tellSuggestions(page, record);
  tellRoofline(page, record);
  page.section(
      "timeline", "Timeline",
      "The fastest run. If several threads execute kernels, each has a track; gaps are idle time. Kernels on a "
      "device are timed by the device.");
  llvm::StringMap<const json::Object *> kernels;
  eachObject(*record.getObject("fastest_run"), "kernels",
             [&](const json::Object &kernel) { kernels[textOf(kernel, "kernel")] = &kernel; });
  auto toneOf = [&](StringRef name) -> std::string {
    const json::Object *kernel = kernels.lookup(name);
    StringRef roof = kernel ? textOf(*kernel, "roof") : "";
    return roof.empty() ? "unknown" : roof.str();
  };
  drawRoofLegend(page);
  drawTimeline(page, run, int(record.getInteger("threads").value_or(1)), toneOf, [&](StringRef name, size_t number) {
    const json::Object *kernel = kernels.lookup(name);
    json::Array nodes = kernel ? nodesOfLaunch(*kernel, number) : json::Array();
    return nodesText(&nodes, 4);
  });
  tellProfiledGraph(page, record, run);
  tellKernelTimes(page, record);
  tellRanks(page, record);
  if (const json::Object *explanation = record.getObject("explanation")) {
    tellArenas(page, explainedVariants(*explanation, textOf(record, "target")));
    tellRemarks(page, *explanation);
  } else {
    page.section("arena", "Arena");
    page.empty("A compiled library does not contain the layout of its arena: profile the model (.onnx) instead.");
  }
  return page.finish();
}

} // namespace hewn::tool
