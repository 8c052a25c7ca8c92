# SPDX-License-Identifier: Apache-2.0
# Install rules: tools, headers, runtime, and the CMake package for find_package(hewn).
if(NOT TARGET hewn OR NOT TARGET hewn_runtime)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/hewn")

foreach(tool hewn hewn-opt hewn-lsp-server)
  if(TARGET ${tool})
    if(TARGET hewn_compiler)
      set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    else() # LLVM's shared libraries are outside of the default search path
      set_target_properties(${tool} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    endif()
    install(TARGETS ${tool} EXPORT hewnTargets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
if(TARGET hewn_runtime)
  set_target_properties(hewn_runtime PROPERTIES EXPORT_NAME runtime)
  install(TARGETS hewn_runtime EXPORT hewnTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
# hewn's headers include dlpack.h, which users may not have installed.
find_path(HEWN_DLPACK_INCLUDE_DIR dlpack/dlpack.h REQUIRED)
install(FILES "${HEWN_DLPACK_INCLUDE_DIR}/dlpack/dlpack.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/dlpack")
if(TARGET hewn_compiler)
  install(TARGETS hewn_compiler EXPORT hewnTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  # Licenses of all linked libraries, from their Debian packages.
  foreach(package llvm-22-dev libmlir-22-dev liblld-22-dev libprotobuf-dev zlib1g-dev libzstd-dev libdlpack-dev libpcre2-dev
      libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev libstb-dev liblzma-dev libdeflate-dev libjbig-dev)
    if(EXISTS "/usr/share/doc/${package}/copyright")
      install(FILES "/usr/share/doc/${package}/copyright" DESTINATION licenses RENAME "${package}.txt")
    endif()
  endforeach()
  install(DIRECTORY "${HEWN_DAGRE_DIR}/licenses/" DESTINATION licenses)
endif()
foreach(cross IN LISTS HEWN_CROSS_RUNTIMES) # for artifacts that run on another architecture than the compiler
  string(REPLACE "|" ";" cross "${cross}")
  list(GET cross 0 name)
  list(GET cross 1 triple)
  install(FILES $<TARGET_FILE:${name}> DESTINATION "${CMAKE_INSTALL_LIBDIR}/${triple}")
endforeach()
foreach(part IN LISTS HEWN_LIBRARY_PARTS) # optional runtime libraries that the compiler links into models
  install(FILES $<TARGET_FILE:${part}> DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
install(EXPORT hewnTargets NAMESPACE hewn:: DESTINATION "${package_folder}")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hewn" "${PROJECT_BINARY_DIR}/include/hewn"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
configure_package_config_file(cmake/hewnConfig.cmake.in "${PROJECT_BINARY_DIR}/hewnConfig.cmake"
  INSTALL_DESTINATION "${package_folder}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hewnConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/hewn.pc.in "${PROJECT_BINARY_DIR}/hewn.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hewn.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_BINARY_DIR}/hewnConfig.cmake" "${PROJECT_BINARY_DIR}/hewnConfigVersion.cmake"
  cmake/HewnAddModel.cmake DESTINATION "${package_folder}")

# Installs the Python package: below the install prefix or, in a wheel, in its top folder.
if(TARGET _hewn)
  if(SKBUILD)
    set(python_folder ".")
    set(python_to_libraries "$ORIGIN/${CMAKE_INSTALL_LIBDIR}")
  else()
    set(python_folder "${CMAKE_INSTALL_LIBDIR}/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages/hewn")
    set(python_to_libraries "$ORIGIN/../../..")
  endif()
  if(TARGET hewn_compiler)
    set_target_properties(_hewn PROPERTIES INSTALL_RPATH "${python_to_libraries}")
  else()
    set_target_properties(_hewn PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
  install(TARGETS _hewn LIBRARY DESTINATION "${python_folder}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/hewn/" DESTINATION "${python_folder}"
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "*.onnxtxt" PATTERN "*.json"
    PATTERN "__pycache__" EXCLUDE)
endif()
