// SPDX-License-Identifier: Apache-2.0
//
// Lookup of low-bit weights in a float table (codebook). A table of 8-bit entries is handled by
// Int8SliceMma.h if the target has the instructions.
//
//     table fits one or two vector registers    stays in registers; permute instructions look up
//     larger table, or no permute instruction   gather from the L1 cache
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_CODETABLE_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_CODETABLE_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

class CodeTable {
public:
  /// Emits, at the insertion point, the load of the lookup table into registers if it fits them.
  explicit CodeTable(const ContractKernel &c);
  /// Returns the table entries of weight number `position` (0: in the lowest bits) of each packed
  /// word, not yet multiplied by the weights' scale.
  mlir::Value numbers(mlir::Value words, int64_t position) const;
  /// Returns the number of registers that the table occupies.
  size_t registers() const { return parts.size(); }

private:
  mlir::Value constant(mlir::Type type, int64_t value) const;

  const ContractKernel &c;
  graph::WeightEncoding code;
  int64_t count;
  mlir::Value table;
  mlir::StringAttr instruction;
  llvm::SmallVector<mlir::Value> parts;
};

} // namespace hewn::codegen

#endif
