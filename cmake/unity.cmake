# SPDX-License-Identifier: BSD-3-Clause
# With a sanitizer, and with ATOLL_UNITY, the files of a folder of the library are compiled together: most of what a file
# takes is headers and templates that its neighbours need too.  Names in the unnamed namespaces of a folder's files must
# differ, unless the file is listed here.  The other builds compile each file by itself, and so show that each includes what
# it uses.
set(alone
  src/api/amo.cpp src/api/rma.cpp  # long enough by themselves
  src/setup/statistics.cpp         # without compiled headers (src/CMakeLists.txt)
  src/coll/internode_reduce.cpp src/coll/internode_scan.cpp src/coll/memory.cpp src/coll/slots.cpp src/core/session.cpp
  src/heap/node_memory.cpp src/kv/server.cpp src/setup/remote_memory.cpp src/setup/serve_memory.cpp
  transports/ofi/engine.cpp transports/ofi/network.cpp nvm/coherence/page_cache.cpp)
list(TRANSFORM alone PREPEND ${PROJECT_SOURCE_DIR}/)
set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
get_target_property(sources atoll_objects SOURCES)
foreach(source IN LISTS sources)
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  string(MAKE_C_IDENTIFIER "${folder}" group)
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
endforeach()
set_target_properties(atoll_objects PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
