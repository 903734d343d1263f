/* SPDX-License-Identifier: MIT */
/* Shapes, orders of axes, and the refusal of a layer that this backend does not compute. */
#pragma once

#include <cstdint>
#include <string>

#include "graph/small_vector.h"

namespace cpuacc {

using Shape = SmallVector<int64_t>;

/* The order of a tensor's axes in memory: axis i in memory is axis order[i] of the layer.
 */
using Order = SmallVector<int32_t>;

/* Why a layer is refused. Thrown while a layer is lowered, caught by query and compile. */
struct Refusal {
  std::string reason;
  int32_t input = -1; /* the input that is refused; -1: none */
};

/* n / size, rounded up. */
constexpr int64_t ratio_up(int64_t n, int64_t size) { return (n + size - 1) / size; }

int64_t elements(const Shape &shape);
/* The product of shape[first .. last - 1]. */
int64_t elements(const Shape &shape, size_t first, size_t last);

/* Row-major: the axes in the layer's order. */
Order plain_order(size_t rank);
/* N, the spatial axes, C for a layer with N, C, spatial axes. */
Order channels_last(size_t rank);
bool is_plain(const Order &order);
/* The order with an axis moved to the end. */
Order with_last(Order order, int64_t axis);
/* The shape in memory of a layer's shape. */
Shape in_memory(const Shape &shape, const Order &order);
/* Where in memory an axis of the layer is. */
size_t place_of(const Order &order, int64_t axis);

/* The index of an axis, which is counted from the end if negative; refuses one outside of the rank. */
int64_t whole_axis(int64_t axis, size_t rank);

/* The row-major strides of a shape. */
Shape strides_of(const Shape &shape);

/* A tensor seen along one axis. */
struct Along {
  int64_t outer;
  int64_t size;
  int64_t inner;
};

/* Args: shape: in memory; place: of the axis in this shape. */
Along along(const Shape &shape, size_t place);

}  // namespace cpuacc
