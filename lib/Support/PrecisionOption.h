// SPDX-License-Identifier: Apache-2.0
//
// The command-line option type of `Precision`, for passes and pipelines. The values have the names
// of the compiler's flag.
#ifndef HEWN_LIB_SUPPORT_PRECISIONOPTION_H
#define HEWN_LIB_SUPPORT_PRECISIONOPTION_H

#include "lib/Support/Precision.h"
#include "llvm/Support/CommandLine.h"

namespace hewn {

inline llvm::cl::ValuesClass precisionValues() {
  return llvm::cl::values(
      clEnumValN(Precision::Highest, nameOf(Precision::Highest), "float32 accuracy"),
      clEnumValN(Precision::High, nameOf(Precision::High), "relative error of about 2^-16 per multiplication"),
      clEnumValN(Precision::Medium, nameOf(Precision::Medium), "operands may be rounded to bfloat16"));
}

} // namespace hewn

#endif
