# SPDX-License-Identifier: BSD-3-Clause
# jemalloc, private to the library.  Linking it as it is would replace the program's malloc, and its TLS block
# forbids dlopen(); so the static archive is copied with every symbol it defines renamed to atoll_*.
find_library(JEMALLOC_ARCHIVE NAMES libjemalloc_pic.a REQUIRED)
find_path(JEMALLOC_INCLUDE jemalloc/jemalloc.h REQUIRED)

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
