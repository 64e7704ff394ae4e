# SPDX-License-Identifier: BSD-3-Clause
# add_compile_case(<name> <compiler and arguments>... [EXPECT <regular expression>]): a test that compiles, or, with EXPECT,
# one whose compiler must say that.  Any error at all (WILL_FAIL) would be too little.
function(add_compile_case name)
  cmake_parse_arguments(arg "" "EXPECT" "" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS unit)
  if(arg_EXPECT)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_EXPECT}")
  endif()
endfunction()
