// SPDX-License-Identifier: Apache-2.0
//
// Applies layout conversions of constants at compile time (see Passes.td).
#include "dialects/Graph/Analysis/Transposed.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Support/WeightStore.h"
#include "lib/Transforms/Layout/Packing.h"
#include "lib/Transforms/Layout/Passes.h"

#include "mlir/IR/Threading.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_PACKCONSTANTSPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

/// One packing of a constant. All conversions of the constant to the same type share it.
struct Job {
  graph::ConstantOp constant;
  RankedTensorType from, to;
  SmallVector<Operation *> users;
  /// Lookup tables (constants) whose transpose is this matrix. Each has the type with which lookups
  /// read the packed bytes.
  SmallVector<std::pair<graph::ConstantOp, RankedTensorType>> tables;
  /// The weight's bytes before packing. `dense` owns them if the constant is not in the weight
  /// store.
  ArrayRef<char> bytes;
  std::vector<char> dense;
  /// Keys of the weight in the weight store before and after packing, and what the packed bytes
  /// depend on.
  std::string key = "constant", packed, description;
  /// True if this packing is the only remaining use of the weight, so that the bytes before packing
  /// can be dropped.
  bool isLastUse = false;
};

struct PackConstantsPass : impl::PackConstantsPassBase<PackConstantsPass> {
  using PackConstantsPassBase::PackConstantsPassBase;
  WeightStore *weights = nullptr;

  void runOnOperation() override {
    weights = &graph::weightsOf(&getContext());
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
    findTables(found);
    SmallVector<Job *> toPack;
    for (auto &[what, job] : found)
      if (!isDone(job))
        toPack.push_back(&job);
    llvm::erase_if(toPack, [&](Job *job) {
      Eligibility packs = findBytes(*job);
      if (!packs)
        missed(job->constant, getArgument(), "NotPacked", packs.why());
      return !packs;
    });
    markLastUses(toPack);
    // Weights that another thread packs, for another target or case, are waited for at the end.
    parallelForEach(&getContext(), toPack, [&](Job *job) { pack(*job, /*waits=*/false); });
    for (Job *job : toPack) {
      if (job->packed.empty())
        pack(*job, /*waits=*/true);
      replace(*job, weightOf(*job, job->packed));
    }
  }

private:
  /// Returns true if all users of the constant look up elements by an integer operand. A lookup
  /// costs the same in every layout.
  static bool isLookedUp(graph::ConstantOp constant) {
    return llvm::all_of(constant->getUses(), [](OpOperand &use) {
      auto move = dyn_cast<graph::IndexingOpInterface>(use.getOwner());
      return move && use.getOperandNumber() == 0 && move->getNumOperands() == 2 &&
             graph::getElementType(move->getOperand(1)).isInteger();
    });
  }

  /// Returns true if the only effect of the layout is to store a matrix in panels: it permutes no
  /// dims and has no Winograd transform.
  static bool isPanels(RankedTensorType type) {
    auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
    return layout && type.getRank() == 2 && layout.getBlockDim() >= 0 && !layout.getTile();
  }

  /// Returns the type with which a lookup in the transpose of the matrix reads the matrix's packed
  /// panels.
  static RankedTensorType transposedType(RankedTensorType type) {
    auto layout = cast<graph::LayoutAttr>(type.getEncoding());
    SmallVector<int64_t> order = llvm::map_to_vector(layout.getOrder(), [](int64_t dim) { return 1 - dim; });
    int64_t groupDim = layout.getGroupDim() < 0 ? -1 : 1 - layout.getGroupDim();
    auto exchanged = graph::LayoutAttr::get(type.getContext(), order, 1 - layout.getBlockDim(), layout.getBlock(),
                                            groupDim, layout.getGroup());
    return RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType(), exchanged);
  }

  /// Finds lookup tables whose transpose is packed as a matrix, and adds each to the job of that
  /// packing, so that lookups read the packed bytes.
  void findTables(llvm::MapVector<std::pair<Value, Type>, Job> &found) {
    llvm::DenseMap<Attribute, Job *> jobOfTable;
    for (auto &[what, job] : found)
      if (graph::WeightAttr table = graph::transposeOf(job.constant); table && isPanels(job.to))
        jobOfTable.try_emplace(table, &job);
    getOperation().walk([&](graph::ConstantOp constant) {
      Job *job = plan::supports(constant, plan::KernelFeature::PackedTables) ? jobOfTable.lookup(constant.getValue())
                                                                             : nullptr;
      auto own = cast<RankedTensorType>(constant.getResult().getType());
      if (RankedTensorType type = job ? transposedType(job->to) : own;
          job && !own.getEncoding() && own.getShape() == type.getShape() && isLookedUp(constant))
        job->tables.push_back({constant, type});
    });
  }

  /// Packs the weight unless it was packed already, for another target or case, and sets the key of
  /// the packed bytes. If another thread packs it now, waits for it or leaves the key empty.
  void pack(Job &job, bool waits) {
    auto packed = [&] {
      std::vector<char> bytes = packElements(job.bytes, job.from, job.to);
      weights->letGo(job.bytes);
      return bytes;
    };
    std::string base = job.key + ".packed";
    if (job.description.empty())
      job.packed = weights->add(base, packed());
    else if (waits)
      job.packed = weights->derive(base, job.description, packed);
    else
      job.packed = weights->tryDerive(base, job.description, packed).value_or("");
    if (job.isLastUse && !job.packed.empty())
      weights->drop(job.key);
  }

  /// Marks packings that are the only use of their weight; the weight's bytes before packing are
  /// then dropped. Marks none if another program of the artifact reads the same weights.
  void markLastUses(ArrayRef<Job *> toPack) {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    auto artifact = module->getParentOfType<ModuleOp>();
    if (toPack.empty() || (artifact && !llvm::hasSingleElement(artifact.getOps<ModuleOp>())))
      return;
    llvm::StringMap<unsigned> readers;
    module.walk([&](graph::ConstantOp constant) {
      if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
        readers[weight.getKey()] += unsigned(std::distance(constant->user_begin(), constant->user_end()));
    });
    for (Job *job : toPack)
      job->isLastUse = readers.lookup(job->key) == job->users.size();
  }

  /// Completes packing jobs of constants that need no packing: splats, layouts with identical
  /// bytes, and weights without bytes. Returns true if the job is complete.
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
    if (!weight)
      return false;
    llvm::raw_string_ostream(job.description) << weight << " as " << job.from << " to " << job.to;
    if (!weights->isNameOnly(weight.getKey()))
      return false;
    replace(job, weightOf(job, weights->name((weight.getKey() + ".packed").str())));
    return true;
  }

  /// Finds the bytes of the constant to pack. Returns a reason if the bytes are not available or
  /// the type cannot be packed; the layout conversion then remains in the program.
  Eligibility findBytes(Job &job) {
    const Eligibility no = Eligibility::no(
        "constant not packed at compile time: its bytes are not available, or its type can only be packed at run time");
    Type element = job.from.getElementType();
    if (!canPack(element) || job.from.getNumElements() == 0 ||
        (graph::winogradTile(job.to) && !element.isF32() && !element.isF16()))
      return no;
    if (auto weight = dyn_cast<graph::WeightAttr>(job.constant.getValue())) {
      job.bytes = weights->bytes(weight);
      job.key = weight.getKey().str();
    } else if (auto elements = dyn_cast<DenseElementsAttr>(job.constant.getValue())) {
      if (element.isInteger(1)) // the attribute stores bits
        return no;
      int64_t copies = elements.isSplat() ? job.from.getNumElements() : 1;
      for (int64_t i = 0; i < copies; ++i)
        job.dense.insert(job.dense.end(), elements.getRawData().begin(), elements.getRawData().end());
      job.bytes = job.dense;
    }
    return int64_t(job.bytes.size()) >= packedBytes(job.from) ? Eligibility::yes() : no;
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

} // namespace hewn
