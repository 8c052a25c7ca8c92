// SPDX-License-Identifier: Apache-2.0
//
// Makes what is only concatenated or interleaved in place, as subviews of the whole.
//
//     %a = plan.launch @conv(%x)                       %a = plan.launch @conv_1(%x)      its rows lie 96 floats apart
//     %b = plan.launch @pool(%x)                  →    %b = plan.launch @pool_1(%x)
//     %c = plan.launch @concat(%a, %b)                 %c = plan.assemble %a, %b along 1
//
// A subview is the result of a launch in this block, is put together once, and lies in memory as the whole does. Operands that are no
// such subviews are copied to their place by kernels of their own, where the others are at least half of all. Left alone: sizes that
// are not known before a run, subviews that very many read (`kMaxSubviewReaders`) or with gaps that anything but a kernel reads, or
// anything at all where the whole is large, and what would make the arena larger: the whole is live from the first subview on, and one
// that waits long for the others (a U-net's) had better wait alone.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "lib/Schedule/PlacedSubviews.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/MemoryPlan.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace hewn {
#define GEN_PASS_DEF_PLACESUBVIEWSPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// The only op of a kernel that puts its arguments together; null: it does something else.
graph::MoveOpInterface onlyAssembles(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (llvm::range_size(body) != 2)
    return {};
  auto move = dyn_cast<graph::MoveOpInterface>(body.front());
  auto isArgument = [&](Value operand) { return operand.getParentBlock() == &body && isa<BlockArgument>(operand); };
  return move && graph::assemblyOf(move) && llvm::all_of(move->getOperands(), isArgument) &&
                 llvm::equal(body.getTerminator()->getOperands(), move->getResults())
             ? move
             : graph::MoveOpInterface();
}

constexpr llvm::StringLiteral kStandsElsewhere =
    "most of the whole is a part of another one, stands there twice, or is read by many";

class Placer {
public:
  Placer(ModuleOp module, func::FuncOp program)
      : module(module), program(program), kernels(module), symbols(inputSymbols(program)), samples(samplesOf(program)) {
  }

  void run() {
    SmallVector<LaunchOp> launches;
    program.walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      if (auto kernel = kernels.lookup<KernelOp>(launch.getKernel()))
        if (graph::MoveOpInterface move = onlyAssembles(kernel); move && !gridOf(launch))
          place(launch, kernel, move);
    for (LaunchOp launch : changed)
      fitKernel(launch);
    dropUnused();
  }

private:
  ModuleOp module;
  func::FuncOp program;
  SymbolTable kernels;
  llvm::StringSet<> symbols;
  std::vector<Sample> samples;
  /// What is live at once as the program stands; empty until it is asked for.
  std::vector<int64_t> live;
  /// Launches whose operands or results have other types than their kernel's.
  llvm::SetVector<LaunchOp> changed;
  /// Variants of kernels and kernels that copy, by what they are.
  std::map<std::string, KernelOp> made;

  void place(LaunchOp launch, KernelOp kernel, graph::MoveOpInterface move) {
    graph::Assembly assembly = *graph::assemblyOf(move);
    auto sources = llvm::map_to_vector(move->getOperands(),
                                       [](Value operand) { return cast<BlockArgument>(operand).getArgNumber(); });
    Value result = launch->getResult(0);
    auto whole = cast<RankedTensorType>(result.getType());
    auto refuse = [&](StringRef why) { missed(launch, "hewn-place-subviews", "CopiedTogether", why); };
    if (!hasKnownDims(result, symbols))
      return refuse("the size of the whole is known only when data are");
    SmallVector<bool> inPlace;
    int64_t placed = 0, all = 0, longest = 0;
    StringRef why; // of the longest operand that is not made in place
    for (auto [number, source] : llvm::enumerate(sources)) {
      OpOperand &operand = launch->getOpOperand(source);
      auto type = cast<RankedTensorType>(operand.get().getType());
      if (!fits(type, whole, assembly, int64_t(number)))
        return refuse("where a subview lies in the whole is known only when run");
      int64_t length = assembly.isInterleaved() ? 1 : type.getDimSize(assembly.dim);
      Verdict isSubview = llvm::count(sources, source) == 1 ? makesInPlace(operand, whole, assembly, int64_t(number))
                                                            : Verdict::no(kStandsElsewhere);
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
      RankedTensorType type = subviewType(cast<RankedTensorType>(value.getType()), whole, assembly);
      if (stays)
        value.setType(type);
      subviews.push_back(stays ? value : copyTo(launch, kernel, source, type));
    }
    auto assemble = AssembleOp::create(b, launch.getLoc(), whole, subviews, uint64_t(assembly.dim));
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
      return refuse("more memory would be live at once");
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

  /// Puts `launch`, of operands of these types, back where subviews were assembled of its inputs `sources`.
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

  /// Whether an operand of the type can be made in the whole, by a kernel that copies it at worst.
  static bool fits(RankedTensorType type, RankedTensorType whole, const graph::Assembly &assembly, int64_t number) {
    if (!assembly.isInterleaved())
      return !type.isDynamicDim(assembly.dim) && type.getDimSize(assembly.dim) > 0;
    return !llvm::is_contained(type.getShape(), 0) && liesAsIn(contiguousType(type, whole), whole, assembly, number);
  }

  /// Whether what makes the operand can make it in the whole.
  Verdict makesInPlace(OpOperand &operand, RankedTensorType whole, const graph::Assembly &assembly, int64_t number) {
    Value value = operand.get();
    auto type = cast<RankedTensorType>(value.getType());
    auto maker = value.getDefiningOp<LaunchOp>();
    auto kernel = maker ? kernels.lookup<KernelOp>(maker.getKernel()) : KernelOp();
    if (!kernel || maker->getBlock() != operand.getOwner()->getBlock())
      return Verdict::no("most of the whole is an input, a constant, or made outside of the loop");
    if (!liesAsIn(type, whole, assembly, number))
      return Verdict::no("most of the whole lies in another order where it is made");
    if (assemblyOf(value) || value.hasNUsesOrMore(kMaxSubviewReaders + 1) ||
        llvm::count(operand.getOwner()->getOperands(), value) != 1)
      return Verdict::no(kStandsElsewhere);
    Operation *yield = kernel.getBody().front().getTerminator();
    Value yielded = yield->getOperand(cast<OpResult>(value).getResultNumber());
    if (!yielded.getDefiningOp() || llvm::count(yield->getOperands(), yielded) != 1)
      return Verdict::no("most of the whole is what its kernel was given, or gives twice");
    if (subviewType(type, whole, assembly) == type)
      return Verdict::yes();
    if (!llvm::all_of(value.getUsers(), llvm::IsaPred<LaunchOp>))
      return Verdict::no("most of the whole has a reader that takes no gaps: it is returned, viewed, or the host's");
    return value.hasOneUse() || mayBeReadApart(type, operand.getOwner()->getResult(0), assembly)
               ? Verdict::yes()
               : Verdict::no("most of the whole has other readers, whose cache would be filled by gaps");
  }

  /// Operand `i` of a launch as a subview of type `type`, by a kernel that copies it.
  Value copyTo(LaunchOp launch, KernelOp kernel, unsigned i, RankedTensorType type) {
    Value value = launch.getInputs()[i];
    Attribute dims = kernel.getArgAttr(i, graph::kDimsAttr);
    std::string text;
    llvm::raw_string_ostream(text) << "copy " << value.getType() << dims << " to " << type << kernel.getSymbols();
    KernelOp &copy = made[text];
    OpBuilder b(launch);
    if (!copy) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(kernel);
      copy =
          KernelOp::create(b, launch.getLoc(), b.getStringAttr("relayout"),
                           TypeAttr::get(b.getFunctionType(value.getType(), type)), kernel.getSymbols(), Attribute(),
                           b.getStringAttr("a subview that is made elsewhere"), StringAttr(), ArrayAttr(), ArrayAttr());
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

  /// The launch's kernel, or a variant of it that has the launch's types.
  void fitKernel(LaunchOp launch) {
    auto kernel = kernels.lookup<KernelOp>(launch.getKernel());
    auto type = FunctionType::get(launch.getContext(), launch.getInputs().getTypes(), launch.getOutputs().getTypes());
    if (kernel.getFunctionType() == type)
      return;
    std::string text;
    llvm::raw_string_ostream(text) << kernel.getSymName() << " as " << type;
    KernelOp &variant = made[text];
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

struct PlaceSubviews : public hewn::impl::PlaceSubviewsPassBase<PlaceSubviews> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (program && !program.isDeclaration())
      Placer(getOperation(), program).run();
  }
};

} // namespace
