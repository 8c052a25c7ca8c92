// SPDX-License-Identifier: Apache-2.0
// Imports a model once for each case, that is, for each outcome of the conditions on input dims
// that decide how nodes are imported.
#include "dialects/Graph/Analysis/Bounds/Solutions.h"
#include "dialects/Graph/Control/Control.h"
#include "lib/Importer/ONNX/DimNames.h"
#include "lib/Importer/ONNX/ModelImporter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;

namespace hewn::importer {

/// Maximum number of cases of a model. Each case is compiled separately.
static constexpr unsigned kMaxCases = 16;

namespace {

class CaseImporter {
public:
  CaseImporter(MLIRContext &context, std::shared_ptr<const LoadedModel> model, const ImportOptions &options,
               std::string folder, WeightStore &weights, Diagnostics &diagnostics)
      : context(context), model(std::move(model)), options(options), folder(std::move(folder)), weights(weights),
        diagnostics(diagnostics) {}

  Cases run() {
    if (options.dimNaming == DimNaming::Lenient)
      groupDims();
    import({});
    if (tooMany)
      return {};
    if (llvm::none_of(cases.list, [](const Case &c) { return bool(c.module); })) {
      reportAll();
      return {};
    }
    if (reportImpossible())
      return {};
    nameSupportedSizes();
    for (auto [one, told] : llvm::zip(cases.list, messages))
      report(one, told);
    return std::move(cases);
  }

private:
  /// Sets `dimGroups`: imports the model with a symbol for each dim of the inputs, without the data
  /// of its weights, and gives one symbol to the dims of a name that this program requires to be
  /// equal. If the model can't be imported this way, all dims of a name are equal.
  void groupDims() {
    DimNames names(model->proto.graph(), options.dims);
    std::vector<graph::Fact> facts;
    bool mayBeOpen = true;
    for (unsigned i = 0; i < kMaxCases && names.mayDiffer(); ++i) {
      Diagnostics told;
      WeightStore scratch;
      ImportOptions trial = options;
      trial.namesOnly = true;
      trial.seeNode = nullptr;
      ModelImporter importer(context, model, trial, folder, scratch, told);
      importer.ranksMayBeOpen = mayBeOpen;
      importer.dimGroups = names.groups();
      OwningOpRef<ModuleOp> module = importer.run(facts);
      if (importer.rankWasAsked) {
        mayBeOpen = false;
      } else if (importer.question) {
        // Follows the more general case of a condition, such as n != 1.
        if (names.joinCompared(importer.question->condition, importer.dimSymbols))
          facts.clear();
        else
          facts.push_back({importer.question->condition, false});
      } else if (module) {
        names.joinRequired(*module, importer.dimSymbols);
        if (!names.mayDiffer())
          return;
        dimGroups = names.groups();
        for (const std::string &warning : names.warnings())
          diagnostics.warning(warning);
        return;
      } else {
        return;
      }
    }
  }

  /// Imports the model under `facts`, and again for both outcomes of each condition on dims that
  /// the facts do not decide. Returns a node of the decision tree: the index of a question, or -1 -
  /// the index of a case (see CaseTree).
  int import(std::vector<graph::Fact> facts) {
    if (tooMany)
      return -1;
    Diagnostics told;
    ModelImporter importer(context, model, options, folder, weights, told);
    importer.ranksMayBeOpen = ranksMayBeOpen;
    importer.dimGroups = dimGroups;
    OwningOpRef<ModuleOp> module = importer.run(facts);
    if (importer.rankWasAsked) {
      ranksMayBeOpen = false;
      return import(std::move(facts));
    }
    if (importer.question)
      return split(*importer.question, std::move(facts));
    cases.list.push_back({std::move(facts), std::move(module), ""});
    messages.push_back(std::move(told));
    excused.push_back(std::move(importer.excused));
    return -int(cases.list.size());
  }

  int split(const ModelImporter::Question &question, std::vector<graph::Fact> facts) {
    for (bool answer : {true, false})
      if (!graph::mayHold(facts, {question.condition, answer})) {
        facts.push_back({question.condition, !answer});
        return import(std::move(facts));
      }
    if (++leaves > kMaxCases) {
      refuse(question, facts);
      return -1;
    }
    int number = int(cases.tree.questions.size());
    cases.tree.questions.push_back({question.condition});
    auto with = [&](bool answer) {
      std::vector<graph::Fact> more = facts;
      more.push_back({question.condition, answer});
      return import(std::move(more));
    };
    int yes = with(true), no = with(false);
    cases.tree.questions[number].yes = yes;
    cases.tree.questions[number].no = no;
    return number;
  }

  void refuse(const ModelImporter::Question &question, ArrayRef<graph::Fact> facts) {
    tooMany = true;
    SmallVector<std::string> asked;
    for (const graph::Fact &fact : facts)
      asked.push_back(fact.condition.text(true));
    asked.push_back(question.condition.text(true));
    diagnostics.error((question.node.empty() ? "" : question.node + ": ") + "whether " + llvm::join(asked, ", ") +
                      " decides what the model computes, which takes more than " + Twine(kMaxCases) +
                      " cases; fix some of these dims with --dim, or limit their range");
  }

  /// Reports the errors of a model that cannot be compiled in any case. If an error occurs in every
  /// case, its message does not contain the condition of a case.
  void reportAll() {
    for (auto [one, told] : llvm::zip(cases.list, messages))
      for (const Message &message : told.messages()) {
        bool everywhere = llvm::all_of(messages, [&](const Diagnostics &other) {
          return llvm::any_of(other.messages(), [&](const Message &same) { return same.str() == message.str(); });
        });
        Message said = message;
        if (!everywhere)
          said.message += " (where " + one.condition() + ")";
        diagnostics.report(said);
      }
  }

  /// Reports errors in If branches that are assumed never to be taken. If the model has several
  /// cases and such an error occurs in all of them, it does not depend on sizes, so it is reported
  /// as an error; otherwise it is reported as a warning. If the model has one case, because the
  /// user gave the sizes, it is always a warning. Returns true after an error.
  bool reportImpossible() {
    auto isIn = [](const Message &message, ArrayRef<Message> list) {
      return llvm::any_of(list, [&](const Message &same) { return same.str() == message.str(); });
    };
    bool bad = false;
    for (auto [i, list] : llvm::enumerate(excused))
      for (const Message &message : list) {
        bool everywhere = excused.size() > 1;
        for (auto [other, told] : llvm::zip(excused, messages))
          everywhere &= isIn(message, other) || isIn(message, told.messages());
        bad |= everywhere;
        Message said = message;
        if (!everywhere && message.level == Message::Level::Error) {
          std::string where = cases.list[i].condition();
          said.level = Message::Level::Warning;
          said.message = (where.empty() ? "" : "where " + where + " ") +
                         "this branch is not supported, so a run that takes it fails: " + message.message;
        }
        diagnostics.report(said);
      }
    return bad;
  }

  /// Returns the symbol if all conditions of the decision tree depend on the same single symbol,
  /// else "".
  StringRef onlySymbol() const {
    StringRef only;
    for (const graph::CaseTree::Question &question : cases.tree.questions) {
      StringRef symbol = graph::singleSymbol(question.condition.difference);
      if (symbol.empty() || (!only.empty() && only != symbol))
        return "";
      only = symbol;
    }
    return only;
  }

  /// In a case in which a branch of an If is assumed not to be taken, because it is not supported
  /// there, names the sizes for which it is supported in the message of a run that takes it.
  void nameSupportedSizes() {
    StringRef symbol = onlySymbol();
    if (symbol.empty())
      return;
    using Branch = std::pair<StringRef, StringRef>; // name of the node, and "then" or "else"
    auto branchOf = [](graph::RequireOp op) { return Branch(nodeName(op.getLoc()), op.getBranch().value_or("")); };
    std::map<Branch, graph::SizeSet> supported;
    std::vector<graph::RequireOp> assumptions;
    for (const Case &one : cases.list)
      if (one.module)
        one.module.get()->walk([&](graph::RequireOp op) {
          if (op.getBranch())
            assumptions.push_back(op);
        });
    for (graph::RequireOp op : assumptions)
      supported[branchOf(op)] = graph::SizeSet();
    for (auto &[branch, sizes] : supported)
      for (const Case &one : cases.list) {
        bool isExcluded = llvm::any_of(assumptions, [&](graph::RequireOp op) {
          return branchOf(op) == branch && op->getParentOfType<ModuleOp>() == *one.module;
        });
        std::optional<graph::SizeSet> ofCase = graph::solve(one.facts, symbol);
        if (one.module && !isExcluded && ofCase)
          sizes = sizes.unite(*ofCase);
      }
    for (graph::RequireOp op : assumptions)
      if (std::optional<std::string> sizes = supported[branchOf(op)].text(symbol))
        op.setMessage(
            ("these inputs take the " + *op.getBranch() + " branch, which is supported only where " + *sizes).str());
  }

  /// Reports the messages of one case. If the model cannot be compiled in this case, reports a
  /// warning and stores the reason, which a run with such sizes returns as an error.
  void report(Case &one, const Diagnostics &told) {
    if (!one.module)
      one.refusal = "where " + one.condition() + " the model has no result";
    for (const Message &message : told.messages()) {
      if (one.module) {
        diagnostics.report(message);
      } else if (message.level == Message::Level::Error) {
        // Removes the prefix "error: " of the importer's message.
        one.refusal += ": " + StringRef(message.str()).split(": ").second.str();
        Message said = message;
        said.level = Message::Level::Warning;
        said.message = "where " + one.condition() + " the model cannot be run: " + message.message;
        diagnostics.report(said);
        return;
      }
    }
  }

  MLIRContext &context;
  std::shared_ptr<const LoadedModel> model;
  const ImportOptions &options;
  std::string folder;
  WeightStore &weights;
  Diagnostics &diagnostics;
  Cases cases;
  /// Messages of the importer, for each case of the model.
  std::vector<Diagnostics> messages;
  std::vector<std::vector<Message>> excused;
  unsigned leaves = 1;
  bool tooMany = false;
  /// Set to false when a node needs a rank that depends on data.
  bool ranksMayBeOpen = true;
  /// See ModelImporter::dimGroups.
  std::vector<unsigned> dimGroups;
};

} // namespace

Cases importModel(MLIRContext &context, const ImportOptions &options, WeightStore &weights, Diagnostics &diagnostics) {
  // Loads the dialects of the ops that shape inference creates and evaluates during the import.
  context.loadDialect<graph::GraphDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  std::shared_ptr<const LoadedModel> model = loadModel(options, diagnostics);
  if (!model)
    return {};
  if (model->file)
    weights.noteMapping(model->file);
  std::string folder = options.folder;
  if (!options.path.empty())
    folder = llvm::sys::path::parent_path(options.path).str();
  if (!options.path.empty() && folder.empty())
    folder = ".";
  return CaseImporter(context, std::move(model), options, std::move(folder), weights, diagnostics).run();
}

} // namespace hewn::importer
