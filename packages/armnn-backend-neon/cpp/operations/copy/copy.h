/* SPDX-License-Identifier: MIT */
/* Elements carried from one tensor into another as they are: what transposes, slices, joins, pads
 * and repeats.
 */
#ifndef CPUACC_OPERATIONS_COPY_COPY_H_
#define CPUACC_OPERATIONS_COPY_COPY_H_

#include <cstddef>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* Row-major steps of a shape. */
Shape strides_of(const Shape &shape);
/* The same box with as few axes as can be, the last one the densest of the target. */
CopyBox simplified(CopyBox box);
/* Whether kernels copy it row by row or tile by tile; it is simplified. */
bool is_fast(const CopyBox &box);

/* Fills an output, then copies boxes[i] of inputs[i] into it. */
class CopyBoxes : public Operation {
 public:
  CopyBoxes(std::vector<TensorId> from, TensorId to, std::vector<CopyBox> boxes);
  /* With a value that stands wherever no box goes. */
  CopyBoxes(std::vector<TensorId> from, TensorId to, std::vector<CopyBox> boxes, std::vector<std::byte> filler);

  void check(const Graph &graph) const override;
  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;
  std::vector<CopiedRange> copied_ranges() const override;

 protected:
  std::vector<CopyBox> boxes_;

 private:
  void fill(const Frame &frame, std::byte *to) const;

  std::vector<std::byte> filler_; /* one element; empty: the boxes cover the output */
  size_t element_bytes_ = 0;
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

class Lowering;
/* Refuses an output of another data type or quantisation than the first input. */
void require_alike(const Lowering &lowering);

CopyBox reorder_box(const Shape &from, const Order &steps);
/* Whether a reordering leaves every element where it is. */
bool keeps_memory(const Shape &from, const Order &steps);
/* At once, for constants: axis i of the target is axis steps[i] of the source. */
void reorder(const void *from, void *to, const Shape &shape, const Order &steps, size_t element_bytes);

}  // namespace cpuacc

#endif
