/* SPDX-License-Identifier: MIT */
/* Resize of images by nearest or bilinear samples. */
#include "operations/copy/copy.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* [N, H, W, C] -> [N, H', W', C]; the nearest sample has a share of 0. Elements are copied as they are stored where
 * nothing is mixed, else decoded row by row.
 */
class Resize final : public Operation {
 public:
  Resize(Io io, Sampling rows, Sampling columns, bool mixes)
      : Operation(io), rows_(std::move(rows)), columns_(std::move(columns)), mixes_(mixes) {}

  bool can_read_bfloat16(const Kernels &, size_t) const override { return true; }
  bool can_store_bfloat16(const Kernels &) const override { return true; }
  bool keeps_format() const override { return !mixes_; }

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]];
    to_ = setup[outputs[0]];
    channels_ = from_.shape[3];
    row_length_ = from_.shape[2] * channels_;
    made_ = to_.shape[2] * channels_;
    thread_bytes_ = aligned_bytes(static_cast<size_t>(2 * row_length_ + made_) * sizeof(float));
    return mixes_ ? thread_bytes_ * static_cast<size_t>(setup.threads) : 0;
  }

  void run(const Frame &frame) const override {
    const int64_t rows = to_.shape[1];
    const double row_ns = static_cast<double>(row_length_ + made_) * frame.element_ns();
    const auto from_bytes = static_cast<int64_t>(element_bytes(from_.type));
    const auto to_bytes = static_cast<int64_t>(element_bytes(to_.type));
    frame.for_each(to_.shape[0] * rows, row_ns, [&](int64_t i, int32_t thread) {
      const auto row = static_cast<size_t>(i % rows);
      const int64_t image = i / rows * from_.shape[1];
      const std::byte *x = frame.in<std::byte>(inputs[0]);
      std::byte *y = frame.out<std::byte>(outputs[0]) + i * made_ * to_bytes;
      const std::byte *low = x + (image + rows_.low[row]) * row_length_ * from_bytes;
      if (!mixes_) return pick(low, channels_ * from_bytes, y);
      const std::byte *high = x + (image + rows_.high[row]) * row_length_ * from_bytes;
      mix_rows(frame.kernels, low, high, rows_.share[row], frame.scratch_of<float>(thread, thread_bytes_), y);
    });
  }

 private:
  /* Args: bytes: of a pixel. */
  void pick(const std::byte *row, int64_t bytes, std::byte *to) const {
    for (const int64_t column : columns_.low) {
      std::copy_n(row + column * bytes, bytes, to);
      to += bytes;
    }
  }

  /* Args: scratch: for two rows of the input and one of the output. */
  void mix_rows(const Kernels &kernels, const std::byte *low, const std::byte *high, float share, float *scratch,
                std::byte *to) const {
    const float *row = decoded(kernels, low, scratch);
    if (share != 0.0f) {
      const int64_t first = 0;
      const int64_t other = (decoded(kernels, high, scratch + row_length_) - row) / row_length_;
      kernels.resize_bilinear_row({row, &first, &other, &share, 1, row_length_, scratch});
      row = scratch;
    }
    float *made = to_.type == ARMNN_FLOAT32 ? reinterpret_cast<float *>(to) : scratch + 2 * row_length_;
    kernels.resize_bilinear_row({row, columns_.low.data(), columns_.high.data(), columns_.share.data(),
                        static_cast<int64_t>(columns_.low.size()), channels_, made});
    if (to_.type != ARMNN_FLOAT32) encode(kernels, made, to);
  }

  /* A row in float32, where it is or in memory for it. */
  const float *decoded(const Kernels &kernels, const std::byte *row, float *memory) const {
    if (from_.type == ARMNN_FLOAT32) return reinterpret_cast<const float *>(row);
    if (from_.type == ARMNN_BFLOAT16) {
      constexpr auto kFormat = static_cast<int>(HalfFormat::bfloat16);
      kernels.half_to_float32[kFormat](reinterpret_cast<const uint16_t *>(row), memory, row_length_);
    } else {
      dequantize(kernels, from_.type, from_.quantization, row, memory, row_length_);
    }
    return memory;
  }

  void encode(const Kernels &kernels, const float *row, std::byte *to) const {
    if (to_.type != ARMNN_BFLOAT16) return quantize(kernels, to_.type, to_.quantization, row, to, made_);
    kernels.round_to_bfloat16(row, reinterpret_cast<Bfloat16 *>(to), made_);
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

OperationPtr resize(Io io, Sampling rows, Sampling columns, bool mixes) {
  return std::make_unique<Resize>(io, std::move(rows), std::move(columns), mixes);
}

}  // namespace cpuacc
