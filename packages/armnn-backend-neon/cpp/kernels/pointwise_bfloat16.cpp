/* SPDX-License-Identifier: MIT */
/* Arithmetic in float32 of numbers that are read or stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/pairs.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct Operand {
  FloatInput numbers;
  Floats one;

  Operand(const FloatInput &from, int64_t n) : numbers(from), one(n > 0 && from.step == 0 ? splat(*from.float32) : Floats{}) {}
  Floats whole(int64_t i) const { return at(i, All{}); }
  Floats part(int64_t i, int64_t n) const { return at(i, First{n}); }

 private:
  template <typename Lanes>
  Floats at(int64_t i, const Lanes &lanes) const {
    if (numbers.bfloat16 != nullptr) return get(lanes, numbers.bfloat16 + i);
    return numbers.step == 0 ? one : lanes.get(numbers.float32 + i);
  }
};

struct Result {
  FloatOutput to;

  void put_whole(int64_t i, Floats x) const { put_at(i, x, All{}); }
  void put_part(int64_t i, Floats x, int64_t n) const { put_at(i, x, First{n}); }

 private:
  template <typename Lanes>
  void put_at(int64_t i, Floats x, const Lanes &lanes) const {
    to.bfloat16 == nullptr ? lanes.put(to.float32 + i, x) : put(lanes, to.bfloat16 + i, x);
  }
};

void arithmetic(Arithmetic operation, const FloatInput &x, const FloatInput &y, FloatOutput z, int64_t n) {
  combine_pairs(operation, Operand(x, n), Operand(y, n), Result{z}, n);
}

}  // namespace

void fill_pointwise_bfloat16(Kernels &table) { table.arithmetic_of_bfloat16 = arithmetic; }

}  // namespace cpuacc::CPUACC_LEVEL
