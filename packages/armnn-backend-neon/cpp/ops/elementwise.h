/* SPDX-License-Identifier: MIT */
/* Functions of elements by the numbers of the layers. */
#ifndef CPUACC_OPS_ELEMENTWISE_H_
#define CPUACC_OPS_ELEMENTWISE_H_

#include "kernels/kernels.h"

namespace cpuacc {

/* By the numbers of Activation; identity stands for what is not computed here. */
Elementwise activation_of(int64_t number, float a, float b);

}  // namespace cpuacc

#endif
