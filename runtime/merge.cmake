# SPDX-License-Identifier: Apache-2.0
# Puts the members of an archive into another: cmake -DAR=ar -DINTO=a.a -DFROM=b.a -P merge.cmake
file(WRITE "${INTO}.mri" "CREATE ${INTO}.whole\nADDLIB ${INTO}\nADDLIB ${FROM}\nSAVE\nEND\n")
execute_process(COMMAND "${AR}" -M INPUT_FILE "${INTO}.mri" COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${INTO}.whole" "${INTO}")
file(REMOVE "${INTO}.mri")
