# SPDX-License-Identifier: BSD-3-Clause
# jemalloc, private to the library: the static archive is copied with every symbol it defines renamed to atoll_*, so that
# it is nobody's malloc.
#
# Where a system has no archive of position independent code, or with -DJEMALLOC_ARCHIVE=OFF, its shared library is used.  Programs keep their
# malloc, since they need libc themselves: the linker finds it there before it comes to what libatoll needs.  And they keep
# their operator new, as of what libatoll needs the C++ library comes first.
find_library(JEMALLOC_ARCHIVE NAMES libjemalloc_pic.a)
find_library(JEMALLOC_LIBRARY NAMES jemalloc)
find_path(JEMALLOC_INCLUDE jemalloc/jemalloc.h REQUIRED)
if(NOT JEMALLOC_ARCHIVE)
  if(NOT JEMALLOC_LIBRARY)
    message(FATAL_ERROR "There is no jemalloc: neither libjemalloc_pic.a nor libjemalloc.so was found")
  endif()
  message(STATUS "jemalloc: libjemalloc_pic.a was not found, so libatoll needs ${JEMALLOC_LIBRARY}")
  add_library(atoll_jemalloc INTERFACE)
  target_include_directories(atoll_jemalloc INTERFACE ${JEMALLOC_INCLUDE})
  target_link_libraries(atoll_jemalloc INTERFACE stdc++ ${JEMALLOC_LIBRARY})
  set_source_files_properties(heap/heap.cpp TARGET_DIRECTORY atoll_objects
    PROPERTIES COMPILE_DEFINITIONS ATOLL_SHARED_JEMALLOC=1)
  return()
endif()

set(jemalloc_private ${CMAKE_CURRENT_BINARY_DIR}/libatoll_jemalloc.a)
add_custom_command(
  OUTPUT ${jemalloc_private}
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/rename_symbols.sh ${JEMALLOC_ARCHIVE} ${jemalloc_private} atoll_
          ${CMAKE_NM} ${CMAKE_OBJCOPY}
  DEPENDS ${JEMALLOC_ARCHIVE} ${PROJECT_SOURCE_DIR}/cmake/rename_symbols.sh
  COMMENT "Renaming the symbols of jemalloc" VERBATIM)
add_custom_target(jemalloc_renamed DEPENDS ${jemalloc_private})
add_library(atoll_jemalloc STATIC IMPORTED GLOBAL)
set_target_properties(atoll_jemalloc PROPERTIES IMPORTED_LOCATION ${jemalloc_private}
                      INTERFACE_INCLUDE_DIRECTORIES ${JEMALLOC_INCLUDE})
add_dependencies(atoll_jemalloc jemalloc_renamed)
