// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Artifact.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Support/Remarks.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace hewn {

using graph::Condition;

static graph::FactAttr toAttr(MLIRContext *context, const graph::Fact &fact) {
  return graph::FactAttr::get(context, fact.condition.difference, fact.condition.kind == Condition::Kind::AtMostZero,
                              fact.holds);
}

template <typename Attr> static Condition conditionOf(Attr attr) {
  return {attr.getAtMost() ? Condition::Kind::AtMostZero : Condition::Kind::Zero, attr.getDifference()};
}

Artifact Artifact::ofCases(MLIRContext &context, importer::Cases cases, int64_t ranks) {
  Builder b(&context);
  Artifact artifact(ModuleOp::create(b.getUnknownLoc()));
  size_t casesPerRank = cases.list.size() / size_t(ranks);
  SmallVector<Attribute> list, questions;
  for (auto [number, one] : llvm::enumerate(cases.list)) {
    auto facts = llvm::map_to_vector(one.facts, [&](const graph::Fact &fact) { return toAttr(&context, fact); });
    list.push_back(graph::CaseAttr::get(&context, facts, one.refusal));
    if (!one.module)
      continue;
    ModuleOp program = one.module.release();
    program.setSymName(cases.list.size() > 1 ? "case" + std::to_string(number) : "program");
    program->setAttr(graph::kCaseNumberAttr, b.getI64IntegerAttr(int64_t(number)));
    if (ranks > 1)
      program->setAttr(graph::kRankAttr, b.getI64IntegerAttr(int64_t(number / casesPerRank)));
    artifact.module().push_back(program);
  }
  for (const graph::CaseTree::Question &question : cases.tree.questions)
    questions.push_back(graph::QuestionAttr::get(&context, question.condition.difference,
                                                 question.condition.kind == Condition::Kind::AtMostZero, question.yes,
                                                 question.no));
  if (cases.list.size() > 1) {
    artifact.module()->setAttr(graph::kCasesAttr, b.getArrayAttr(list));
    artifact.module()->setAttr(graph::kQuestionsAttr, b.getArrayAttr(questions));
  }
  return artifact;
}

Artifact Artifact::ofText(OwningOpRef<ModuleOp> module) {
  if (!module->getOps<ModuleOp>().empty())
    return Artifact(std::move(module));
  Artifact artifact(ModuleOp::create(module->getLoc()));
  artifact.module().push_back(module.release());
  return artifact;
}

SmallVector<ModuleOp> Artifact::programs() { return llvm::to_vector(outer.getOps<ModuleOp>()); }

std::vector<ModelCase> Artifact::cases() {
  std::vector<ModelCase> list;
  if (auto attrs = module()->getAttrOfType<ArrayAttr>(graph::kCasesAttr))
    for (auto attr : attrs.getAsRange<graph::CaseAttr>()) {
      ModelCase &one = list.emplace_back();
      one.refusal = attr.getRefusal().str();
      for (graph::FactAttr fact : attr.getFacts())
        one.facts.push_back({conditionOf(fact), fact.getHolds()});
    }
  if (list.empty())
    list.emplace_back();
  return list;
}

graph::CaseTree Artifact::tree() {
  graph::CaseTree tree;
  if (auto attrs = module()->getAttrOfType<ArrayAttr>(graph::kQuestionsAttr))
    for (auto attr : attrs.getAsRange<graph::QuestionAttr>())
      tree.questions.push_back({conditionOf(attr), int(attr.getYes()), int(attr.getNo())});
  return tree;
}

std::string Artifact::problem() {
  int64_t numCases = int64_t(cases().size());
  std::vector<graph::CaseTree::Question> questions = tree().questions;
  for (auto [number, question] : llvm::enumerate(questions))
    for (int next : {question.yes, question.no})
      // questions refer to later ones, so that the tree has no cycle
      if (next < 0 ? next < -numCases : next <= int(number) || next >= int(questions.size()))
        return ("question " + Twine(number) + " of the artifact refers to " + Twine(next)).str();
  if (numCases > 1 && questions.empty())
    return "the artifact has several cases and no questions";
  llvm::MapVector<StringRef, llvm::SmallBitVector> casesOf; // by target
  for (ModuleOp program : programs()) {
    if (int64_t(caseOf(program)) >= numCases)
      return ("the artifact has no case " + Twine(caseOf(program))).str();
    if (rankOf(program) >= numCases)
      return ("the artifact has no rank " + Twine(rankOf(program))).str();
    llvm::SmallBitVector &seen = casesOf[targetNameOf(program)];
    seen.resize(unsigned(numCases));
    if (seen.test(unsigned(caseOf(program))))
      return ("the artifact has two programs for case " + Twine(caseOf(program))).str();
    seen.set(unsigned(caseOf(program)));
  }
  for (auto &[target, seen] : casesOf)
    for (auto [number, one] : llvm::enumerate(cases()))
      if (one.refusal.empty() != seen.test(unsigned(number)))
        return ("case " + Twine(number) + " of the artifact must have either a program or a reason why it has none")
            .str();
  return "";
}

SmallVector<StringRef> Artifact::targetNames() {
  llvm::SetVector<StringRef> names;
  for (ModuleOp program : programs())
    names.insert(targetNameOf(program));
  return names.takeVector();
}

void Artifact::addVariants(ArrayRef<codegen::TargetSpec> machines, Precision precision) {
  Builder b(module().getContext());
  std::vector<ModelCase> all = cases();
  SmallVector<ModuleOp> sources = programs();
  int64_t ranks = 1;
  for (ModuleOp source : sources)
    ranks = std::max(ranks, rankOf(source) + 1);
  bool severalMachines = machines.size() > 1, severalSizes = all.size() > size_t(ranks);
  bool sharesFloats = severalMachines && llvm::any_of(machines, [](const codegen::TargetSpec &machine) {
                        return !machine.hasHalfConversions;
                      });
  for (const codegen::TargetSpec &machine : machines)
    for (ModuleOp source : sources) {
      StringRef name = source.getSymName().value_or("program");
      bool isLast = &machine == &machines.back();
      ModuleOp variant = isLast ? source : source.clone();
      if (isLast)
        variant->remove();
      module().push_back(variant);
      std::string title = severalMachines ? machine.name : "";
      if (all.size() > 1)
        title += (title.empty() ? "where " : ", where ") + all[caseOf(source)].condition();
      if (!title.empty())
        variant->setAttr(kTitleAttr, b.getStringAttr(title));
      if (severalMachines)
        variant.setSymName((machine.name + "." + name).str());
      setTarget(variant, machine, precision);
      if (severalSizes)
        variant->setAttr(plan::kPacksForAnyRowsAttr, b.getUnitAttr());
      if (severalMachines)
        variant->setAttr(plan::kPackingLanesAttr, b.getI64IntegerAttr(machines.front().vectorBytes / 4));
      if (sharesFloats)
        variant->setAttr(plan::kSharesFloatsAttr, b.getUnitAttr());
    }
}

std::string Artifact::text(bool withLocations) {
  std::string text;
  llvm::raw_string_ostream os(text);
  SmallVector<ModuleOp> all = programs();
  // Local scope is used because printing would otherwise visit everything that attributes refer to.
  OpPrintingFlags flags = OpPrintingFlags().useLocalScope().enableDebugInfo(withLocations);
  bool isProgram = all.size() == 1 && !module()->hasAttr(graph::kCasesAttr);
  (isProgram ? all.front() : module()).print(os, flags);
  os << "\n";
  return text;
}

size_t caseOf(ModuleOp program) {
  auto number = program->getAttrOfType<IntegerAttr>(graph::kCaseNumberAttr);
  return number ? size_t(number.getInt()) : 0;
}

int64_t rankOf(ModuleOp program) {
  auto rank = program->getAttrOfType<IntegerAttr>(graph::kRankAttr);
  return rank ? rank.getInt() : 0;
}

static StringRef textOf(ModuleOp module, StringRef attribute) {
  auto text = module->getAttrOfType<StringAttr>(attribute);
  return text ? text.getValue() : "";
}

StringRef targetNameOf(ModuleOp variant) { return textOf(variant, plan::kTargetNameAttr); }

StringRef titleOf(ModuleOp variant) { return textOf(variant, kTitleAttr); }

void setTarget(ModuleOp module, const codegen::TargetSpec &machine, Precision precision) {
  Builder b(module.getContext());
  module->setAttr(plan::kTargetAttr, target::attribute(b.getContext(), machine, precision));
  module->setAttr(plan::kTargetNameAttr, b.getStringAttr(machine.name));
  module->setAttr(plan::kTuningTargetAttr, b.getStringAttr(target::identity(machine)));
}

} // namespace hewn
