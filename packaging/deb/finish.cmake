# SPDX-License-Identifier: Apache-2.0
# Puts the files of the package where Debian wants them, before it is made.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
file(REMOVE ${root}/doc/whyoom/LICENSE)
configure_file(${CPACK_SOURCE_FOLDER}/packaging/deb/copyright ${root}/doc/whyoom/copyright COPYONLY)
file(MAKE_DIRECTORY ${root}/zsh/vendor-completions)
file(RENAME ${root}/zsh/site-functions/_whyoom ${root}/zsh/vendor-completions/_whyoom)
file(REMOVE_RECURSE ${root}/zsh/site-functions)
file(GLOB pages ${root}/man/man*/*)
execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
