# SPDX-License-Identifier: BSD-3-Clause
# The whole tree, tests and examples included, is built with the sanitizer: oshcc passes these flags on.
set(ATOLL_SANITIZE_FLAGS "")
if(ATOLL_SANITIZE STREQUAL "address,undefined")
  set(ATOLL_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(ATOLL_SANITIZE STREQUAL "thread")
  set(ATOLL_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
elseif(ATOLL_SANITIZE)
  message(FATAL_ERROR "ATOLL_SANITIZE=${ATOLL_SANITIZE}: allowed are address,undefined and thread")
endif()
if(ATOLL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT ATOLL_SANITIZE STREQUAL "address,undefined")
    message(FATAL_ERROR "ATOLL_FUZZ needs clang and ATOLL_SANITIZE=address,undefined, as the preset fuzz has them")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
add_compile_options(${ATOLL_SANITIZE_FLAGS})
if(ATOLL_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC warns that ThreadSanitizer does not follow fences.  Ours order memory that other processes share, which it does
  # not see either.
  add_compile_options(-Wno-tsan)
endif()
add_link_options(${ATOLL_SANITIZE_FLAGS})
