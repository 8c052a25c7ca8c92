# SPDX-License-Identifier: Apache-2.0
# Usage: cmake "-DFROM=a.js;b.js" -DTO=literal.inc -P ScriptToLiteral.cmake
# Writes JavaScript sources as C++ string literals, without indentation and comment lines.
set(out "")
foreach(file IN LISTS FROM)
  file(READ "${file}" text)
  string(REGEX REPLACE "(^|\n)([ \t]*//[^\n]*\n)+" "\\1" text "${text}")
  string(REGEX REPLACE "\n[ \t\n]+" "\n" text "${text}")
  string(APPEND out "R\"LITERAL(${text})LITERAL\"\n")
endforeach()
file(WRITE "${TO}" "${out}")
