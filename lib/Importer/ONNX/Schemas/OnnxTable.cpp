// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Schemas/OnnxTable.h"

#include "llvm/ADT/STLExtras.h"
#include <climits>

#include "lib/Importer/ONNX/Schemas/OnnxTable.inc"

namespace hewn::importer {

/// Returns the records of one ONNX op. Searches the table by bisection, because it is sorted by
/// domain and op.
static llvm::ArrayRef<OnnxRecord> recordsOf(llvm::StringRef domain, llvm::StringRef op) {
  auto key = [](const OnnxRecord &r) { return std::pair<llvm::StringRef, llvm::StringRef>(r.domain, r.op); };
  std::pair<llvm::StringRef, llvm::StringRef> wanted(domain, op);
  const OnnxRecord *low = llvm::partition_point(records, [&](const OnnxRecord &r) { return key(r) < wanted; });
  const OnnxRecord *high = low;
  while (high != std::end(records) && key(*high) == wanted)
    ++high;
  return llvm::ArrayRef(low, high);
}

const OnnxRecord *findRecord(llvm::StringRef domain, llvm::StringRef op, int64_t opset) {
  for (const OnnxRecord &record : recordsOf(domain, op))
    if (record.since <= opset && opset <= record.until)
      return &record;
  return nullptr;
}

std::string recordedVersions(llvm::StringRef domain, llvm::StringRef op) {
  std::string text;
  for (const OnnxRecord &record : recordsOf(domain, op)) {
    text += text.empty() ? "" : ", ";
    text += std::to_string(record.since);
    text += record.until == INT_MAX ? " and later" : " to " + std::to_string(record.until);
  }
  return text;
}

} // namespace hewn::importer
