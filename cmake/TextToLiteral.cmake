# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=text -DTO=literal.inc -P: a text as C++ string literals, a line each.
file(STRINGS "${FROM}" lines)
set(out "")
foreach(line IN LISTS lines)
  # What names the machine that it was compiled for is left out.
  if(NOT line MATCHES "^(target |source_filename|; ModuleID)")
    string(APPEND out "R\"LITERAL(${line}\n)LITERAL\"\n")
  endif()
endforeach()
file(WRITE "${TO}" "${out}")
