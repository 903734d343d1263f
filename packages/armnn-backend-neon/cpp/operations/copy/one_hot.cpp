/* SPDX-License-Identifier: MIT */
#include "operations/copy/copy.h"

#include <cstring>

#include "operations/copy/indices.h"

namespace cpuacc {
namespace {

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

OperationPtr one_hot(TensorId indices, TensorId values, TensorId to, const Along &along, bool wraps) {
  return std::make_unique<OneHot>(indices, values, to, along, wraps);
}

}  // namespace cpuacc
