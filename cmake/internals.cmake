# SPDX-License-Identifier: BSD-3-Clause
# Who sees the library's insides.  Its objects have protected symbols: inside a library they are bound like hidden ones,
# without a GOT or a PLT in between, and what others see is decided when the library is linked.  libatoll exports what
# the headers declare, libatoll_internals exports all, so that a program which tests the insides need not be linked
# again when a source of the library changes.
include(CheckCXXCompilerFlag)

# GCC before 13 takes protected variables for such that a program may have copied, and reads them through the GOT.  This
# says that no program copies them, and keeps the programs that test the insides from it.
set(indirect "")
foreach(flag -mno-direct-extern-access -fno-direct-access-external-data)  # GCC's name, and clang's
  string(MAKE_C_IDENTIFIER "ATOLL_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    set(indirect ${flag})
    break()
  endif()
endforeach()
target_compile_options(atoll_objects PRIVATE ${indirect})
target_compile_definitions(atoll_objects PRIVATE ATOLL_BUILDING)
set_target_properties(atoll_objects PROPERTIES CXX_VISIBILITY_PRESET protected)

# The version script comes from the tables of the headers.
set(exports ${PROJECT_BINARY_DIR}/exports.map)
set(exports_sources all_tables.h exports.c exports.cmake exports.since)
list(TRANSFORM exports_sources PREPEND ${PROJECT_SOURCE_DIR}/cmake/)
add_custom_command(OUTPUT ${exports}
  COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_C_COMPILER} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${exports}
          -P ${PROJECT_SOURCE_DIR}/cmake/exports.cmake
  DEPENDS ${exports_sources} DEPFILE ${exports}.d
  COMMENT "Versions of the library's symbols" VERBATIM)
add_custom_target(exports DEPENDS ${exports})
add_dependencies(atoll exports)
target_link_options(atoll PRIVATE LINKER:--version-script=${exports})
set_target_properties(atoll PROPERTIES LINK_DEPENDS ${exports})

# add_internals(<target> [<sources>]): a library of the objects that hides nothing.
function(add_internals target)
  add_library(${target} SHARED EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target} PRIVATE atoll_objects INTERFACE PkgConfig::PMIX Threads::Threads)
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    set_property(TARGET ${target} PROPERTY INTERFACE_${property} $<TARGET_PROPERTY:atoll_objects,INTERFACE_${property}>)
  endforeach()
  target_compile_options(${target} INTERFACE ${indirect})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX CXX_VISIBILITY_PRESET default)
endfunction()
if(ATOLL_TESTS)
  add_internals(atoll_internals)
endif()
