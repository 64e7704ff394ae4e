# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where.  The tree may be moved afterwards: everything in it finds the rest by its own
# place (the wrappers by $0, atoll.pc by ${pcfiledir}, the CMake package by its file, oshrun needs nothing).
include(CMakePackageConfigHelpers)

set(ATOLL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Atoll)
install(TARGETS atoll oshrun EXPORT AtollTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT AtollTargets NAMESPACE Atoll:: DESTINATION ${ATOLL_CMAKE_DIR})
export(EXPORT AtollTargets NAMESPACE Atoll::)  # so that Atoll_DIR may also be a build tree

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/AtollConfig.cmake.in
  ${PROJECT_BINARY_DIR}/AtollConfig.cmake INSTALL_DESTINATION ${ATOLL_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/AtollConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/AtollConfig.cmake ${PROJECT_BINARY_DIR}/AtollConfigVersion.cmake
        DESTINATION ${ATOLL_CMAKE_DIR})

# From lib/pkgconfig to the prefix, however deep the library directory is.
function(add_pkg_config name folder)
  file(RELATIVE_PATH ATOLL_PC_TO_PREFIX /prefix/${folder} /prefix)
  string(REGEX REPLACE "/$" "" ATOLL_PC_TO_PREFIX ${ATOLL_PC_TO_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/atoll.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${folder})
endfunction()
add_pkg_config(atoll ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(cmake/compat.cmake)

# What valgrind and the sanitizers need not say of other libraries.  oshrun finds them as they lie when installed.
foreach(tool lsan tsan valgrind)
  set(made ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/atoll/${tool}.supp)
  configure_file(${PROJECT_SOURCE_DIR}/tools/suppressions/${tool}.supp ${made} COPYONLY)
  if(tool STREQUAL "tsan" AND NOT ATOLL_SANITIZE MATCHES "thread")
    # Nor is the library, then.
    file(APPEND ${made} "race:libatoll.so\ncalled_from_lib:libatoll.so\nmutex:libatoll.so\nthread:libatoll.so\n")
  endif()
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/atoll)
endforeach()
