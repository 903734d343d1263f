/* SPDX-License-Identifier: MIT */
/* Conversions between data types, element by element. */
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

/* Real to whole: fractions are cut off, numbers that do not fit saturate, NaN becomes 0.
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

template <typename Visit>
Convert visit_number_or_truth(armnn_data_type type, const Visit &visit) {
  return type == ARMNN_BOOLEAN ? visit(TypeTag<Truth>()) : visit_number(type, visit);
}

class Cast final : public Unary {
 public:
  Cast(Io io, Convert convert) : Unary(io), convert_(convert) {}

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

/* Converts to float32 by rounding to odd, so that a later rounding to 16 bits is as exact as a direct one: a
 * number that float32 cannot hold becomes the neighbor whose last bit is 1, which is neither a float of 16 bits
 * nor halfway between two of them.
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
  return visit_number_or_truth(from, [to](auto source) {
    return visit_number_or_truth(to, [](auto target) -> Convert {
      return convert<typename decltype(source)::Type, typename decltype(target)::Type>;
    });
  });
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

OperationPtr cast(Io io, Convert convert) { return std::make_unique<Cast>(io, convert); }

}  // namespace cpuacc
