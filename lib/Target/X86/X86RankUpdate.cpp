// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86RankUpdate.h"

namespace hewn::x86 {

#ifdef __x86_64__

[[gnu::target("avx2")]] static void updateByAvx2(const RowPanel &panel, float *sums) {
  updateByVectors<8>(panel, sums);
}

[[gnu::target("avx512f")]] static void updateByAvx512(const RowPanel &panel, float *sums) {
  updateByVectors<16>(panel, sums);
}

RankUpdate *rankUpdate() {
  if (__builtin_cpu_supports("avx512f"))
    return updateByAvx512;
  return __builtin_cpu_supports("avx2") ? updateByAvx2 : nullptr;
}

#else

RankUpdate *rankUpdate() { return nullptr; }

#endif

} // namespace hewn::x86
