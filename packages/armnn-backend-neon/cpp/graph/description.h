/* SPDX-License-Identifier: MIT */
/* What operations compute, and what they can do with it before they store it: what passes know of them. */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "graph/shape.h"
#include "kernels/kernels.h"

namespace cpuacc {

using TensorId = int32_t;
constexpr TensorId kNone = -1;

/* An iteration over a dense output and two operands, with the strides of each. */
struct Broadcast {
  Shape shape;
  Shape x;
  Shape y;

  bool is_plain() const { return shape.size() == 1 && x[0] == 1 && y[0] == 1; }
  /* The numbers of an operand that is the same row for all rows of the other one; else 0. */
  int64_t row_of(size_t side) const {
    if (shape.size() != 2 || x[1] != 1 || y[1] != 1) return 0;
    const int64_t own = side == 0 ? x[0] : y[0];
    const int64_t other = side == 0 ? y[0] : x[0];
    return own == 0 && other == shape[1] ? shape[1] : 0;
  }
};

/* Of two operands, element by element. */
struct BinaryArithmetic {
  Arithmetic operation;
  Broadcast broadcast;
};

/* Each element in the data type of the output, rounded to nearest. */
struct Conversion {};

/* The lowest and the highest number that is stored in a tensor. */
struct Bounds {
  int32_t lowest;
  int32_t highest;
};

/* All values of a function of bytes. */
using ByteTable = std::array<uint8_t, 256>;

/* Each byte from the one at the same place. */
struct ByteFunction {
  ByteTable table;
  std::optional<Bounds> bounds = std::nullopt; /* if it is a clamp to these */
};

/* Of the bytes of two operands. */
using Int8Operation = std::variant<Int8Addition, Int8Multiplication, Int8Prelu>;
struct Int8Arithmetic {
  Int8Operation operation;
  bool is_plain; /* the operands have one shape */
};

/* Elements that are copied; strides and offsets are in elements. */
struct CopyBox {
  Shape shape;
  Shape from;
  Shape to;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
};

/* Where one of several things begins that are numbered along axes, the last one first. */
inline int64_t place_of(const Shape &counts, const Shape &steps, int64_t number) {
  int64_t place = 0;
  for (size_t axis = counts.size(); axis-- > 0; number /= counts[axis]) place += number % counts[axis] * steps[axis];
  return place;
}

struct Places {
  Shape counts; /* along each axis */
  Shape steps; /* from one to the next one */

  int64_t of(int64_t number) const { return place_of(counts, steps, number); }
};

/* Where matrices go that an operation computes; steps are in elements, and numbers of a row side by side. */
struct OutputMatrices {
  Places places;
  int64_t rows, columns;
  int64_t row_step;
};

/* What an operation computes; an Elementwise is a function of float32, a CopyBox a permutation of axes. */
using Description =
    std::variant<std::monostate, Elementwise, BinaryArithmetic, Conversion, ByteFunction, Int8Arithmetic, CopyBox>;

/* Slots for what an operation can do with what it computes before it stores it. nullptr: it has no such
 * slot, or what fills another one comes later.
 */
struct EpilogueSlots {
  Elementwise *function = nullptr;
  bool scales = false; /* by the function's scale and shift */
  TensorId *bias = nullptr; /* added to each row, before the function */
  int64_t columns = 0; /* of a row */
  bool *multiplies_row = nullptr; /* its last input, the same row for all rows, before the function */
  bool *adds_row = nullptr; /* likewise */
  bool *adds_residual = nullptr; /* its last input, before the function */
  bool *dequantises = nullptr; /* accumulators become float32 */
  TensorId *scale = nullptr; /* one number, by which they are then multiplied */
  int32_t *lowest = nullptr; /* of what is stored */
  int32_t *highest = nullptr;
  std::optional<ByteFunction> *table = nullptr;
  std::optional<Int8Addition> *addition = nullptr; /* of what it computes and its last input */
  CopyBox *box = nullptr;
  OutputMatrices *matrices = nullptr;
};

}  // namespace cpuacc
