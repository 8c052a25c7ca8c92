// SPDX-License-Identifier: Apache-2.0
//
// The engine for windows of 3 x 3 by Winograd's minimal filtering (dialects/Graph/Contract/Winograd.h).
//
// For each block of tiles: the operand's tiles are transformed into as many matrices as a tile has elements (B' d B, channels
// in lanes; what lies outside of the operand is masked), each is multiplied with the weights of its place, which were
// transformed when compiling, and the sums are transformed back (A' m A) and go through the kernel's other ops as
// accumulators do. A block's matrices stay in the cache; nothing of them is as large as the operand.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_WINOGRADENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_WINOGRADENGINE_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/WinogradSchedule.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

struct WinogradForm {
  graph::ContractOpInterface op;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  graph::ContractRoles roles;
  graph::WinogradDims dims;
  const graph::Winograd *transform;
  plan::WinogradSchedule schedule;
  /// The operand without its border, of which `low` elements lie before each of the two dims; the packed weights.
  Buffer lhs, rhs;
  int64_t low[2] = {0, 0};
};

/// The kernel's contraction, where its weights are transformed and the engine can take it.
std::optional<WinogradForm> winogradForm(KernelFunction &k);

/// Emits the loops of a kernel of this form.
void emitWinograd(KernelFunction &k, mlir::OpBuilder &b, const WinogradForm &form);

} // namespace hewn::codegen

#endif
