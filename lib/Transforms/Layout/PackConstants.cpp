// SPDX-License-Identifier: Apache-2.0
//
// Applies layouts to constants when compiling.
//
//     %w1 = graph.relayout %w : ... -> tensor<64x3x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64>>
//     →   %w1 = graph.constant {value = #graph.weight<"w.packed", 0 : 6912>} : tensor<...>
//
// Views of constants become constants of another type over the same bytes first, so a transposed weight is packed in
// one go. A table whose rows are looked up, and which a contraction multiplies as well (words, in and out of a language model), is there once:
// looking up reads the packed elements too. Left alone: weights that the table does not have (text that was read back), 4-bit elements.
#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Plan/Plan.h"
#include "lib/Support/Remarks.h"
#include "lib/Support/WeightTable.h"
#include "lib/Transforms/Layout/Packing.h"
#include "lib/Transforms/Layout/Passes.h"

#include "mlir/IR/Threading.h"
#include <mutex>

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_PACKCONSTANTSPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

/// One constant to be packed, for all changes of layout that ask for the same.
struct Job {
  graph::ConstantOp constant;
  RankedTensorType from, to;
  SmallVector<Operation *> users;
  /// Constants that the matrix is a transposition of and that are only looked up, each with its type in what is packed.
  SmallVector<std::pair<graph::ConstantOp, RankedTensorType>> tables;
  /// What is packed, and under which name; what was made of it.
  ArrayRef<char> bytes;
  std::vector<char> dense, packed;
  std::string key = "constant", description;
  /// Whether nobody else reads the weight.
  bool isLast = false;
};

struct PackConstantsPass : impl::PackConstantsPassBase<PackConstantsPass> {
  PackConstantsPass() = default;
  PackConstantsPass(WeightTable *weights, bool shares) : weights(weights), shares(shares) {}
  WeightTable *weights = nullptr;
  bool shares = false;

  void runOnOperation() override {
    // The functions of a module have one table, and may be packed by several threads.
    static std::mutex packing;
    std::lock_guard<std::mutex> lock(packing);
    llvm::MapVector<std::pair<Value, Type>, Job> found;
    getOperation().walk([&](graph::RelayoutOp op) {
      auto constant = op->getOperand(0).getDefiningOp<graph::ConstantOp>();
      if (!constant)
        return;
      Job &job = found[{constant.getResult(), op->getResult(0).getType()}];
      job.constant = constant;
      job.from = cast<RankedTensorType>(constant.getResult().getType());
      job.to = cast<RankedTensorType>(op->getResult(0).getType());
      job.users.push_back(op);
    });
    if (weights)
      findTables(found);
    SmallVector<Job *> toPack;
    for (auto &[what, job] : found)
      if (!isDone(job))
        toPack.push_back(&job);
    llvm::erase_if(toPack, [&](Job *job) {
      Verdict packs = findBytes(*job);
      if (!packs)
        missed(job->constant, getArgument(), "NotPacked", packs.why());
      return !packs;
    });
    // Names are given in order afterwards, so that the result does not depend on who is first.
    findLast(toPack);
    std::mutex table;
    parallelForEach(&getContext(), toPack, [&](Job *job) {
      job->packed = packElements(job->bytes, job->from, job->to);
      weights->letGo(job->bytes);
      if (!job->isLast)
        return;
      std::lock_guard lock(table);
      weights->drop(job->key);
    });
    for (Job *job : toPack) {
      std::string name = weights->add(job->key + ".packed", std::move(job->packed));
      if (!job->description.empty())
        weights->derived(job->description) = name;
      replace(*job, weightOf(*job, name));
    }
  }

private:
  /// Whether all that is read are elements of operand 0 at places that operand 1 has, whose cost is not that of memory's order.
  static bool isLookedUp(graph::ConstantOp constant) {
    return llvm::all_of(constant->getUses(), [](OpOperand &use) {
      auto move = dyn_cast<graph::MoveOpInterface>(use.getOwner());
      return move && use.getOperandNumber() == 0 && move->getNumOperands() == 2 &&
             graph::getElementType(move->getOperand(1)).isInteger();
    });
  }

  /// Whether a type says panels of a matrix, and nothing more.
  static bool isPanels(RankedTensorType type) {
    auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
    return layout && type.getRank() == 2 && layout.getBlockDim() >= 0 && !layout.getTile();
  }

  /// The type by which panels of a matrix are that matrix with rows and columns exchanged.
  static RankedTensorType transposedType(RankedTensorType type) {
    auto layout = cast<graph::LayoutAttr>(type.getEncoding());
    SmallVector<int64_t> order = llvm::map_to_vector(layout.getOrder(), [](int64_t dim) { return 1 - dim; });
    int64_t groupDim = layout.getGroupDim() < 0 ? -1 : 1 - layout.getGroupDim();
    auto exchanged = graph::LayoutAttr::get(type.getContext(), order, 1 - layout.getBlockDim(), layout.getBlock(),
                                            groupDim, layout.getGroup());
    return RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType(), exchanged);
  }

  /// Tables of which a transposition is packed.
  void findTables(llvm::MapVector<std::pair<Value, Type>, Job> &found) {
    llvm::StringMap<Job *> ofWeight;
    for (auto &[what, job] : found)
      if (auto weight = dyn_cast<graph::WeightAttr>(job.constant.getValue()); weight && isPanels(job.to))
        ofWeight.try_emplace(weight.getKey(), &job);
    getOperation().walk([&](graph::ConstantOp constant) {
      auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
      Job *job = weight && !plan::gridOf(constant) ? ofWeight.lookup(weights->transposed(weight)) : nullptr;
      auto own = cast<RankedTensorType>(constant.getResult().getType());
      if (RankedTensorType type = job ? transposedType(job->to) : own;
          job && !own.getEncoding() && own.getShape() == type.getShape() && isLookedUp(constant))
        job->tables.push_back({constant, type});
    });
  }

  /// Weights that only one packing reads need not be there twice; where several machines or cases share them, the next one does.
  void findLast(ArrayRef<Job *> toPack) {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (toPack.empty() || shares || module->hasAttr(plan::kPackingLanesAttr))
      return;
    llvm::StringMap<unsigned> readers;
    module.walk([&](graph::ConstantOp constant) {
      if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
        readers[weight.getKey()] += unsigned(std::distance(constant->user_begin(), constant->user_end()));
    });
    for (Job *job : toPack)
      job->isLast = readers.lookup(job->key) == job->users.size();
  }

  /// Equal elements are in order in any order, one panel of all columns is the matrix itself, and what another machine has packed alike is
  /// there.
  bool isDone(Job &job) {
    auto layout = dyn_cast_or_null<graph::LayoutAttr>(job.to.getEncoding());
    bool blocked = layout && layout.getBlockDim() >= 0;
    if (auto splat = dyn_cast<SplatElementsAttr>(job.constant.getValue()); splat && !blocked) {
      replace(job, splat);
      return true;
    }
    auto weight = dyn_cast<graph::WeightAttr>(job.constant.getValue());
    if (weight && canPack(job.from.getElementType()) && isSameMemory(job.from, job.to)) {
      replace(job, weight);
      return true;
    }
    if (!weights || !weight)
      return false;
    llvm::raw_string_ostream(job.description) << weight << " as " << job.from << " to " << job.to;
    std::string &known = weights->derived(job.description);
    if (known.empty() && weights->isNameOnly(weight.getKey()))
      known = weights->name((weight.getKey() + ".packed").str());
    if (known.empty())
      return false;
    replace(job, weightOf(job, known));
    return true;
  }

  /// Whether the constant's bytes are at hand and can be packed. What is not stays a change of layout, in every run.
  Verdict findBytes(Job &job) {
    const Verdict no = Verdict::no("its bytes are not at hand, or of a type that is put in another order when run");
    Type element = job.from.getElementType();
    if (!weights || !canPack(element) || job.from.getNumElements() == 0 ||
        (graph::winogradTile(job.to) && !element.isF32() && !element.isF16()))
      return no;
    if (auto weight = dyn_cast<graph::WeightAttr>(job.constant.getValue())) {
      job.bytes = weights->bytes(weight);
      job.key = weight.getKey().str();
    } else if (auto elements = dyn_cast<DenseElementsAttr>(job.constant.getValue())) {
      if (element.isInteger(1)) // the attribute's bits
        return no;
      int64_t copies = elements.isSplat() ? job.from.getNumElements() : 1;
      for (int64_t i = 0; i < copies; ++i)
        job.dense.insert(job.dense.end(), elements.getRawData().begin(), elements.getRawData().end());
      job.bytes = job.dense;
    }
    return int64_t(job.bytes.size()) >= packedBytes(job.from) ? Verdict::yes() : no;
  }

  static graph::WeightAttr weightOf(const Job &job, StringRef name) {
    return graph::WeightAttr::get(job.to.getContext(), name, 0, packedBytes(job.to));
  }

  static void replace(Job &job, Attribute value) {
    OpBuilder b(job.constant);
    b.setInsertionPointAfter(job.constant);
    Value packed = graph::ConstantOp::create(b, job.constant.getLoc(), job.to, value);
    for (Operation *op : job.users) {
      op->getResult(0).replaceAllUsesWith(packed);
      op->erase();
    }
    for (auto &[table, type] : job.tables) {
      b.setInsertionPoint(table);
      table.getResult().replaceAllUsesWith(graph::ConstantOp::create(b, table.getLoc(), type, value).getResult());
      table->erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPackConstantsPass(WeightTable *weights, bool shares) {
  return std::make_unique<PackConstantsPass>(weights, shares);
}

} // namespace hewn
