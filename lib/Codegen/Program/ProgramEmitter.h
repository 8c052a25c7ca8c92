// SPDX-License-Identifier: Apache-2.0
//
// Emits the body of a program. Values become pointers, symbols become i64 values. Values that cross
// a region's boundary are stored in stack variables, which LLVM promotes to registers.
// ProgramEmitter.cpp emits straight-line code, ProgramMemory.cpp buffers, ProgramControl.cpp
// branches and loops, ProgramDevice.cpp launches on a device.
#ifndef HEWN_LIB_CODEGEN_PROGRAMEMITTER_H
#define HEWN_LIB_CODEGEN_PROGRAMEMITTER_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Codegen/Program/ProgramExpressions.h"
#include "lib/Codegen/Program/RuntimeStructs.h"

namespace hewn::codegen {

class ProgramEmitter {
public:
  ProgramEmitter(mlir::func::FuncOp program, const ProgramInterface &interface, const KernelSymbols &kernels,
                 const WeightStore &table, Weights &weights, llvm::Module &module, DeviceKernels *device);
  mlir::FailureOr<llvm::Function *> emit();

private:
  using Slot = llvm::AllocaInst *;

  // Functions that ProgramEmitter.cpp defines:
  void begin();
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitLaunch(plan::LaunchOp op);
  llvm::FunctionCallee kernelFunction(plan::LaunchOp op, llvm::ArrayRef<llvm::Value *> arguments);
  /// Converts an expression over `symbols`, the symbols of the kernel that `op` launches, to an
  /// expression over the program's symbols.
  mlir::FailureOr<graph::DimExpr> ofLaunch(plan::LaunchOp op, const graph::DimExpr &expr, mlir::ArrayAttr symbols);
  /// Emits the parallel execution of a kernel's tasks on the threads of the run's context.
  void callTasks(plan::LaunchOp op, llvm::SmallVector<llvm::Value *> arguments, const graph::DimExpr &tasks);
  /// For a kernel that alternates its task order: the current step of the loop, and the number of
  /// the kernel's tasks.
  struct Turn {
    llvm::Value *step, *tasks;
  };
  /// Emits, in the function that a thread calls, the execution of the tasks [begin, end) in
  /// alternating order: in odd steps, chunks of tasks are executed from the last to the first.
  void callByTurns(plan::LaunchOp op, llvm::ArrayRef<llvm::Value *> arguments, const Turn &turn, llvm::Value *begin,
                   llvm::Value *end);
  mlir::LogicalResult emitPart(graph::RuntimeCallOpInterface op);
  llvm::Value *partParams(graph::RuntimeCallOpInterface part);
  void fillPartTensor(llvm::Value *record, llvm::Value *data, mlir::RankedTensorType type,
                      llvm::ArrayRef<llvm::Value *> dims, llvm::Value *&dimsArray);
  mlir::LogicalResult emitReadSymbol(graph::ReadSymbolOp op);
  mlir::LogicalResult emitDimValue(graph::DimValueOp op);
  bool isMadeInOutput(mlir::Value value, unsigned output);
  mlir::LogicalResult emitReturn(mlir::Operation *op);
  // Functions that ProgramDevice.cpp defines:
  void beginDevice();
  /// Returns true if all runs with the same values of the symbols execute the same device
  /// operations. The runtime may then record a run and replay it.
  bool isReplayable();
  /// Registers with the runtime the groups of ranks that exchange data.
  void meetRanks();
  /// Emits the initialization of a kernel's TMA descriptor argument, at each launch, and returns
  /// the descriptor. Returns null if the attribute `box` is malformed.
  llvm::Value *describeBox(plan::LaunchOp op, plan::TmaTileAttr box, mlir::ArrayAttr symbols,
                           llvm::ArrayRef<llvm::Value *> arguments);
  mlir::LogicalResult launchOnDevice(plan::LaunchOp op, llvm::ArrayRef<llvm::Value *> arguments);
  void copyAcross(plan::CopyOp op);
  void giveOutput(unsigned index, llvm::Value *memory, mlir::Value value);
  void deviceCopy(llvm::Value *to, llvm::Value *from, llvm::Value *bytes, int32_t direction);
  void failIfNotOk(llvm::Value *code);

  llvm::FunctionCallee service(llvm::StringRef name, llvm::Type *result, llvm::ArrayRef<llvm::Type *> arguments);
  llvm::Value *string(llvm::StringRef text);
  /// Emits a branch that ends the run with `code` if the condition is true.
  void failIf(llvm::Value *condition, llvm::Value *code);
  void failIfNull(llvm::Value *pointer);

  // Functions that ProgramMemory.cpp defines:
  mlir::FailureOr<llvm::Value *> constantPointer(graph::ConstantOp op);
  /// Returns the buffer to which `result` is computed. Emits its allocation if its size depends on
  /// data.
  llvm::Value *place(mlir::OpResult result);
  plan::BufferAttr placeOf(mlir::OpResult result);
  llvm::Value *allocate(llvm::ArrayRef<graph::DimExpr> dims, mlir::RankedTensorType type, bool onDevice);
  llvm::Value *allocateBytes(llvm::Value *bytes, bool onDevice);
  void release(llvm::Value *memory, bool onDevice);
  /// Returns true if the program's value is stored in device memory.
  bool isOnDevice(mlir::Value value);
  /// Returns the memory of an output: the caller's, or a new allocation if its size depends on
  /// data. Emits a load of the pointer at each use: if all pointers were loaded at the beginning,
  /// LLVM would spill them and take time quadratic in their number.
  llvm::Value *outputPointer(unsigned index);
  llvm::Value *allocateOutput(unsigned index, llvm::ArrayRef<graph::DimExpr> dims);
  llvm::Value *bytesOf(mlir::Value value);
  llvm::Value *value(const graph::DimExpr &expr) { return expressions.value(expr); }
  llvm::SmallVector<llvm::Value *> values(llvm::ArrayRef<graph::DimExpr> dims);
  llvm::Value *offset(llvm::Value *pointer, llvm::Value *bytes);
  /// Emits a copy within the memory that kernels use: device memory if there is a device.
  void copy(llvm::Value *to, llvm::Value *from, llvm::Value *bytes);
  /// Emits a copy within host memory, as a call of a function in the module. LLVM would expand
  /// copies of constant size to loads and stores, and its alias analysis is quadratic in the number
  /// of these within a basic block.
  void copyByCall(llvm::Value *to, llvm::Value *from, llvm::Value *bytes);
  /// Creates a stack variable in the entry block of the function.
  Slot variable(llvm::Type *type, llvm::Value *count = nullptr);
  /// Return the address of a value: `pointer` for kernels and loops, `hostPointer` for code on the
  /// host.
  llvm::Value *pointer(mlir::Value value);
  llvm::Value *hostPointer(mlir::Value value);

  // Symbols
  /// For each dim of a value that is a symbol without a value yet, sets the symbol to the actual
  /// size.
  void bind(llvm::ArrayRef<graph::DimExpr> dims, llvm::ArrayRef<llvm::Value *> actual);
  bool isBound(const graph::DimExpr &expr);
  llvm::Value *symbolValue(llvm::StringRef name);
  /// Emits a check that ends the run with an error if the requirement does not hold. `begun` is
  /// true if kernels may have run before the check.
  void emitRequirement(const graph::Requirement &requirement, llvm::StringRef node, bool begun);
  llvm::Value *makesNothing(plan::LaunchOp op);
  /// Emits run-time checks for an op whose only purpose is to state requirements.
  llvm::LogicalResult emitStatement(mlir::Operation *op);
  /// Emits the checks for the program's attribute `graph.requires`.
  void emitRequirements();

  // Functions that ProgramControl.cpp defines:
  struct Carried;
  struct Appended;
  mlir::LogicalResult emitBranches(graph::ControlOpInterface op);
  mlir::LogicalResult emitLoop(graph::ControlOpInterface op);
  void enterSlices(graph::ControlOpInterface op, llvm::Value *index, llvm::Value *length);
  mlir::LogicalResult emitStep(mlir::Block &body, llvm::function_ref<void()> handOver);
  Carried beginCarried(const graph::CarriedValue &value);
  void enterCarried(Carried &carried);
  void handOver(mlir::Operation *op, llvm::MutableArrayRef<Carried> carried);
  void finishCarried(Carried &carried);
  Appended beginAppended(mlir::OpResult result);
  void append(Appended &appended, mlir::Value slice, llvm::Value *step);
  void finishAppended(Appended &appended, llvm::Value *count);
  /// Basic blocks and variables of a loop. The caller emits the code of a step between the calls of
  /// `beginLoop` and `endLoop`.
  struct LoopBlocks {
    llvm::BasicBlock *head, *after;
    Slot step;
    llvm::Value *index;
  };
  LoopBlocks beginLoop(llvm::function_ref<llvm::Value *(llvm::Value *index)> goesOn);
  void endLoop(LoopBlocks &loop);
  llvm::BasicBlock *block(llvm::StringRef name);

  mlir::func::FuncOp program;
  /// Suffix of kernel names in traces, which names the case of the model.
  std::string traceSuffix;
  const ProgramInterface interface;
  const KernelSymbols &kernels;
  const WeightStore &table;
  Weights &weights;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> b;
  ExpressionBuilder expressions;

  llvm::PointerType *ptr;
  llvm::Type *i64, *i32, *i8;
  const RuntimeStructs structs;
  llvm::Function *run = nullptr;
  llvm::Value *runContext = nullptr, *arena = nullptr, *weightsBase = nullptr;
  llvm::BasicBlock *exit = nullptr;
  llvm::PHINode *exitCode = nullptr;
  llvm::Value *inputPointers = nullptr, *outputPointers = nullptr;
  llvm::StringMap<llvm::Value *> symbols;
  std::string unknownSymbol;
  llvm::DenseMap<mlir::Value, llvm::Value *> pointers;
  /// The device's list of kernels, or null if the program runs on the host. With a device,
  /// `devicePointers` has the device addresses of values that are in host and device memory.
  DeviceKernels *device;
  llvm::Value *deviceArena = nullptr, *deviceWeights = nullptr;
  llvm::DenseMap<mlir::Value, llvm::Value *> devicePointers;
  llvm::StringMap<llvm::Constant *> strings;
  /// For each enclosing counted loop: the addresses of the slices of its outputs in the current
  /// step, by result number.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<llvm::Value *>> slices;
  /// For each enclosing loop: the variables with allocations that must be released at the end of a
  /// step.
  std::vector<llvm::SmallVector<Slot>> stepMemory;
  /// Index of the current step of the innermost loop, or null outside of loops.
  llvm::Value *currentStep = nullptr;
  /// Variables in `stepMemory` whose allocation is in host memory although kernels run on a device.
  llvm::DenseSet<Slot> hostMemory;
};

} // namespace hewn::codegen

#endif
