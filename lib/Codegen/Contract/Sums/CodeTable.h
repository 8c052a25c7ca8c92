// SPDX-License-Identifier: Apache-2.0
//
// Codes of weights that are places in a table, as floats. (A small table whose numbers bytes stand for is LimbSums.h's, where the machine
// has the instructions.)
//
//     as many numbers as one or two registers hold     the table stays in them, and the machine's permutation finds the numbers
//     more of them, or no such instruction             a gather from the first cache
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_CODETABLE_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_CODETABLE_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

class CodeTable {
public:
  /// The table of a kernel whose code has one; its registers are loaded where the kernel stands.
  explicit CodeTable(const ContractKernel &c);
  /// The numbers, before they are scaled, of the codes that are `position` from the lowest in each word.
  mlir::Value numbers(mlir::Value words, int64_t position) const;
  /// Registers that the table takes.
  size_t registers() const { return parts.size(); }

private:
  mlir::Value constant(mlir::Type type, int64_t value) const;

  const ContractKernel &c;
  graph::Code code;
  int64_t count;
  mlir::Value table;
  mlir::StringAttr instruction;
  llvm::SmallVector<mlir::Value> parts;
};

} // namespace hewn::codegen

#endif
