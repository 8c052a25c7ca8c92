// SPDX-License-Identifier: Apache-2.0
//
// Merges the launches that lib/Transforms/Plan/Join assigned to a persistent kernel (see
// Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Plan/Target.h"
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/GPU/Persistent/PersistentEmitter.h"
#include "lib/Codegen/Passes.h"
#include "lib/Transforms/Plan/Join/PersistentCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {
#define GEN_PASS_DEF_FORMPERSISTENTKERNELSPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

class PersistentFormer {
public:
  PersistentFormer(ModuleOp module, ArrayRef<Operation *> ops, std::string name) : module(module) {
    persistent.ops.assign(ops.begin(), ops.end());
    persistent.name = std::move(name);
  }

  LogicalResult form() {
    for (Operation *op : persistent.ops)
      if (op->walk([&](Operation *inner) {
              return failed(verify(inner)) ? WalkResult::interrupt() : WalkResult(success());
            }).wasInterrupted())
        return failure();
    bool launches = false;
    for (Operation *op : persistent.ops)
      op->walk([&](plan::LaunchOp) { launches = true; });
    if (!launches)
      return persistent.ops.front()->emitOpError("begins a persistent kernel without launches");
    for (Operation *op : persistent.ops)
      op->walk([&](graph::ConstantOp constant) { constant->moveBefore(persistent.ops.front()); });
    keepViews();
    gather();
    PersistentEmitter emitter(persistent);
    func::FuncOp function = emitter.emit();
    if (!function)
      return failure();
    // Launch a persistent kernel on at least enough blocks to run independent phases concurrently,
    // but for this purpose not on more than there are multiprocessors, because all blocks take part
    // in every grid-wide barrier.
    plan::GpuAttr gpu = plan::gpuOf(function);
    int64_t most = std::min(emitter.sideBySide(), gpu ? gpu.getProcessors() : 0);
    plan::changeGpuLaunch(function,
                          [&](plan::GpuLaunch &launch) { launch.blocks = blocks(std::max<int64_t>(1, most)); });
    replace();
    return success();
  }

private:
  ModuleOp module;
  PersistentKernel persistent;

  bool isInside(Operation *op) const {
    return llvm::any_of(persistent.ops, [&](Operation *own) { return own->isAncestor(op); });
  }

  /// Verifies the attributes that the memory plan has set on an op: its buffer assignments and its
  /// kernel must exist. They may be wrong in IR that was written by hand.
  static LogicalResult verify(Operation *op) {
    for (OpResult result : op->getResults())
      if (plan::BufferAttr place = plan::placeOf(result); place && failed(plan::verifyIsThere(place, op)))
        return failure();
    auto launch = dyn_cast<plan::LaunchOp>(op);
    plan::GpuLaunchAttr info = launch ? plan::gpuLaunchOf(plan::entryOf(launch)) : plan::GpuLaunchAttr();
    if (launch && (!info || info.getSymbols().size() != launch.getSymbols().size()))
      return op->emitOpError("launches a kernel without launch information, or with another number of symbols");
    return success();
  }

  /// Clones the views inside of the persistent kernel that ops outside of it use. The clones are
  /// inserted after the kernel.
  void keepViews() {
    OpBuilder b(module.getContext());
    b.setInsertionPointAfter(persistent.ops.back());
    for (Operation *op : persistent.ops) {
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
    for (; op && graph::isViewKind(op) && llvm::is_contained(persistent.ops, op);
         op = op->getOperand(0).getDefiningOp())
      views.insert(views.begin(), op);
    return views;
  }

  void addSymbols(const DimExpr &expr) {
    expr.walkSymbols([&](StringRef name) {
      if (!llvm::is_contained(persistent.symbols, name))
        persistent.symbols.push_back(name.str());
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
    for (Operation *op : persistent.ops) {
      op->walk([&](Operation *inner) {
        // A view reads no memory. Its source becomes an input of the persistent kernel if a launch
        // uses the view.
        if (graph::isViewKind(inner))
          return;
        for (Value operand : inner->getOperands()) {
          Value source = plan::behindViews(operand);
          addSymbols(operand);
          addSymbols(source);
          // If a launch's operand is a view from outside of the persistent kernel, the view's
          // source is the kernel's input.
          auto argument = dyn_cast<BlockArgument>(source);
          Operation *maker = argument ? argument.getOwner()->getParentOp() : source.getDefiningOp();
          if (!isInside(maker))
            inputs.insert(source);
        }
        for (Value result : inner->getResults())
          addSymbols(result);
        if (graph::ControlOpInterface loop = graph::countedLoopOf(inner))
          for (unsigned i = 0, end = unsigned(loop.getCarriedValues().size()); i < end; ++i)
            if (plan::BufferAttr staging = plan::stagingOf(loop, i))
              addSymbols(*staging.getOffset());
        if (auto launch = dyn_cast<plan::LaunchOp>(inner))
          for (Attribute attr : launch.getSymbols())
            if (std::optional<DimExpr> expr = DimExpr::fromAttr(attr))
              addSymbols(*expr);
      });
      for (OpResult result : op->getResults()) {
        plan::BufferAttr place = plan::placeOf(result);
        bool elsewhere =
            place && llvm::is_contained({plan::BufferKind::Output, plan::BufferKind::Slice}, place.getKind());
        bool read = llvm::any_of(result.getUsers(), [&](Operation *user) { return !isInside(user); });
        if (!graph::isViewKind(op) && (elsewhere || read))
          persistent.outputs.push_back(result);
      }
    }
    persistent.inputs = inputs.takeVector();
  }

  /// Returns the number of blocks of the persistent kernel's launch: the maximum over all phases
  /// and `known`.
  DimExpr blocks(int64_t known) {
    SmallVector<DimExpr> others; // dynamic numbers of blocks, each once
    for (Operation *op : persistent.ops)
      op->walk([&](plan::LaunchOp launch) {
        plan::GpuLaunchAttr info = plan::gpuLaunchOf(plan::entryOf(launch));
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
    OpBuilder b(persistent.ops.back());
    b.setInsertionPointAfter(persistent.ops.back());
    SmallVector<Type> types;
    SmallVector<Attribute> places, symbols;
    SmallVector<graph::Dims> dims;
    for (OpResult output : persistent.outputs) {
      types.push_back(output.getType());
      places.push_back(plan::placeOf(output));
      dims.push_back(graph::getDims(output));
    }
    for (const std::string &symbol : persistent.symbols)
      symbols.push_back(DimExpr::symbol(symbol).toAttr(b.getContext()));
    auto launch = plan::LaunchOp::create(b, persistent.ops.front()->getLoc(), types, persistent.name, persistent.inputs,
                                         b.getArrayAttr(symbols));
    launch->setAttr(plan::kBuffersAttr, b.getArrayAttr(places));
    graph::setResultDims(launch, dims);
    for (auto [output, made] : llvm::zip(persistent.outputs, launch->getResults()))
      output.replaceAllUsesWith(made);
    for (Operation *op : llvm::reverse(persistent.ops))
      op->erase();
  }
};

struct FormPersistentKernelsPass : impl::FormPersistentKernelsPassBase<FormPersistentKernelsPass> {
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
      if (failed(PersistentFormer(getOperation(), ops, "joint" + std::to_string(next++)).form()))
        return signalPassFailure();
    }
    eraseUnused(program);
  }

private:
  static void find(Block &block, SmallVector<SmallVector<Operation *>> &found) {
    Attribute last;
    Operation *begin = nullptr;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      Attribute own = op.getAttr(plan::kPersistentAttr);
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

  /// Erases kernels that no op of the program launches, because they have become phases.
  void eraseUnused(func::FuncOp program) {
    llvm::StringSet<> launched;
    program.walk([&](plan::LaunchOp launch) { launched.insert(launch.getKernel()); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (!launched.contains(kernel.getName()))
        kernel.erase();
  }
};

} // namespace

} // namespace hewn::codegen
