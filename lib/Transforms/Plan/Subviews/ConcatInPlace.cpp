// SPDX-License-Identifier: Apache-2.0
//
// Writes concat operands directly into the result, as subviews (see Passes.td).
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "lib/Schedule/PlacedSubviews.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/MemoryPlan.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace hewn {
#define GEN_PASS_DEF_CONCATINPLACEPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// Returns the only op of a kernel that concatenates or interleaves the kernel's arguments. Returns
/// null if the kernel does something else.
graph::IndexingOpInterface assemblyKernelOp(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (llvm::range_size(body) != 2)
    return {};
  auto move = dyn_cast<graph::IndexingOpInterface>(body.front());
  auto isArgument = [&](Value operand) { return operand.getParentBlock() == &body && isa<BlockArgument>(operand); };
  return move && graph::assemblyOf(move) && llvm::all_of(move->getOperands(), isArgument) &&
                 llvm::equal(body.getTerminator()->getOperands(), move->getResults())
             ? move
             : graph::IndexingOpInterface();
}

constexpr llvm::StringLiteral kOtherUses =
    "concat copies its operands: most of them are operands of another concat, repeated, or have many users";

class SubviewPlacer {
public:
  SubviewPlacer(ModuleOp module, func::FuncOp program)
      : module(module), program(program), kernels(module), symbols(inputSymbols(program)), samples(samplesOf(program)) {
  }

  void run() {
    SmallVector<LaunchOp> launches;
    program.walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      if (auto kernel = plan::findGraphKernel(kernels, launch.getKernel()))
        if (graph::IndexingOpInterface move = assemblyKernelOp(kernel);
            move && plan::supports(launch, plan::KernelFeature::StridedSubviews))
          place(launch, kernel, move);
    for (LaunchOp launch : changed)
      matchKernelTypes(launch);
    dropUnused();
  }

private:
  ModuleOp module;
  func::FuncOp program;
  SymbolTable kernels;
  llvm::StringSet<> symbols;
  std::vector<Sample> samples;
  /// The peak of live bytes of the current program for each sample of symbolic sizes; computed when
  /// first needed.
  std::vector<int64_t> live;
  /// Launches whose operand or result types differ from their kernel's.
  llvm::SetVector<LaunchOp> changed;
  /// Kernels that this pass created (variants with strided types, copy kernels), by a text that
  /// identifies each.
  std::map<std::string, KernelOp> madeKernels;

  void place(LaunchOp launch, KernelOp kernel, graph::IndexingOpInterface move) {
    graph::Assembly assembly = *graph::assemblyOf(move);
    auto sources = llvm::map_to_vector(move->getOperands(),
                                       [](Value operand) { return cast<BlockArgument>(operand).getArgNumber(); });
    Value result = launch->getResult(0);
    auto assembled = cast<RankedTensorType>(result.getType());
    auto refuse = [&](StringRef why) { missed(launch, "hewn-concat-in-place", "CopiedTogether", why); };
    if (!hasKnownDims(result, symbols))
      return refuse("concat copies its operands: the size of the result depends on data");
    SmallVector<bool> inPlace;
    int64_t placed = 0, all = 0, longest = 0;
    StringRef why; // why the largest operand that is not a subview is copied
    for (auto [number, source] : llvm::enumerate(sources)) {
      OpOperand &operand = launch->getOpOperand(source);
      auto type = cast<RankedTensorType>(operand.get().getType());
      if (!canBeSubview(type, assembled, assembly, int64_t(number)))
        return refuse("concat copies its operands: their offsets in the result are dynamic");
      int64_t length = assembly.isInterleaved() ? 1 : type.getDimSize(assembly.dim);
      Eligibility isSubview = llvm::count(sources, source) == 1
                                  ? canWriteInPlace(operand, assembled, assembly, int64_t(number))
                                  : Eligibility::no(kOtherUses);
      inPlace.push_back(bool(isSubview));
      if (!isSubview && length > longest) {
        longest = length;
        why = isSubview.why();
      }
      placed += inPlace.back() ? length : 0;
      all += length;
    }
    if (placed == 0 || (!assembly.isInterleaved() && 2 * placed < all))
      return refuse(why);
    if (live.empty())
      live = liveBytes(program, samples);
    SmallVector<Type> types = llvm::to_vector(launch.getInputs().getTypes());
    OpBuilder b(launch);
    SmallVector<Value> subviews;
    for (auto [source, stays] : llvm::zip(sources, inPlace)) {
      Value value = launch.getInputs()[source];
      RankedTensorType type = subviewType(cast<RankedTensorType>(value.getType()), assembled, assembly);
      if (stays)
        value.setType(type);
      subviews.push_back(stays ? value : copyTo(launch, kernel, source, type));
    }
    auto assemble = AssembleOp::create(b, launch.getLoc(), assembled, subviews, uint64_t(assembly.dim));
    if (assembly.isInterleaved())
      assemble->setAttr(kStepsAttr, b.getDenseI64ArrayAttr(assembly.steps));
    if (Attribute dims = launch->getAttr(graph::kDimsAttr))
      assemble->setAttr(graph::kDimsAttr, dims);
    result.replaceAllUsesWith(assemble.getOutput());
    launch->remove();
    std::vector<int64_t> now = liveBytes(program, samples);
    if (llvm::any_of(llvm::zip(now, live), [](auto pair) { return std::get<0>(pair) > std::get<1>(pair); })) {
      OpBuilder(assemble).insert(launch);
      undo(launch, assemble, sources, types);
      return refuse("concat copies its operands: writing them in place would increase peak memory");
    }
    live = std::move(now);
    for (auto [i, value] : llvm::enumerate(launch.getInputs()))
      if (value.getType() != types[i]) {
        changed.insert(value.getDefiningOp<LaunchOp>());
        for (Operation *user : value.getUsers())
          if (auto reader = dyn_cast<LaunchOp>(user); reader && reader != launch)
            changed.insert(reader);
      }
    changed.remove(launch);
    launch->destroy();
  }

  /// Reverts the rewrite of a concat: puts its launch `launch` back in place of `assembly`, and
  /// restores the operand types `types`. `sources` has the operand numbers of the assembled values.
  static void undo(LaunchOp launch, AssembleOp assembly, ArrayRef<unsigned> sources, ArrayRef<Type> types) {
    assembly.getOutput().replaceAllUsesWith(launch->getResult(0));
    SmallVector<Value> subviews = llvm::to_vector(assembly.getSubviews());
    assembly.erase();
    for (auto [subview, source] : llvm::zip(subviews, sources)) {
      if (subview == launch.getInputs()[source])
        subview.setType(types[source]);
      else
        subview.getDefiningOp()->erase();
    }
  }

  /// Returns true if a concat operand of this type can be a subview of the concat's result, at
  /// least if a copy kernel writes it there.
  static bool canBeSubview(RankedTensorType type, RankedTensorType assembled, const graph::Assembly &assembly,
                           int64_t number) {
    if (!assembly.isInterleaved())
      return !type.isDynamicDim(assembly.dim) && type.getDimSize(assembly.dim) > 0;
    return !llvm::is_contained(type.getShape(), 0) &&
           liesAsIn(contiguousType(type, assembled), assembled, assembly, number);
  }

  /// Returns whether the launch that produces the concat operand can write it directly into the
  /// buffer of the concat's result.
  Eligibility canWriteInPlace(OpOperand &operand, RankedTensorType assembled, const graph::Assembly &assembly,
                              int64_t number) {
    Value value = operand.get();
    auto type = cast<RankedTensorType>(value.getType());
    auto maker = value.getDefiningOp<LaunchOp>();
    auto kernel = maker ? plan::findGraphKernel(kernels, maker.getKernel()) : KernelOp();
    if (!kernel || maker->getBlock() != operand.getOwner()->getBlock())
      return Eligibility::no(
          "concat copies its operands: most of them are inputs, constants, or produced outside of the loop");
    if (!liesAsIn(type, assembled, assembly, number))
      return Eligibility::no("concat copies its operands: most of them are produced in another layout");
    if (assemblyOf(value) || value.hasNUsesOrMore(kMaxSubviewReaders + 1) ||
        llvm::count(operand.getOwner()->getOperands(), value) != 1)
      return Eligibility::no(kOtherUses);
    Operation *yield = kernel.getBody().front().getTerminator();
    Value yielded = yield->getOperand(cast<OpResult>(value).getResultNumber());
    if (!yielded.getDefiningOp() || llvm::count(yield->getOperands(), yielded) != 1)
      return Eligibility::no(
          "concat copies its operands: most of them are forwarded inputs or repeated results of their kernel");
    if (subviewType(type, assembled, assembly) == type)
      return Eligibility::yes();
    if (!llvm::all_of(value.getUsers(), llvm::IsaPred<LaunchOp>))
      return Eligibility::no(
          "concat copies its operands: most of them have a user that needs contiguous memory (a return, "
          "a view, or the host)");
    return value.hasOneUse() || mayBeReadApart(type, operand.getOwner()->getResult(0), assembly)
               ? Eligibility::yes()
               : Eligibility::no(
                     "concat copies its operands: most of them have other users, for which strided reads would "
                     "waste cache");
  }

  /// Emits a kernel that copies operand `i` of a concat's launch to a subview, of type `type`, of
  /// the concat's result.
  Value copyTo(LaunchOp launch, KernelOp kernel, unsigned i, RankedTensorType type) {
    Value value = launch.getInputs()[i];
    Attribute dims = kernel.getArgAttr(i, graph::kDimsAttr);
    std::string text;
    llvm::raw_string_ostream(text) << "copy " << value.getType() << dims << " to " << type << kernel.getSymbols();
    KernelOp &copy = madeKernels[text];
    OpBuilder b(launch);
    if (!copy) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(kernel);
      copy =
          KernelOp::create(b, launch.getLoc(), b.getStringAttr("relayout"),
                           TypeAttr::get(b.getFunctionType(value.getType(), type)), kernel.getSymbols(), Attribute(),
                           b.getStringAttr("copy into the result of a concat"), StringAttr(), ArrayAttr(), ArrayAttr());
      Block &body = copy.getBody().emplaceBlock();
      Value argument = body.addArgument(value.getType(), value.getLoc());
      if (dims)
        copy.setArgAttr(0, graph::kDimsAttr, dims);
      b.setInsertionPointToEnd(&body);
      Operation *relayout = graph::RelayoutOp::create(b, value.getLoc(), type, argument);
      if (dims)
        relayout->setAttr(graph::kDimsAttr, b.getArrayAttr(dims));
      graph::YieldOp::create(b, value.getLoc(), relayout->getResult(0));
      kernels.insert(copy, Block::iterator(kernel));
    }
    auto copied = LaunchOp::create(b, launch.getLoc(), type, copy.getSymName(), value, launch.getSymbols());
    if (!type.hasStaticShape())
      copied->setAttr(graph::kDimsAttr, b.getArrayAttr(graph::dimsAttr(b.getContext(), graph::getDims(value))));
    return copied->getResult(0);
  }

  /// Replaces the kernel of a launch by one whose operand and result types are those of the launch:
  /// the present kernel if they match, or else a variant with strided types.
  void matchKernelTypes(LaunchOp launch) {
    auto kernel = plan::findGraphKernel(kernels, launch.getKernel());
    auto type = FunctionType::get(launch.getContext(), launch.getInputs().getTypes(), launch.getOutputs().getTypes());
    if (kernel.getFunctionType() == type)
      return;
    std::string text;
    llvm::raw_string_ostream(text) << kernel.getSymName() << " as " << type;
    KernelOp &variant = madeKernels[text];
    if (!variant) {
      variant = kernel.clone();
      kernels.insert(variant, std::next(Block::iterator(kernel)));
      variant.setFunctionType(type);
      Block &body = variant.getBody().front();
      for (auto [argument, own] : llvm::zip(body.getArguments(), type.getInputs()))
        argument.setType(own);
      for (auto [value, own] : llvm::zip(body.getTerminator()->getOperands(), type.getResults()))
        value.setType(own);
    }
    launch.setKernel(variant.getSymName());
  }

  void dropUnused() {
    llvm::StringSet<> used;
    module.walk([&](LaunchOp launch) { used.insert(launch.getKernel()); });
    for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
      if (!used.contains(kernel.getSymName()))
        kernels.erase(kernel);
  }
};

struct ConcatInPlace : public hewn::impl::ConcatInPlacePassBase<ConcatInPlace> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (program && !program.isDeclaration())
      SubviewPlacer(getOperation(), program).run();
  }
};

} // namespace
