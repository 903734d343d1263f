/* SPDX-License-Identifier: MIT */
/* Gather, GatherElements, GatherNd, TensorScatter and OneHot. */
#include "operations/copy/copy.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "costs/costs.h"
#include "operations/copy/indices.h"

namespace cpuacc {
namespace {

/* [outer, size, inner bytes] with indices -> [outer, indices, inner bytes]. */
class Gather final : public Operation {
 public:
  Gather(TensorId from, TensorId indices, TensorId to, int64_t outer, int64_t size)
      : Operation({from, indices}, {to}), outer_(outer), size_(size) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &from = setup[inputs[0]];
    is_wide_ = setup[inputs[1]].type == ARMNN_SIGNED64;
    count_ = setup[inputs[1]].count();
    const int64_t slices = outer_ * size_; /* none of an empty tensor */
    inner_bytes_ = slices == 0 ? 0 : static_cast<int64_t>(from.bytes()) / slices;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    const Indices indices(frame, inputs[1], is_wide_);
    auto *to = frame.out<std::byte>(outputs[0]);
    for (int64_t i = 0; i < count_; ++i) indices.place(i, size_); /* throws here, not in a thread */
    frame.for_each(outer_ * count_, static_cast<double>(inner_bytes_) * frame.element_ns(), [&](int64_t i, int32_t) {
      const int64_t place = indices.place(i % count_, size_);
      std::memcpy(to + i * inner_bytes_, from + (i / count_ * size_ + place) * inner_bytes_,
                  static_cast<size_t>(inner_bytes_));
    });
  }

  Description describe() const override { return outer_ == 1 ? Description{GatheredRows{size_}} : Description{}; }

 private:
  int64_t outer_;
  int64_t size_;
  int64_t count_ = 0;
  int64_t inner_bytes_ = 0;
  bool is_wide_ = false;
};

/* For each index the element at its place, but for the axis. */
class GatherElements final : public Operation {
 public:
  GatherElements(TensorId from, TensorId indices, TensorId to, Shape shape, Shape steps, size_t axis, int64_t size)
      : Operation({from, indices}, {to}),
        shape_(std::move(shape)),
        steps_(std::move(steps)),
        axis_(axis),
        size_(size) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = element_bytes(setup[inputs[0]].type);
    is_wide_ = setup[inputs[1]].type == ARMNN_SIGNED64;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const Indices indices(frame, inputs[1], is_wide_);
    const int64_t count = elements(shape_);
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = indices.place(i, size_) * steps_[axis_];
      int64_t rest = i;
      for (size_t axis = shape_.size(); axis-- > 0;) {
        if (axis != axis_) place += rest % shape_[axis] * steps_[axis];
        rest /= shape_[axis];
      }
      std::memcpy(to + static_cast<size_t>(i) * bytes_, from + static_cast<size_t>(place) * bytes_, bytes_);
    }
  }

 private:
  Shape shape_; /* of the indices */
  Shape steps_; /* of the input */
  size_t axis_;
  int64_t size_; /* of the axis of the input */
  size_t bytes_ = 0;
  bool is_wide_ = false;
};

/* The slices whose leading indices are the rows of the indices. */
class GatherNd final : public Operation {
 public:
  GatherNd(TensorId from, TensorId indices, TensorId to, Shape sizes, Shape steps)
      : Operation({from, indices}, {to}), sizes_(std::move(sizes)), steps_(std::move(steps)) {}

  size_t prepare(const Setup &setup) override {
    const auto depth = static_cast<int64_t>(sizes_.size());
    is_wide_ = setup[inputs[1]].type == ARMNN_SIGNED64;
    rows_ =
        setup[outputs[0]].count() == 0 ? 0 : elements(setup[inputs[1]].shape, 0, setup[inputs[1]].shape.size() - 1);
    slice_bytes_ = rows_ == 0 ? 0 : setup[outputs[0]].bytes() / static_cast<size_t>(rows_);
    element_bytes_ = element_bytes(setup[inputs[0]].type);
    depth_ = depth;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const Indices indices(frame, inputs[1], is_wide_);
    for (int64_t row = 0; row < rows_; ++row) {
      int64_t place = 0;
      for (int64_t i = 0; i < depth_; ++i) {
        const auto axis = static_cast<size_t>(i);
        place += indices.place(row * depth_ + i, sizes_[axis]) * steps_[axis];
      }
      std::memcpy(to + static_cast<size_t>(row) * slice_bytes_, from + static_cast<size_t>(place) * element_bytes_,
                  slice_bytes_);
    }
  }

 private:
  Shape sizes_; /* of the axes that an index fixes */
  Shape steps_;
  int64_t depth_ = 0;
  int64_t rows_ = 0;
  size_t slice_bytes_ = 0;
  size_t element_bytes_ = 0;
  bool is_wide_ = false;
};

/* Rows over those of a cache: [items, outer, size, inner bytes]. */
class TensorScatter final : public Operation {
 public:
  TensorScatter(std::vector<TensorId> inputs, TensorId to, const Shape &shape, size_t axis, bool is_circular)
      : Operation(std::move(inputs), {to}),
        items_(shape[0]),
        outer_(elements(shape, 1, axis)),
        size_(shape[axis]),
        inner_(elements(shape, axis + 1, shape.size())),
        is_circular_(is_circular) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &updates = setup[inputs[1]];
    const int64_t rows = items_ * outer_ * inner_;
    count_ = rows == 0 ? 0 : updates.count() / rows;
    row_bytes_ = static_cast<size_t>(inner_) * element_bytes(updates.type);
    if (inputs[2] == kNone) return 0;
    is_wide_ = setup[inputs[2]].type == ARMNN_SIGNED64;
    position_step_ = setup[inputs[2]].count() == 1 ? 0 : 1;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    const auto *updates = frame.in<std::byte>(inputs[1]);
    auto *to = frame.out<std::byte>(outputs[0]);
    for (int64_t n = 0; n < items_; ++n) position(frame, n); /* throws before anything is written */
    const size_t box_bytes = static_cast<size_t>(size_) * row_bytes_;
    const double row_ns = static_cast<double>(row_bytes_) * frame.element_ns();
    const double box_ns = row_ns * static_cast<double>(from == to ? count_ : size_);
    frame.for_each(items_ * outer_, box_ns, [&](int64_t i, int32_t) {
      std::byte *box = to + static_cast<size_t>(i) * box_bytes;
      if (from != to) std::memcpy(box, from + static_cast<size_t>(i) * box_bytes, box_bytes);
      const std::byte *rows = updates + static_cast<size_t>(i * count_) * row_bytes_;
      const int64_t first = position(frame, i / outer_);
      const int64_t before_end = std::min(count_, size_ - first);
      std::memcpy(box + static_cast<size_t>(first) * row_bytes_, rows, static_cast<size_t>(before_end) * row_bytes_);
      std::memcpy(box, rows + static_cast<size_t>(before_end) * row_bytes_,
                  static_cast<size_t>(count_ - before_end) * row_bytes_);
    });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }

 private:
  /* The position of an item's first row. Throws std::out_of_range. */
  int64_t position(const Frame &frame, int64_t item) const {
    const int64_t given = inputs[2] == kNone ? 0 : Indices(frame, inputs[2], is_wide_)[item * position_step_];
    if (is_circular_) return size_ == 0 ? 0 : (given % size_ + size_) % size_;
    if (given < 0 || given > size_ - count_) {
      throw std::out_of_range(std::to_string(count_) + " rows from position " + std::to_string(given) +
                              " on do not fit into a cache of " + std::to_string(size_));
    }
    return given;
  }

  int64_t items_, outer_, size_, inner_;
  bool is_circular_;
  int64_t count_ = 0; /* of rows that are written */
  size_t row_bytes_ = 0;
  int64_t position_step_ = 0;
  bool is_wide_ = false;
};

class OneHot final : public Operation {
 public:
  OneHot(TensorId indices, TensorId values, TensorId to, Along along, bool wraps)
      : Operation({indices, values}, {to}), along_(along), wraps_(wraps) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = element_bytes(setup[inputs[1]].type);
    is_wide_ = setup[inputs[0]].type == ARMNN_SIGNED64;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *values = frame.in<std::byte>(inputs[1]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const Indices indices(frame, inputs[0], is_wide_);
    const auto count = static_cast<size_t>(along_.outer * along_.size * along_.inner);
    for (size_t i = 0; i < count; ++i) std::memcpy(to + i * bytes_, values, bytes_);
    for (int64_t i = 0; i < along_.outer * along_.inner; ++i) {
      const int64_t given = indices[i];
      const int64_t place = given < 0 && wraps_ ? given + along_.size : given;
      if (place < 0 || place >= along_.size) continue;
      const int64_t at = (i / along_.inner * along_.size + place) * along_.inner + i % along_.inner;
      std::memcpy(to + static_cast<size_t>(at) * bytes_, values + bytes_, bytes_);
    }
  }

 private:
  Along along_; /* of the output */
  bool wraps_;
  size_t bytes_ = 0;
  bool is_wide_ = false;
};

}  // namespace

OperationPtr gather(TensorId from, TensorId indices, TensorId to, int64_t outer, int64_t size) {
  return std::make_unique<Gather>(from, indices, to, outer, size);
}

OperationPtr gather_elements(TensorId from, TensorId indices, TensorId to, Shape shape, Shape steps, size_t axis,
                             int64_t size) {
  return std::make_unique<GatherElements>(from, indices, to, std::move(shape), std::move(steps), axis, size);
}

OperationPtr gather_nd(TensorId from, TensorId indices, TensorId to, Shape sizes, Shape steps) {
  return std::make_unique<GatherNd>(from, indices, to, std::move(sizes), std::move(steps));
}

OperationPtr tensor_scatter(std::vector<TensorId> inputs, TensorId to, const Shape &shape, size_t axis, bool is_circular) {
  return std::make_unique<TensorScatter>(std::move(inputs), to, shape, axis, is_circular);
}

OperationPtr one_hot(TensorId indices, TensorId values, TensorId to, const Along &along, bool wraps) {
  return std::make_unique<OneHot>(indices, values, to, along, wraps);
}

}  // namespace cpuacc
