// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Base/Platforms.h"
#include "lib/Target/Linkers/ElfLinker.h"

namespace hewn::target {

static const ElfLinker elf;

const codegen::Platform kLinux = {"linux", "linux-gnu", llvm::Reloc::PIC_, elf};

} // namespace hewn::target
