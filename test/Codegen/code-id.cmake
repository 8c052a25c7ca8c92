# SPDX-License-Identifier: Apache-2.0
# cmake -DSCRIPT=HashSources.cmake -DWORK=folder -P: the id of the code generator changes if and
# only if one of its sources changes.
file(MAKE_DIRECTORY "${WORK}")
function(id_of text out)
  file(WRITE "${WORK}/a.cpp" "${text}")
  file(WRITE "${WORK}/b.h" "the same")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DFILES=${WORK}/a.cpp;${WORK}/b.h" "-DTO=${WORK}/id.inc" -P "${SCRIPT}"
    COMMAND_ERROR_IS_FATAL ANY)
  file(READ "${WORK}/id.inc" id)
  if(NOT id MATCHES "^\"[0-9a-f]+\"\n$")
    message(FATAL_ERROR "no literal of an id: ${id}")
  endif()
  set(${out} "${id}" PARENT_SCOPE)
endfunction()
id_of("one" first)
id_of("two" second)
id_of("one" third)
if(first STREQUAL second OR NOT first STREQUAL third)
  message(FATAL_ERROR "ids of 'one', 'two' and 'one': ${first} ${second} ${third}")
endif()
