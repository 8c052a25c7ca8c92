// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Profile/Roofline.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "lib/Tools/Models/Record.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

Roofline::Roofline(const std::string &target, int threads, bool rounds) : rounds(rounds) {
  llvm::Expected<MachineRates> measured = measureMachine(target, threads);
  if (measured)
    rates = std::move(*measured);
  else
    missing = llvm::toString(measured.takeError());
}

void Roofline::addTo(json::Object &record) const {
  record["machine"] = nullptr;
  record["machine_unavailable"] = missing.empty() ? json::Value(nullptr) : jsonText(missing);
  if (!rates)
    return;
  json::Array peaks, bandwidths;
  for (const MachineRates::Rate &rate : rates->rates)
    peaks.push_back(json::Object{{"multiplies", rate.type}, {"flop_per_second", jsonNumber(rate.perSecond)}});
  for (const MachineRates::Bandwidth &one : rates->bandwidths)
    bandwidths.push_back(
        json::Object{{"bytes", int64_t(one.bytes)}, {"bytes_per_second", jsonNumber(one.bytesPerSecond)}});
  record["machine"] = json::Object{{"target", rates->target},
                                   {"threads", rates->threads},
                                   {"peaks", std::move(peaks)},
                                   {"bandwidths", std::move(bandwidths)},
                                   {"seconds", jsonNumber(rates->seconds)}};
}

void Roofline::addLeastTime(json::Object &kernel, std::optional<int64_t> launches) const {
  kernel["least_milliseconds"] = kernel["roof"] = nullptr;
  std::optional<double> flop = kernel.getNumber("flop"), bytes = kernel.getNumber("bytes");
  if (!rates || !flop || !bytes || !launches)
    return;
  double rate = rates->rateOf(kernel.getString("multiplies").value_or(""), rounds), speed = rates->bandwidthOf(*bytes);
  if (rate <= 0 || speed <= 0)
    return;
  double computing = *flop / rate, moving = *bytes / speed;
  kernel["least_milliseconds"] = 1e3 * double(*launches) * std::max(computing, moving);
  kernel["roof"] = computing > moving ? "compute" : "memory";
}

/// Evaluates a formula. Returns nullopt if it uses dims that are not in `dims`.
static std::optional<int64_t> valueOf(StringRef formula, llvm::ArrayRef<std::pair<std::string, int64_t>> dims) {
  std::optional<graph::DimExpr> expr = graph::DimExpr::parse(formula);
  auto find = [&](StringRef name) { return llvm::find_if(dims, [&](const auto &dim) { return dim.first == name; }); };
  bool isKnown = expr && !graph::overflows(*expr);
  if (isKnown)
    expr->walkSymbols([&](StringRef name) { isKnown &= find(name) != dims.end(); });
  if (!isKnown)
    return std::nullopt;
  return graph::evaluate(*expr, [&](StringRef name) { return find(name)->second; });
}

std::vector<std::pair<std::string, int64_t>> picturedDims(const json::Object &variant) {
  std::vector<std::pair<std::string, int64_t>> pictured;
  eachObject(variant, "arenas", [&](const json::Object &arena) {
    const json::Object *layout = arena.getObject("layout"), *at = layout ? layout->getObject("at") : nullptr,
                       *dims = at ? at->getObject("dims") : nullptr;
    if (dims && pictured.empty())
      for (const auto &dim : *dims)
        pictured.push_back({dim.first.str(), dim.second.getAsInteger().value_or(0)});
  });
  llvm::sort(pictured);
  return pictured;
}

void bindWork(json::Object &kernel, llvm::ArrayRef<std::pair<std::string, int64_t>> dims) {
  std::optional<StringRef> flop = kernel.getString("flop_formula"), bytes = kernel.getString("bytes_formula");
  if (!flop || !bytes)
    return;
  std::optional<int64_t> flopNow = valueOf(*flop, dims), bytesNow = valueOf(*bytes, dims);
  if (flopNow && bytesNow && *flopNow >= 0 && *bytesNow >= 0) {
    kernel["flop"] = *flopNow;
    kernel["bytes"] = *bytesNow;
  }
}

/// Returns true if a variant with this title ("x86-64-v3, where n = 1") is for the target.
static bool isFor(StringRef title, StringRef target) {
  StringRef machine = title.starts_with("where ") ? "" : title.split(", where ").first;
  return machine.empty() || machine == target;
}

std::vector<const json::Object *> explainedVariants(const json::Object &explanation, StringRef target) {
  std::vector<const json::Object *> found;
  eachObject(explanation, "variants", [&](const json::Object &variant) {
    if (isFor(variant.getString("title").value_or(""), target))
      found.push_back(&variant);
  });
  return found;
}

StringRef conditionOf(const json::Object &variant) {
  StringRef title = variant.getString("title").value_or(""), where = "where ";
  size_t at = title.find(where);
  return at == StringRef::npos ? "" : title.substr(at + where.size());
}

const json::Object *explainedKernel(const json::Object &explanation, StringRef target, StringRef traced,
                                    StringRef rank) {
  auto [name, behind] = traced.split(" [");
  std::string condition = behind.ends_with("]") ? behind.drop_back().str() : "";
  if (!rank.empty())
    condition += (condition.empty() ? "" : ", ") + rank.str();
  const json::Object *found = nullptr;
  for (const json::Object *variant : explainedVariants(explanation, target)) {
    if (conditionOf(*variant) == condition)
      eachObject(*variant, "kernels", [&](const json::Object &kernel) {
        if (kernel.getString("name").value_or("") == name)
          found = &kernel;
      });
  }
  return found;
}

} // namespace hewn::tool
