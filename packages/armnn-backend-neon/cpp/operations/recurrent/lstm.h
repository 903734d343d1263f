/* SPDX-License-Identifier: MIT */
/* What the cells of long short-term memories have in common. */
#pragma once

#include <cstdint>
#include <limits>

namespace cpuacc {

/* The order of the gates in rows of all of them. */
enum LstmGate : int64_t { kInputGate, kOutputGate, kForgetGate, kCandidate, kLstmGates };

/* What is added to the variance of a normalised gate: numbers that are all alike become zeros. */
template <typename T>
constexpr T kNoVariance = std::numeric_limits<T>::min();

}  // namespace cpuacc
