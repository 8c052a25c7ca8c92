// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Weights.h"
#include "hewn/runtime.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/WeightStore.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA1.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Triple.h"
#include <cstring>

using namespace llvm;

namespace hewn::codegen {

static constexpr uint64_t kAlignment = 64;

uint64_t Weights::noteRead(uint64_t offset, uint64_t bytes) {
  if (read.size() <= reader)
    read.resize(reader + 1);
  read[reader].try_emplace(offset, bytes);
  return offset;
}

uint64_t Weights::bytesOf(size_t number) const {
  uint64_t bytes = 0;
  if (number < read.size())
    for (auto &[offset, own] : read[number])
      bytes += alignTo(own, kAlignment);
  return bytes;
}

uint64_t Weights::add(ArrayRef<char> bytes, const WeightStore *table) {
  // The programs of several variants add the same constants. Look constants up by the address of
  // their bytes first, because hashing the bytes again would dominate the compile time.
  auto [known, isNew] = byAddress.try_emplace({bytes.data(), bytes.size()}, total);
  if (!isNew)
    return noteRead(known->second, bytes.size());
  uint64_t hash = xxh3_64bits(ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  if (table)
    table->letGo(bytes);
  // Shift the hash, because the map reserves the two largest keys for its own use.
  std::vector<size_t> &same = byHash[hash >> 1];
  for (size_t i : same)
    if (blobs[i].bytes == bytes)
      return noteRead(known->second = blobs[i].offset, bytes.size());
  same.push_back(blobs.size());
  blobs.push_back({bytes, total, hash, table});
  total = alignTo(total + bytes.size(), kAlignment);
  return noteRead(blobs.back().offset, bytes.size());
}

uint64_t Weights::add(std::string bytes) {
  kept.push_back(std::move(bytes));
  return add(ArrayRef<char>(kept.back().data(), kept.back().size()));
}

std::string Weights::digest() const {
  SHA1 hash;
  for (const Blob &blob : blobs) {
    uint64_t record[] = {blob.offset, blob.bytes.size(), blob.hash};
    hash.update(ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(record), sizeof(record)));
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

void Weights::write(raw_ostream &os) const {
  for (const Blob &blob : blobs) {
    os.write(blob.bytes.data(), blob.bytes.size());
    os.write_zeros(unsigned(alignTo(blob.bytes.size(), kAlignment) - blob.bytes.size()));
    if (blob.table)
      blob.table->letGo(blob.bytes);
  }
}

namespace {

/// A stream that forwards bytes to another stream and computes their checksum for the file's
/// header.
class ChecksumStream : public raw_ostream {
public:
  explicit ChecksumStream(raw_ostream &to) : to(to) { block.reserve(HEWN_CHECKSUM_BLOCK); }
  ~ChecksumStream() override { flush(); }
  /// Returns the checksum of the bytes written. Valid after `flush`.
  uint64_t sum() const { return block.empty() ? folded : HEWN_CHECKSUM_FOLD(folded, xxHash64(StringRef(block))); }

private:
  void write_impl(const char *data, size_t size) override {
    to.write(data, size);
    written += size;
    while (size > 0) {
      size_t part = std::min<size_t>(size, HEWN_CHECKSUM_BLOCK - block.size());
      block.append(data, part);
      data += part;
      size -= part;
      if (block.size() == HEWN_CHECKSUM_BLOCK) {
        folded = HEWN_CHECKSUM_FOLD(folded, xxHash64(StringRef(block)));
        block.clear();
      }
    }
  }
  uint64_t current_pos() const override { return written; }

  raw_ostream &to;
  std::string block;
  uint64_t folded = 0, written = 0;
};

} // namespace

void Weights::writeFile(raw_pwrite_stream &os) const {
  hewn_weights_header header = {};
  std::memcpy(header.magic, "HEWNW", sizeof(header.magic));
  header.version = HEWN_WEIGHTS_VERSION;
  header.data_bytes = total;
  std::string text = digest();
  std::memcpy(header.digest, text.data(), std::min(text.size(), sizeof(header.digest)));
  os.write(reinterpret_cast<const char *>(&header), sizeof(header));
  ChecksumStream data(os);
  write(data);
  data.flush();
  header.checksum = data.sum();
  os.pwrite(reinterpret_cast<const char *>(&header), sizeof(header), /*Offset=*/0);
}

Error Weights::writeObject(StringRef path, StringRef symbol, StringRef triple) const {
  // Only objects for x86 have the section of properties, which is the last one.
  enum Section { Null, Data, Stack, Symbols, Strings, Names, Property, Count };
  static constexpr char names[] =
      "\0.rodata.hewn_weights\0.note.GNU-stack\0.symtab\0.strtab\0.shstrtab\0.note.gnu.property";
  const StringRef sectionNames(names, sizeof(names));
  auto nameOf = [&](StringRef name) { return ELF::Elf64_Word(sectionNames.find(name)); };
  std::string strings = std::string(1, '\0') + symbol.str() + '\0';
  // The linker enables IBT and SHSTK in its output only if every input has both. An object without
  // code is compatible with them.
  static constexpr ELF::Elf64_Word properties[] = {/*size of the name*/ 4,
                                                   /*size of the description*/ 16,
                                                   ELF::NT_GNU_PROPERTY_TYPE_0,
                                                   /*"GNU"*/ 0x00554e47,
                                                   ELF::GNU_PROPERTY_X86_FEATURE_1_AND,
                                                   /*size of the property*/ 4,
                                                   ELF::GNU_PROPERTY_X86_FEATURE_1_IBT |
                                                       ELF::GNU_PROPERTY_X86_FEATURE_1_SHSTK,
                                                   /*padding*/ 0};
  const bool hasProperties = Triple(triple).isX86();

  ELF::Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELF::ElfMagic, 4);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = ELF::convertTripleArchTypeToEMachine(Triple(triple).getArch());
  header.e_version = ELF::EV_CURRENT;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(ELF::Elf64_Shdr);
  header.e_shnum = hasProperties ? Count : Property;
  header.e_shstrndx = Names;

  ELF::Elf64_Sym table[2] = {};
  table[1].st_name = 1;
  table[1].setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  table[1].st_other = ELF::STV_HIDDEN;
  table[1].st_shndx = Data;
  table[1].st_size = total;

  ELF::Elf64_Shdr sections[Count] = {};
  uint64_t offset = kAlignment; // the data begins at an aligned file offset
  auto place = [&](Section which, StringRef name, unsigned type, uint64_t size, uint64_t align) {
    offset = alignTo(offset, align);
    sections[which].sh_name = nameOf(name);
    sections[which].sh_type = type;
    sections[which].sh_offset = offset;
    sections[which].sh_size = size;
    sections[which].sh_addralign = align;
    offset += size;
  };
  place(Data, ".rodata.hewn_weights", ELF::SHT_PROGBITS, total, kAlignment);
  sections[Data].sh_flags = ELF::SHF_ALLOC;
  place(Stack, ".note.GNU-stack", ELF::SHT_PROGBITS, 0, 1);
  place(Symbols, ".symtab", ELF::SHT_SYMTAB, sizeof(table), 8);
  sections[Symbols].sh_link = Strings;
  sections[Symbols].sh_info = 1;
  sections[Symbols].sh_entsize = sizeof(ELF::Elf64_Sym);
  place(Strings, ".strtab", ELF::SHT_STRTAB, strings.size(), 1);
  place(Names, ".shstrtab", ELF::SHT_STRTAB, sectionNames.size(), 1);
  if (hasProperties) {
    place(Property, ".note.gnu.property", ELF::SHT_NOTE, sizeof(properties), 8);
    sections[Property].sh_flags = ELF::SHF_ALLOC;
  }
  header.e_shoff = alignTo(offset, 8);

  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  raw_ostream &os = file->stream();
  uint64_t at = 0;
  auto put = [&](uint64_t where, const void *data, uint64_t size) {
    os.write_zeros(unsigned(where - at));
    os.write(static_cast<const char *>(data), size);
    at = where + size;
  };
  put(0, &header, sizeof(header));
  os.write_zeros(unsigned(sections[Data].sh_offset - at));
  write(os);
  at = sections[Data].sh_offset + total;
  put(sections[Symbols].sh_offset, table, sizeof(table));
  put(sections[Strings].sh_offset, strings.data(), strings.size());
  put(sections[Names].sh_offset, sectionNames.data(), sectionNames.size());
  if (hasProperties)
    put(sections[Property].sh_offset, properties, sizeof(properties));
  put(header.e_shoff, sections, header.e_shnum * sizeof(ELF::Elf64_Shdr));
  if (Error error = file->finish())
    return error;
  return file->publish();
}

} // namespace hewn::codegen
