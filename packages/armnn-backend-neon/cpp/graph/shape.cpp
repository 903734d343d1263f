/* SPDX-License-Identifier: MIT */
/* Arithmetic of shapes and orders of axes. */
#include "graph/shape.h"

#include <algorithm>
#include <numeric>

namespace cpuacc {

int64_t elements(const Shape &shape) { return elements(shape, 0, shape.size()); }

int64_t elements(const Shape &shape, size_t first, size_t last) {
  int64_t product = 1;
  for (size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

Order plain_order(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order channels_last(size_t rank) {
  Order order = plain_order(rank);
  if (rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

bool is_plain(const Order &order) { return std::is_sorted(order.begin(), order.end()); }

Order with_last(Order order, int64_t axis) {
  order.erase(order.begin() + static_cast<Order::difference_type>(place_of(order, axis)));
  order.push_back(static_cast<int32_t>(axis));
  return order;
}

Shape in_memory(const Shape &shape, const Order &order) {
  Shape result(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) result[i] = shape[static_cast<size_t>(order[i])];
  return result;
}

size_t place_of(const Order &order, int64_t axis) {
  return static_cast<size_t>(std::find(order.begin(), order.end(), axis) - order.begin());
}

int64_t whole_axis(int64_t axis, size_t rank) {
  const int64_t whole = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (whole < 0 || whole >= static_cast<int64_t>(rank)) {
    throw Refusal{"axis " + std::to_string(axis) + " is outside of a tensor of rank " +
                  std::to_string(rank)};
  }
  return whole;
}

Along along(const Shape &shape, size_t place) {
  return {elements(shape, 0, place), shape[place], elements(shape, place + 1, shape.size())};
}

Shape strides_of(const Shape &shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

}  // namespace cpuacc
