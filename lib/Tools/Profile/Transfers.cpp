// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Profile/Transfers.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Record.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

//===------------------------------------------------------------------------------------------===//
// Exchange between ranks
//===------------------------------------------------------------------------------------------===//

std::string RunRecords::tell() {
  json::Array launches, transfers;
  for (const Slice &launch : kept.launches)
    launches.push_back(json::Array{jsonText(launch.kernel), launch.begin, launch.duration});
  for (const Transfer &one : kept.transfers)
    transfers.push_back(json::Object{{"what", one.what},
                                     {"node", jsonText(one.node)},
                                     {"first", one.first},
                                     {"ranks", one.ranks},
                                     {"bytes", int64_t(one.bytes)},
                                     {"moved", int64_t(one.moved)},
                                     {"begin", one.begin},
                                     {"duration", one.duration},
                                     {"waited", one.waited ? json::Value(*one.waited) : json::Value(nullptr)},
                                     {"on_device", one.onDevice}});
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(json::Object{{"total", kept.total},
                                                             {"on_device", kept.onDevice},
                                                             {"launches", std::move(launches)},
                                                             {"transfers", std::move(transfers)}});
  return text;
}

bool readRun(StringRef text, RankRun &of) {
  llvm::Expected<json::Value> told = json::parse(text);
  if (!told) {
    llvm::consumeError(told.takeError());
    return false; // the text is not a record of a rank
  }
  const json::Object *record = told->getAsObject();
  const json::Array *launches = record ? record->getArray("launches") : nullptr;
  if (!launches)
    return false; // the JSON value is not a record of a rank
  TracedRun &run = of.run;
  run.total = numberOf(*record, "total");
  run.onDevice = record->getBoolean("on_device").value_or(false);
  for (const json::Value &value : *launches)
    if (const json::Array *launch = value.getAsArray(); launch && launch->size() == 3) {
      StringRef name = of.names.insert((*launch)[0].getAsString().value_or("")).first->getKey();
      run.launches.push_back(
          {name.data(), (*launch)[1].getAsNumber().value_or(0), (*launch)[2].getAsNumber().value_or(0)});
    }
  eachObject(*record, "transfers", [&](const json::Object &one) {
    Transfer transfer;
    transfer.what = textOf(one, "what");
    transfer.node = textOf(one, "node");
    transfer.first = int32_t(one.getInteger("first").value_or(0));
    transfer.ranks = int32_t(one.getInteger("ranks").value_or(0));
    transfer.bytes = uint64_t(one.getInteger("bytes").value_or(0));
    transfer.moved = uint64_t(one.getInteger("moved").value_or(0));
    transfer.begin = numberOf(one, "begin");
    transfer.duration = numberOf(one, "duration");
    transfer.waited = one.getNumber("waited");
    transfer.onDevice = one.getBoolean("on_device").value_or(false);
    run.transfers.push_back(std::move(transfer));
  });
  return true;
}

//===------------------------------------------------------------------------------------------===//
// Rows
//===------------------------------------------------------------------------------------------===//

namespace {

/// All transfers of a run that have the same operation, ranks and size: one row of the table.
struct TransferShare {
  const Transfer *one = nullptr;
  int64_t times = 0;
  double microseconds = 0;
  std::optional<double> waited = 0;
  uint64_t moved = 0, carried = 0;
};

} // namespace

static std::vector<TransferShare> sharesOf(const std::vector<Transfer> &transfers) {
  llvm::MapVector<std::string, TransferShare, std::map<std::string, unsigned>> shares;
  for (const Transfer &transfer : transfers) {
    std::string kind = transfer.what + " " + std::to_string(transfer.first) + " " + std::to_string(transfer.ranks) +
                       " " + std::to_string(transfer.bytes);
    TransferShare &share = shares[kind];
    share.one = &transfer;
    ++share.times;
    share.microseconds += transfer.duration;
    share.waited = share.waited && transfer.waited ? std::optional(*share.waited + *transfer.waited) : std::nullopt;
    share.moved += transfer.moved;
    // The receiver of a message counts its bytes as moved; for a sender, the message size is used.
    share.carried += transfer.what == "send" ? transfer.bytes : transfer.moved;
  }
  std::vector<TransferShare> rows;
  for (auto &entry : shares)
    rows.push_back(entry.second);
  llvm::stable_sort(rows, [](const auto &a, const auto &b) { return a.microseconds > b.microseconds; });
  return rows;
}

static json::Value milliseconds(std::optional<double> microseconds) {
  return microseconds ? json::Value(*microseconds / 1e3) : json::Value(nullptr);
}

json::Object rankRecord(const RankRun &of) {
  const TracedRun &run = of.run;
  json::Array transfers, kernels;
  std::optional<double> waited = 0;
  uint64_t moved = 0;
  for (const TransferShare &share : sharesOf(run.transfers)) {
    double moving = share.microseconds - share.waited.value_or(0);
    const bool isMoving = moving > 0 && share.carried > 0;
    transfers.push_back(json::Object{
        {"transfer", share.one->what},
        {"first_rank", share.one->first},
        {"ranks", share.one->ranks},
        {"bytes", int64_t(share.one->bytes)},
        {"times", share.times},
        {"milliseconds", share.microseconds / 1e3},
        {"share", jsonNumber(share.microseconds / run.total)},
        {"waited_milliseconds", milliseconds(share.waited)},
        {"moved_bytes", int64_t(share.moved)},
        {"bytes_per_second", isMoving ? jsonNumber(double(share.carried) / moving * 1e6) : json::Value(nullptr)}});
    waited = waited && share.waited ? std::optional(*waited + *share.waited) : std::nullopt;
    moved += share.moved;
  }
  for (const KernelShare &share : sharesOf(run))
    kernels.push_back(json::Object{{"kernel", jsonText(share.name)},
                                   {"milliseconds", share.microseconds / 1e3},
                                   {"share", jsonNumber(share.microseconds / run.total)},
                                   {"launches", share.launches}});
  return json::Object{{"rank", of.rank},
                      {"milliseconds", run.total / 1e3},
                      {"kernel_milliseconds", inKernels(run) / 1e3},
                      {"transfer_milliseconds", inTransfers(run) / 1e3},
                      {"waited_milliseconds", milliseconds(waited)},
                      {"between_kernels_milliseconds", outsideOf(run) / 1e3},
                      {"moved_bytes", int64_t(moved)},
                      {"transfers", std::move(transfers)},
                      {"kernels", std::move(kernels)}};
}

std::string transferName(const json::Object &transfer) {
  StringRef what = textOf(transfer, "transfer");
  int64_t first = transfer.getInteger("first_rank").value_or(0), ranks = transfer.getInteger("ranks").value_or(1);
  std::string name = (what + " of " + bytesText(numberOf(transfer, "bytes"))).str();
  if (what == "send" || what == "receive")
    return name + (what == "send" ? " to rank " : " from rank ") + std::to_string(first);
  return name + ", ranks " + std::to_string(first) + " to " + std::to_string(first + ranks - 1);
}

std::string transfersText(const json::Array &ranks) {
  // The table lists the same transfer of all ranks in consecutive rows.
  llvm::MapVector<std::string, std::vector<std::pair<int64_t, const json::Object *>>, std::map<std::string, unsigned>>
      kinds;
  for (const json::Value &value : ranks)
    if (const json::Object *rank = value.getAsObject())
      eachObject(*rank, "transfers", [&](const json::Object &transfer) {
        kinds[transferName(transfer)].push_back({rank->getInteger("rank").value_or(0), &transfer});
      });
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%10s %6s %8s %10s %10s %8s %5s ", "ms", "share", "times", "waited ms", "MB moved", "GB/s", "rank")
     << " with other ranks\n";
  for (const auto &[name, rows] : kinds)
    for (const auto &[rank, transfer] : rows) {
      std::optional<double> waited = transfer->getNumber("waited_milliseconds");
      os << llvm::format("%10.4f %5.1f%% %8d ", numberOf(*transfer, "milliseconds"), 100 * numberOf(*transfer, "share"),
                         int(transfer->getInteger("times").value_or(0)));
      os << (waited ? llvm::formatv("{0,10:f4} ", *waited).str() : llvm::formatv("{0,10} ", "unknown").str());
      os << llvm::format("%10.4f %8.2f %5d ", numberOf(*transfer, "moved_bytes") / 1e6,
                         numberOf(*transfer, "bytes_per_second") / 1e9, int(rank))
         << " " << printable(name) << "\n";
    }
  if (kinds.empty())
    os << "no transfers\n";
  return text;
}

} // namespace hewn::tool
