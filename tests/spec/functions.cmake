# SPDX-License-Identifier: BSD-3-Clause
# Tests that are programs of several PEs.

# Added to every test's environment; empty unless the build has a sanitizer.
set(sanitizer_environment "")
if(ATOLL_SANITIZE MATCHES "address")
  set(sanitizer_environment LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/spec/lsan.supp:print_suppressions=0)
elseif(ATOLL_SANITIZE STREQUAL "thread")
  # Jobs that die must do so as they would without a sanitizer.
  set(sanitizer_environment
    TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp:atexit_sleep_ms=0:handle_segv=0:handle_abort=0)
endif()

# Builds a program like any other target, linked to the library, so that it gets the preset's sanitizer.
#   add_pe_program(<target> SOURCES <files> [LIBRARIES <targets>] [NO_PIE])
function(add_pe_program target)
  cmake_parse_arguments(arg "NO_PIE" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/spec)
  target_link_libraries(${target} PRIVATE atoll Threads::Threads ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  if(arg_NO_PIE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fno-pie)
    target_link_options(${target} PRIVATE -no-pie)
  else()
    target_compile_options(${target} PRIVATE -fPIE)
    target_link_options(${target} PRIVATE -pie)
  endif()
endfunction()

# One CTest: a program under oshrun with <pes> PEs.
#   add_pe_run(<test> PES <n> PROGRAM <target> | SCRIPT <path> [ARGS <arguments>] [VIRTUAL_NODES <n>] [ENV <NAME=VALUE>...]
#              [TIMEOUT <seconds>] [LABELS <labels>] [ONLY_IN_ALL])
# With ONLY_IN_ALL it runs only where ctest is called with `-C all`.
# oshrun ends a job that hangs a little before CTest would, so that nothing is left behind.
function(add_pe_run test)
  cmake_parse_arguments(arg "ONLY_IN_ALL" "PROGRAM;SCRIPT;PES;VIRTUAL_NODES;TIMEOUT" "ARGS;ENV;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  math(EXPR job_timeout "${arg_TIMEOUT} - 5")
  set(virtual "")
  if(arg_VIRTUAL_NODES)
    set(virtual --virtual-nodes ${arg_VIRTUAL_NODES})
  endif()
  if(arg_PROGRAM)
    set(arg_SCRIPT $<TARGET_FILE:${arg_PROGRAM}>)
  endif()
  set(configurations "")
  if(arg_ONLY_IN_ALL)
    set(configurations CONFIGURATIONS all)
  endif()
  add_test(NAME ${test} ${configurations}
    COMMAND $<TARGET_FILE:oshrun> -n ${arg_PES} ${virtual} --timeout ${job_timeout}
      ${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PES} SKIP_RETURN_CODE 77
    ENVIRONMENT "${arg_ENV};${sanitizer_environment}")
endfunction()

# The heap on NVM with so few pages in memory that they come and go all the time.
set(nvm_environment SHMEM_HEAP=nvm:${CMAKE_BINARY_DIR}/nvm-heap SHMEM_NVM_PAGE=16k SHMEM_NVM_CACHE=256k)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/nvm-heap)

# A program that tests one part of the specification: spec.<name>.<n>pe for each n, and on two virtual nodes, where
# everything between the halves goes over the network, spec.<name>.<n>pe.vn2; with the heap on NVM, nvm.<name>.4pe.vn2, and
# with `ctest -C all` also on one node, nvm.<name>.4pe, and on four, nvm.<name>.4pe.vn4.
#   add_spec_test(<name> SOURCES <files> [LANGUAGE C|CXX] [PES 1 2 4] [ENV <NAME=VALUE>...] [TIMEOUT <seconds>]
#                 [LIBRARIES <targets>] [NO_PIE] [ON_NODE_ONLY])
function(add_spec_test name)
  cmake_parse_arguments(arg "NO_PIE;ON_NODE_ONLY" "LANGUAGE;TIMEOUT" "SOURCES;PES;ENV;LIBRARIES" ${ARGN})
  if(NOT arg_PES)
    set(arg_PES 1 2 4)
  endif()
  if(arg_LANGUAGE)
    set_source_files_properties(${arg_SOURCES} PROPERTIES LANGUAGE ${arg_LANGUAGE})
  endif()
  set(no_pie "")
  if(arg_NO_PIE)
    set(no_pie NO_PIE)
  endif()
  add_pe_program(spec_${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} ${no_pie})
  foreach(pes IN LISTS arg_PES)
    set(run PES ${pes} PROGRAM spec_${name} ENV ${arg_ENV} LABELS spec)
    if(arg_TIMEOUT)
      list(APPEND run TIMEOUT ${arg_TIMEOUT})
    endif()
    add_pe_run(spec.${name}.${pes}pe ${run})
    if(pes GREATER 1 AND NOT arg_ON_NODE_ONLY)
      add_pe_run(spec.${name}.${pes}pe.vn2 ${run} VIRTUAL_NODES 2)
    endif()
    if(pes EQUAL 4 AND NOT arg_ON_NODE_ONLY)
      set(nvm_page "")
      if(name MATCHES "^coll_(large|reduce_types|team_types)$")  # these move much
        set(nvm_page SHMEM_NVM_PAGE=64k)
      endif()
      set(run PES ${pes} PROGRAM spec_${name} LABELS nvm TIMEOUT 120 ENV ${arg_ENV} ${nvm_environment} ${nvm_page})
      add_pe_run(nvm.${name}.${pes}pe.vn2 ${run} VIRTUAL_NODES 2)
      add_pe_run(nvm.${name}.${pes}pe ${run} ONLY_IN_ALL)
      add_pe_run(nvm.${name}.${pes}pe.vn4 ${run} VIRTUAL_NODES 4 ONLY_IN_ALL)
    endif()
  endforeach()
endfunction()

# A program that does something wrong: the job must end by itself within seconds, with CODE (default: 1, that of an
# error which the library has found, so that a crash does not count; a regular expression), and the library must have said so in exactly one line, which matches EXPECT ("": in none at all).  The launcher adds a
# line only where LAUNCHER expects it: for PEs that end before they have joined the job.
#   add_failure_test(<name> SOURCES <files> | PROGRAM <target> | SCRIPT <path> [ARGS <arguments>] [PES <n>]
#                    [VIRTUAL_NODES <n>] EXPECT <regex> [LAUNCHER <regex>] [OUTPUT <regex>] [CODE <exit code>] [ENV <NAME=VALUE>...])
function(add_failure_test name)
  cmake_parse_arguments(arg "" "PROGRAM;SCRIPT;PES;VIRTUAL_NODES;EXPECT;LAUNCHER;OUTPUT;CODE" "SOURCES;ARGS;ENV" ${ARGN})
  if(arg_SOURCES)
    set(arg_PROGRAM spec_${name})
    add_pe_program(${arg_PROGRAM} SOURCES ${arg_SOURCES})
  endif()
  if(arg_PROGRAM)
    set(arg_SCRIPT $<TARGET_FILE:${arg_PROGRAM}>)
  endif()
  if(NOT arg_PES)
    set(arg_PES 2)
  endif()
  if(NOT DEFINED arg_CODE)
    set(arg_CODE 1)
  endif()
  set(virtual "")
  if(arg_VIRTUAL_NODES)
    set(virtual --virtual-nodes ${arg_VIRTUAL_NODES})
  endif()
  add_test(NAME spec.${name}
    COMMAND ${CMAKE_COMMAND} "-DEXPECT=${arg_EXPECT}" "-DLAUNCHER=${arg_LAUNCHER}" "-DOUTPUT=${arg_OUTPUT}" "-DCODE=${arg_CODE}"
      -P ${PROJECT_SOURCE_DIR}/tests/spec/expect_failure.cmake --
      $<TARGET_FILE:oshrun> -n ${arg_PES} ${virtual} ${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(spec.${name} PROPERTIES
    LABELS "spec;failure" TIMEOUT 60 PROCESSORS ${arg_PES} ENVIRONMENT "${arg_ENV};${sanitizer_environment}")
endfunction()

# add_pe_run() for each way in which atomics can reach another node: <test>.native and so on.
#   add_amo_runs(<test> "native;offload;auto" [ENV <NAME=VALUE>...] <what else add_pe_run takes>)
function(add_amo_runs test modes)
  set(run ${ARGN})
  if(NOT "ENV" IN_LIST run)
    list(PREPEND run ENV)
  endif()
  list(FIND run ENV at)
  math(EXPR at "${at} + 1")
  foreach(mode IN LISTS modes)
    set(this_run ${run})
    list(INSERT this_run ${at} SHMEM_AMO=${mode})
    add_pe_run(${test}.${mode} ${this_run})
  endforeach()
endfunction()
