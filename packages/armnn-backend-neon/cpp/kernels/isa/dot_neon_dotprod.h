/* SPDX-License-Identifier: MIT */
/* Products of signed bytes by sdot. */
#pragma once

#include "kernels/isa/sdot.h"
#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/sum_of_bytes.h"
#include "kernels/int8/windows_by_dots.h"
