/* SPDX-License-Identifier: MIT */
/* Requantization of int8 operations, and their steps on bytes that were stored. */
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

bool is_signed_int8(armnn_data_type type);

/* The bounds of a data type. */
Bounds bounds_of(armnn_data_type type);

/* The way in which bytes are read and sums become bytes again. */
struct Int8Params {
  int32_t left_zero_point = 0; /* as stored */
  bool left_is_signed = true;
  int32_t right_zero_point = 0;
  bool right_is_signed = true;
  std::vector<int32_t> bias; /* of each column; empty: none */
  std::vector<float> multipliers; /* of each column; empty: the sums are stored as int32_t */
  int32_t zero_point = 0;
  Bounds bounds{};

  /* Args: scales: of the columns that are stored. */
  Requantization requantization(const float *scales = nullptr) const {
    return {scales, zero_point, bounds.lowest, bounds.highest};
  }
};

/* Steps on bytes that were just stored, while they are in the cache; nullptr: a step is left out. */
struct Int8Epilogue {
  const ByteTable *table; /* replaces them */
  const Int8Addition *addition; /* then adds the bytes at the same place of another tensor */
  const uint8_t *other; /* the other tensor */
  const uint8_t *output;
  const ByteTable *addition_table; /* replaces the sums */

  bool is_nothing() const { return table == nullptr && addition == nullptr; }
  void operator()(const Int8Kernels &kernels, uint8_t *bytes, int64_t count) const;
};

/* An operation on bytes that bounds its output, so that a bounding that follows costs nothing, and that
 * applies an epilogue to what it stored while it is cached: a table, a sum with another tensor, and a table of that.
 */
class WithInt8Epilogue : public Operation {
 public:
  WithInt8Epilogue(std::vector<TensorId> inputs, TensorId out, Int8Params params)
      : Operation(std::move(inputs), {out}), params_(std::move(params)) {}

  EpilogueSlots epilogue_slots() override;

 protected:
  Int8Epilogue epilogue_of(const Frame &frame) const;

  /* The multipliers, filled up to a whole number of vectors or panels. */
  std::vector<float> filled_multipliers(int64_t columns, int64_t multiple) const;

  Int8Params params_;

 private:
  std::optional<ByteFunction> table_;
  std::optional<Int8Addition> addition_;
  std::optional<ByteFunction> addition_table_;
};

}  // namespace cpuacc
