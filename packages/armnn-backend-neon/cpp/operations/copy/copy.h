/* SPDX-License-Identifier: MIT */
/* Elements carried from one tensor into another as they are: what transposes, slices, joins, pads
 * and repeats.
 */
#ifndef CPUACC_OPERATIONS_COPY_COPY_H_
#define CPUACC_OPERATIONS_COPY_COPY_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* A box of elements; strides and offsets are in elements. */
struct CopyBox {
  Shape shape;
  Shape from;
  Shape to;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
};

/* Row-major steps of a shape. */
Shape strides_of(const Shape &shape);
/* The same box with as few axes as can be, the last one the densest of the target. */
CopyBox simplified(CopyBox box);

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
  void set_box(CopyBox box) { boxes_ = {std::move(box)}; }

 private:
  void fill(const Frame &frame, std::byte *to) const;

  std::vector<CopyBox> boxes_;
  std::vector<std::byte> filler_; /* one element; empty: the boxes cover the output */
  size_t element_bytes_ = 0;
  size_t output_count_ = 0;
};

/* Axis i of the target is axis steps[i] of the source. */
class Reorder : public CopyBoxes {
 public:
  Reorder(TensorId from, TensorId to, Order steps);
  void check(const Graph &) const override {} /* its boxes follow from the tensors */
  Reorder *as_reorder() override { return this; }
  /* Becomes this reordering and then a later one of the same memory, in whatever shape, if that is a
   * box that kernels are good at.
   */
  bool absorb_reorder(const Graph &graph, const Reorder &later);
  size_t prepare(const Setup &setup) override;

 private:
  CopyBox box(const std::vector<Tensor> &tensors) const;

  Order steps_;
  std::optional<CopyBox> composed_; /* instead of the steps, with what was absorbed */
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
