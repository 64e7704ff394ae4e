# SPDX-License-Identifier: BSD-3-Clause
# Runs the command after "--" and checks how it fails.  See add_failure_test() in functions.cmake.
cmake_minimum_required(VERSION 3.25)  # the policies of the project
set(command "")
set(found OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(found)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(found ON)
  endif()
endforeach()

execute_process(COMMAND ${command} TIMEOUT 20 RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)

function(give_up reason)
  message(FATAL_ERROR "${reason}\nexit code: ${code}\nstandard output:\n${output}\nstandard error:\n${errors}")
endfunction()

if(NOT code MATCHES "^[0-9]+$")
  give_up("the job did not end by itself")
elseif(NOT code MATCHES "^(${CODE})$")
  give_up("the exit code should be ${CODE}")
endif()

# Semicolons and brackets would make list items of parts of a line, or one of several.
string(REGEX REPLACE "[][;]" " " text "${errors}")
string(REGEX REPLACE "oshrun: PE [^\n]* said the same as PE [0-9]+\n" "" text "${text}")
string(REPLACE "\n" ";" lines "${text}")
list(FILTER lines EXCLUDE REGEX "^atoll: [^:]*:   [#(]")  # who has called: crash_test.py looks at it
if(OTHERS)
  list(FILTER lines EXCLUDE REGEX "${OTHERS}")
endif()

# What one of `who` has said must be one line that matches, or nothing if `expected` is empty.
function(check_lines who expected)
  set(said "${lines}")
  list(FILTER said INCLUDE REGEX "^${who}:")
  list(LENGTH said count)
  if(expected STREQUAL "")
    if(NOT count EQUAL 0)
      give_up("${who} should have said nothing")
    endif()
  elseif(NOT count EQUAL 1)
    give_up("${who} should have said one line, not ${count}")
  elseif(NOT said MATCHES "${expected}")
    give_up("the line should match: ${expected}")
  endif()
endfunction()
check_lines(atoll "${EXPECT}")
check_lines(oshrun "${LAUNCHER}")
if(NOT output MATCHES "${OUTPUT}")
  give_up("the standard output should match: ${OUTPUT}")
endif()
