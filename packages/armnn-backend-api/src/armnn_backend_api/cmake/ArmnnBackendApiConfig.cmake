# SPDX-License-Identifier: MIT
# The target ArmnnBackendApi::headers: the folder of armnn/backend.h and armnn/layers.h.

if(NOT TARGET ArmnnBackendApi::headers)
  add_library(ArmnnBackendApi::headers INTERFACE IMPORTED)
  set_target_properties(ArmnnBackendApi::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../include")
endif()
