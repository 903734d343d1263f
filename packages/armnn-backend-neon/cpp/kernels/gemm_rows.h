/* SPDX-License-Identifier: MIT */
/* Products of rows that begin at equal distances: of a matrix, or windows side by side in an image.
 *
 * The epilogue of the sums is known before the first tile. Rows are shared out among tiles evenly, so that none has so
 * few sums that they wait for each other.
 */
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/epilogue.h"
#include "kernels/sums.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Products of rows with a single column. Lanes hold numbers of a row, as columns would leave all but one empty. */

/* Whether each number's weight fits, and its results are side by side, as the rows of one column are. */
inline bool are_dots(const GemmRows &g) {
  return g.column_count == 1 && g.c_stride == 1 && g.residual_stride == 1 && g.depth >= kLanes &&
         g.taps * g.depth <= kMostDotNumbers;
}

/* Lanes of both, of which those without bit W are sums of two of x, the others of y. */
template <int W>
inline Floats folded_pair(Floats x, Floats y) {
  Ints near{}, far{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) {
    const int of_y = static_cast<int>(kLanes);
    near[i] = (i & W) == 0 ? i : of_y + i - W;
    far[i] = (i & W) == 0 ? i + W : of_y + i;
  }
  return __builtin_shuffle(x, y, near) + __builtin_shuffle(x, y, far);
}

/* Lane i of the first becomes the sum of the lanes of sums[i]. */
template <int W = static_cast<int>(kLanes) / 2>
CPUACC_INLINE void fold_all(Floats (&sums)[kLanes]) {
  CPUACC_UNROLL for (int i = 0; i < W; ++i) sums[i] = folded_pair<W>(sums[i], sums[i + W]);
  if constexpr (W > 1) fold_all<W / 2>(sums);
}

/* The column, tap by tap. */
inline void copy_column(const GemmRows &g, float *weights) {
  for (int64_t k = 0; k < g.taps * g.depth; ++k) {
    weights[k] = g.has_paired_tail ? g.b[k / 2 * kLanes + k % 2] : g.b[k * kLanes];
  }
}

/* The sums of a register's rows. */
template <typename Rows>
inline Floats dots(const GemmRows &g, Rows rows, const float *weights) {
  const int64_t whole = g.depth / kLanes * kLanes;
  Floats sums[kLanes] = {};
  const auto add = [&](const Rows &a, const float *w, const auto &lanes) __attribute__((always_inline)) {
    const Floats weight = lanes.get(w);
    CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) sums[i] += lanes.get(a.at(i)) * weight;
  };
  for (int64_t t = 0; t < g.taps; ++t, rows.advance(g.tap_step)) {
    Rows at = rows;
    for (int64_t k = 0; k < whole; k += kLanes, weights += kLanes, at.advance(kLanes)) add(at, weights, All{});
    if (whole == g.depth) continue;
    add(at, weights, First{g.depth - whole});
    weights += g.depth - whole;
  }
  fold_all(sums);
  return sums[0];
}

/* The first of fewer rows than a register has lanes, of which the last one is read again and again. */
inline PointedRows<kLanes> some_rows(const float *first, int64_t step, int64_t count) {
  const float *rows[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) rows[i] = first + (i < count ? i : count - 1) * step;
  return PointedRows<kLanes>(rows);
}

template <bool kHasBfloat16>
void dots_of(const GemmRows &g) {
  float weights[kMostDotNumbers];
  float bias[kLanes];
  copy_column(g, weights);
  TileOutput tile = g;
  if (g.bias != nullptr) {
    for (float &number : bias) number = *g.bias;
    tile.bias = bias;
  }
  for (int64_t row = 0; row < g.count; row += kLanes, move_down<kHasBfloat16>(tile, kLanes)) {
    const float *first = g.a + row * g.step;
    const int64_t left = g.count - row;
    Floats all[1][1] = {{left >= kLanes ? dots(g, RowsAtSteps<kLanes>(first, g.step), weights)
                                        : dots(g, some_rows(first, g.step, left), weights)}};
    tile.column_count = static_cast<int32_t>(left < kLanes ? left : kLanes);
    if constexpr (kHasBfloat16) {
      if (tile.bfloat16_c != nullptr) {
        finish<1, 1, Bfloat16, true>(tile, all);
        continue;
      }
    }
    finish<1, 1, float, kHasBfloat16>(tile, all);
  }
}

}  // namespace

namespace {

/* Rows of a tile with V vectors of sums each: those of one vector fill the registers with more of them, as far as no
 * sum waits for the one before it.
 */
template <int V>
constexpr int kTileRowsOf = V == 1 && kRows < 8 ? kRows * kVectors : kRows;

/* The prefetch cursor over the next panel of B: each tile fetches a cache line for each row of B that it reads, two if
 * no other tile would fetch the rest, until the whole panel is fetched.
 */
class LinesAhead {
 public:
  template <typename Number>
  explicit LinesAhead(const GemmRowsOf<Number> &g)
      : next_(reinterpret_cast<const char *>(g.ahead)),
        end_(next_ + g.ahead_bytes),
        second_(g.count <= kRows ? kLine : 0) {}

  /* How many tiles fetch the rest, each of which fetches so many times. */
  int64_t tiles_left(int64_t times) const {
    const int64_t bytes = times * (kLine + second_);
    return next_ < end_ && bytes > 0 ? (end_ - next_ + bytes - 1) / bytes : 0;
  }

  CPUACC_INLINE void fetch() {
    __builtin_prefetch(next_, 0, 2);
    __builtin_prefetch(next_ + second_, 0, 2);
    next_ += kLine + second_;
  }

 private:
  static constexpr int64_t kLine = 64;
  const char *next_;
  const char *end_;
  int64_t second_; /* from the first line of a row to the other one; 0: it is the same */
};

/* The epilogue of sums that went through memory, for the functions that have no epilogue in registers. */
template <typename Number, int V, typename Last>
CPUACC_INLINE void store_spilled(const TileOutput &tile, const Last &last, Floats (*sums)[V], int64_t rows) {
  const Elementwise &f = tile.function;
  const Known<Function::linear> scale{f.scale, f.shift};
  if (f.function != Function::identity) apply_all(f, &sums[0][0], rows * V);
  for (int64_t r = 0; r < rows; ++r) {
    Number *row = output_of(tile, static_cast<const Number *>(nullptr)) + r * tile.c_stride;
    each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
      put(lanes, row + v * kLanes, f.is_scaled() ? scale(sums[r][v]) : sums[r][v]);
    });
  }
}

template <int V, bool kHasBfloat16, typename Last>
__attribute__((noinline)) void finish_spilled(const TileOutput &tile, const Last &last, Floats (*sums)[V],
                                              int64_t rows) {
  const auto add = [&](const auto *numbers, int64_t stride) {
    if (numbers == nullptr) return;
    for (int64_t r = 0; r < rows; ++r, numbers += stride) {
      each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
        sums[r][v] += get(lanes, numbers + v * kLanes);
      });
    }
  };
  add(tile.bias, 0);
  add(tile.residual, tile.residual_stride);
  if constexpr (kHasBfloat16) {
    add(tile.bfloat16_residual, tile.residual_stride);
    if (tile.bfloat16_c != nullptr) return store_spilled<Bfloat16>(tile, last, sums, rows);
  }
  store_spilled<float>(tile, last, sums, rows);
}

/* The functions that most networks have between layers, which are computed in registers. */
struct InRegisters {
  explicit InRegisters(const TileOutput &tile) {
    const Elementwise &f = tile.function;
    if (f.is_scaled()) return;
    is_bounded = f.function == Function::clamp || f.function == Function::identity;
    is_hard_swish = f.function == Function::hard_swish;
    if (f.function == Function::clamp) bounds = {f.a, f.b};
  }

  bool is_bounded = false; /* by bounds that no number exceeds, if there is no function */
  bool is_hard_swish = false;
  Known<Function::clamp> bounds{__builtin_inff(), -__builtin_inff()};
};

template <bool kHasBfloat16, int R, int V, typename Last, typename F>
CPUACC_INLINE void store_as(const TileOutput &tile, const Last &last, const Floats (&sums)[R][V], const F &function) {
  if constexpr (kHasBfloat16) {
    if (tile.bfloat16_c != nullptr) return store_all<Bfloat16>(tile, last, sums, function);
  }
  store_all<float>(tile, last, sums, function);
}

template <bool kHasBfloat16, int R, int V, typename Last>
CPUACC_INLINE void finish_tile(const TileOutput &tile, const Last &last, const InRegisters &function,
                               Floats (&sums)[R][V]) {
  if (!function.is_bounded && !function.is_hard_swish) {
    Floats spilled[R][V];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
    }
    return finish_spilled<V, kHasBfloat16>(tile, last, spilled, R);
  }
  if (tile.bias != nullptr) add_bias(tile, last, sums);
  if (tile.residual != nullptr) add_residual<float>(tile, last, sums);
  if constexpr (kHasBfloat16) {
    if (tile.bfloat16_residual != nullptr) add_residual<Bfloat16>(tile, last, sums);
  }
  if (function.is_bounded) return store_as<kHasBfloat16>(tile, last, sums, function.bounds);
  store_as<kHasBfloat16>(tile, last, sums, Known<Function::hard_swish>{0.0f, 0.0f});
}

/* R rows each of so many tiles. Tiles that prefetch are a function of their own: two lines for each k take registers and a fifth of
 * the loads, which a tile waits for where a host of virtual machines slows down loads.
 *
 * Args: begin: where the first one goes.
 */
template <bool kFetches, int R, int V, typename AllSums, bool kHasBfloat16, typename Number, typename Last>
void tiles_of(const GemmRowsOf<Number> &g, const TileOutput &begin, const Number *first, int64_t tiles, Last last,
              LinesAhead &lines) {
  constexpr int64_t kSteps = AllSums::kSteps;
  constexpr int64_t kNumbers = kSteps * AllSums::kRow;
  const InRegisters function(begin);
  const int64_t step = g.step;
  TileOutput tile = begin; /* in registers, as a copy of one's own */
  LinesAhead ahead = lines;
  for (; tiles > 0; --tiles, first += R * step, move_down<kHasBfloat16>(tile, R)) {
    AllSums sums;
    sums.clear();
    const Number *b = g.b;
    for (int64_t t = 0; t < g.taps; ++t) {
      RowsAtSteps<R, Number> a(first + t * g.tap_step, step);
      int64_t k = 0;
      for (; k + kSteps <= g.depth; k += kSteps, b += kNumbers) {
        if constexpr (kFetches) {
          CPUACC_UNROLL for (int i = 0; i < AllSums::kLines; ++i) ahead.fetch();
        }
        sums.add(a, 0, b);
        a.advance(kSteps);
      }
      if constexpr (!std::is_same_v<Number, float>) {
        if (k < g.depth) {
          sums.add_last(a, 0, b);
          b += kNumbers;
        }
      }
    }
    Floats all[R][V];
    sums.to_registers(all);
    finish_tile<kHasBfloat16>(tile, last, function, all);
  }
  if constexpr (kFetches) lines = ahead;
}

template <bool kHasBfloat16, int V, typename Kind, typename Number, typename Last, int... R>
void rows_of(const GemmRowsOf<Number> &g, const Last &last, std::integer_sequence<int, R...>) {
  using Tiles = void (*)(const GemmRowsOf<Number> &, const TileOutput &, const Number *, int64_t, Last, LinesAhead &);
  static constexpr Tiles kPlain[] = {
      tiles_of<false, R + 1, V, typename Kind::template Of<R + 1, V>, kHasBfloat16, Number, Last>...};
  /* The last columns of a matrix, where little is ahead: such tiles would be a quarter of this code. */
  constexpr bool kFetches = std::is_same_v<Last, All>;
  static constexpr Tiles kFetching[] = {
      tiles_of<kFetches, R + 1, V, typename Kind::template Of<R + 1, V>, kHasBfloat16, Number, Last>...};
  using AnySums = typename Kind::template Of<1, V>;
  LinesAhead ahead(g);
  TileOutput tile = g;
  const Number *a = g.a;
  const auto compute = [&](const Tiles(&of_rows)[sizeof...(R)], int64_t rows, int64_t tiles) {
    if (tiles <= 0) return;
    of_rows[rows - 1](g, tile, a, tiles, last, ahead);
    move_down<kHasBfloat16>(tile, tiles * rows);
    a += tiles * rows * g.step;
  };
  const int64_t fetches = g.taps * (g.depth / AnySums::kSteps) * AnySums::kLines; /* of a tile */
  const auto compute_all = [&](int64_t rows, int64_t tiles) {
    const int64_t left = ahead.tiles_left(fetches);
    const int64_t fetching = left < tiles ? left : tiles;
    compute(kFetching, rows, fetching);
    compute(kPlain, rows, tiles - fetching);
  };
  const int64_t tiles = (g.count + kTileRowsOf<V> - 1) / kTileRowsOf<V>;
  const int64_t taller = g.count % tiles; /* tiles with a row more, which are the first ones */
  compute_all(g.count / tiles + 1, taller);
  compute_all(g.count / tiles, tiles - taller);
}

template <bool kHasBfloat16, int V, typename Number>
void columns_of(const GemmRowsOf<Number> &g) {
  constexpr auto kHeights = std::make_integer_sequence<int, kTileRowsOf<V>>{};
  const int64_t last_columns = g.column_count - (V - 1) * kLanes;
  SumsOfNumbers<Number>::visit(g.has_paired_tail, last_columns, [&](auto kind) {
    if (last_columns == kLanes) return rows_of<kHasBfloat16, V, decltype(kind)>(g, All{}, kHeights);
    rows_of<kHasBfloat16, V, decltype(kind)>(g, First{last_columns}, kHeights);
  });
}

template <bool kHasBfloat16, typename Number>
void all_columns_of(const GemmRowsOf<Number> &g) {
  if (g.count <= 0) return;
  const int64_t vectors = (g.column_count + kLanes - 1) / kLanes;
  if (vectors == 1) return columns_of<kHasBfloat16, 1>(g);
  vectors == 2 ? columns_of<kHasBfloat16, 2>(g) : columns_of<kHasBfloat16, kVectors>(g);
}

/* Args: kHasBfloat16: whether results may be stored in it, and residuals read. */
template <bool kHasBfloat16>
void gemm_rows_of(const GemmRows &g) {
  are_dots(g) ? dots_of<kHasBfloat16>(g) : all_columns_of<kHasBfloat16>(g);
}

}  // namespace

}  // namespace cpuacc::CPUACC_LEVEL
