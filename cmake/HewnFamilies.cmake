# SPDX-License-Identifier: Apache-2.0
# Toolchain data of the target families in lib/Target.

# LLVM's code generators that release binaries contain.
set(HEWN_CODE_GENERATORS X86 AArch64 RISCV WebAssembly NVPTX)

# Runtime archives: ARCHITECTURE|TRIPLE|compile flags. TRIPLE is Clang's, and the name of the
# archive's folder. The flags avoid calls of the compiler's support library.
set(HEWN_RUNTIME_ARCHIVES
  "aarch64|aarch64-linux-gnu|-mno-outline-atomics"
  "riscv64|riscv64-linux-gnu|"
  "x86_64|x86_64-linux-gnu|-fcf-protection=full")
