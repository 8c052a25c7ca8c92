# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: the tools, the headers, the runtime, and the package that find_package(hewn) finds.
if(NOT TARGET hewn OR NOT TARGET hewn_runtime)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/hewn")

foreach(tool hewn hewn-opt)
  if(TARGET ${tool})
    # LLVM's shared libraries lie outside of the linker's path.
    set_target_properties(${tool} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${tool} EXPORT hewnTargets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
if(TARGET hewn_runtime)
  set_target_properties(hewn_runtime PROPERTIES EXPORT_NAME runtime)
  install(TARGETS hewn_runtime EXPORT hewnTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
foreach(cross IN LISTS HEWN_CROSS_RUNTIMES) # for artifacts that run on another architecture than the compiler
  string(REPLACE "|" ";" cross "${cross}")
  list(GET cross 0 name)
  list(GET cross 1 triple)
  install(FILES $<TARGET_FILE:${name}> DESTINATION "${CMAKE_INSTALL_LIBDIR}/${triple}")
endforeach()
foreach(part IN LISTS HEWN_LIBRARY_PARTS) # what the compiler links into models that need it, beside the runtime
  install(FILES $<TARGET_FILE:${part}> DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
install(EXPORT hewnTargets NAMESPACE hewn:: DESTINATION "${package_folder}")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hewn" "${PROJECT_BINARY_DIR}/include/hewn"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
configure_package_config_file(cmake/hewnConfig.cmake.in "${PROJECT_BINARY_DIR}/hewnConfig.cmake"
  INSTALL_DESTINATION "${package_folder}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hewnConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hewnConfig.cmake" "${PROJECT_BINARY_DIR}/hewnConfigVersion.cmake"
  cmake/HewnAddModel.cmake DESTINATION "${package_folder}")
