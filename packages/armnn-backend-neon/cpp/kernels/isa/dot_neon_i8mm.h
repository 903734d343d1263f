/* SPDX-License-Identifier: MIT */
/* Products of signed bytes by sdot, and by smmla where tiles of a gemm are summed. */
#pragma once

#include "kernels/isa/sdot.h"
#include "kernels/isa/sum_by_mmla.h"
#include "kernels/int8/sum_of_bytes.h"
#include "kernels/int8/windows_by_dots.h"
