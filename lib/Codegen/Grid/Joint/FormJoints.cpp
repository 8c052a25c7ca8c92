// SPDX-License-Identifier: Apache-2.0
//
// Makes one kernel of neighbouring launches that the plan joins (lib/Transforms/Plan/Join).
//
//     %0 = plan.launch @a(%x) {plan.joint = 0}             func.func @joint(%ctx, %x, %y, %arena, %counter) {plan.launch_info = <meets>} {
//     %1 = plan.launch @b(%0) {plan.joint = 0}       →       call @joint_a(%ctx, %x, %arena + ..)
//                                                            call @joint_meet(%counter)
//                                                            call @joint_b(%ctx, %arena + .., %y) }
//                                                          %1 = plan.launch @joint(%x)
//
// A grid's kernels give the same for any number of blocks, so each becomes a part as it is: with the blocks that run at once. What
// lies in the arena is found there, and only what crosses the border is an argument. Blocks meet where JointNeeds.h says; a block's
// threads wait for each other between all parts, since these have their shared memory at the same place (Emit/SharedMemory.h).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Grid/Grid.h"
#include "lib/Codegen/Grid/Joint/JointEmitter.h"
#include "lib/Codegen/Passes.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {
#define GEN_PASS_DEF_FORMJOINTSPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

class JointFormer {
public:
  JointFormer(ModuleOp module, ArrayRef<Operation *> ops, std::string name) : module(module) {
    joint.ops.assign(ops.begin(), ops.end());
    joint.name = std::move(name);
  }

  LogicalResult form() {
    for (Operation *op : joint.ops)
      if (op->walk([&](Operation *inner) {
              return failed(verify(inner)) ? WalkResult::interrupt() : WalkResult(success());
            }).wasInterrupted())
        return failure();
    bool launches = false;
    for (Operation *op : joint.ops)
      op->walk([&](plan::LaunchOp) { launches = true; });
    if (!launches)
      return joint.ops.front()->emitOpError("is to become a kernel, and launches none");
    for (Operation *op : joint.ops)
      op->walk([&](graph::ConstantOp constant) { constant->moveBefore(joint.ops.front()); });
    keepViews();
    gather();
    JointEmitter emitter(module, joint);
    func::FuncOp function = emitter.emit();
    if (!function)
      return failure();
    // More than a processor has one each of are not there for parts to be side by side: they all meet.
    plan::GridAttr grid = plan::gridOf(function);
    int64_t most = std::min(emitter.sideBySide(), grid ? grid.getProcessors() : 0);
    plan::changeGridLaunch(function,
                           [&](plan::GridLaunch &launch) { launch.blocks = blocks(std::max<int64_t>(1, most)); });
    replace();
    return success();
  }

private:
  ModuleOp module;
  Joint joint;

  bool isInside(Operation *op) const {
    return llvm::any_of(joint.ops, [&](Operation *own) { return own->isAncestor(op); });
  }

  /// What the plan says of an op, where a text may have it otherwise: places and kernels that are there.
  static LogicalResult verify(Operation *op) {
    for (OpResult result : op->getResults())
      if (plan::PlaceAttr place = plan::placeOf(result); place && failed(plan::verifyIsThere(place, op)))
        return failure();
    auto launch = dyn_cast<plan::LaunchOp>(op);
    plan::GridLaunchAttr info = launch ? plan::gridLaunchOf(plan::functionOf(launch)) : plan::GridLaunchAttr();
    if (launch && (!info || info.getSymbols().size() != launch.getSymbols().size()))
      return op->emitOpError("launches a kernel that does not say on how many threads, or of which symbols");
    return success();
  }

  /// Views that others read too become theirs.
  void keepViews() {
    OpBuilder b(module.getContext());
    b.setInsertionPointAfter(joint.ops.back());
    for (Operation *op : joint.ops) {
      if (!graph::isViewKind(op) || llvm::all_of(op->getUsers(), [&](Operation *user) { return isInside(user); }))
        continue;
      IRMapping mapping;
      for (Operation *view : viewsUpTo(op))
        b.clone(*view, mapping);
      op->getResult(0).replaceUsesWithIf(mapping.lookup(op->getResult(0)), [&](OpOperand &use) {
        return !isInside(use.getOwner()) && use.getOwner() != mapping.lookup(op->getResult(0)).getDefiningOp();
      });
    }
  }

  SmallVector<Operation *> viewsUpTo(Operation *op) {
    SmallVector<Operation *> views;
    for (; op && graph::isViewKind(op) && llvm::is_contained(joint.ops, op); op = op->getOperand(0).getDefiningOp())
      views.insert(views.begin(), op);
    return views;
  }

  void addSymbols(const DimExpr &expr) {
    expr.walkSymbols([&](StringRef name) {
      if (!llvm::is_contained(joint.symbols, name))
        joint.symbols.push_back(name.str());
    });
  }

  void addSymbols(Value value) {
    addSymbols(plan::bufferBytes(value));
    for (const DimExpr &dim : graph::getDims(value))
      addSymbols(dim);
    if (std::optional<DimExpr> offset = plan::arenaOffset(value))
      addSymbols(*offset);
  }

  void gather() {
    llvm::SetVector<Value> inputs;
    for (Operation *op : joint.ops) {
      op->walk([&](Operation *inner) {
        // A view reads nothing: what it shows comes with those that read it, and where nobody does it may be the host's.
        if (graph::isViewKind(inner))
          return;
        for (Value operand : inner->getOperands()) {
          Value source = plan::behindViews(operand);
          addSymbols(operand);
          addSymbols(source);
          // Views from outside are not needed themselves.
          auto argument = dyn_cast<BlockArgument>(source);
          Operation *maker = argument ? argument.getOwner()->getParentOp() : source.getDefiningOp();
          if (!isInside(maker))
            inputs.insert(source);
        }
        for (Value result : inner->getResults())
          addSymbols(result);
        if (graph::ControlOpInterface loop = graph::countedLoopOf(inner))
          for (unsigned i = 0, end = unsigned(loop.getCarriedValues().size()); i < end; ++i)
            if (plan::PlaceAttr staging = plan::stagingOf(loop, i))
              addSymbols(*staging.getOffset());
        if (auto launch = dyn_cast<plan::LaunchOp>(inner))
          for (Attribute attr : launch.getSymbols())
            if (std::optional<DimExpr> expr = DimExpr::fromAttr(attr))
              addSymbols(*expr);
      });
      for (OpResult result : op->getResults()) {
        plan::PlaceAttr place = plan::placeOf(result);
        bool elsewhere =
            place && llvm::is_contained({plan::PlaceKind::Output, plan::PlaceKind::Slice}, place.getKind());
        bool read = llvm::any_of(result.getUsers(), [&](Operation *user) { return !isInside(user); });
        if (!graph::isViewKind(op) && (elsewhere || read))
          joint.outputs.push_back(result);
      }
    }
    joint.inputs = inputs.takeVector();
  }

  /// As many as the part that wants most, or `known`.
  DimExpr blocks(int64_t known) {
    SmallVector<DimExpr> others; // each once, however often it is launched
    for (Operation *op : joint.ops)
      op->walk([&](plan::LaunchOp launch) {
        plan::GridLaunchAttr info = plan::gridLaunchOf(plan::functionOf(launch));
        DimExpr count = *plan::atLaunch(info.getBlocks().value_or(DimExpr(1)), info.getSymbols(), launch);
        if (std::optional<int64_t> constant = count.constant())
          known = std::max(known, *constant);
        else if (!llvm::is_contained(others, count))
          others.push_back(count);
      });
    DimExpr most(known);
    for (const DimExpr &other : others)
      most = DimExpr::max(most, other);
    return most;
  }

  void replace() {
    OpBuilder b(joint.ops.back());
    b.setInsertionPointAfter(joint.ops.back());
    SmallVector<Type> types;
    SmallVector<Attribute> places, symbols;
    SmallVector<graph::Dims> dims;
    for (OpResult output : joint.outputs) {
      types.push_back(output.getType());
      places.push_back(plan::placeOf(output));
      dims.push_back(graph::getDims(output));
    }
    for (const std::string &symbol : joint.symbols)
      symbols.push_back(DimExpr::symbol(symbol).toAttr(b.getContext()));
    auto launch = plan::LaunchOp::create(b, joint.ops.front()->getLoc(), types, joint.name, joint.inputs,
                                         b.getArrayAttr(symbols));
    launch->setAttr(plan::kPlacesAttr, b.getArrayAttr(places));
    graph::setResultDims(launch, dims);
    for (auto [output, made] : llvm::zip(joint.outputs, launch->getResults()))
      output.replaceAllUsesWith(made);
    for (Operation *op : llvm::reverse(joint.ops))
      op->erase();
  }
};

struct FormJointsPass : impl::FormJointsPassBase<FormJointsPass> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(plan::kProgramName);
    if (!program || program.isDeclaration())
      return;
    SmallVector<SmallVector<Operation *>> found;
    program.walk<WalkOrder::PreOrder>([&](Block *block) { find(*block, found); });
    SymbolTable table(getOperation());
    unsigned next = 0;
    for (ArrayRef<Operation *> ops : found) {
      while (table.lookup("joint" + std::to_string(next)))
        ++next;
      if (failed(JointFormer(getOperation(), ops, "joint" + std::to_string(next++)).form()))
        return signalPassFailure();
    }
    eraseUnused(program);
  }

private:
  static void find(Block &block, SmallVector<SmallVector<Operation *>> &found) {
    Attribute last;
    Operation *begin = nullptr;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      Attribute own = op.getAttr(plan::kJointAttr);
      if (!own) {
        if (isa<graph::ConstantOp>(op) && begin)
          op.moveBefore(begin);
        else
          last = {};
        continue;
      }
      if (own != last) {
        found.emplace_back();
        begin = &op;
      }
      found.back().push_back(&op);
      last = own;
    }
  }

  /// Kernels that were only launched as parts.
  void eraseUnused(func::FuncOp program) {
    llvm::StringSet<> launched;
    program.walk([&](plan::LaunchOp launch) { launched.insert(launch.getKernel()); });
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function != program && function.isPublic() && plan::gridLaunchOf(function) &&
          !launched.contains(function.getName()))
        function.erase();
    // Nobody else calls what stands beside them.
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function.isPrivate() && plan::gridLaunchOf(function) &&
          (function.getName().ends_with(plan::kKeepSuffix) || function.getName().ends_with(plan::kKeptSuffix)) &&
          SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        function.erase();
  }
};

} // namespace

} // namespace hewn::codegen
