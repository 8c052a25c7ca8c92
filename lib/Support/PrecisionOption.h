// SPDX-License-Identifier: Apache-2.0
//
// The precision as an option of passes and pipelines, by the names that the flag has.
#ifndef HEWN_LIB_SUPPORT_PRECISIONOPTION_H
#define HEWN_LIB_SUPPORT_PRECISIONOPTION_H

#include "lib/Support/Precision.h"
#include "llvm/Support/CommandLine.h"

namespace hewn {

inline llvm::cl::ValuesClass precisionValues() {
  return llvm::cl::values(
      clEnumValN(Precision::Highest, nameOf(Precision::Highest), "as exact as float32"),
      clEnumValN(Precision::High, nameOf(Precision::High), "about 2^-16 of a product may be lost"),
      clEnumValN(Precision::Medium, nameOf(Precision::Medium), "operands may be rounded to bfloat16"));
}

} // namespace hewn

#endif
