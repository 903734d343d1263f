# SPDX-License-Identifier: MIT
# Same major, and at least the wanted minor. Read from the header, which says what it describes.

file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../include/armnn/backend.h" _armnn_numbers
  REGEX "^#define ARMNN_BACKEND_API_(MAJOR|MINOR) [0-9]+$")
string(REGEX REPLACE "[^0-9;]" "" _armnn_numbers "${_armnn_numbers}")
list(GET _armnn_numbers 0 _armnn_major)
list(GET _armnn_numbers 1 _armnn_minor)
set(PACKAGE_VERSION "${_armnn_major}.${_armnn_minor}")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if("${PACKAGE_FIND_VERSION_MAJOR}" STREQUAL "${_armnn_major}"
    AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
