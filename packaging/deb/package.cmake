# SPDX-License-Identifier: Apache-2.0
# The package for Debian and Ubuntu: cpack -G DEB.
set(CPACK_PACKAGE_NAME whyoom)
set(CPACK_PACKAGE_VENDOR "The whyoom authors")
set(CPACK_PACKAGE_CONTACT "The whyoom authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "say why a GPU job ran out of memory, and what to change")
set(CPACK_PACKAGE_DESCRIPTION "whyoom reads the files that a failed GPU job left behind (logs, batch script,
accounting, a memory snapshot), says why it ran out of memory, and which
settings to change. It works offline and needs no GPU.")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish.cmake)
set(CPACK_SOURCE_FOLDER ${PROJECT_SOURCE_DIR})
include(CPack)
