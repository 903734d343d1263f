/* SPDX-License-Identifier: MIT */
/* Elements chosen one by one: GatherElements, GatherNd, OneHot and Trilu, for any data type. */
#include <algorithm>
#include <cstring>

#include "layers/registry.h"
#include "operations/copy/copy.h"
#include "operations/copy/indices.h"

namespace cpuacc {
namespace {

/* For each index the element at its place, but for the axis. */
class GatherElements final : public Operation {
 public:
  GatherElements(TensorId from, TensorId indices, TensorId to, Shape shape, Shape steps, size_t axis,
                 int64_t size)
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

void lower_gather_elements(Lowering &l) {
  require_alike(l);
  Indices::require_type(l.input(1), 1);
  const Shape &from = l.input(0).shape;
  const Shape &shape = l.input(1).shape;
  require(!from.empty() && shape.size() == from.size() && l.output().shape == shape,
          "the shapes do not fit");
  const auto axis =
      static_cast<size_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_GATHER_ELEMENTS_AXIS)), from.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    require(i == axis || shape[i] <= from[i], "the indices reach outside of the input", 1);
  }
  const TensorId source = l.in(0);
  const TensorId indices = l.in(1);
  l.add<GatherElements>(source, indices, l.out(), shape, strides_of(from), axis, from[axis]);
}

/* The slices whose leading indices are the rows of the indices. */
class GatherNd final : public Operation {
 public:
  GatherNd(TensorId from, TensorId indices, TensorId to, Shape sizes, Shape steps)
      : Operation({from, indices}, {to}), sizes_(std::move(sizes)), steps_(std::move(steps)) {}

  size_t prepare(const Setup &setup) override {
    const auto depth = static_cast<int64_t>(sizes_.size());
    is_wide_ = setup[inputs[1]].type == ARMNN_SIGNED64;
    rows_ = setup[outputs[0]].count() == 0 ? 0 : elements(setup[inputs[1]].shape, 0, setup[inputs[1]].shape.size() - 1);
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
      std::memcpy(to + static_cast<size_t>(row) * slice_bytes_,
                  from + static_cast<size_t>(place) * element_bytes_, slice_bytes_);
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

void lower_gather_nd(Lowering &l) {
  require_alike(l);
  Indices::require_type(l.input(1), 1);
  const Shape &from = l.input(0).shape;
  const Shape &indices = l.input(1).shape;
  require(!indices.empty() && indices.back() <= static_cast<int64_t>(from.size()), "the indices name too many axes", 1);
  const auto depth = static_cast<Shape::difference_type>(indices.back());
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), from.begin() + depth, from.end());
  require(l.output().shape == expected, "the output's shape does not fit to the indices");
  const Shape steps = strides_of(from);
  const TensorId source = l.in(0);
  const TensorId chosen = l.in(1);
  l.add<GatherNd>(source, chosen, l.out(), Shape(from.begin(), from.begin() + depth),
                  Shape(steps.begin(), steps.begin() + depth));
}

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

void lower_one_hot(Lowering &l) {
  Indices::require_type(l.input(0), 0);
  require(!l.has_input(2), "the depth must be known", 2);
  const Value &values = l.input(1);
  const Value &out = l.output();
  require(values.type == out.type && values.quantization.scales == out.quantization.scales &&
              values.quantization.zero_points == out.quantization.zero_points &&
              elements(values.shape) == 2 && values.quantization.axis < 0,
          "there must be two values of the output's data type and quantisation", 1);
  const size_t rank = l.input(0).shape.size() + 1;
  const auto axis = static_cast<size_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_ONE_HOT_AXIS)), rank));
  Shape expected = l.input(0).shape;
  expected.insert(expected.begin() + static_cast<Shape::difference_type>(axis),
                  l.layer().integer(ARMNN_PARAMETER(ARMNN_ONE_HOT_DEPTH)));
  require(out.shape == expected, "the output's shape does not fit to the depth");
  const TensorId indices = l.in(0);
  const TensorId both = l.in(1);
  l.add<OneHot>(indices, both, l.out(), along(expected, axis),
                l.layer().integer(ARMNN_PARAMETER(ARMNN_ONE_HOT_WRAP_NEGATIVE)) != 0);
}

class Trilu final : public Operation {
 public:
  Trilu(TensorId from, TensorId to, int64_t rows, int64_t columns, int64_t diagonal, bool is_upper)
      : Operation({from}, {to}), rows_(rows), columns_(columns), diagonal_(diagonal), is_upper_(is_upper) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = element_bytes(setup[inputs[0]].type);
    lines_ = columns_ == 0 ? 0 : setup[inputs[0]].count() / columns_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const size_t line = static_cast<size_t>(columns_) * bytes_;
    for (int64_t i = 0; i < lines_; ++i) {
      /* The upper triangle begins at the diagonal, the lower one ends behind it. */
      const int64_t column = i % rows_ + (is_upper_ ? diagonal_ : diagonal_ + 1);
      const size_t edge = static_cast<size_t>(std::clamp<int64_t>(column, 0, columns_)) * bytes_;
      const size_t at = static_cast<size_t>(i) * line;
      std::memset(to + at, 0, line);
      if (is_upper_) {
        std::memcpy(to + at + edge, from + at + edge, line - edge);
      } else {
        std::memcpy(to + at, from + at, edge);
      }
    }
  }

 private:
  int64_t rows_, columns_, diagonal_;
  bool is_upper_;
  size_t bytes_ = 0;
  int64_t lines_ = 0;
};

void lower_trilu(Lowering &l) {
  require_alike(l);
  require(l.input(0).quantization.scales.empty(), "quantised zeros are not computed here", 0);
  require(!l.has_input(1), "the diagonal must be known", 1);
  const Shape &shape = l.input(0).shape;
  require(shape.size() >= 2, "there must be matrices", 0);
  constexpr int64_t kFarthest = int64_t{1} << 40;
  const int64_t diagonal = std::clamp(l.layer().integer(ARMNN_PARAMETER(ARMNN_TRILU_K)), -kFarthest, kFarthest);
  const TensorId from = l.in(0);
  l.add<Trilu>(from, l.out(), shape[shape.size() - 2], shape.back(), diagonal,
               l.layer().integer(ARMNN_PARAMETER(ARMNN_TRILU_UPPER)) != 0);
}

}  // namespace

std::vector<LayerType> selecting_layers() {
  return {
      {ARMNN_LAYER_GATHER_ELEMENTS, lower_gather_elements},
      {ARMNN_LAYER_GATHER_ND, lower_gather_nd},
      {ARMNN_LAYER_ONE_HOT, lower_one_hot},
      {ARMNN_LAYER_TRILU, lower_trilu},
  };
}

}  // namespace cpuacc
