# SPDX-License-Identifier: BSD-3-Clause
# Tests that are programs of several PEs.

# Added to every test's environment; empty unless the build has a sanitizer.
set(sanitizer_environment "")
if(ATOLL_SANITIZE MATCHES "address")
  set(sanitizer_environment LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tools/suppressions/lsan.supp:print_suppressions=0)
elseif(ATOLL_SANITIZE STREQUAL "thread")
  # Jobs that die must do so as they would without a sanitizer.
  set(sanitizer_environment
    TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tools/suppressions/tsan.supp:atexit_sleep_ms=0:handle_segv=0:handle_abort=0)
endif()

# use_virtual_nodes(<variable> <nodes> <target>): the options of oshrun, if there are nodes; the target is a program that runs on
# them.
function(use_virtual_nodes variable nodes target)
  set(options "")
  if(nodes)
    set(options --virtual-nodes ${nodes})
    if(no_hardware_preload)
      list(APPEND options -x LD_PRELOAD=${no_hardware_preload})
      if(TARGET "${target}")
        add_dependencies(${target} no_hardware)
      endif()
    endif()
  endif()
  set(${variable} ${options} PARENT_SCOPE)
endfunction()

# The jobs of these tests start without hardware, those too that a script starts; of all tests of this folder unless some are
# named.
function(start_without_hardware)
  if(NOT no_hardware_preload)
    return()
  endif()
  set(tests ${ARGN})
  if(NOT tests)
    get_property(tests DIRECTORY PROPERTY TESTS)
  endif()
  set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT LD_PRELOAD=${no_hardware_preload})
endfunction()

# The scripts of this folder's tests run jobs, and have the cores to themselves as those of add_pe_run() do: but for what says
# otherwise, and for jobs that fail soon.
function(run_jobs_alone)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_test_property(${test} PROCESSORS processors)
    get_test_property(${test} LABELS labels)
    if(NOT processors AND NOT labels MATCHES "failure|waits")
      set_tests_properties(${test} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()

# Builds a program like any other target, linked to the library, so that it gets the preset's sanitizer.  A program in C may
# also be a member of a suite (add_suite_runs): it is compiled once, with another name for its main().
#   add_pe_program(<target> SOURCES <files> [LIBRARIES <targets>] [NO_PIE] [SUITE <suite>])
function(add_pe_program target)
  cmake_parse_arguments(arg "NO_PIE" "SUITE" "SOURCES;LIBRARIES" ${ARGN})
  if(arg_SUITE)
    add_library(${target}_objects OBJECT ${arg_SOURCES})
    set_pe_options(${target}_objects ${arg_LIBRARIES})
    target_compile_definitions(${target}_objects PRIVATE main=${target}_main)
    set_property(GLOBAL APPEND PROPERTY suite_${arg_SUITE} ${target})
    add_executable(${target} $<TARGET_OBJECTS:${target}_objects>)
    target_link_options(${target} PRIVATE LINKER:--defsym=main=${target}_main)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  else()
    add_executable(${target} ${arg_SOURCES})
  endif()
  set_pe_options(${target} ${arg_LIBRARIES})
  if(arg_NO_PIE)
    target_compile_options(${target} PRIVATE -fno-pie)
    target_link_options(${target} PRIVATE -no-pie)
  else()
    target_link_options(${target} PRIVATE -pie)
  endif()
endfunction()

# How programs of users are compiled.
function(set_pe_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/spec)
  target_link_libraries(${target} PRIVATE atoll Threads::Threads ${ARGN})
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE OFF RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_compile_options(${target} PRIVATE -fPIE)
endfunction()

# One CTest: a program under oshrun with <pes> PEs.
#   add_pe_run(<test> PES <n> PROGRAM <target> | SCRIPT <path> [ARGS <arguments>] [VIRTUAL_NODES <n>] [ENV <NAME=VALUE>...]
#              [TIMEOUT <seconds>] [LABELS <labels>] [ONLY_IN_ALL])
# With ONLY_IN_ALL it runs only where ctest is called with `-C all`, or is chosen by name (tests/*.txt).
# oshrun ends a job that hangs a little before CTest would, so that nothing is left behind.
function(add_pe_run test)
  cmake_parse_arguments(arg "ONLY_IN_ALL" "PROGRAM;SCRIPT;PES;VIRTUAL_NODES;TIMEOUT" "ARGS;ENV;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  math(EXPR job_timeout "${arg_TIMEOUT} - 5")
  use_virtual_nodes(virtual "${arg_VIRTUAL_NODES}" "${arg_PROGRAM}")
  if(arg_PROGRAM)
    set(arg_SCRIPT $<TARGET_FILE:${arg_PROGRAM}>)
  endif()
  set(configurations "")
  if(arg_ONLY_IN_ALL)
    set(configurations CONFIGURATIONS all listed)
  endif()
  # Who waits polls, and gives its core away only after a while: jobs beside each other take no less time than one after the
  # other, and beside what computes a job of two PEs took six times as long (docs/decisions.md, 159).
  set(processors ${arg_PES})
  if(arg_ENV MATCHES "SHMEM_MEMORY_SERVERS=([0-9]+)")
    math(EXPR processors "${arg_PES} + ${CMAKE_MATCH_1}")
  endif()
  add_test(NAME ${test} ${configurations}
    COMMAND $<TARGET_FILE:oshrun> -n ${arg_PES} ${virtual} --timeout ${job_timeout}
      ${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors} SKIP_RETURN_CODE 77
    ENVIRONMENT "${arg_ENV};${sanitizer_environment}")
endfunction()

# The heap on NVM with so few pages in memory that they come and go all the time.
set(nvm_environment SHMEM_HEAP=nvm:${CMAKE_BINARY_DIR}/nvm-heap SHMEM_NVM_PAGE=16k SHMEM_NVM_CACHE=256k)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/nvm-heap)

# The heap on memory servers, with 16 pages in memory.  oshrun starts the servers.
set(remote_environment SHMEM_MEMORY_SERVERS=2 SHMEM_MEMORY_PER_SERVER=256m SHMEM_HEAP=remote
  SHMEM_NVM_PAGE=16k SHMEM_NVM_CACHE=256k)

# A program that tests one part of the specification, as several CTests:
#   spec.<name>.<n>pe        for each n
#   spec.<name>.<n>pe.vn2    on two virtual nodes, where everything between the halves goes over the network; of 2 PEs with
#                            `ctest -C all`, if there are 4
#   nvm.<name>.4pe.vn2       with the heap on NVM; and on one node and on four, nvm.<name>.4pe and nvm.<name>.4pe.vn4
# The member of a suite runs there; its own CTests, and the heap on NVM on one node and on four, are for `ctest -C all`.
#   add_spec_test(<name> SOURCES <files> [SUITE <suite>] [LANGUAGE C|CXX] [PES 1 2 4] [ENV <NAME=VALUE>...]
#                 [TIMEOUT <seconds>] [LIBRARIES <targets>] [NO_PIE] [ON_NODE_ONLY])
function(add_spec_test name)
  cmake_parse_arguments(arg "NO_PIE;ON_NODE_ONLY" "SUITE;LANGUAGE;TIMEOUT" "SOURCES;PES;ENV;LIBRARIES" ${ARGN})
  if(NOT arg_PES)
    set(arg_PES 1 2 4)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(arg_LANGUAGE)
    set_source_files_properties(${arg_SOURCES} PROPERTIES LANGUAGE ${arg_LANGUAGE})
  endif()
  set(options "")
  if(arg_NO_PIE)
    list(APPEND options NO_PIE)
  endif()
  set(only_in_all "")
  if(arg_SUITE)
    list(APPEND options SUITE ${arg_SUITE})
    set(only_in_all ONLY_IN_ALL)
  endif()
  add_pe_program(spec_${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} ${options})
  foreach(pes IN LISTS arg_PES)
    set(run PES ${pes} PROGRAM spec_${name} ENV ${arg_ENV})
    add_pe_run(spec.${name}.${pes}pe ${run} LABELS spec TIMEOUT ${arg_TIMEOUT} ${only_in_all})
    if(pes GREATER 1 AND NOT arg_ON_NODE_ONLY)
      set(when ${only_in_all})
      if(pes EQUAL 2 AND 4 IN_LIST arg_PES)  # what they do, two PEs on each node do as well
        set(when ONLY_IN_ALL)
      endif()
      add_pe_run(spec.${name}.${pes}pe.vn2 ${run} VIRTUAL_NODES 2 LABELS spec TIMEOUT ${arg_TIMEOUT} ${when})
    endif()
    if(pes EQUAL 4 AND NOT arg_ON_NODE_ONLY)
      nvm_environment_of(${name} environment)
      list(APPEND run ${environment} LABELS nvm TIMEOUT 120)
      add_pe_run(nvm.${name}.${pes}pe.vn2 ${run} VIRTUAL_NODES 2 ${only_in_all})
      add_pe_run(nvm.${name}.${pes}pe ${run} ONLY_IN_ALL)
      add_pe_run(nvm.${name}.${pes}pe.vn4 ${run} VIRTUAL_NODES 4 ONLY_IN_ALL)
    endif()
  endforeach()
endfunction()

# The variables for a test with its heap on NVM.
function(nvm_environment_of name result)
  set(environment ${nvm_environment})
  if(name MATCHES "^coll_(data|large|reduce_types|team_types)$")  # these move much
    list(APPEND environment SHMEM_NVM_PAGE=64k)
  endif()
  set(${result} ${environment} PARENT_SCOPE)
endfunction()

# A suite: programs that run one after the other in one job, each from shmem_init to shmem_finalize, so that only the first
# pays for the start of the job.  The job prints the name of each.  add_suite_runs adds a CTest for each of RUNS, named
# <prefix>.<suite>.<run>, where a run is <n>pe, optionally with .vn<m>, .cyclic and .nvm or .remote: as in 4pe.vn2.nvm.
#   add_suite(<suite>)                       after the last add_pe_program of its members
#   add_suite_runs(<prefix> <suite> RUNS <runs> [PARTS <parts>] [ENV <NAME=VALUE>...] [TIMEOUT <seconds>] [LABELS <labels>]
#                  [SUFFIX <text>] [ONLY_IN_ALL])   with PARTS: only programs whose names contain one of them
function(add_suite suite)
  get_property(members GLOBAL PROPERTY suite_${suite})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/suite_${suite}.h)
  set(objects "")
  set(lines "")
  foreach(member IN LISTS members)
    list(APPEND objects $<TARGET_OBJECTS:${member}_objects>)
    string(APPEND lines "X(${member})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${list} CONTENT "/* The programs of one job (tests/spec/suite.c). */\n${lines}")
  add_pe_program(suite_${suite} SOURCES ${PROJECT_SOURCE_DIR}/tests/spec/suite.c ${objects})
  target_compile_definitions(suite_${suite} PRIVATE SUITE="${list}")
endfunction()

function(add_suite_runs prefix suite)
  cmake_parse_arguments(arg "ONLY_IN_ALL" "TIMEOUT;SUFFIX;LABELS" "RUNS;ENV;PARTS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS spec)
  endif()
  set(only_in_all "")
  if(arg_ONLY_IN_ALL)
    set(only_in_all ONLY_IN_ALL)
  endif()
  foreach(run IN LISTS arg_RUNS)
    if(NOT run MATCHES "^([0-9]+)pe(\\.vn([0-9]+)(\\.cyclic)?)?(\\.(nvm|remote))?$")
      message(FATAL_ERROR "add_suite_runs: ${run} is no run; allowed is, for example, 4pe.vn2.nvm")
    endif()
    set(pes ${CMAKE_MATCH_1})
    set(nodes ${CMAKE_MATCH_3})
    if(CMAKE_MATCH_4)
      string(APPEND nodes :cyclic)
    endif()
    set(labels ${arg_LABELS})
    set(environment ${arg_ENV})
    if(CMAKE_MATCH_6 STREQUAL "remote")
      set(labels nvm)
      list(APPEND environment ${remote_environment})
    elseif(CMAKE_MATCH_6)
      set(labels nvm)
      nvm_environment_of(${suite} of_nvm)
      list(APPEND environment ${of_nvm})
    endif()
    add_pe_run(${prefix}.${suite}.${run}${arg_SUFFIX} PES ${pes} VIRTUAL_NODES ${nodes} PROGRAM suite_${suite} ARGS ${arg_PARTS}
      ENV ${environment} LABELS ${labels} TIMEOUT ${arg_TIMEOUT} ${only_in_all})
    set_tests_properties(${prefix}.${suite}.${run}${arg_SUFFIX} PROPERTIES COST 10)  # the longest first
  endforeach()
endfunction()

# A program that does something wrong: the job must end by itself within seconds, with CODE (default: 1, that of an
# error which the library has found, so that a crash does not count; a regular expression), and the library must have
# said so in exactly one line, which matches EXPECT ("": in none at all).  Lines that match OTHERS, of other PEs that
# fail because of it, may or may not come before the job has ended.  The launcher adds a line only where LAUNCHER
# expects it: for PEs that end before they have joined the job.
#   add_failure_test(<name> SOURCES <files> | PROGRAM <target> | SCRIPT <path> [ARGS <arguments>] [PES <n>]
#                    [VIRTUAL_NODES <n>] EXPECT <regex> [OTHERS <regex>] [LAUNCHER <regex>] [OUTPUT <regex>] [CODE <exit code>] [ENV <NAME=VALUE>...])
function(add_failure_test name)
  cmake_parse_arguments(arg "" "PROGRAM;SCRIPT;PES;VIRTUAL_NODES;EXPECT;OTHERS;LAUNCHER;OUTPUT;CODE" "SOURCES;ARGS;ENV" ${ARGN})
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
  use_virtual_nodes(virtual "${arg_VIRTUAL_NODES}" "${arg_PROGRAM}")
  add_test(NAME spec.${name}
    COMMAND ${CMAKE_COMMAND} "-DEXPECT=${arg_EXPECT}" "-DOTHERS=${arg_OTHERS}" "-DLAUNCHER=${arg_LAUNCHER}" "-DOUTPUT=${arg_OUTPUT}" "-DCODE=${arg_CODE}"
      -P ${PROJECT_SOURCE_DIR}/tests/spec/expect_failure.cmake --
      $<TARGET_FILE:oshrun> -n ${arg_PES} ${virtual} ${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(spec.${name} PROPERTIES
    LABELS "spec;failure" TIMEOUT 60 ENVIRONMENT "${arg_ENV};${sanitizer_environment}")
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
