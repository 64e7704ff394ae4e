# SPDX-License-Identifier: BSD-3-Clause
# All tests of a program in one process, which takes a fraction of the time of one process each: for `tools/check`, where no
# test is chosen.
function(add_quick_unit_test program)
  add_test(NAME quick.${program} CONFIGURATIONS listed suite COMMAND ${program} --gtest_brief=1)
  # All tests of a program, up to 20 times slower with a sanitizer.
  set_tests_properties(quick.${program} PROPERTIES TIMEOUT 600 COST 20)  # the longest first
  if(ATOLL_SANITIZE MATCHES "address")  # what libfabric never frees
    set_tests_properties(quick.${program} PROPERTIES ENVIRONMENT "${sanitizer_environment}")
  endif()
  # Tests that cannot pass where this runs (tests/platforms/run.sh), beside those that are left out anyway: ":SUITE.TEST..."
  # behind a GTEST_FILTER of the test or of whoever runs it, which begins with "-".
  if(ATOLL_LEAVE_OUT)
    set_tests_properties(quick.${program} PROPERTIES ENVIRONMENT_MODIFICATION "GTEST_FILTER=string_append:${ATOLL_LEAVE_OUT}")
  endif()
endfunction()
