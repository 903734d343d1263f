/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of 8-bit images, channels last.
 *
 * First the image's rows that an output row sees are gathered, for a vector of channels: each lane
 * holds kInt8Group neighbors of a row side by side, ready to be multiplied. Every output whose window
 * holds them, in this row and the next ones, takes them as they are.
 */
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kBlock = 4 * kTall; /* outputs side by side that share their weights */

/* Neighbors without the first of them and with another one behind. */
inline Ints shifted(Ints neighbors, Ints next) {
  if constexpr (kInt8Group == 1) {
    return next;
  } else {
    typedef uint32_t Bits __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
    constexpr int kBits = 32 / kInt8Group;
    const Bits rest = reinterpret_cast<Bits>(neighbors) >> kBits;
    return reinterpret_cast<Ints>(rest | (reinterpret_cast<Bits>(next) << (32 - kBits)));
  }
}

/* Up to kLanes channels of one row of the image. */
template <typename T>
struct Line {
  static constexpr int32_t kOffset = offset_as_read(T(-1) < T(0));
  const uint8_t *begin;
  int64_t width;
  int64_t channels;
  int64_t n;
  Ints outside;

  Ints inside(int64_t x) const { return widened<T>(begin + x * channels, n) + kOffset; }

  Ints at(int64_t x) const { return x >= 0 && x < width ? inside(x) : outside; }

  Ints neighbors_from(int64_t x, int64_t dilation) const {
    Ints neighbors{};
    if (x >= 0 && x + (kInt8Group - 1) * dilation < width) {
      CPUACC_UNROLL for (int i = 0; i < kInt8Group; ++i) neighbors = shifted(neighbors, inside(x + i * dilation));
    } else {
      for (int i = 0; i < kInt8Group; ++i) neighbors = shifted(neighbors, at(x + i * dilation));
    }
    return neighbors;
  }
};

/* Neighbors from d.left on, one of d.gathered_step columns after another. */
template <typename T>
inline void gather(const Int8DepthwiseRows &d, const Line<T> &line, Ints *to) {
  if (d.dilation_x != 1 || d.gathered_step >= kInt8Group) {
    for (int64_t p = 0; p < d.gathered; ++p) {
      to[p] = line.neighbors_from(d.left + p * d.gathered_step, d.dilation_x);
    }
    return;
  }
  Ints neighbors{};
  int64_t x = d.left;
  for (int i = 0; i < kInt8Group; ++i) neighbors = shifted(neighbors, line.at(x++));
  for (int64_t p = 0; p < d.gathered; ++p) {
    to[p] = neighbors;
    for (int64_t i = 0; i < d.gathered_step; ++i) neighbors = shifted(neighbors, line.at(x++));
  }
}

/* B outputs of up to kLanes channels; rows[i]: the gathered numbers of the image's row of window row i. */
template <int B>
inline void outputs(const Int8DepthwiseRows &d, const Ints *const *rows, int64_t x, int64_t c, uint8_t *to) {
  const int64_t padded = (d.channels + kLanes - 1) / kLanes * kLanes;
  const int64_t groups = (d.window_width + kInt8Group - 1) / kInt8Group;
  const int64_t step = d.stride_x / d.gathered_step;
  const int64_t group_step = kInt8Group * d.dilation_x / d.gathered_step;
  Ints sums[B];
  const Ints bias = load_ints(d.bias + c);
  CPUACC_UNROLL for (int b = 0; b < B; ++b) sums[b] = bias;
  const auto *weights = static_cast<const int32_t *>(d.weights) + c;
  for (int64_t i = 0; i < d.window_height; ++i) {
    const Ints *neighbors = rows[i] + x * step;
    for (int64_t g = 0; g < groups; ++g, weights += padded, neighbors += group_step) {
      const Ints weight = load_ints(weights);
      CPUACC_UNROLL for (int b = 0; b < B; ++b) {
        sums[b] = multiply_add(sums[b], neighbors[b * step], weight);
      }
    }
  }
  const Requantizer requantize(d.requantization);
  const Floats scale = load(d.requantization.scales + c);
  const int64_t n = d.channels - c;
  CPUACC_UNROLL for (int b = 0; b < B; ++b) {
    uint8_t *place = to + (x + b) * d.channels;
    const Bytes stored = requantize(sums[b], scale);
    n >= kLanes ? store_bytes(place, stored) : store_bytes(place, stored, n);
  }
}

inline void output_row(const Int8DepthwiseRows &d, const Ints *const *rows, int64_t c, uint8_t *to) {
  int64_t x = 0;
  for (; x + kBlock <= d.output_width; x += kBlock) outputs<kBlock>(d, rows, x, c, to);
  if constexpr (kBlock > 4) {
    if (x + 4 <= d.output_width) outputs<4>(d, rows, x, c, to), x += 4;
  }
  if (x + 2 <= d.output_width) outputs<2>(d, rows, x, c, to), x += 2;
  if (x < d.output_width) outputs<1>(d, rows, x, c, to);
}

/* All rows of up to kLanes channels from c on. Gathered rows are in a ring by their place in the image,
 * which is as long as a window is high; before it is the row of what is outside.
 */
template <typename T>
void channels_at(const Int8DepthwiseRows &d, int64_t c) {
  auto *outside = static_cast<Ints *>(d.gathered_rows);
  auto *ring = outside + d.gathered;
  const int64_t size = (d.window_height - 1) * d.dilation_y + 1;
  const int64_t left = d.channels - c;
  Line<T> line{nullptr, d.width, d.channels, left < kLanes ? left : kLanes,
               splat_int(d.zero_point + Line<T>::kOffset)};
  gather(d, Line<T>{nullptr, 0, 0, 0, line.outside}, outside);
  int64_t next = d.top; /* the image's row to be gathered next */
  for (int64_t r = 0; r < d.count; ++r) {
    const int64_t top = d.top + r * d.stride_y;
    if (next < top) next = top;
    for (int64_t i = 0; i < d.window_height; ++i) {
      const int64_t y = top + i * d.dilation_y;
      const bool is_inside = y >= 0 && y < d.height;
      Ints *row = is_inside ? ring + y % size * d.gathered : outside;
      if (is_inside && y >= next) {
        line.begin = d.input + y * d.width * d.channels + c;
        gather(d, line, row);
      }
      d.window_rows[i] = row;
    }
    if (d.dilation_y == 1) next = top + d.window_height;
    output_row(d, reinterpret_cast<const Ints *const *>(d.window_rows), c, d.output + r * d.output_step + c);
  }
}

/* The last vector of channels overlaps the one before rather than being cut. */
void depthwise_rows(const Int8DepthwiseRows &d) {
  for (int64_t c = 0; c < d.channels; c += kLanes) {
    const int64_t first = c + kLanes <= d.channels || d.channels < kLanes ? c : d.channels - kLanes;
    d.is_signed ? channels_at<int8_t>(d, first) : channels_at<uint8_t>(d, first);
  }
}

}  // namespace

void fill_int8_depthwise(Kernels &table) {
  table.int8.depthwise_group = kInt8Group;
  table.int8.depthwise_rows = depthwise_rows;
}

}  // namespace cpuacc::CPUACC_LEVEL
