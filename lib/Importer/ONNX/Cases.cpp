// SPDX-License-Identifier: Apache-2.0
//
// A model's cases: it is imported anew for each answer to what a node asks about the inputs' dims.
#include "lib/Importer/ONNX/ModelImporter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hewn::importer {

/// Each costs a compile.
static constexpr unsigned kMaxCases = 16;

namespace {

class CaseImporter {
public:
  CaseImporter(MLIRContext &context, std::shared_ptr<const LoadedModel> model, const ImportOptions &options,
               std::string folder, WeightTable &weights, Diagnostics &diagnostics)
      : context(context), model(std::move(model)), options(options), folder(std::move(folder)), weights(weights),
        diagnostics(diagnostics) {}

  Cases run() {
    import({});
    if (tooMany)
      return {};
    if (llvm::none_of(cases.list, [](const Case &c) { return bool(c.module); })) {
      reportAll();
      return {};
    }
    if (reportImpossible())
      return {};
    for (auto [one, told] : llvm::zip(cases.list, messages))
      report(one, told);
    return std::move(cases);
  }

private:
  /// What the model is where `facts` hold: a question's number, or that of a case, as CaseTree has them.
  int import(std::vector<graph::Fact> facts) {
    if (tooMany)
      return -1;
    Diagnostics told;
    ModelImporter importer(context, model, options, folder, weights, told);
    importer.ranksMayBeOpen = ranksMayBeOpen;
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
                      " decides what the model computes: that makes more than " + Twine(kMaxCases) +
                      " cases; give some of these dims a value by --dim, or a range that tells");
  }

  /// Of a model without a case. What is wrong in every one is wrong with the model.
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

  /// Branches that were excused in some cases. True, after errors, where one was in all of them: that is no matter of sizes, unless
  /// the user gave these.
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
          said.message =
              (where.empty() ? "" : "where " + where + " ") +
              "it can't be, so a run that takes the branch that it is in ends with a status: " + message.message;
        }
        diagnostics.report(said);
      }
    return bad;
  }

  /// Of one that others stand beside: where it can't be compiled, a run is told so.
  void report(Case &one, const Diagnostics &told) {
    if (!one.module)
      one.refusal = "where " + one.condition() + " the model has no result";
    for (const Message &message : told.messages()) {
      if (one.module) {
        diagnostics.report(message);
      } else if (message.level == Message::Level::Error) {
        one.refusal += ": " + StringRef(message.str()).split(": ").second.str(); // without "error"
        Message said = message;
        said.level = Message::Level::Warning;
        said.message = "where " + one.condition() + " the model can't be run: " + message.message;
        diagnostics.report(said);
        return;
      }
    }
  }

  MLIRContext &context;
  std::shared_ptr<const LoadedModel> model;
  const ImportOptions &options;
  std::string folder;
  WeightTable &weights;
  Diagnostics &diagnostics;
  Cases cases;
  /// Of each case.
  std::vector<Diagnostics> messages;
  std::vector<std::vector<Message>> excused;
  unsigned leaves = 1;
  bool tooMany = false;
  /// Until a node tells.
  bool ranksMayBeOpen = true;
};

} // namespace

Cases importModel(MLIRContext &context, const ImportOptions &options, WeightTable &weights, Diagnostics &diagnostics) {
  // What ops emit is run when shapes are computed, so those dialects are needed too.
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
