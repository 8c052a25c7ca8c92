// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Base/Platforms.h"
#include "lib/Target/Linkers/ElfLinker.h"
#include "lib/Target/Linkers/WasmLinker.h"

namespace hewn::target {

static const ElfLinker elf;
static const WasmLinker wasm;

const codegen::Platform kLinux = {"linux",
                                  "linux-gnu",
                                  llvm::Reloc::PIC_,
                                  elf,
                                  /*hasThreads=*/true,
                                  /*hasVariants=*/true};
// An engine validates all code of a module before it runs any.
const codegen::Platform kWeb = {"web",
                                "unknown",
                                llvm::Reloc::Static,
                                wasm,
                                /*hasThreads=*/false,
                                /*hasVariants=*/false};
const codegen::Platform kWasi = {"wasi",
                                 "wasip1",
                                 llvm::Reloc::Static,
                                 wasm,
                                 /*hasThreads=*/false,
                                 /*hasVariants=*/false};

} // namespace hewn::target
