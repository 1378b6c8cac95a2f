# SPDX-License-Identifier: Apache-2.0
# Downloads URL as FILE, where there is no curl.
file(DOWNLOAD ${URL} ${FILE} STATUS status TLS_VERIFY ON INACTIVITY_TIMEOUT 60 TIMEOUT 600)
list(GET status 0 code)
if(NOT code EQUAL 0)
  file(REMOVE ${FILE})
  message(FATAL_ERROR "${status}")
endif()
