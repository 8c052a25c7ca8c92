// SPDX-License-Identifier: Apache-2.0
// Tests errors of loading libraries. An error message is valid as long as its library object.
// test/Python/test_files.py tests libraries of compiled models.
#include "hewn/runtime.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

using testing::HasSubstr;

namespace {

std::string refusal(const char *path, int32_t code) {
  hewn_library *library = nullptr;
  errno = EDOM;
  hewn_status status = hewn_library_open(path, &library);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(status.code, code);
  EXPECT_EQ(hewn_library_model(library), nullptr);
  std::string message = status.message;
  hewn_library_close(library);
  return message;
}

TEST(Library, WhatIsNone) {
  EXPECT_THAT(refusal("/nothing/here.so", HEWN_IO), HasSubstr("/nothing/here.so: cannot open"));
  // A path is relative to the current folder; the loader's search path is not used.
  EXPECT_THAT(refusal("nothing.so", HEWN_IO), HasSubstr("./nothing.so"));
  EXPECT_THAT(refusal("/proc/self/status", HEWN_UNSUPPORTED), HasSubstr("/proc/self/status: not a library"));
  EXPECT_EQ(refusal(std::string(5000, 'x').c_str(), HEWN_INVALID_ARGUMENT), "the library's path is too long");
  EXPECT_EQ(refusal(nullptr, HEWN_INVALID_ARGUMENT), "the path is NULL");
  EXPECT_EQ(hewn_library_open("x.so", nullptr).code, HEWN_INVALID_ARGUMENT);
  hewn_library_close(nullptr);
}

/// Returns the error message for a file that starts with the given header, without its path.
std::string refusalOf(const Elf64_Ehdr &header) {
  std::string path = testing::TempDir() + "strange.so";
  std::FILE *file = std::fopen(path.c_str(), "wb");
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(std::fwrite(&header, sizeof(header), 1, file), 1u);
  EXPECT_EQ(std::fclose(file), 0);
  std::string why = refusal(path.c_str(), HEWN_UNSUPPORTED);
  std::remove(path.c_str());
  EXPECT_EQ(why.substr(0, path.size()), path);
  return why.substr(path.size());
}

TEST(Library, OfAnotherKind) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_S390;
  EXPECT_EQ(refusalOf(header), ": compiled for another architecture than this machine's");
  const std::string linked =
      ": an object or archive, which must be linked into a program; only a library (.so) can be loaded";
  header.e_type = ET_REL;
  EXPECT_EQ(refusalOf(header), linked);
  std::memcpy(&header, "!<arch>\n", 8);
  EXPECT_EQ(refusalOf(header), linked);
}

TEST(Library, OfSomebodyElse) {
  Dl_info info;
  // The path of the C library, which is loaded already. Found by a function that no sanitizer
  // intercepts.
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
  EXPECT_EQ(refusal(info.dli_fname, HEWN_UNSUPPORTED), std::string(info.dli_fname) + ": not a model compiled by hewn");
}

} // namespace
