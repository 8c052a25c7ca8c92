// SPDX-License-Identifier: Apache-2.0
//
// Symmetric rank-k updates by the vectors of this process's machine, which the compiler itself is not compiled for.
#ifndef HEWN_LIB_TARGET_X86_X86RANKUPDATE_H
#define HEWN_LIB_TARGET_X86_X86RANKUPDATE_H

#include "lib/Support/RankUpdate.h"

namespace hewn::x86 {

/// Null where the machine is none of these, or has no vectors that are longer than all have.
RankUpdate *rankUpdate();

} // namespace hewn::x86

#endif
