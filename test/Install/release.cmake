# SPDX-License-Identifier: Apache-2.0
# Runs tools/release in a clean checkout of the last commit, and links its files as DIST. The test's
# time limit is that of a release: 30 minutes.
#   cmake -DTREE=. -DWORK=folder -DDIST=folder -P release.cmake
cmake_minimum_required(VERSION 3.20)
file(REMOVE_RECURSE "${WORK}" "${DIST}")
execute_process(COMMAND git clone -q --no-hardlinks "${TREE}" "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
unset(ENV{HEWN_VENV})
unset(ENV{PYTHONPATH})
execute_process(COMMAND tools/release WORKING_DIRECTORY "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
file(CREATE_LINK "${WORK}/dist" "${DIST}" SYMBOLIC)
