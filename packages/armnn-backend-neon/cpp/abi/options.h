/* SPDX-License-Identifier: MIT */
/* The options of a backend, which are the defaults of its networks, and of a network. */
#pragma once

#include <cstdint>

#include "armnn/backend.h"

namespace cpuacc {

struct Options {
  int32_t threads = 0; /* 0: as many as there are CPUs to use */
  bool allows_fast_math = false;

  /* Takes the options as the caller wrote them. Throws Failure for an unknown name or value. */
  void read(const armnn_option *options, uint64_t count);
};

}  // namespace cpuacc
