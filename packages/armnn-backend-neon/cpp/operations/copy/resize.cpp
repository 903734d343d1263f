/* SPDX-License-Identifier: MIT */
#include "operations/copy/copy.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

void mix(const float *low, const float *high, float share, float *to, int64_t n) {
  if (share == 0.0f) {
    std::copy(low, low + n, to);
    return;
  }
  const float rest = 1.0f - share; /* a difference could overflow */
  for (int64_t i = 0; i < n; ++i) to[i] = low[i] * rest + high[i] * share;
}

/* [N, H, W, C] -> [N, H', W', C]; the nearest sample has a share of 0. Bytes are copied as they are stored where
 * nothing is mixed, else decoded row by row.
 */
class Resize final : public Operation {
 public:
  Resize(Ends ends, Sampling rows, Sampling columns, bool mixes)
      : Operation(ends), rows_(std::move(rows)), columns_(std::move(columns)), mixes_(mixes) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]];
    to_ = setup[outputs[0]];
    channels_ = from_.shape[3];
    row_length_ = from_.shape[2] * channels_;
    made_ = to_.shape[2] * channels_;
    const int64_t floats = from_.type == ARMNN_FLOAT32 ? row_length_ : 2 * row_length_ + made_;
    thread_bytes_ = aligned_bytes(static_cast<size_t>(floats) * sizeof(float));
    return mixes_ ? thread_bytes_ * static_cast<size_t>(setup.threads) : 0;
  }

  void run(const Frame &frame) const override {
    const int64_t rows = to_.shape[1];
    const double row_ns = static_cast<double>(row_length_ + made_) * costs::kElementNs;
    frame.for_each(to_.shape[0] * rows, row_ns, [&](int64_t i, int32_t thread) {
      const auto row = static_cast<size_t>(i % rows);
      const int64_t image = i / rows * from_.shape[1];
      const int64_t low = (image + rows_.low[row]) * row_length_;
      const int64_t high = (image + rows_.high[row]) * row_length_;
      auto *mixed = frame.scratch_of<float>(thread, thread_bytes_);
      if (from_.type == ARMNN_FLOAT32) {
        const float *x = frame.in<float>(inputs[0]);
        mix(x + low, x + high, rows_.share[row], mixed, row_length_);
        return mix_columns(mixed, frame.out<float>(outputs[0]) + i * made_);
      }
      const uint8_t *x = frame.in<uint8_t>(inputs[0]);
      uint8_t *y = frame.out<uint8_t>(outputs[0]) + i * made_;
      mixes_ ? mix_bytes(frame.kernels, x + low, x + high, rows_.share[row], mixed, y) : pick(x + low, y);
    });
  }

 private:
  void mix_columns(const float *row, float *to) const {
    const int64_t channels = channels_;
    for (size_t j = 0; j < columns_.low.size(); ++j, to += channels) {
      mix(row + columns_.low[j] * channels, row + columns_.high[j] * channels, columns_.share[j], to, channels);
    }
  }

  void pick(const uint8_t *row, uint8_t *to) const {
    for (const int64_t column : columns_.low) {
      std::copy_n(row + column * channels_, channels_, to);
      to += channels_;
    }
  }

  void mix_bytes(const Kernels &kernels, const uint8_t *low, const uint8_t *high, float share, float *mixed,
                 uint8_t *to) const {
    float *other = mixed + row_length_;
    float *made = other + row_length_;
    dequantise(kernels, from_.type, from_.quantization, low, mixed, row_length_);
    if (share != 0.0f) {
      dequantise(kernels, from_.type, from_.quantization, high, other, row_length_);
      mix(mixed, other, share, mixed, row_length_);
    }
    mix_columns(mixed, made);
    quantise(kernels, to_.type, to_.quantization, made, to, made_);
  }

  Sampling rows_;
  Sampling columns_;
  bool mixes_;
  Tensor from_;
  Tensor to_;
  int64_t channels_ = 0;
  int64_t row_length_ = 0; /* elements of a row of the input */
  int64_t made_ = 0; /* and of the output */
  size_t thread_bytes_ = 0;
};

}  // namespace

OperationPtr resize(Ends ends, Sampling rows, Sampling columns, bool mixes) {
  return std::make_unique<Resize>(ends, std::move(rows), std::move(columns), mixes);
}

}  // namespace cpuacc
