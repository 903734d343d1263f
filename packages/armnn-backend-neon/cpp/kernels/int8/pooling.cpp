/* SPDX-License-Identifier: MIT */
/* Maxima and averages of windows of bytes, channels last. */
#include "kernels/int8/vector.h"
#include "kernels/taps.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kTogether = 4; /* vectors of channels: the bytes of one register */

/* Folds the elements of a window, for V vectors of channels from c on; the last vector has n of them. */
template <typename T, int V, typename Fold>
inline void fold(const Int8PoolingRow &row, const Range &rows, const Range &columns, int64_t left, int64_t c,
                 int64_t n, const Fold &take, Ints (&result)[V]) {
  const int64_t step = row.dilation_x * row.channels;
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const int64_t y = row.top + i * row.dilation_y;
    const uint8_t *from = row.input + (y * row.width + left) * row.channels + c + columns.first * step;
    for (int64_t j = columns.first; j < columns.last; ++j, from += step) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) {
        const uint8_t *place = from + v * kLanes;
        result[v] = take(result[v], V > 1 ? widened<T>(place) : widened<T>(place, n));
      }
    }
  }
}

template <typename T, int V>
inline void gather(const Int8PoolingRow &row, const Range &rows, const Range &columns, int64_t left, int64_t c,
                   int64_t n, Ints (&result)[V]) {
  CPUACC_UNROLL for (int v = 0; v < V; ++v) result[v] = row.takes_maximum ? splat_int(-256) : Ints{};
  if (row.takes_maximum) {
    return fold<T, V>(row, rows, columns, left, c, n, [](Ints a, Ints b) { return a > b ? a : b; }, result);
  }
  fold<T, V>(row, rows, columns, left, c, n, [](Ints a, Ints b) { return a + b; }, result);
}

/* The elements of a window inside of the image, and the divisor of their average. */
struct Window {
  int64_t inside;
  int64_t divisor;
};

/* The result of a window, from the sum or the maximum of its bytes; zero for a window without elements. */
inline Bytes finished(const Int8PoolingRow &row, const Requantizer &requantize, const Window &window, Ints sum) {
  if (window.inside == 0 || window.divisor == 0) return requantize.stored(Floats{});
  if (row.takes_maximum) return requantize(sum - row.input_zero_point, splat(row.scale));
  if (!row.rounds_stored) {
    const auto zeros = static_cast<int32_t>(window.inside * row.input_zero_point);
    return requantize(sum - zeros, splat(row.scale / static_cast<float>(window.divisor)));
  }
  const Floats average = __builtin_convertvector(sum, Floats) / splat(static_cast<float>(window.divisor));
  const Floats away = average + with_sign_of(splat(0.5f), average);
  return requantize.stored(__builtin_convertvector(away, Ints) - requantize.zero_point);
}

/* Maxima that are stored as they are, of as many channels as a Piece has bytes. */
template <typename Piece>
inline void store_maximum(const Int8PoolingRow &row, const Range &rows, const Range &columns,
                          const uint8_t *from, uint8_t *to, Piece lowest, Piece highest) {
  const int64_t step = row.dilation_x * row.channels;
  Piece top = lowest;
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const uint8_t *line = from + (row.top + i * row.dilation_y) * row.width * row.channels;
    for (int64_t j = columns.first; j < columns.last; ++j) {
      Piece value;
      std::memcpy(&value, line + j * step, sizeof value);
      top = value > top ? value : top;
    }
  }
  top = top < highest ? top : highest;
  std::memcpy(to, &top, sizeof top);
}

/* All of a window. The last piece overlaps the one before rather than being cut; the pieces are as long
 * as the channels allow.
 */
template <typename Piece>
inline void store_pieces(const Int8PoolingRow &row, const Range &rows, const Range &columns,
                         const uint8_t *from, uint8_t *to, Piece lowest, Piece highest) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Piece));
  for (int64_t c = 0; c < row.channels; c += kBytes) {
    const int64_t first = c + kBytes <= row.channels ? c : row.channels - kBytes;
    store_maximum(row, rows, columns, from + first, to + first, lowest, highest);
  }
}

template <typename T>
inline void store_maxima(const Int8PoolingRow &row, const Range &rows, const Range &columns, int64_t left,
                         uint8_t *to) {
  typedef T Whole __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
  typedef T Sixteen __attribute__((vector_size(16)));
  typedef T Eight __attribute__((vector_size(8)));
  const auto low = static_cast<T>(row.requantization.lowest);
  const auto high = static_cast<T>(row.requantization.highest);
  const uint8_t *from = row.input + left * row.channels;
  if (row.channels >= CPUACC_VECTOR_BYTES) {
    store_pieces(row, rows, columns, from, to, Whole{} + low, Whole{} + high);
  } else if (row.channels >= 16) {
    store_pieces(row, rows, columns, from, to, Sixteen{} + low, Sixteen{} + high);
  } else if (row.channels >= 8) {
    store_pieces(row, rows, columns, from, to, Eight{} + low, Eight{} + high);
  } else {
    store_pieces(row, rows, columns, from, to, low, high);
  }
}

template <typename T>
void pool(const Int8PoolingRow &row) {
  const Requantizer requantize(row.requantization);
  const Range rows = taps_inside(row.top, row.dilation_y, row.window_height, row.height);
  const int64_t counted_rows = counted(row.top, row.dilation_y, row.window_height, row.padded_bottom);
  const bool stores_maxima = row.takes_maximum && row.scale == 1.0f &&
                             row.input_zero_point == row.requantization.zero_point;
  for (int64_t x = 0; x < row.output_width; ++x) {
    const int64_t left = row.left + x * row.stride_x;
    const Range columns = taps_inside(left, row.dilation_x, row.window_width, row.width);
    const int64_t inside = (rows.last - rows.first) * (columns.last - columns.first);
    uint8_t *to = row.output + x * row.channels;
    if (stores_maxima && inside > 0) {
      store_maxima<T>(row, rows, columns, left, to);
      continue;
    }
    Window window{inside, inside};
    if (row.counts_padding) {
      window.divisor = counted_rows * counted(left, row.dilation_x, row.window_width, row.padded_right);
    }
    int64_t c = 0;
    for (; c + kTogether * kLanes <= row.channels; c += kTogether * kLanes) {
      Ints sums[kTogether];
      gather<T>(row, rows, columns, left, c, kLanes, sums);
      CPUACC_UNROLL for (int v = 0; v < kTogether; ++v) {
        store_bytes(to + c + v * kLanes, finished(row, requantize, window, sums[v]));
      }
    }
    for (; c < row.channels; c += kLanes) {
      const int64_t n = row.channels - c;
      Ints sum[1];
      gather<T>(row, rows, columns, left, c, n, sum);
      const Bytes stored = finished(row, requantize, window, sum[0]);
      n >= kLanes ? store_bytes(to + c, stored) : store_bytes(to + c, stored, n);
    }
  }
}

void pooling_row(const Int8PoolingRow &row) { row.is_signed ? pool<int8_t>(row) : pool<uint8_t>(row); }

}  // namespace

void fill_int8_pooling(Kernels &table) { table.int8.pooling_row = pooling_row; }

}  // namespace cpuacc::CPUACC_LEVEL
