# SPDX-License-Identifier: BSD-3-Clause
# Atoll under the names that other implementations have, as a prefix of its own in lib/atoll/compat: beside an installed Open
# MPI they would stand for two things.  A build system that is given this prefix finds all of its names there, so that it does
# not take headers from here and a library from elsewhere.
set(compat ${CMAKE_INSTALL_LIBDIR}/atoll/compat)
set(compat_build ${PROJECT_BINARY_DIR}/compat)
file(REMOVE_RECURSE ${compat_build})

# install_link(<to> <folder> <name>): what is installed as <to>, by <name> in a folder of the compatibility prefix.
function(install_link to folder name)
  file(RELATIVE_PATH path /prefix/${compat}/${folder} /prefix/${to})
  file(MAKE_DIRECTORY ${compat_build}/${folder})
  file(CREATE_LINK ${path} ${compat_build}/${folder}/${name} SYMBOLIC)
  install(FILES ${compat_build}/${folder}/${name} DESTINATION ${compat}/${folder})
endfunction()

foreach(pair oshcc=oshcc oshc++=oshc++ oshrun=oshrun shmemcc=oshcc oshCC=oshc++ oshcxx=oshc++ shmemcxx=oshc++
             shmemrun=oshrun oshmem_info=shmem_info)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 tool)
  install_link(${CMAKE_INSTALL_BINDIR}/${tool} bin ${name})
endforeach()

# Each entry by itself: the folder of all headers may be /usr/include.
file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*)
foreach(entry IN LISTS entries)
  install_link(${CMAKE_INSTALL_INCLUDEDIR}/${entry} include ${entry})
endforeach()

# Linkers read these as scripts.  The library lies beside them, where they look first, and as a folder of run paths needs it.
foreach(name libatoll.so libatoll.so.${PROJECT_VERSION_MAJOR})
  install_link(${CMAKE_INSTALL_LIBDIR}/${name} lib ${name})
endforeach()
foreach(name oshmem sma openshmem)
  file(WRITE ${compat_build}/lib/lib${name}.so "/* The library is Atoll's, also by this name. */\nINPUT(libatoll.so)\n")
  install(FILES ${compat_build}/lib/lib${name}.so DESTINATION ${compat}/lib)
  add_pkg_config(${name} ${compat}/lib/pkgconfig)
endforeach()

file(RELATIVE_PATH COMPAT_TO_ATOLL /prefix/${compat}/lib/cmake/OpenSHMEM /prefix/${ATOLL_CMAKE_DIR})
foreach(name OpenSHMEMConfig FindOpenSHMEM)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/FindOpenSHMEM.cmake.in ${compat_build}/${name}.cmake @ONLY)
  install(FILES ${compat_build}/${name}.cmake DESTINATION ${compat}/lib/cmake/OpenSHMEM)
endforeach()
write_basic_package_version_file(${compat_build}/OpenSHMEMConfigVersion.cmake VERSION 1.6 COMPATIBILITY SameMajorVersion)
install(FILES ${compat_build}/OpenSHMEMConfigVersion.cmake DESTINATION ${compat}/lib/cmake/OpenSHMEM)
