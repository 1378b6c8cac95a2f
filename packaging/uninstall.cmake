# SPDX-License-Identifier: Apache-2.0
# Removes the files that the last `cmake --install` of BUILD wrote, and the folders that are empty then and are whyoom's own.
if(NOT EXISTS ${BUILD}/install_manifest.txt)
  message(FATAL_ERROR "nothing was installed from ${BUILD}")
endif()
file(STRINGS ${BUILD}/install_manifest.txt files)
set(folders)
foreach(file IN LISTS files)
  file(REMOVE "$ENV{DESTDIR}${file}")
  get_filename_component(folder "${file}" DIRECTORY)
  while(folder MATCHES "/whyoom(/|$)")
    list(APPEND folders "${folder}")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING) # the inner ones first
foreach(folder IN LISTS folders)
  execute_process(COMMAND rmdir "$ENV{DESTDIR}${folder}" ERROR_QUIET) # not if there is anything in it
endforeach()
list(LENGTH files count)
message(STATUS "removed ${count} files")
