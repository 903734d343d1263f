/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/functions.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "graph/data_types.h"
#include "operations/pointwise/pointwise.h"

namespace cpuacc {
namespace {

/* Real to whole: fractions are cut off, what does not fit saturates, what is no number becomes 0.
 * Between integers the lower bits are kept.
 */
template <typename To, typename From>
To cast_one(From from) {
  if constexpr (std::is_same_v<To, Truth>) {
    return Truth{static_cast<uint8_t>(from != 0)};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if (from != from) return 0;
    if (from <= static_cast<From>(Limits::min())) return Limits::min();
    /* The largest integer may round up to a number that does not fit. */
    if (from >= static_cast<From>(Limits::max())) return Limits::max();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

template <typename From, typename To>
void convert(const void *from, void *to, int64_t n) {
  const auto *x = static_cast<const From *>(from);
  auto *y = static_cast<To *>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = cast_one<To>(x[i]);
}

template <typename From>
Convert converter_from(armnn_data_type to) {
  switch (to) {
    case ARMNN_FLOAT32: return convert<From, float>;
    case ARMNN_FLOAT64: return convert<From, double>;
    case ARMNN_BOOLEAN: return convert<From, Truth>;
    case ARMNN_SIGNED8: return convert<From, int8_t>;
    case ARMNN_SIGNED16: return convert<From, int16_t>;
    case ARMNN_SIGNED32: return convert<From, int32_t>;
    case ARMNN_SIGNED64: return convert<From, int64_t>;
    case ARMNN_UNSIGNED8: return convert<From, uint8_t>;
    case ARMNN_UNSIGNED16: return convert<From, uint16_t>;
    case ARMNN_UNSIGNED32: return convert<From, uint32_t>;
    case ARMNN_UNSIGNED64: return convert<From, uint64_t>;
    default: return nullptr;
  }
}

class Cast final : public Unary {
 public:
  Cast(TensorId from, TensorId to, Convert convert) : Unary(from, to), convert_(convert) {}

  void compute_span(const Kernels &, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    convert_(operands[0], to, n);
  }

  Description describe() const override {
    return convert_ == convert<int32_t, float> ? Description(Conversion{}) : Description();
  }

 private:
  Convert convert_;
};

/* To float32 such that what is then rounded to a half is rounded only once: what float32 cannot hold
 * becomes the odd one of its neighbours, which is no half, nor between two of them.
 */
template <typename From>
void convert_to_odd(const void *from, void *to, int64_t n) {
  const auto *x = static_cast<const From *>(from);
  auto *y = static_cast<float *>(to);
  for (int64_t i = 0; i < n; ++i) {
    float nearest = static_cast<float>(x[i]);
    const auto exact = static_cast<long double>(x[i]);
    const auto held = static_cast<long double>(nearest);
    uint32_t bits;
    std::memcpy(&bits, &nearest, sizeof bits);
    if (held == held && held != exact && (bits & 1) == 0 && std::isfinite(nearest)) {
      nearest = std::nextafter(nearest, held < exact ? HUGE_VALF : -HUGE_VALF);
    }
    y[i] = nearest;
  }
}

}  // namespace

Convert converter(armnn_data_type from, armnn_data_type to) {
  switch (from) {
    case ARMNN_FLOAT32: return converter_from<float>(to);
    case ARMNN_FLOAT64: return converter_from<double>(to);
    case ARMNN_BOOLEAN: return converter_from<Truth>(to);
    case ARMNN_SIGNED8: return converter_from<int8_t>(to);
    case ARMNN_SIGNED16: return converter_from<int16_t>(to);
    case ARMNN_SIGNED32: return converter_from<int32_t>(to);
    case ARMNN_SIGNED64: return converter_from<int64_t>(to);
    case ARMNN_UNSIGNED8: return converter_from<uint8_t>(to);
    case ARMNN_UNSIGNED16: return converter_from<uint16_t>(to);
    case ARMNN_UNSIGNED32: return converter_from<uint32_t>(to);
    case ARMNN_UNSIGNED64: return converter_from<uint64_t>(to);
    default: return nullptr;
  }
}

Convert converter_to_odd(armnn_data_type from) {
  switch (from) {
    case ARMNN_FLOAT64: return convert_to_odd<double>;
    case ARMNN_SIGNED32: return convert_to_odd<int32_t>;
    case ARMNN_SIGNED64: return convert_to_odd<int64_t>;
    case ARMNN_UNSIGNED32: return convert_to_odd<uint32_t>;
    case ARMNN_UNSIGNED64: return convert_to_odd<uint64_t>;
    default: return nullptr;
  }
}

OperationPtr cast(TensorId from, TensorId to, Convert convert) { return std::make_unique<Cast>(from, to, convert); }

}  // namespace cpuacc
