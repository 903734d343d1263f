/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of 8-bit images, a register of channels at a time, channels last.
 *
 * For an output row, four lines of the image are interleaved at each column: a lane of one of four registers
 * holds the four bytes of a channel, ready to be multiplied. The lines are rows of the window, or, where that
 * takes fewer products, columns of one row. Every output whose window holds a column takes it as it is. An
 * interleaved register has an order of channels of its own, in which bias, scales and weights are, too; joined
 * bytes are in that of the image.
 */
#include "kernels/int8/vector.h"
#include "kernels/taps.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kQuads = 4; /* registers of a column */
constexpr int kLineBlock = 2 * kTall; /* outputs side by side that share their weights */

/* The state of the computation of an output row of some channels. */
struct LinePart {
  const Int8DepthwiseLines &d;
  int64_t begin; /* the first channel */
  int64_t count; /* of channels */
  Ints outside; /* bytes that are read where the image is not */
  const uint8_t *outside_bytes; /* outside, as the image stores it */
  Ints turned; /* the highest bits that this level reads the other way round */
  const Ints *weights; /* for each line and tap, kQuads */
  const Ints *bias;
  const Floats *scales;
};

/* A line of the image, read column by column, or the value outside of the image, repeated. */
struct ImageLine {
  const uint8_t *at;
  int64_t step;
};

/* Row y from a column on. */
inline ImageLine line_at(const LinePart &part, int64_t y, int64_t x) {
  const Int8DepthwiseLines &d = part.d;
  if (y < 0 || y >= d.height) return {part.outside_bytes, 0};
  return {d.input + (y * d.width + x) * d.channels + part.begin, d.channels};
}

template <typename Lines, bool kIsWhole>
CPUACC_INLINE Ints next_bytes(const LinePart &part, ImageLine &line) {
  const Ints bytes = Lines::load(line.at, kIsWhole ? CPUACC_VECTOR_BYTES : part.count) ^ part.turned;
  line.at += line.step;
  return bytes;
}

/* The columns from d.left on that are in the image, and so many behind them. */
inline Range columns_inside(const Int8DepthwiseLines &d, int64_t reach) {
  const int64_t first = d.left < 0 ? -d.left : 0;
  const int64_t last = d.width - d.left - reach;
  return {first < d.columns ? first : d.columns, last < d.columns ? last : d.columns};
}

inline void put_outside(const LinePart &part, Ints *to) {
  CPUACC_UNROLL for (int q = 0; q < kQuads; ++q) to[q] = part.outside;
}

/* Four rows of the image, the first y, at each column. */
template <typename Lines, bool kIsWhole>
void interleave_rows(const LinePart &part, int64_t y, int64_t rows, Ints *to) {
  const Int8DepthwiseLines &d = part.d;
  const Range inside = columns_inside(d, 0);
  int64_t p = 0;
  for (; p < inside.first; ++p) put_outside(part, to + p * kQuads);
  ImageLine lines[kQuads];
  for (int64_t i = 0; i < kQuads; ++i) {
    lines[i] = line_at(part, i < rows ? y + i * d.dilation_y : -1, d.left + p);
  }
  for (; p < inside.last; ++p) {
    Ints bytes[kQuads];
    CPUACC_UNROLL for (int i = 0; i < kQuads; ++i) bytes[i] = next_bytes<Lines, kIsWhole>(part, lines[i]);
    Lines::interleave(bytes, to + p * kQuads);
  }
  for (; p < d.columns; ++p) put_outside(part, to + p * kQuads);
}

template <typename Lines>
CPUACC_INLINE Ints bytes_at(const LinePart &part, int64_t y, int64_t x) {
  if (x < 0 || x >= part.d.width) return part.outside;
  return Lines::load(line_at(part, y, x).at, part.count) ^ part.turned;
}

/* Row y at each column and at the next ones, so far apart as the window's. */
template <typename Lines, bool kIsWhole>
void interleave_columns(const LinePart &part, int64_t y, Ints *to) {
  const Int8DepthwiseLines &d = part.d;
  const Range inside = columns_inside(d, (kQuads - 1) * d.dilation_x);
  const auto one_by_one = [&](int64_t p) {
    Ints bytes[kQuads];
    CPUACC_UNROLL for (int i = 0; i < kQuads; ++i) bytes[i] = bytes_at<Lines>(part, y, d.left + p + i * d.dilation_x);
    Lines::interleave(bytes, to + p * kQuads);
  };
  int64_t p = 0;
  for (; p < inside.first; ++p) one_by_one(p);
  ImageLine lines[kQuads];
  for (int64_t i = 0; i < kQuads; ++i) lines[i] = line_at(part, y, d.left + p + i * d.dilation_x);
  for (; p < inside.last; ++p) {
    Ints bytes[kQuads];
    CPUACC_UNROLL for (int i = 0; i < kQuads; ++i) bytes[i] = next_bytes<Lines, kIsWhole>(part, lines[i]);
    Lines::interleave(bytes, to + p * kQuads);
  }
  for (; p < d.columns; ++p) one_by_one(p);
}

template <typename Lines, bool kIsWhole>
void interleave_window(const LinePart &part, int64_t top, Ints *to) {
  const Int8DepthwiseLines &d = part.d;
  for (int64_t line = 0; line < d.lines; ++line, to += d.columns * kQuads) {
    if (d.joins_rows) {
      interleave_rows<Lines, kIsWhole>(part, top + line * kQuads * d.dilation_y, d.window_height - line * kQuads, to);
    } else {
      interleave_columns<Lines, kIsWhole>(part, top + line * d.dilation_y, to);
    }
  }
}

/* B outputs from x on. */
template <typename Lines, int B>
inline void outputs_of_lines(const LinePart &part, const Ints *columns, int64_t x, const Requantizer &requantize,
                             uint8_t *row) {
  const Int8DepthwiseLines &d = part.d;
  Ints sums[B][kQuads];
  CPUACC_UNROLL for (int b = 0; b < B; ++b) {
    CPUACC_UNROLL for (int q = 0; q < kQuads; ++q) sums[b][q] = part.bias[q];
  }
  const Ints *weights = part.weights;
  const int64_t step = d.stride_x * kQuads;
  for (int64_t line = 0; line < d.lines; ++line) {
    const Ints *at = columns + (line * d.columns + x * d.stride_x) * kQuads;
    for (int64_t tap = 0; tap < d.taps; ++tap, at += d.tap_step * kQuads, weights += kQuads) {
      CPUACC_UNROLL for (int q = 0; q < kQuads; ++q) {
        const Ints weight = weights[q];
        CPUACC_UNROLL for (int b = 0; b < B; ++b) sums[b][q] = multiply_add(sums[b][q], at[b * step + q], weight);
      }
    }
  }
  CPUACC_UNROLL for (int b = 0; b < B; ++b) {
    Ints numbers[kQuads];
    CPUACC_UNROLL for (int q = 0; q < kQuads; ++q) {
      numbers[q] = requantize.number(__builtin_convertvector(sums[b][q], Floats) * part.scales[q]);
    }
    Lines::store(row + (x + b) * d.channels, Lines::joined(numbers), part.count);
  }
}

template <typename Lines>
void row_of_outputs(const LinePart &part, const Ints *columns, const Requantizer &requantize, uint8_t *row) {
  int64_t x = 0;
  for (; x + kLineBlock <= part.d.output_width; x += kLineBlock) {
    outputs_of_lines<Lines, kLineBlock>(part, columns, x, requantize, row);
  }
  for (; x < part.d.output_width; ++x) outputs_of_lines<Lines, 1>(part, columns, x, requantize, row);
}

/* The last channels overlap those before rather than being cut. */
template <typename Lines>
void depthwise_lines(const Int8DepthwiseLines &d) {
  const Requantizer requantize(d.requantization);
  const auto *weights = static_cast<const Ints *>(d.weights);
  const auto *bias = static_cast<const Ints *>(d.bias);
  const auto *scales = reinterpret_cast<const Floats *>(d.requantization.scales);
  auto *columns = static_cast<Ints *>(d.interleaved);
  const auto outside = static_cast<uint32_t>((d.zero_point + offset_as_read(d.is_signed)) & 0xff);
  const Ints turned = splat_int(turned_bits(d.is_signed));
  const Ints read = splat_int(static_cast<int32_t>(outside * 0x01010101u)); /* in each byte */
  const Ints stored = read ^ turned;
  LinePart part{d, 0, 0, read, reinterpret_cast<const uint8_t *>(&stored), turned, weights, bias, scales};
  for (int64_t c = 0; c < d.channels; c += CPUACC_VECTOR_BYTES) {
    const int64_t left = d.channels - c;
    const bool is_cut = left < CPUACC_VECTOR_BYTES && d.channels >= CPUACC_VECTOR_BYTES;
    part.begin = is_cut ? d.channels - CPUACC_VECTOR_BYTES : c;
    part.count = left < CPUACC_VECTOR_BYTES && !is_cut ? left : CPUACC_VECTOR_BYTES;
    const auto interleave =
        part.count == CPUACC_VECTOR_BYTES ? interleave_window<Lines, true> : interleave_window<Lines, false>;
    for (int64_t r = 0; r < d.count; ++r) {
      interleave(part, d.top + r * d.stride_y, columns);
      row_of_outputs<Lines>(part, columns, requantize, d.output + r * d.output_step + part.begin);
    }
    part.weights += d.lines * d.taps * kQuads;
    part.bias += kQuads;
    part.scales += kQuads;
  }
}

template <typename Lines>
void fill_lines([[maybe_unused]] Int8Kernels &table) {
  if constexpr (Lines::kIsThere) {
    table.depthwise_lines = depthwise_lines<Lines>;
    table.line_channels = CPUACC_VECTOR_BYTES;
    table.least_line_channels = Lines::kLeastChannels;
  }
}

}  // namespace

void fill_int8_depthwise_lines(Kernels &table) { fill_lines<InterleavedLines>(table.int8); }

}  // namespace cpuacc::CPUACC_LEVEL
