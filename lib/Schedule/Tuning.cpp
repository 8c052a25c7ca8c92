// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/Tuning.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Support/JsonReader.h"
#include "lib/Support/JsonWriter.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <tuple>

using llvm::StringRef;
namespace json = llvm::json;

namespace hewn::plan {

/// Version of the format of tuning files. Files of other versions are rejected.
static constexpr int64_t kVersion = 1;
static constexpr StringRef kVersionKey = "hewn_tuning";

/// Rounds a measured time to the decimals that a tuning file contains, so that writing and reading
/// a row does not change it.
static double rounded(double microseconds) {
  constexpr double perMicrosecond = 1e3;
  return std::max(std::round(microseconds * perMicrosecond), 1.0) / perMicrosecond;
}

void TriedCandidates::add(int64_t place) {
  if (place >= first)
    beyond.insert(place);
  while (beyond.erase(first))
    ++first;
}

void TriedCandidates::add(const TriedCandidates &other) {
  first = std::max(first, other.first);
  beyond.insert(other.beyond.begin(), other.beyond.end());
  beyond.erase(beyond.begin(), beyond.lower_bound(first));
  // updates the number of candidates before the first gap, because the added ones may have closed
  // gaps
  add(0);
}

std::string TuningRow::text() const {
  auto quoted = [](StringRef text) { return llvm::formatv("{0}", jsonText(text)).str(); };
  std::string places;
  for (int64_t place : tried.behindGaps())
    places += (places.empty() ? "" : ", ") + std::to_string(place);
  if (!places.empty())
    places = "\"tried_behind\": [" + places + "], ";
  return llvm::formatv(R"({{"machine": {0}, "kernel": {1}, "schedule": {2}, "microseconds": {3:f3}, "model": {4}, )"
                       R"("model_microseconds": {5:f3}, "tried": {6}, {7}"processor": {8}})",
                       quoted(machine), quoted(kernel), quoted(schedule), microseconds, quoted(model),
                       modelMicroseconds, tried.withoutGap(), places, quoted(processor))
      .str();
}

void Tuning::add(TuningRow row) {
  row.microseconds = rounded(row.microseconds);
  row.modelMicroseconds = rounded(row.modelMicroseconds);
  auto [at, isNew] = rows.try_emplace({row.machine, row.kernel}, row);
  if (isNew)
    return;
  TuningRow &kept = at->second;
  TriedCandidates tried = kept.tried;
  tried.add(row.tried);
  // Selects one of two rows for the same kernel. If their ratios of times are equal, all fields but
  // `tried` are compared, so that the result does not depend on the order of additions.
  kept.tried = row.tried = TriedCandidates();
  auto order = [](const TuningRow &one) { return std::make_tuple(one.ratio(), one.microseconds, one.text()); };
  if (order(row) < order(kept))
    kept = std::move(row);
  kept.tried = std::move(tried);
}

void Tuning::add(const Tuning &other) {
  for (const auto &[key, row] : other.rows)
    add(row);
}

const TuningRow *Tuning::find(StringRef machine, StringRef kernel) const {
  auto found = rows.find({machine.str(), kernel.str()});
  return found == rows.end() ? nullptr : &found->second;
}

std::vector<std::string> Tuning::machines() const {
  std::vector<std::string> all;
  for (const auto &[key, row] : rows)
    if (all.empty() || all.back() != key.first)
      all.push_back(key.first);
  return all;
}

std::string Tuning::text() const {
  std::string text = llvm::formatv("{{\"{0}\": {1}}\n", kVersionKey, kVersion).str();
  for (const auto &[key, row] : rows)
    text += row.text() + "\n";
  return text;
}

/// Reads the first line of a tuning file, which contains the version of the format. Returns false
/// after an error.
static bool readVersion(JsonReader &reader, const json::Value &line) {
  const json::Object *header = reader.object(line, "", {kVersionKey});
  std::optional<int64_t> version = header ? reader.integer(*header, kVersionKey, "") : std::nullopt;
  if (version == kVersion)
    return true;
  if (header)
    reader.error("", version ? "has format version " + std::to_string(*version) +
                                   ", but this version of hewn reads version " + std::to_string(kVersion)
                             : "is not a tuning file: its first line must be {\"hewn_tuning\": 1}");
  return false;
}

/// Returns why the schedules or times of a tuning row are invalid, or an empty string if no error
/// is found. The schedules are not parsed; that needs an MLIR context.
static std::string whyNoRow(const TuningRow &row) {
  constexpr size_t longest = 4096;
  // limit of the nesting of angle brackets, because MLIR's parser is recursive; a valid schedule
  // has two levels: #plan.attention<head = #plan.contract<...>>
  constexpr int deepest = 8;
  constexpr double mostGained = 1000;
  StringRef schedule = row.schedule;
  if (schedule.size() > longest || nestsDeeper(schedule, deepest))
    return "has a 'schedule' that is longer than " + std::to_string(longest) + " characters or nested deeper than " +
           std::to_string(deepest);
  if (!schedule.starts_with("#plan.") || !schedule.ends_with(">"))
    return "has a 'schedule' that does not start with #plan. and end with >";
  if (row.microseconds * mostGained < row.modelMicroseconds)
    return "has 'microseconds' below a thousandth of 'model_microseconds'";
  return "";
}

static bool readRow(JsonReader &reader, const json::Value &line, TuningRow &row) {
  // Times in a tuning file are written with three decimals.
  constexpr double shortest = 1e-3, longest = 1e12, most = 1e6;
  const json::Object *object = reader.object(line, "",
                                             {"machine", "kernel", "schedule", "microseconds", "model",
                                              "model_microseconds", "tried", "tried_behind", "processor"});
  if (!object)
    return false;
  row.machine = reader.string(*object, "machine", "", /*required=*/true);
  row.kernel = reader.string(*object, "kernel", "", /*required=*/true);
  row.schedule = reader.string(*object, "schedule", "", /*required=*/true);
  row.model = reader.string(*object, "model", "", /*required=*/true);
  row.processor = reader.string(*object, "processor", "");
  std::optional<double> time = reader.number(*object, "microseconds", "", shortest, longest);
  std::optional<double> modelTime = reader.number(*object, "model_microseconds", "", shortest, longest);
  row.tried = TriedCandidates(int64_t(reader.number(*object, "tried", "", 1, most).value_or(1)));
  reader.each(*object, "tried_behind", "", [&](const json::Value &place, const std::string &at) {
    std::optional<int64_t> number = place.getAsInteger();
    if (number && *number >= 1 && double(*number) <= most)
      row.tried.add(*number);
    else
      reader.error(at, "must be the index of a candidate, an integer from 1 to 1000000");
  });
  if (!time || !modelTime)
    reader.error("", "lacks the key 'microseconds' or 'model_microseconds'");
  row.microseconds = time.value_or(0);
  row.modelMicroseconds = modelTime.value_or(0);
  bool isWhole =
      !row.machine.empty() && !row.kernel.empty() && !row.schedule.empty() && !row.model.empty() && time && modelTime;
  std::string why = isWhole ? whyNoRow(row) : "";
  if (!why.empty())
    reader.error("", why);
  return isWhole && why.empty();
}

bool Tuning::read(StringRef given, Diagnostics &diagnostics) {
  std::string why, file = "tuning";
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  StringRef text = given;
  if (!given.ltrim().starts_with("{")) {
    file = llvm::sys::path::filename(given).str();
    buffer = openRegular(given, why);
    if (!buffer) {
      diagnostics.error("can't read the tuning file " + given + ": " + why);
      return false;
    }
    text = buffer->getBuffer();
    text.consume_front("\xEF\xBB\xBF"); // byte-order mark
  }
  unsigned errors = diagnostics.numErrors();
  bool isFirst = true;
  for (size_t number = 1; !text.empty(); ++number) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    if (line.trim().empty())
      continue;
    JsonReader reader(file + ":" + std::to_string(number), diagnostics);
    llvm::Expected<json::Value> value = parseJson(line);
    TuningRow row;
    if (!value)
      reader.error("", "is not valid JSON: " + llvm::toString(value.takeError()));
    else if (isFirst ? readVersion(reader, *value) && false : readRow(reader, *value, row))
      add(std::move(row));
    isFirst = false;
    if (diagnostics.numErrors() > errors)
      return false; // only the first invalid line is reported
  }
  if (isFirst)
    diagnostics.error(file + " is not a tuning file: it is empty");
  return !isFirst;
}

} // namespace hewn::plan
