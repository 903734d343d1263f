/* SPDX-License-Identifier: MIT */
/* Vectors of floats as wide as the level's registers, in GCC's vector extensions.
 *
 * Everything is static: two levels must never share a function.
 */
#pragma once

#include CPUACC_VECTOR_HEADER /* isa/vector_<instruction set>.h, by levels.toml */

namespace cpuacc::CPUACC_LEVEL {
namespace {

[[maybe_unused]] inline Floats floor(Floats x) {
  const Floats rounded = round_even(x);
  return with_sign_of(rounded > x ? rounded - 1.0f : rounded, x);
}

[[maybe_unused]] inline Floats ceil(Floats x) {
  const Floats rounded = round_even(x);
  return with_sign_of(rounded < x ? rounded + 1.0f : rounded, x);
}

/* Lane i of the result is lane (i + Lanes) % kLanes of x. */
template <int Lanes>
[[maybe_unused]] inline Floats rotated(Floats x) {
  Ints lanes{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) lanes[i] = (i + Lanes) % static_cast<int>(kLanes);
  return __builtin_shuffle(x, lanes);
}

/* All lanes as one, by a function of two vectors. */
template <int Width = static_cast<int>(kLanes) / 2, typename F>
[[maybe_unused]] inline float folded(Floats x, const F &function) {
  x = function(x, rotated<Width>(x));
  if constexpr (Width > 1) {
    return folded<Width / 2>(x, function);
  } else {
    return x[0];
  }
}

[[maybe_unused]] inline float sum_of(Floats x) {
  return folded(x, [](Floats a, Floats b) { return a + b; });
}

/* The memory of a vector: all lanes, or the first n. Numbers in bfloat16 are in bfloat16.h. */
struct All {
  int64_t count() const { return kLanes; }
  Floats get(const float *p) const { return load(p); }
  void put(float *p, Floats x) const { store(p, x); }
};

struct First {
  int64_t n;
  int64_t count() const { return n; }
  Floats get(const float *p) const { return load_part(p, n); }
  void put(float *p, Floats x) const { store_part(p, x, n); }
};

template <typename Lanes>
CPUACC_INLINE Floats get(const Lanes &lanes, const float *p) { return lanes.get(p); }

template <typename Lanes>
CPUACC_INLINE void put(const Lanes &lanes, float *p, Floats x) { lanes.put(p, x); }

/* A product that is rounded before a sum takes it. */
template <typename Vector>
CPUACC_INLINE Vector rounded_product(Vector x, Vector y) {
  Vector product = x * y;
  asm("" : CPUACC_IN_REGISTER(product));
  return product;
}

/* A vector of which the compiler no longer knows that its lanes are alike: else it turns the bits of
 * each element in a general register, and moves that to a vector.
 */
template <typename Vector>
inline Vector hidden(Vector x) {
  asm("" : CPUACC_IN_REGISTER(x));
  return x;
}

/* A vector that is computed here: else the compiler computes all products of a step before their sums, and registers
 * do not suffice.
 */
template <typename Vector>
inline Vector in_order(Vector x) {
  asm volatile("" : CPUACC_IN_REGISTER(x));
  return x;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
