// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Remarks.h"

#include "lib/Support/Diagnostics.h"
#include "lib/Support/Printable.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Remarks/RemarkSerializer.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <set>
#include <tuple>

using namespace mlir;

namespace hewn {

namespace {

constexpr llvm::StringLiteral kReason = "Reason", kVariant = "Variant", kPlace = "Place";

class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(Remarks &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &emitted) override {
    Remark remark;
    remark.pass = emitted.getCategoryName().str();
    remark.name = emitted.getRemarkName().str();
    remark.node = printable(nodeName(emitted.getLocation()));
    remark.type = emitted.getRemarkType();
    for (const remark::detail::Remark::Arg &arg : emitted.getArgs())
      if (arg.key == kReason)
        remark.reason += arg.val;
      else if (arg.key == kVariant)
        remark.variant = arg.val;
      else if (arg.key == kPlace)
        (void)StringRef(arg.val).getAsInteger(10, remark.place);
      else
        remark.others.emplace_back(arg.key, printable(arg.val));
    remarks.add(std::move(remark));
  }

private:
  Remarks &remarks;
};

StringRef typeName(llvm::remarks::Type type) {
  switch (type) {
  case llvm::remarks::Type::Passed:
    return "passed";
  case llvm::remarks::Type::Analysis:
    return "analysis";
  default:
    return "missed";
  }
}

} // namespace

bool Remark::operator<(const Remark &other) const {
  return std::tie(pass, name, node, variant, reason, others) <
         std::tie(other.pass, other.name, other.node, other.variant, other.reason, other.others);
}

void Remarks::add(Remark remark) {
  std::lock_guard<std::mutex> guard(lock);
  all.push_back(std::move(remark));
}

void Remarks::sort(llvm::ArrayRef<StringRef> titles) {
  auto placeOf = [&](const Remark &remark) {
    return std::pair(llvm::find(titles, remark.variant) - titles.begin(), remark.place);
  };
  llvm::stable_sort(all, [&](const Remark &a, const Remark &b) { return placeOf(a) < placeOf(b); });
  std::set<Remark> known;
  llvm::erase_if(all, [&](const Remark &remark) { return !known.insert(remark).second; });
}

void Remarks::writeYaml(llvm::raw_ostream &os) const {
  auto serializer = llvm::remarks::createRemarkSerializer(llvm::remarks::Format::YAML, os);
  if (!serializer) { // the YAML serializer always exists
    llvm::consumeError(serializer.takeError());
    return;
  }
  for (const Remark &one : all) {
    llvm::remarks::Remark remark;
    remark.RemarkType = one.type;
    remark.PassName = one.pass;
    remark.RemarkName = one.name;
    // the serializer requires a function name
    remark.FunctionName = one.node.empty() ? "<unknown function>" : StringRef(one.node);
    auto add = [&](StringRef key, StringRef value) {
      llvm::remarks::Argument argument(key, value);
      remark.Args.push_back(argument);
    };
    add(kReason, one.reason);
    for (const auto &[key, value] : one.others)
      add(key, value);
    if (!one.variant.empty())
      add(kVariant, one.variant);
    (*serializer)->emit(remark);
  }
}

void Remarks::writeJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const Remark &one : all)
      json.object([&] {
        json.attribute("type", typeName(one.type));
        json.attribute("pass", one.pass);
        json.attribute("name", one.name);
        json.attribute("node", one.node);
        json.attribute("reason", one.reason);
        for (const auto &[key, value] : one.others)
          json.attribute(llvm::StringRef(key).lower(), value);
        if (!one.variant.empty())
          json.attribute("variant", one.variant);
      });
  });
  os << "\n";
}

std::string Remarks::summary() const {
  constexpr size_t told = 3;
  llvm::MapVector<std::pair<StringRef, StringRef>, SmallVector<const Remark *>> byReason;
  for (const Remark &one : all)
    byReason[{one.name, one.reason}].push_back(&one);
  auto groups = byReason.takeVector();
  llvm::stable_sort(groups, [](const auto &a, const auto &b) { return a.second.size() > b.second.size(); });
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[key, list] : groups) {
    os << "  " << key.first << " x" << list.size() << ": " << key.second << "\n    ";
    SmallVector<std::string> nodes;
    for (const Remark *one : ArrayRef(list).take_front(told)) {
      std::string node = one->node.empty() ? "(no node)" : one->node;
      for (const auto &[name, value] : one->others)
        node += (node.empty() ? "" : ", ") + llvm::StringRef(name).lower() + " " + value;
      nodes.push_back(node);
    }
    os << llvm::join(nodes, "; ") << (list.size() > told ? "; ..." : "") << "\n";
  }
  return text;
}

CollectRemarks::CollectRemarks(MLIRContext &context, Remarks &remarks) : context(context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = categories.failed = ".*";
  (void)remark::enableOptimizationRemarks(context, std::make_unique<Collector>(remarks),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

CollectRemarks::~CollectRemarks() { context.setRemarkEngine(nullptr); }

bool wantsRemarks(Operation *op) { return op->getContext()->getRemarkEngine(); }

remark::detail::InFlightRemark missed(Operation *op, StringRef pass, StringRef name, StringRef reason) {
  remark::detail::InFlightRemark emitted = remark::missed(op->getLoc(), remark::RemarkOpts::name(name).category(pass));
  if (!emitted)
    return emitted;
  emitted << remark::detail::Remark::Arg(kReason, reason);
  Operation *around = op; // the kernel or function in the module
  while (around->getParentOp() && !isa<ModuleOp>(around->getParentOp()))
    around = around->getParentOp();
  if (Block *block = around->getBlock())
    emitted << remark::detail::Remark::Arg(kPlace, int64_t(std::distance(block->begin(), Block::iterator(around))));
  if (Operation *module = around->getParentOp())
    if (auto title = module->getAttrOfType<StringAttr>(kTitleAttr))
      emitted << remark::detail::Remark::Arg(kVariant, title.getValue());
  return emitted;
}

} // namespace hewn
