/* SPDX-License-Identifier: MIT */
/* Elements copied as they are: transposes, slices, joins, pads, repeats; gathered and sampled ones. */
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* The box with as few axes as can be, the last one the densest of the target. */
CopyBox simplified(CopyBox box);
/* Whether kernels copy it row by row or tile by tile; it is simplified. */
bool is_fast(const CopyBox &box);

/* Fills an output, then copies boxes[i] of inputs[i] into it. */
class CopyBoxes : public Operation {
 public:
  /* Args: filler: of all elements outside of the boxes. */
  CopyBoxes(std::vector<TensorId> from, TensorId to, std::vector<CopyBox> boxes, std::vector<std::byte> filler = {});
  CopyBoxes(Io io, CopyBox box, std::vector<std::byte> filler = {})
      : CopyBoxes({io.from}, io.to, {std::move(box)}, std::move(filler)) {}

  void check(const Graph &graph) const override;
  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;
  std::vector<CopiedRange> copied_ranges() const override;
  bool can_read_bfloat16(const Kernels &kernels, size_t) const override { return can_store_bfloat16(kernels); }
  bool can_store_bfloat16(const Kernels &) const override;
  bool keeps_format() const override { return true; }

 protected:
  std::vector<CopyBox> boxes_;

 private:
  void fill(const Frame &frame, std::byte *to) const;

  std::vector<std::byte> filler_; /* one element; empty: the boxes cover the output */
  size_t element_bytes_ = 0; /* or of several that are always copied together */
  size_t output_count_ = 0;
};

/* Brings the axes of its input into another order. */
class Reorder : public CopyBoxes {
 public:
  Reorder(TensorId from, TensorId to, const CopyBox &box) : CopyBoxes({from}, to, {simplified(box)}) {}
  Description describe() const override { return boxes_[0]; }
  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    slots.box = &boxes_[0];
    return slots;
  }
};

class Copy : public Operation {
 public:
  Copy(TensorId from, TensorId to) : Operation({from}, {to}) {}
  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 private:
  size_t bytes_ = 0;
};

CopyBox reorder_box(const Shape &from, const Order &steps);

/* Whether a reordering leaves every element where it is. */
bool keeps_memory(const Shape &from, const Order &steps);

/* At once, for constants: axis i of the target is axis steps[i] of the source. */
void reorder(const void *from, void *to, const Shape &shape, const Order &steps, size_t element_bytes);

/* [outer, size, inner] with indices -> [outer, indices, inner]. */
OperationPtr gather(TensorId from, TensorId indices, TensorId to, int64_t outer, int64_t size);

/* For each index the element at its place, but for the axis. Args: shape: of the indices; steps: of the input. */
OperationPtr gather_elements(TensorId from, TensorId indices, TensorId to, Shape shape, Shape steps, size_t axis,
                             int64_t size);

/* The slices whose leading indices are the rows of the indices. Args: sizes, steps: of the axes that an index fixes. */
OperationPtr gather_nd(TensorId from, TensorId indices, TensorId to, Shape sizes, Shape steps);

/* [items, outer, size, inner] with rows [items, outer, count, inner] from a position of each item on. What is in the memory
 * of the output already is not copied. Args: positions: kNone: 0; is_circular: rows are taken modulo size.
 */
OperationPtr tensor_scatter(std::vector<TensorId> inputs, TensorId to, const Shape &shape, size_t axis, bool is_circular);

/* Args: along: the axis of the output. */
OperationPtr one_hot(TensorId indices, TensorId values, TensorId to, const Along &along, bool wraps);

OperationPtr trilu(Io io, int64_t rows, int64_t columns, int64_t diagonal, bool is_upper);

/* For each output row or column: its two neighboring samples, and the weight of the second. */
struct Sampling {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  std::vector<float> share;
};

/* Resizes an image of float32 or bytes. The nearest sample has a share of 0. Args: mixes: false if elements are
 * copied.
 */
OperationPtr resize(Io io, Sampling rows, Sampling columns, bool mixes);

}  // namespace cpuacc
