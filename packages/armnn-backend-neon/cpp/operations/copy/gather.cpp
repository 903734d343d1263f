/* SPDX-License-Identifier: MIT */
/* Elements chosen by indices that only a run knows. */
#include <cstring>
#include <stdexcept>
#include <string>

#include "layers/registry.h"

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
    const auto *indices = frame.in<std::byte>(inputs[1]);
    auto *to = frame.out<std::byte>(outputs[0]);
    check_indices(indices);
    frame.pool.run(outer_ * count_, static_cast<double>(inner_bytes_) * kElementNs, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t given = index(indices, i % count_);
        const int64_t place = given < 0 ? given + size_ : given;
        std::memcpy(to + i * inner_bytes_, from + (i / count_ * size_ + place) * inner_bytes_,
                    static_cast<size_t>(inner_bytes_));
      }
    });
  }

 private:
  void check_indices(const std::byte *indices) const {
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t given = index(indices, i);
      if (given < -size_ || given >= size_) {
        throw std::out_of_range("the index " + std::to_string(given) + " is outside of an axis of " +
                                std::to_string(size_) + " elements");
      }
    }
  }

  int64_t index(const std::byte *indices, int64_t i) const {
    return is_wide_ ? reinterpret_cast<const int64_t *>(indices)[i]
                    : reinterpret_cast<const int32_t *>(indices)[i];
  }

  int64_t outer_;
  int64_t size_;
  int64_t count_ = 0;
  int64_t inner_bytes_ = 0;
  bool is_wide_ = false;
};

void lower_gather(Lowering &l) {
  const Value &in = l.input(0);
  const Value &out = l.output();
  require(in.type == out.type && in.quantization.scales == out.quantization.scales &&
              in.quantization.zero_points == out.quantization.zero_points && in.quantization.axis < 0,
          "input and output must have the same data type and quantisation");
  const armnn_data_type indices = l.input(1).type;
  require(indices == ARMNN_SIGNED32 || indices == ARMNN_SIGNED64,
          "the indices must be Signed32 or Signed64", 1);
  require(!in.shape.empty() && elements(in.shape) > 0, "there is nothing to gather from", 0);
  const auto axis =
      static_cast<size_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_GATHER_AXIS)), in.shape.size()));
  Shape expected(in.shape.begin(), in.shape.begin() + static_cast<Shape::difference_type>(axis));
  expected.insert(expected.end(), l.input(1).shape.begin(), l.input(1).shape.end());
  expected.insert(expected.end(), in.shape.begin() + static_cast<Shape::difference_type>(axis) + 1,
                  in.shape.end());
  require(out.shape == expected, "the output's shape does not fit to the indices");
  const TensorId from = l.in(0);
  const TensorId chosen = l.in(1);
  l.add<Gather>(from, chosen, l.out(), elements(in.shape, 0, axis), in.shape[axis]);
}

}  // namespace

std::vector<LayerType> indexing_layers() { return {{ARMNN_LAYER_GATHER, lower_gather}}; }

}  // namespace cpuacc
