/* SPDX-License-Identifier: MIT */
/* C++ types of data types, for loops that are the same for all of them. */
#pragma once

#include <cstddef>
#include <cstdint>

#include "armnn/backend.h"

namespace cpuacc {

/* A truth value: any byte but 0 is true. */
struct Truth {
  uint8_t byte;
  operator uint8_t() const { return byte != 0; }
};

template <typename T>
struct TypeTag {
  using Type = T;
};

/* Returns visit(TypeTag<T>()) for an integer type that is not quantized, nullptr for other types. */
template <typename Visit>
auto visit_integer(armnn_data_type type, const Visit &visit) -> decltype(visit(TypeTag<int32_t>())) {
  switch (type) {
    case ARMNN_SIGNED8: return visit(TypeTag<int8_t>());
    case ARMNN_SIGNED16: return visit(TypeTag<int16_t>());
    case ARMNN_SIGNED32: return visit(TypeTag<int32_t>());
    case ARMNN_SIGNED64: return visit(TypeTag<int64_t>());
    case ARMNN_UNSIGNED8: return visit(TypeTag<uint8_t>());
    case ARMNN_UNSIGNED16: return visit(TypeTag<uint16_t>());
    case ARMNN_UNSIGNED32: return visit(TypeTag<uint32_t>());
    case ARMNN_UNSIGNED64: return visit(TypeTag<uint64_t>());
    default: return nullptr;
  }
}

/* Returns visit(TypeTag<T>()) for an unsigned integer of as many bytes as an element. */
template <typename Visit>
auto visit_width(size_t element_bytes, const Visit &visit) {
  switch (element_bytes) {
    case 1: return visit(TypeTag<uint8_t>());
    case 2: return visit(TypeTag<uint16_t>());
    case 4: return visit(TypeTag<uint32_t>());
    default: return visit(TypeTag<uint64_t>());
  }
}

/* As visit_integer, for Float32 and Float64 as well. */
template <typename Visit>
auto visit_number(armnn_data_type type, const Visit &visit) -> decltype(visit(TypeTag<int32_t>())) {
  switch (type) {
    case ARMNN_FLOAT32: return visit(TypeTag<float>());
    case ARMNN_FLOAT64: return visit(TypeTag<double>());
    default: return visit_integer(type, visit);
  }
}

}  // namespace cpuacc
