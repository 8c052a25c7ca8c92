# SPDX-License-Identifier: Apache-2.0
# Links an archive, with the libraries that it needs, into one object in which only the hewn_part_*
# symbols are global: an application may link other versions of the same libraries. With SILENT,
# calls that print, that use compiler support functions or that glibc 2.17 lacks are redirected to
# `silent.c`, and memory allocation to `budget.c`.
#   cmake -DLD=ld.lld -DOBJCOPY=llvm-objcopy -DAR=llvm-ar -DINTO=a.a "-DFROM=b.a|c.a" \
#     [-DSILENT=ON] -P isolate.cmake
string(REPLACE "|" ";" archives "${FROM}")
execute_process(COMMAND "${LD}" -r --whole-archive "${INTO}" --no-whole-archive ${archives} -o "${INTO}.o"
  COMMAND_ERROR_IS_FATAL ANY)
set(names "")
if(SILENT)
  foreach(name __fprintf_chk __vfprintf_chk fprintf vfprintf fputc fputs fwrite fflush puts)
    list(APPEND names --redefine-sym ${name}=hewn_silent_function)
  endforeach()
  foreach(name stderr stdout)
    list(APPEND names --redefine-sym ${name}=hewn_silent_file)
  endforeach()
  list(APPEND names --redefine-sym __popcountdi2=hewn_silent_popcount --redefine-sym fstat=hewn_silent_fstat)
  foreach(name malloc calloc realloc posix_memalign free)
    list(APPEND names --redefine-sym ${name}=hewn_budget_${name})
  endforeach()
  foreach(name malloc free)
    list(APPEND names --redefine-sym hewn_own_${name}=${name})
  endforeach()
endif()
if(names)
  execute_process(COMMAND "${OBJCOPY}" ${names} "${INTO}.o" "${INTO}.named.o" COMMAND_ERROR_IS_FATAL ANY)
  # Resolves references to renamed functions, such as malloc, against their replacements.
  execute_process(COMMAND "${LD}" -r "${INTO}.named.o" -o "${INTO}.o" COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE "${INTO}.named.o")
endif()
execute_process(COMMAND "${OBJCOPY}" --strip-debug --wildcard --keep-global-symbol=hewn_part_* "${INTO}.o"
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${INTO}")
execute_process(COMMAND "${AR}" rcs "${INTO}" "${INTO}.o" COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${INTO}.o")
