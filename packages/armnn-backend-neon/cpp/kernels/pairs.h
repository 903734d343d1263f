/* SPDX-License-Identifier: MIT */
/* Functions of pairs of numbers, read and stored in any format. */
#pragma once

#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <typename Operand, typename Result, typename F>
inline void pairs(const Operand &x, const Operand &y, const Result &z, int64_t n, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) z.put_whole(i, f(x.whole(i), y.whole(i)));
  if (i < n) z.put_part(i, f(x.part(i, n - i), y.part(i, n - i)), n - i);
}

/* NaN in either operand is the result, as in NumPy and ONNX. */
inline Floats larger(Floats x, Floats y) { return x != x ? x : (y < x ? x : y); }
inline Floats smaller(Floats x, Floats y) { return x != x ? x : (y > x ? x : y); }

template <typename Operand, typename Result>
inline void combine_pairs(Arithmetic operation, const Operand &left, const Operand &right, const Result &z, int64_t n) {
  switch (operation) {
    case Arithmetic::add: return pairs(left, right, z, n, [](Floats p, Floats q) { return p + q; });
    case Arithmetic::subtract: return pairs(left, right, z, n, [](Floats p, Floats q) { return p - q; });
    case Arithmetic::multiply: return pairs(left, right, z, n, [](Floats p, Floats q) { return p * q; });
    case Arithmetic::divide: return pairs(left, right, z, n, [](Floats p, Floats q) { return p / q; });
    case Arithmetic::maximum: return pairs(left, right, z, n, larger);
    case Arithmetic::minimum: return pairs(left, right, z, n, smaller);
    case Arithmetic::squared_difference:
      return pairs(left, right, z, n, [](Floats p, Floats q) { return (p - q) * (p - q); });
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
