# SPDX-License-Identifier: BSD-3-Clause
# `cpack` in a build tree makes Debian packages of what `cmake --install` installs: libatoll0, libatoll-dev, atoll-tools.
#
# The installed tree stays as it is, in a folder of its own, since its files find each other by their places.  Where
# Debian's programs look there are links.  Nothing has a name or a place that Open MPI's packages use: oshcc, oshc++
# and oshrun are in PATH as oshcc.atoll and so on.  deb/lay_out.cmake says which file is in which package.
find_program(ATOLL_DPKG dpkg-deb DOC "Makes Debian packages")
mark_as_advanced(ATOLL_DPKG)
if(NOT ATOLL_DPKG OR NOT CMAKE_LIBRARY_ARCHITECTURE)
  return()  # not on Debian
endif()

set(deb ${PROJECT_BINARY_DIR}/deb)
set(DEB_FOLDER usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/atoll)

# What the changelog begins with: a version that is not released comes before the release.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/changelog.md)
file(STRINGS ${PROJECT_SOURCE_DIR}/docs/changelog.md heading REGEX "^## " LIMIT_COUNT 1)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
if(heading MATCHES "not released")
  string(APPEND CPACK_DEBIAN_PACKAGE_VERSION "~dev")
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE 1 CACHE STRING "Debian revision of the packages")
set(DEB_VERSION ${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE atoll)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Atoll developers <atoll@localhost>"
  CACHE STRING "Name and address of who answers for the packages")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES OFF)  # lay_out.cmake installs without symbols

set(CPACK_COMPONENTS_ALL "")
# add_package(<component> <name> <section> <description>): the variables that CPack has for a package.
function(add_package component name section description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  install(CODE "set(PACKAGE ${name})" COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(SCRIPT ${deb}/lay_out.cmake COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(text "Atoll is an implementation of OpenSHMEM 1.6, an interface for parallel programs
whose processes write to and read from each other's memory.  Processes on one
machine use shared memory, processes on several use libfabric.")
add_package(library libatoll${PROJECT_VERSION_MAJOR} libs "OpenSHMEM over libfabric - shared library\n${text}\n
This package has the library that programs need to run.")
add_package(development libatoll-dev libdevel "OpenSHMEM over libfabric - development files\n${text}\n
This package has the headers, the compiler wrappers oshcc.atoll and
oshc++.atoll, and files for CMake and pkg-config.")
add_package(tools atoll-tools utils "OpenSHMEM over libfabric - launcher and tools\n${text}\n
This package has the launcher oshrun.atoll, and tools that show the settings
of a machine, measure it, and lend its memory to programs.")

# libfabric is loaded at run time: no file says that it is needed.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libfabric1")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libatoll${PROJECT_VERSION_MAJOR} (= ${DEB_VERSION})")
# AtollConfig.cmake names the launcher, too.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libatoll${PROJECT_VERSION_MAJOR} (= ${DEB_VERSION}), atoll-tools (= ${DEB_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "gcc | c-compiler, libc6-dev | libc-dev")

# What other packages need of the library: version ATOLL_0.2 came with 0.2.0, and with what was before that release.
set(library "libatoll.so.${PROJECT_VERSION_MAJOR}")
set(package "libatoll${PROJECT_VERSION_MAJOR}")
file(WRITE ${deb}/shlibs
  "libatoll ${PROJECT_VERSION_MAJOR} ${package} (>= ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0~)\n")
file(WRITE ${deb}/triggers "activate-noawait ldconfig\n")
set(symbols_script ${PROJECT_SOURCE_DIR}/cmake/deb/symbols.cmake)
add_custom_command(OUTPUT ${deb}/symbols
  COMMAND ${CMAKE_COMMAND} -DEXPORTS=${exports} -DOUTPUT=${deb}/symbols -DLIBRARY=${library} -DPACKAGE=${package}
          -P ${symbols_script}
  DEPENDS ${exports} ${symbols_script} COMMENT "Symbols of the Debian package" VERBATIM)
add_custom_target(deb_symbols ALL DEPENDS ${deb}/symbols)
add_dependencies(deb_symbols exports)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${deb}/shlibs ${deb}/symbols ${deb}/triggers)

include(${PROJECT_SOURCE_DIR}/cmake/deb/changelog.cmake)
configure_file(${PROJECT_SOURCE_DIR}/cmake/deb/lay_out.cmake.in ${deb}/lay_out.cmake @ONLY)
include(CPack)
