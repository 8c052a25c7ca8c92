// SPDX-License-Identifier: Apache-2.0
//
// Writes weights as an ELF object. They may be gigabytes, so that they are streamed: LLVM's object
// writers keep all data in memory.
#include "lib/Codegen/Emit/Weights.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Target/Linkers/ElfLinker.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using hewn::codegen::Weights;

namespace hewn::target {

Error ElfLinker::writeWeights(const Weights &weights, StringRef path, StringRef symbol, StringRef object) const {
  constexpr uint64_t kAlignment = Weights::kAlignment;
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
  // The header has the architecture and the flags (such as the ABI of floats) of other objects.
  ELF::Elf64_Ehdr header = {};
  if (object.size() < sizeof(header))
    return createStringError("internal error: the object has no ELF header");
  std::memcpy(&header, object.data(), sizeof(header));
  const uint16_t machine = header.e_machine;
  const uint32_t flags = header.e_flags;
  const bool hasProperties = machine == ELF::EM_X86_64;
  header = {};
  std::memcpy(header.e_ident, ELF::ElfMagic, 4);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = machine;
  header.e_version = ELF::EV_CURRENT;
  header.e_flags = flags;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(ELF::Elf64_Shdr);
  header.e_shnum = hasProperties ? Count : Property;
  header.e_shstrndx = Names;

  ELF::Elf64_Sym table[2] = {};
  table[1].st_name = 1;
  table[1].setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  table[1].st_other = ELF::STV_HIDDEN;
  table[1].st_shndx = Data;
  table[1].st_size = weights.size();

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
  place(Data, ".rodata.hewn_weights", ELF::SHT_PROGBITS, weights.size(), kAlignment);
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
  weights.write(os);
  at = sections[Data].sh_offset + weights.size();
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

} // namespace hewn::target
