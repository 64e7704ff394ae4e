# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSOURCE_DIR=... -DOUTPUT=... -P commit.cmake: a source with the commit of the tree, touched only if it is another.
get_filename_component(above ${SOURCE_DIR} DIRECTORY)
set(ENV{GIT_CEILING_DIRECTORIES} ${above})  # of this tree, or of none
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
  "namespace bench {
extern const char* const kCommit;
const char* const kCommit = \"${commit}\";
}
")
