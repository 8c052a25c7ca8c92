# SPDX-License-Identifier: Apache-2.0
# Usage: cmake -DFROM=text -DTO=literal.inc -P TextToLiteral.cmake
# Writes a text as C++ string literals, one per line.
file(STRINGS "${FROM}" lines)
set(out "")
foreach(line IN LISTS lines)
  # Skips lines that depend on the host (target triple, file name).
  if(NOT line MATCHES "^(target |source_filename|; ModuleID)")
    string(APPEND out "R\"LITERAL(${line}\n)LITERAL\"\n")
  endif()
endforeach()
file(WRITE "${TO}" "${out}")
