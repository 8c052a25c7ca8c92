// SPDX-License-Identifier: Apache-2.0
//
// Makes what would become integers results of the program, so that a run shows its range.
//
//     %a = graph.relu %x                     →   %a = graph.relu %x
//     %y = graph.matmul %a, %w                   %y = graph.matmul %a, %w
//     return %y                                  return %y, %a
//
// What is a view of something is exposed as that; but as it is where a rounding of weights asks for its rows.
//
// Left alone: what stands in a branch or a loop; contractions that stay float or have a range already.
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Quantize/Sites.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_EXPOSEOPERANDSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

struct ExposeOperandsPass : impl::ExposeOperandsPassBase<ExposeOperandsPass> {
  ExposeOperandsPass() = default;
  ExposeOperandsPass(const quantize::Quantization *quantization, std::vector<ExposedOperand> *exposed)
      : quantization(quantization), exposed(exposed) {}

  void runOnOperation() override {
    static const quantize::Quantization all;
    enum What { Values, Rows, Channels };
    using Key = std::pair<void *, What>;
    llvm::MapVector<Key, ExposedOperand, std::map<Key, unsigned>> operands;
    auto add = [&](const ContractionSite &site, What what) {
      Value value = what == Values ? site.source : site.op->getOperand(0);
      auto [found, isNew] = operands.try_emplace({value.getAsOpaquePointer(), what});
      ExposedOperand &operand = found->second;
      operand.isRows = what == Rows;
      operand.isChannels = what == Channels;
      std::optional<unsigned> channels = channelDimOf(site, value);
      operand.channelDim = isNew || operand.channelDim == channels ? channels : std::nullopt;
      operand.readers.push_back({site.name, site.kind.str()});
    };
    std::vector<ContractionSite> sites = findContractionSites(getOperation());
    if (exposed && !exposed->empty())
      return exposeAgain(sites);
    roundsByRows = weightsToChoose(sites) <= kMostWeights;
    for (const ContractionSite &site : sites) {
      if (needsRange(quantization ? *quantization : all, site))
        add(site, Values);
      if (quantization && needsRows(*quantization, site))
        add(site, Rows);
      if (quantization && needsChannels(*quantization, site))
        add(site, Channels);
    }
    for (auto &[key, operand] : operands) {
      operand.result = expose(Value::getFromOpaquePointer(key.first));
      if (exposed)
        exposed->push_back(operand);
    }
  }

  /// The same results as in another compile of the model.
  void exposeAgain(ArrayRef<ContractionSite> sites) {
    for (ExposedOperand &operand : *exposed) {
      const auto *site =
          llvm::find_if(sites, [&](const ContractionSite &s) { return s.name == operand.readers.front().name; });
      if (site == sites.end()) {
        getOperation().emitError() << "the contraction '" << operand.readers.front().name
                                   << "' is not in all cases of the model: samples run where dims are bound";
        return signalPassFailure();
      }
      operand.result = expose(operand.isRows || operand.isChannels ? site->op->getOperand(0) : site->source);
    }
  }

  /// Its number among the results.
  unsigned expose(Value value) {
    std::optional<unsigned> number = addResult(getOperation(), value);
    if (!number)
      signalPassFailure();
    return number.value_or(0);
  }

  static bool needsRange(const quantize::Quantization &wanted, const ContractionSite &site) {
    if (!site.form || !isInProgram(site.source) || wanted.sites.count(site.name))
      return false;
    const quantize::Scheme &scheme = wanted.schemeFor(site.name, site.kind);
    return !scheme.keepFloat && scheme.activations.integers;
  }

  /// Weights for which data choose integers where nothing is said: their integers are in the text.
  int64_t weightsToChoose(ArrayRef<ContractionSite> sites) const {
    int64_t count = 0;
    for (const ContractionSite &site : sites)
      if (quantization && mayChoose(site))
        count += cast<RankedTensorType>(site.weights.getType()).getNumElements();
    return count;
  }

  bool mayChoose(const ContractionSite &site) const {
    const quantize::Scheme *scheme = schemeOfRows(*quantization, site);
    return scheme && scheme->activations.integers && scheme->weights.rounding == quantize::Rounding::Choose;
  }

  bool needsRows(const quantize::Quantization &wanted, const ContractionSite &site) const {
    const quantize::Scheme *scheme = schemeOfRows(wanted, site);
    return scheme && (scheme->weights.rounding == quantize::Rounding::Gptq || (roundsByRows && mayChoose(site)));
  }

  /// How much each place along the sum counts for a codebook.
  static bool needsChannels(const quantize::Quantization &wanted, const ContractionSite &site) {
    const quantize::Scheme *scheme = readsRows(site) ? schemeOfRows(wanted, site) : nullptr;
    return scheme && scheme->weights.storage == quantize::Storage::Codebook;
  }

  /// Of a contraction of rows by constants, whose numbers are not known yet; else null.
  static const quantize::Scheme *schemeOfRows(const quantize::Quantization &wanted, const ContractionSite &site) {
    if (!sumsChannels(site) || !isInProgram(site.op->getOperand(0)) || wanted.sites.count(site.name))
      return nullptr;
    const quantize::Scheme &scheme = wanted.schemeFor(site.name, site.kind);
    return scheme.keepFloat ? nullptr : &scheme;
  }

  /// 11 MB of text.
  static constexpr int64_t kMostWeights = 8 << 20;

  const quantize::Quantization *quantization = nullptr;
  std::vector<ExposedOperand> *exposed = nullptr;
  bool roundsByRows = false;
};

} // namespace

std::unique_ptr<Pass> createExposeOperandsPass(const quantize::Quantization *quantization,
                                               std::vector<ExposedOperand> *exposed) {
  return std::make_unique<ExposeOperandsPass>(quantization, exposed);
}

} // namespace hewn
