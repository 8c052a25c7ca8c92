# SPDX-License-Identifier: Apache-2.0
# Usage: cmake -DFILES=a;b -DTO=id.inc -P HashSources.cmake
# Writes a C++ string literal with the SHA-256 of the files' names and contents, if it has changed.
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" one)
  get_filename_component(name "${file}" NAME)
  string(APPEND all "${name} ${one}\n")
endforeach()
string(SHA256 id "${all}")
set(text "\"${id}\"\n")
if(EXISTS "${TO}")
  file(READ "${TO}" before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE "${TO}" "${text}")
endif()
