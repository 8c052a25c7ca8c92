# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down, and the package that find_package(hewn) finds.
