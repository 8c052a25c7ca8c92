// SPDX-License-Identifier: Apache-2.0
//
// Writes weights as a WebAssembly object. They may be gigabytes, so that they are streamed: LLVM's
// object writers keep all data in memory.
#include "lib/Codegen/Emit/Weights.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Target/Linkers/WasmLinker.h"

#include "llvm/BinaryFormat/Wasm.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using hewn::codegen::Weights;

namespace hewn::target {

namespace {

/// The bytes of a section or of a part of it.
class Bytes {
public:
  Bytes() : os(content) {}
  Bytes &byte(unsigned value) {
    os << char(value);
    return *this;
  }
  Bytes &number(uint64_t value) {
    encodeULEB128(value, os);
    return *this;
  }
  Bytes &name(StringRef text) {
    number(text.size());
    os << text;
    return *this;
  }
  /// Appends a section or subsection: its number, its size and its content.
  Bytes &part(unsigned number, const Bytes &inside) {
    byte(number).name(inside.content);
    return *this;
  }
  StringRef text() const { return content; }

private:
  SmallString<256> content;
  raw_svector_ostream os;
};

} // namespace

Error WasmLinker::writeWeights(const Weights &weights, StringRef path, StringRef symbol, StringRef) const {
  Bytes import, count, data, table, segments, linking, begin, end;
  // an imported memory without a maximum and of 0 pages, in which the linker places the segment
  import.number(1).name("env").name("__linear_memory").byte(wasm::WASM_EXTERNAL_MEMORY).byte(0).number(0);
  count.number(1);
  // one active segment at address 0 of memory 0
  data.number(1).byte(0).byte(wasm::WASM_OPCODE_I32_CONST).byte(0).byte(wasm::WASM_OPCODE_END).number(weights.size());
  table.number(1)
      .byte(wasm::WASM_SYMBOL_TYPE_DATA)
      .number(wasm::WASM_SYMBOL_VISIBILITY_HIDDEN)
      .name(symbol)
      .number(/*segment=*/0)
      .number(/*offset=*/0)
      .number(weights.size());
  segments.number(1).name(".rodata.hewn_weights").number(Log2_64(Weights::kAlignment)).number(/*flags=*/0);
  linking.name("linking")
      .number(wasm::WasmMetadataVersion)
      .part(wasm::WASM_SYMBOL_TABLE, table)
      .part(wasm::WASM_SEGMENT_INFO, segments);
  begin.part(wasm::WASM_SEC_IMPORT, import).part(wasm::WASM_SEC_DATACOUNT, count);
  begin.byte(wasm::WASM_SEC_DATA).number(data.text().size() + weights.size());
  end.part(wasm::WASM_SEC_CUSTOM, linking);

  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  raw_ostream &os = file->stream();
  os << StringRef(wasm::WasmMagic, sizeof(wasm::WasmMagic));
  const char version[] = {wasm::WasmVersion, 0, 0, 0};
  os << StringRef(version, sizeof(version)) << begin.text() << data.text();
  weights.write(os);
  os << end.text();
  if (Error error = file->finish())
    return error;
  return file->publish();
}

} // namespace hewn::target
