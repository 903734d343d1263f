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

/* [N, H, W, C] -> [N, H', W', C]; the nearest sample has a share of 0. */
class Resize final : public Operation {
 public:
  Resize(TensorId from, TensorId to, Sampling rows, Sampling columns)
      : Operation({from}, {to}), rows_(std::move(rows)), columns_(std::move(columns)) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]].shape;
    to_ = setup[outputs[0]].shape;
    row_bytes_ = (static_cast<size_t>(from_[2] * from_[3]) * sizeof(float) + 63) / 64 * 64;
    return row_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    const int64_t channels = from_[3];
    const int64_t row_length = from_[2] * channels;
    const double row_ns = static_cast<double>(row_length + to_[2] * channels) * costs::kElementNs;
    frame.pool.run(to_[0] * to_[1], row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      auto *mixed = reinterpret_cast<float *>(frame.scratch() + row_bytes_ * static_cast<size_t>(thread));
      for (int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<size_t>(i % to_[1]);
        const float *image = x + i / to_[1] * from_[1] * row_length;
        mix(image + rows_.low[row] * row_length, image + rows_.high[row] * row_length, rows_.share[row], mixed,
            row_length);
        for (size_t j = 0; j < columns_.low.size(); ++j) {
          mix(mixed + columns_.low[j] * channels, mixed + columns_.high[j] * channels,
              columns_.share[j], y + (i * to_[2] + static_cast<int64_t>(j)) * channels, channels);
        }
      }
    });
  }

 private:
  Sampling rows_;
  Sampling columns_;
  Shape from_;
  Shape to_;
  size_t row_bytes_ = 0;
};

/* The same of bytes: samples as they are stored where nothing is mixed, else row by row in floats. */
class Int8Resize final : public Operation {
 public:
  Int8Resize(TensorId from, TensorId to, Sampling rows, Sampling columns, bool mixes)
      : Operation({from}, {to}), rows_(std::move(rows)), columns_(std::move(columns)), mixes_(mixes) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]];
    to_ = setup[outputs[0]];
    row_length_ = from_.shape[2] * from_.shape[3];
    made_ = to_.shape[2] * to_.shape[3];
    room_ = static_cast<size_t>(2 * row_length_ + made_ + 15) / 16 * 16;
    return mixes_ ? room_ * sizeof(float) * static_cast<size_t>(setup.threads) : 0;
  }

  void run(const Frame &frame) const override {
    const uint8_t *x = frame.in<uint8_t>(inputs[0]);
    uint8_t *y = frame.out<uint8_t>(outputs[0]);
    const int64_t rows = to_.shape[1];
    const double row_ns = static_cast<double>(row_length_ + made_) * costs::kElementNs;
    frame.pool.run(to_.shape[0] * rows, row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      for (int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<size_t>(i % rows);
        const uint8_t *image = x + i / rows * from_.shape[1] * row_length_;
        const uint8_t *low = image + rows_.low[row] * row_length_;
        if (mixes_) {
          mix_row(frame, low, image + rows_.high[row] * row_length_, rows_.share[row], thread, y + i * made_);
        } else {
          pick(low, y + i * made_);
        }
      }
    });
  }

 private:
  void pick(const uint8_t *row, uint8_t *to) const {
    const int64_t channels = from_.shape[3];
    for (const int64_t column : columns_.low) {
      std::copy_n(row + column * channels, channels, to);
      to += channels;
    }
  }

  void mix_row(const Frame &frame, const uint8_t *low, const uint8_t *high, float share, int32_t thread,
               uint8_t *to) const {
    const Kernels &kernels = frame.kernels;
    const int64_t channels = from_.shape[3];
    float *mixed = reinterpret_cast<float *>(frame.scratch()) + room_ * static_cast<size_t>(thread);
    float *other = mixed + row_length_;
    float *made = other + row_length_;
    const auto decode = [&](const uint8_t *row, float *real) {
      kernels.dequantize[static_cast<int>(integer_of(from_.type))](
          row, real, row_length_, from_.quantization.scales[0], from_.quantization.zero_points[0]);
    };
    decode(low, mixed);
    if (share != 0.0f) {
      decode(high, other);
      mix(mixed, other, share, mixed, row_length_);
    }
    for (size_t j = 0; j < columns_.low.size(); ++j) {
      mix(mixed + columns_.low[j] * channels, mixed + columns_.high[j] * channels, columns_.share[j],
          made + static_cast<int64_t>(j) * channels, channels);
    }
    kernels.quantize[static_cast<int>(integer_of(to_.type))](made, to, made_, to_.quantization.scales[0],
                                                             to_.quantization.zero_points[0]);
  }

  Sampling rows_;
  Sampling columns_;
  bool mixes_;
  Tensor from_;
  Tensor to_;
  int64_t row_length_ = 0; /* elements of a row of the input */
  int64_t made_ = 0; /* and of the output */
  size_t room_ = 0; /* floats of one thread */
};

}  // namespace

OperationPtr resize(TensorId from, TensorId to, Sampling rows, Sampling columns) {
  return std::make_unique<Resize>(from, to, std::move(rows), std::move(columns));
}

OperationPtr int8_resize(TensorId from, TensorId to, Sampling rows, Sampling columns, bool mixes) {
  return std::make_unique<Int8Resize>(from, to, std::move(rows), std::move(columns), mixes);
}

}  // namespace cpuacc
