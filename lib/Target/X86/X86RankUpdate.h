// SPDX-License-Identifier: Apache-2.0
//
// Symmetric rank-k updates with the host's widest vectors, selected at run time.
#ifndef HEWN_LIB_TARGET_X86_X86RANKUPDATE_H
#define HEWN_LIB_TARGET_X86_X86RANKUPDATE_H

#include "lib/Support/RankUpdate.h"

namespace hewn::x86 {

/// Returns the rank-k update for the host, or null if the host is not x86 or has neither AVX2 nor
/// AVX-512.
RankUpdate *rankUpdate();

} // namespace hewn::x86

#endif
