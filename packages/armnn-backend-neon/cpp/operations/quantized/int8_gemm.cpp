/* SPDX-License-Identifier: MIT */
/* Products of matrices of bytes: packed weights, kernels for small ones, and sums that stay integers. */
#include "operations/quantized/int8_gemm.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "operations/convolution/indirection.h"
#include "operations/gemm/gemm.h"
#include "operations/quantized/quantized.h"
#include "operations/quantized/widened_rows.h"

namespace cpuacc {

/* The bytes behind a panel: how many fours are added in 16 bits, or 0; how many are set apart; which; their weights. */
size_t large_weights_bytes(const WeightLayout &layout, const Int8Kernels &kernels);

/* Moves the fours of a panel that are too large there. Returns whether that are few; else the panel stays as it is.
 *
 * Args: panel: the four weights of a column side by side.
 */
bool set_large_apart(int8_t *panel, const WeightLayout &layout, const Int8Kernels &kernels, int8_t *behind);

/* Reads the fours that set_large_apart() has written. */
class LargeWeights {
 public:
  LargeWeights(const std::byte *behind, const WeightLayout &layout);

  bool is_small() const { return numbers_[0] != 0; }

  void name(Int8GemmTile &tile) const {
    tile.small_fours = numbers_[0];
    tile.large_count = numbers_[1];
    tile.large_fours = numbers_ + 2;
    tile.large_weights = weights_;
  }

 private:
  const int32_t *numbers_;
  const int8_t *weights_;
};

namespace {

/* A four apart takes the time of four of the others. */
constexpr int64_t kMostApart = 8; /* one in so many */

int64_t most_apart(const WeightLayout &layout) { return layout.taps * fours_of(layout) / kMostApart; }

/* Up to a whole line of memory, so that panels stay aligned. */
int64_t number_bytes(const WeightLayout &layout) {
  return static_cast<int64_t>(aligned_bytes(static_cast<size_t>(2 + most_apart(layout)) * sizeof(int32_t)));
}

/* The sums of weights above and below 0 that are added in 16 bits. */
class Sums {
 public:
  explicit Sums(int64_t columns) : above_(static_cast<size_t>(columns * 2)), below_(above_) {}

  void add(const int8_t *row, int32_t times) {
    for (size_t i = 0; i < above_.size(); ++i) {
      const int32_t x = row[2 * i];
      const int32_t y = row[2 * i + 1];
      above_[i] += times * (std::max(x, 0) + std::max(y, 0));
      below_[i] -= times * (std::min(x, 0) + std::min(y, 0));
    }
  }

  int32_t largest() const {
    int32_t most = 0;
    for (size_t i = 0; i < above_.size(); ++i) most = std::max({most, above_[i], below_[i]});
    return most;
  }

 private:
  std::vector<int32_t> above_, below_;
};

/* The fours of a panel that were moved out of it. */
class Apart {
 public:
  Apart(int8_t *panel, int64_t row_bytes) : panel_(panel), row_bytes_(row_bytes) {}

  void move(int64_t four) {
    int8_t *row = panel_ + four * row_bytes_;
    fours_.push_back(static_cast<int32_t>(four));
    weights_.insert(weights_.end(), row, row + row_bytes_);
    std::memset(row, 0, static_cast<size_t>(row_bytes_));
  }

  void move_back() {
    for (size_t i = 0; i < fours_.size(); ++i) {
      std::memcpy(panel_ + fours_[i] * row_bytes_, weights_.data() + static_cast<int64_t>(i) * row_bytes_,
                  static_cast<size_t>(row_bytes_));
    }
  }

  int64_t count() const { return static_cast<int64_t>(fours_.size()); }

  void write(int8_t *numbers, int8_t *weights) const {
    const auto number = static_cast<int32_t>(count());
    std::memcpy(numbers, &number, sizeof number);
    if (number == 0) return; /* memcpy takes no null pointer, not even for no bytes */
    std::memcpy(numbers + sizeof number, fours_.data(), fours_.size() * sizeof number);
    std::memcpy(weights, weights_.data(), weights_.size());
  }

 private:
  int8_t *panel_;
  int64_t row_bytes_;
  std::vector<int32_t> fours_;
  std::vector<int8_t> weights_;
};

/* Moves fours until no group of so many makes too large a sum. Returns false once that are too many. */
bool move_large(int8_t *panel, const WeightLayout &layout, const Int8Kernels &kernels, int64_t added_fours, int64_t most,
                Apart &apart) {
  const int64_t row_bytes = int64_t{kernels.columns} * 4;
  const int64_t fours = fours_of(layout);
  for (int64_t i = 0; i < layout.taps * fours; i = std::min(i + added_fours, (i / fours + 1) * fours)) {
    const int64_t end = std::min(i + added_fours, (i / fours + 1) * fours);
    Sums all(kernels.columns);
    for (int64_t four = i; four < end; ++four) all.add(panel + four * row_bytes, 1);
    while (all.largest() > kMostSmallSum) {
      /* The one without which the others are smallest. */
      int64_t best = i;
      int32_t least = INT32_MAX;
      for (int64_t four = i; four < end; ++four) {
        Sums others = all;
        others.add(panel + four * row_bytes, -1);
        if (others.largest() >= least) continue;
        least = others.largest();
        best = four;
      }
      all.add(panel + best * row_bytes, -1);
      apart.move(best);
      if (apart.count() > most) return false;
    }
  }
  return true;
}

}  // namespace

size_t large_weights_bytes(const WeightLayout &layout, const Int8Kernels &kernels) {
  return static_cast<size_t>(number_bytes(layout) + most_apart(layout) * kernels.columns * 4);
}

bool set_large_apart(int8_t *panel, const WeightLayout &layout, const Int8Kernels &kernels, int8_t *behind) {
  std::memset(behind, 0, large_weights_bytes(layout, kernels));
  const int64_t most = most_apart(layout);
  for (const auto &[added_fours, allowed] : {std::pair(kManySmallFours, most / 4), std::pair(kFewSmallFours, most)}) {
    Apart apart(panel, int64_t{kernels.columns} * 4);
    if (move_large(panel, layout, kernels, added_fours, allowed, apart)) {
      const int32_t number = added_fours;
      std::memcpy(behind, &number, sizeof number);
      apart.write(behind + sizeof number, behind + number_bytes(layout));
      return true;
    }
    apart.move_back();
  }
  return false;
}

LargeWeights::LargeWeights(const std::byte *behind, const WeightLayout &layout)
    : numbers_(reinterpret_cast<const int32_t *>(behind)),
      weights_(reinterpret_cast<const int8_t *>(behind + number_bytes(layout))) {}

namespace {

constexpr int64_t kMostRows = 32; /* of a tile */
constexpr int64_t kRowsAhead = 16; /* of weights that are packed */

int64_t panels_of(const WeightLayout &layout, const Int8Kernels &kernels) {
  return ratio_up(layout.columns, kernels.columns);
}

/* The bytes of one panel, without its large weights behind it. */
int64_t panel_weight_bytes(const WeightLayout &layout, const Int8Kernels &kernels) {
  return layout.taps * fours_of(layout) * kernels.columns * 4;
}

/* Writes four rows with the weights of each column side by side. Bytes of rows that lack are left. */
void set_four(const uint8_t *first, int64_t rows, const WeightLayout &layout, int64_t width, uint8_t turned,
              int8_t *to) {
  if (rows == 4 && layout.column_stride == 1) { /* a loop that compilers vectorize */
    const uint8_t *second = first + layout.depth_stride;
    const uint8_t *third = second + layout.depth_stride;
    const uint8_t *fourth = third + layout.depth_stride;
    for (int64_t j = 0; j < width; ++j) {
      to[j * 4] = static_cast<int8_t>(first[j] ^ turned);
      to[j * 4 + 1] = static_cast<int8_t>(second[j] ^ turned);
      to[j * 4 + 2] = static_cast<int8_t>(third[j] ^ turned);
      to[j * 4 + 3] = static_cast<int8_t>(fourth[j] ^ turned);
    }
    return;
  }
  for (int64_t j = 0; j < width; ++j, first += layout.column_stride) {
    for (int64_t k = 0; k < rows; ++k) to[j * 4 + k] = static_cast<int8_t>(first[k * layout.depth_stride] ^ turned);
  }
}

/* Prefetches rows that are too far apart for the processor to fetch them by itself. */
void fetch_rows(const uint8_t *first, const WeightLayout &layout, int64_t width) {
  if (layout.column_stride != 1) return;
  for (int64_t k = 0; k < 4; ++k, first += layout.depth_stride) {
    __builtin_prefetch(first);
    __builtin_prefetch(first + width - 1);
  }
}

void add_columns(const int8_t *four, int64_t width, int32_t *sums) {
  for (int64_t j = 0; j < width; ++j) {
    sums[j] += static_cast<int16_t>(four[j * 4] + four[j * 4 + 1] + four[j * 4 + 2] + four[j * 4 + 3]);
  }
}

/* From the four bytes of each column side by side to the order that gemm_tile reads. */
void arrange(int8_t *panel, int64_t fours, const Int8Kernels &kernels) {
  const int64_t row_bytes = int64_t{kernels.columns} * 4;
  std::vector<int8_t> row(static_cast<size_t>(row_bytes));
  for (int64_t i = 0; i < fours; ++i, panel += row_bytes) {
    std::memcpy(row.data(), panel, row.size());
    for (int64_t j = 0; j < kernels.columns; ++j) {
      for (int64_t k = 0; k < 4; ++k) panel[kernels.place_in_four(k, j)] = row[static_cast<size_t>(j * 4 + k)];
    }
  }
}

}  // namespace

size_t int8_panel_bytes(const WeightLayout &layout, const Int8Kernels &kernels, bool seeks_small) {
  const size_t bytes = static_cast<size_t>(panel_weight_bytes(layout, kernels) + kernels.columns * 4);
  return bytes + (seeks_small ? large_weights_bytes(layout, kernels) : 0);
}

size_t int8_packed_bytes(const WeightLayout &layout, const Int8Kernels &kernels, bool seeks_small) {
  return aligned_bytes(int8_panel_bytes(layout, kernels, seeks_small) * static_cast<size_t>(panels_of(layout, kernels)));
}

void pack_int8(const uint8_t *weights, bool is_signed, const WeightLayout &layout,
               const Int8Kernels &kernels, bool seeks_small, std::byte *packed) {
  const uint8_t turned = is_signed ? 0 : 0x80;
  for (int64_t first = 0; first < layout.columns; first += kernels.columns) {
    auto *panel = reinterpret_cast<int8_t *>(packed);
    std::vector<int32_t> column_sums(static_cast<size_t>(kernels.columns), 0);
    std::memset(panel, 0, static_cast<size_t>(panel_weight_bytes(layout, kernels)));
    const int64_t width = std::min<int64_t>(kernels.columns, layout.columns - first);
    for (int64_t t = 0; t < layout.taps; ++t) {
      const uint8_t *source = weights + t * layout.tap_stride + first * layout.column_stride;
      for (int64_t k = 0; k < layout.depth; k += 4) {
        const int64_t rows = std::min<int64_t>(4, layout.depth - k);
        fetch_rows(source + (k + kRowsAhead) * layout.depth_stride, layout, width);
        set_four(source + k * layout.depth_stride, rows, layout, width, turned, panel);
        add_columns(panel, width, column_sums.data());
        panel += kernels.columns * 4;
      }
    }
    std::memcpy(panel, column_sums.data(), column_sums.size() * 4);
    auto *begin = reinterpret_cast<int8_t *>(packed);
    const bool is_small = seeks_small && set_large_apart(begin, layout, kernels, panel + kernels.columns * 4);
    if (kernels.widen != nullptr && !is_small) arrange(begin, layout.taps * fours_of(layout), kernels);
    packed += int8_panel_bytes(layout, kernels, seeks_small);
  }
}

int64_t int8_columns(const WeightLayout &layout, const Int8Kernels &kernels) {
  return panels_of(layout, kernels) * kernels.columns;
}

/* sum (a - z) (b - y) = sum a b - z sum b - y sum a + k z y; the kernel takes off y sum a.
 *
 * Sums of columns are far apart, one line or two behind each panel: those of some panels are fetched together.
 */
void fold_int8(const Int8Params &params, int64_t first, const WeightLayout &layout, const Int8Kernels &kernels,
               bool seeks_small, const std::byte *packed, int32_t *folded) {
  const int32_t left = params.left_zero_point + kernels.read_offset[params.left_is_signed ? 1 : 0];
  const int32_t right = params.right_zero_point - (params.right_is_signed ? 0 : 128);
  const auto count = static_cast<int32_t>(layout.taps * layout.depth);
  const int64_t weight_bytes = panel_weight_bytes(layout, kernels);
  const auto panel_bytes = static_cast<int64_t>(int8_panel_bytes(layout, kernels, seeks_small));
  constexpr int64_t kAhead = 8; /* panels */
  const auto fetch = [&](const std::byte *sums) {
    for (int64_t line = 0; line < kernels.columns * 4; line += 64) __builtin_prefetch(sums + line);
  };
  for (int64_t panel = 0; panel < kAhead; ++panel) fetch(packed + panel * panel_bytes + weight_bytes);
  for (int64_t column = 0; column < layout.columns; column += kernels.columns) {
    const auto *column_sums = reinterpret_cast<const int32_t *>(packed + weight_bytes);
    fetch(packed + kAhead * panel_bytes + weight_bytes);
    for (int64_t j = column; j < column + kernels.columns; ++j) {
      const bool has_bias = !params.bias.empty() && j < layout.columns;
      const int64_t own = has_bias ? params.bias[static_cast<size_t>(first + j)] : 0;
      folded[j] = static_cast<int32_t>(own - int64_t{left} * (column_sums[j - column] - int64_t{count} * right));
    }
    packed += panel_bytes;
  }
}

Int8Gemv int8_gemv(const std::byte *packed, const WeightLayout &layout, const Int8Kernels &kernels, bool seeks_small) {
  Int8Gemv product{};
  product.depth = layout.depth;
  product.panels = reinterpret_cast<const int8_t *>(packed);
  product.panel_bytes = static_cast<int64_t>(int8_panel_bytes(layout, kernels, seeks_small));
  if (seeks_small) {
    product.small_offset = static_cast<int64_t>(int8_panel_bytes(layout, kernels, false));
    product.large_offset = product.small_offset + number_bytes(layout);
  }
  return product;
}

bool seeks_small_weights(const Int8Params &params, const WeightLayout &layout, const Int8Kernels &kernels) {
  return kernels.small_weights_tile != nullptr && !params.left_is_signed && layout.depth >= kFewSmallFours * 4;
}

void Int8Weights::prepare(const Setup &setup, TensorId &weights, const WeightLayout &layout, int64_t count,
                          int64_t stride, const Int8Params &params, const std::string &recipe, bool may_be_small) {
  const Int8Kernels &kernels = setup.kernels.int8;
  const auto *source = static_cast<const uint8_t *>(setup[weights].constant);
  seeks_small = may_be_small && seeks_small_weights(params, layout, kernels);
  matrix_bytes = int8_packed_bytes(layout, kernels, seeks_small);
  columns = int8_columns(layout, kernels);
  packed = setup.packed.get(
      source, "int8 " + layout.recipe() + " " + recipe + (seeks_small ? "small " : "") + setup.kernels.name, matrix_bytes * static_cast<size_t>(count),
      [&](void *memory) {
        for (int64_t i = 0; i < count; ++i) {
          pack_int8(source + i * stride, params.right_is_signed, layout, kernels, seeks_small,
                    static_cast<std::byte *>(memory) + static_cast<size_t>(i) * matrix_bytes);
        }
      });
  weights = kNone;
  folded.resize(static_cast<size_t>(count * columns));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = static_cast<int64_t>(params.multipliers.size()) > layout.columns ? i * layout.columns : 0;
    fold_int8(params, first, layout, kernels, seeks_small, matrix(i), folded.data() + i * columns);
    const auto begin = params.multipliers.begin() + first;
    scales.insert(scales.end(), begin, begin + layout.columns);
    scales.resize(static_cast<size_t>((i + 1) * columns), 0.0f);
  }
}

costs::Work byte_gemm_work(int64_t rows, const WeightLayout &layout, const Int8Kernels &kernels) {
  const auto depth = static_cast<double>(layout.taps * fours_of(layout) * 4);
  const auto sums = static_cast<double>(rows * ratio_up(layout.columns, kernels.lanes) * kernels.lanes);
  costs::Work work;
  const double one = kernels.widen == nullptr ? costs::kByteMultiplyAdd : costs::kWidenedByteMultiplyAdd;
  const double weights = static_cast<double>(layout.columns) * depth;
  work.add(costs::multiply_add, one * sums * depth)
      .add(costs::weight_row, weights / static_cast<double>(kernels.columns * sizeof(float)))
      .add(costs::element, costs::kStoredByteElements * sums / kernels.lanes);
  return work;
}

costs::Work int8_gemm_work(int64_t rows, const WeightLayout &layout, const Kernels &kernels, bool in_tile_registers) {
  return in_tile_registers ? tile_register_work(rows, layout, 1) : byte_gemm_work(rows, layout, kernels.int8);
}

bool suits_tile_registers(int64_t rows, const WeightLayout &layout, const Kernels &kernels) {
  if (kernels.int8_in_tile_registers.gemm_tile == nullptr || rows < costs::kTileRegisterRows) return false;
  if (!costs::knows_tile_registers()) return true; /* who named such a level wants it */
  const costs::Machine &machine = costs::machine(kernels.lanes);
  return machine.ns_of(tile_register_work(rows, layout, 1)) < machine.ns_of(byte_gemm_work(rows, layout, kernels.int8));
}

Tiling int8_gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup) {
  const bool in_tile_registers = suits_tile_registers(rows, layout, setup.kernels);
  const Int8Kernels &kernels = int8_gemm_kernels(setup.kernels, in_tile_registers);
  const int64_t tiles = std::max<int64_t>(1, ratio_up(rows, kernels.rows));
  const int64_t panels = std::max<int64_t>(1, panels_of(layout, kernels));
  const double one_ns = setup.machine().ns_of(int8_gemm_work(rows, layout, setup.kernels, in_tile_registers));
  const double all_ns = one_ns * static_cast<double>(repeats);
  const int32_t threads = setup.threads_for(all_ns);
  const int64_t wanted =
      threads == 1 ? 1 : std::clamp<int64_t>(static_cast<int64_t>(all_ns / costs::kInt8TaskNs), 1, 4 * threads);
  int64_t tiles_per_task = wanted == 1 && threads > 1 ? tiles : std::min(tiles, costs::kTilesPerTask);
  while (tiles_per_task > 2 && ratio_up(tiles, tiles_per_task) * repeats < wanted) {
    tiles_per_task = (tiles_per_task + 1) / 2;
  }
  const int64_t row_tasks = std::max<int64_t>(1, ratio_up(tiles, tiles_per_task) * repeats);
  const int64_t column_tasks = std::clamp<int64_t>(wanted / row_tasks, 1, panels);
  return {rows, layout.columns, tiles_per_task * kernels.rows,
          ratio_up(panels, column_tasks) * kernels.columns, one_ns, threads};
}

size_t int8_task_bytes(const Tiling &tiling, const WeightLayout &layout, const Kernels &kernels) {
  const size_t pointers = pointer_bytes(tiling, layout);
  if (kernels.int8.widen == nullptr) return pointers;
  return pointers + widened_bytes(layout, kernels.int8, tiling.rows_per_task);
}

namespace {

/* Applies the epilogue to the results that a task has stored. */
void run_int8_epilogue(const Int8GemmTask &gemm, const Tiling::Range &range, const Int8Kernels &kernels) {
  auto *c = reinterpret_cast<uint8_t *>(gemm.c) + range.first_row * gemm.c_stride + range.first_column;
  if (range.columns() == gemm.c_stride) return gemm.epilogue(kernels, c, range.columns() * range.rows());
  for (int64_t i = 0; i < range.rows(); ++i) gemm.epilogue(kernels, c + i * gemm.c_stride, range.columns());
}

}  // namespace

namespace {

/* As NextPanel of floats. */
class NextInt8Panel {
 public:
  /* Args: panel: nullptr: none. */
  NextInt8Panel(const int8_t *panel, size_t bytes, int64_t fours) {
    if (panel == nullptr || fours < costs::kLeastFetchedFours) return;
    next_ = panel;
    end_ = panel + bytes;
    part_bytes_ = fours * 64;
  }

  /* The part of the next panel that a tile fetches; nullptr when all is fetched. */
  const int8_t *part() { return next_ < end_ ? std::exchange(next_, next_ + part_bytes_) : nullptr; }

 private:
  const int8_t *next_ = nullptr;
  const int8_t *end_ = nullptr;
  int64_t part_bytes_ = 0;
};

using RunTile = void (*)(const Int8GemmTile &tile);

/* The tiles of one task. */
class Int8TilesOfTask {
 public:
  Int8TilesOfTask(const Int8GemmTask &gemm, const Tiling &tiling, const Tiling::Range &range,
                  const Int8Kernels &kernels, const uint8_t **pointers)
      : gemm_(gemm),
        kernels_(kernels),
        range_(range),
        pointers_(pointers),
        room_(reinterpret_cast<int16_t *>(reinterpret_cast<std::byte *>(pointers) + pointer_bytes(tiling, gemm.layout))),
        panel_bytes_(int8_panel_bytes(gemm.layout, kernels, gemm.seeks_small)) {
    const Int8Params &params = gemm.params;
    tile_.rows_stride = kernels.rows;
    tile_.taps = gemm.layout.taps;
    tile_.depth = gemm.layout.depth;
    tile_.is_signed = params.left_is_signed;
    tile_.b_zero_point = params.right_zero_point - (params.right_is_signed ? 0 : 128);
    tile_.c_stride = gemm.c_stride;
    tile_.requantization = params.requantization();
  }

  PanelsOfTask panels() const {
    PanelsOfTask has{};
    for_each_panel([&](int64_t column) { (large_of(column).is_small() ? has.small_ones : has.others) = true; });
    return has;
  }

  void run(Int8Rows rows) {
    const bool sums_rows = tile_.b_zero_point != 0;
    const bool are_bytes = rows != Int8Rows::widened;
    const bool has_others = rows != Int8Rows::for_small_weights && (!gemm_.seeks_small || panels().others);
    const bool widens = kernels_.widen != nullptr && has_others && are_bytes;
    const int64_t most = widens      ? widened_rows(gemm_.layout, kernels_)
                         : sums_rows ? kMostTiles * kernels_.rows
                                     : range_.rows();
    for (int64_t top = range_.first_row; top < range_.last_row; top += most) {
      const int64_t bottom = std::min(top + most, range_.last_row);
      if (gemm_.seeks_small && are_bytes) {
        if (sums_rows) sum_rows(top, bottom, kernels_.sum_unsigned_rows);
        for_each_panel([&](int64_t column) {
          const LargeWeights large = large_of(column);
          if (!large.is_small()) return;
          large.name(tile_);
          run_panel(column, top, bottom, kernels_.small_weights_tile);
        });
        if (!has_others) continue;
      }
      if (widens) widen_block(gemm_.layout, kernels_, tile_.is_signed, rows_at(top), bottom - top, room_);
      if (sums_rows && !(gemm_.seeks_small && are_bytes)) sum_rows(top, bottom, kernels_.sum_rows);
      for_each_panel([&](int64_t column) {
        if (gemm_.seeks_small && large_of(column).is_small()) return;
        run_panel(column, top, bottom, kernels_.gemm_tile);
      });
    }
  }

 private:
  template <typename Body>
  void for_each_panel(const Body &body) const {
    for (int64_t column = range_.first_column; column < range_.last_column; column += kernels_.columns) body(column);
  }

  const std::byte *panel(int64_t column) const {
    return gemm_.packed + static_cast<size_t>(column / kernels_.columns) * panel_bytes_;
  }

  LargeWeights large_of(int64_t column) const {
    return {panel(column) + panel_bytes_ - large_weights_bytes(gemm_.layout, kernels_), gemm_.layout};
  }

  const uint8_t **rows_at(int64_t row) const { return pointers_ + (row - range_.first_row) * tile_.taps; }

  void sum_rows(int64_t top, int64_t bottom, void (*sum)(const Int8GemmTile &tile, int32_t *sums)) {
    for (int64_t row = top; row < bottom; row += kernels_.rows) {
      tile_.rows = rows_at(row);
      tile_.row_count = static_cast<int32_t>(std::min<int64_t>(kernels_.rows, bottom - row));
      sum(tile_, row_sums_ + (row - top));
    }
  }

  void run_panel(int64_t column, int64_t top, int64_t bottom, RunTile run_tile) {
    const int64_t size = gemm_.scales == nullptr ? 4 : 1;
    tile_.b = reinterpret_cast<const int8_t *>(panel(column));
    tile_.bias = gemm_.bias + column;
    if (gemm_.real != nullptr) {
      real_ = *gemm_.real;
      if (real_.whole != nullptr) real_.whole += column;
      if (real_.shift != nullptr) real_.shift += column;
      if (real_.column_scales != nullptr) real_.column_scales += column;
      tile_.real = &real_;
    }
    tile_.requantization.scales = gemm_.scales == nullptr ? nullptr : gemm_.scales + column;
    tile_.column_count = static_cast<int32_t>(std::min<int64_t>(kernels_.columns, range_.last_column - column));
    tile_.rows = rows_at(top);
    tile_.row_sums = row_sums_;
    std::byte *c = gemm_.c + (top * gemm_.c_stride + column) * size;
    const bool has_next = column + kernels_.columns < range_.last_column;
    NextInt8Panel ahead(has_next ? tile_.b + panel_bytes_ : nullptr, panel_bytes_, tile_.taps * fours_of(gemm_.layout));
    const int64_t pointers = kernels_.rows * tile_.taps;
    const int64_t bytes = kernels_.rows * gemm_.c_stride * size;
    for (int64_t left = bottom - top; left > 0; left -= kernels_.rows) {
      tile_.row_count = static_cast<int32_t>(std::min<int64_t>(kernels_.rows, left));
      tile_.c = c;
      tile_.ahead = ahead.part();
      run_tile(tile_);
      tile_.rows += pointers;
      if (tile_.b_zero_point != 0) tile_.row_sums += kernels_.rows;
      c += bytes;
    }
  }

  const Int8GemmTask &gemm_;
  const Int8Kernels &kernels_;
  const Tiling::Range &range_;
  const uint8_t **pointers_;
  int16_t *room_;
  size_t panel_bytes_;
  Int8GemmTile tile_{};
  DequantizedAccumulators real_{};
  int32_t row_sums_[kMostTiles * kMostRows];
};

}  // namespace

PanelsOfTask panels_of_task(const Int8GemmTask &gemm, const Tiling &tiling, const Tiling::Range &range,
                            const Int8Kernels &kernels) {
  if (!gemm.seeks_small) return {false, true};
  return Int8TilesOfTask(gemm, tiling, range, kernels, nullptr).panels();
}

void run_int8_gemm_tiles(const Int8GemmTask &gemm, const Tiling &tiling, const Tiling::Range &range,
                         const Int8Kernels &kernels, const uint8_t **pointers, Int8Rows rows) {
  Int8TilesOfTask tiles(gemm, tiling, range, kernels, pointers);
  TileState kept;
  if (kernels.begin_tiles != nullptr) kernels.begin_tiles(kept, gemm.layout.depth);
  tiles.run(rows);
  if (kernels.end_tiles != nullptr) kernels.end_tiles(kept);
  if (rows != Int8Rows::for_small_weights && !gemm.epilogue.is_nothing()) run_int8_epilogue(gemm, range, kernels);
}

namespace {

/* The right side may be packed ahead. */
class Int8Gemm final : public WithInt8Epilogue {
 public:
  Int8Gemm(TensorId left, TensorId right, TensorId out, GemmShape shape, Int8Params params)
      : WithInt8Epilogue({left, right}, out, std::move(params)), shape_(std::move(shape)) {}

  size_t prepare(const Setup &setup) override {
    const WeightLayout &layout = shape_.layout;
    const Tensor &right = setup[inputs[1]];
    stride_ = layout.depth * layout.columns;
    matrices_ = right.count() / std::max<int64_t>(1, stride_);
    tiling_ = int8_gemm_tiling(shape_.rows, layout, elements(shape_.batch), setup);
    in_tile_registers_ = suits_tile_registers(shape_.rows, layout, setup.kernels);
    kernel = int8_gemm_kernel(in_tile_registers_);
    work = scaled(int8_gemm_work(shape_.rows, layout, setup.kernels, in_tile_registers_),
                  static_cast<double>(elements(shape_.batch)));
    task_bytes_ = int8_task_bytes(tiling_, layout, setup.kernels);
    const size_t tasks = task_bytes_ * static_cast<size_t>(setup.threads);
    if (right.constant != nullptr) {
      weights_.prepare(setup, inputs[1], layout, matrices_, stride_, params_, "", true);
      return tasks;
    }
    weights_.matrix_bytes = int8_packed_bytes(layout, setup.kernels.int8, false);
    weights_.columns = int8_columns(layout, setup.kernels.int8);
    weights_.scales = filled_multipliers(layout.columns, setup.kernels.int8.columns);
    const auto folded = static_cast<size_t>(weights_.columns * matrices_) * sizeof(int32_t);
    return tasks + weights_.matrix_bytes * static_cast<size_t>(matrices_) + aligned_bytes(folded);
  }

  void run(const Frame &frame) const override {
    const WeightLayout &layout = shape_.layout;
    const std::byte *packed = weights_.matrix(0);
    const int32_t *folded = weights_.folded.data();
    if (packed == nullptr) {
      auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), task_bytes_);
      auto *sums = reinterpret_cast<int32_t *>(memory + weights_.matrix_bytes * static_cast<size_t>(matrices_));
      pack(frame, memory, sums);
      packed = memory;
      folded = sums;
    }
    const Int8Epilogue epilogue = epilogue_of(frame);
    const int64_t tasks = tiling_.tasks();
    frame.for_each(elements(shape_.batch) * tasks, tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      const int64_t item = i / tasks;
      const uint8_t *rows = frame.in<uint8_t>(inputs[0]) + shape_.left_of(item) * layout.depth;
      const int64_t matrix = shape_.right_of(item);
      const Int8GemmTask gemm{layout,
                              params_,
                              packed + static_cast<size_t>(matrix) * weights_.matrix_bytes,
                              folded + matrix * weights_.columns,
                              weights_.scales.data(),
                              weights_.seeks_small,
                              frame.out<std::byte>(outputs[0]) + item * shape_.rows * layout.columns,
                              layout.columns,
                              epilogue};
      run_int8_gemm_task(gemm, tiling_, i % tasks, int8_gemm_kernels(frame.kernels, in_tile_registers_),
                         frame.scratch_of<const uint8_t *>(thread, task_bytes_),
                         [&](int64_t row, const uint8_t **to, int64_t) { *to = rows + row * layout.depth; });
    });
  }

 private:
  /* A right side that is computed. */
  void pack(const Frame &frame, std::byte *packed, int32_t *folded) const {
    const auto *right = frame.in<uint8_t>(inputs[1]);
    frame.for_each(matrices_, costs::kWorthSplittingNs, [&](int64_t i, int32_t) {
      std::byte *to = packed + static_cast<size_t>(i) * weights_.matrix_bytes;
      pack_int8(right + i * stride_, params_.right_is_signed, shape_.layout, frame.kernels.int8, false, to);
      fold_int8(params_, 0, shape_.layout, frame.kernels.int8, false, to, folded + i * weights_.columns);
    });
  }

  GemmShape shape_;
  Tiling tiling_{};
  bool in_tile_registers_ = false;
  int64_t matrices_ = 0;
  int64_t stride_ = 0; /* from one of them to the next */
  size_t task_bytes_ = 0;
  Int8Weights weights_; /* of weights that are computed, the scales only */
};

}  // namespace

OperationPtr int8_gemm(TensorId left, TensorId right, TensorId out, GemmShape shape, Int8Params params) {
  return std::make_unique<Int8Gemm>(left, right, out, std::move(shape), std::move(params));
}

namespace {

/* Wraps around. */
int32_t added(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
}

/* Windows of [N, H, W, C] * weights -> [N, H', W', O]; a product of matrices has windows of one
 * element. Inputs: data, weights, and, each of them or kNone, their zero points, then what makes real
 * numbers of the sums: added to the sums, multiplied with, added then.
 */
class IntegerGemm final : public Operation {
 public:
  IntegerGemm(std::vector<TensorId> operands, TensorId out, Windows windows, WeightLayout layout)
      : Operation(std::move(operands), {out}), windows_(windows), layout_(layout) {
    inputs.resize(kInputs, kNone);
  }

  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    if (is_real_) slots.function = &function_;
    if (function_.function != Function::identity) return slots;
    TensorId &bias = inputs[is_real_ ? kShift : kWhole];
    if (bias == kNone) slots.bias = &bias;
    slots.columns = layout_.columns;
    if (!is_real_) slots.dequantizes = &is_real_;
    if (is_real_ && bias == kNone && inputs[kScale] == kNone) slots.scale = &inputs[kScale];
    return slots;
  }

  size_t prepare(const Setup &setup) override {
    const Tensor &weights = setup[inputs[1]];
    const Int8Kernels &kernels = setup.kernels.int8;
    const Windows &w = windows_;
    params_.left_is_signed = setup[inputs[0]].type == ARMNN_SIGNED8;
    params_.right_is_signed = weights.type == ARMNN_SIGNED8;
    const int64_t rows = w.batch * w.output_height * w.output_width;
    tiling_ = int8_gemm_tiling(rows, layout_, 1, setup);
    in_tile_registers_ = suits_tile_registers(rows, layout_, setup.kernels);
    kernel = int8_gemm_kernel(in_tile_registers_);
    work = int8_gemm_work(rows, layout_, setup.kernels, in_tile_registers_);
    if (weights.constant != nullptr) {
      seeks_small_ = seeks_small_weights(params_, layout_, kernels);
      const std::string recipe = "int8 " + layout_.recipe() + " " + (seeks_small_ ? "small " : "") + setup.kernels.name;
      packed_ = setup.packed.get(weights.constant, recipe,
                                 int8_packed_bytes(layout_, kernels, seeks_small_), [&](void *memory) {
                                   pack(static_cast<const uint8_t *>(weights.constant), kernels, memory);
                                 });
      inputs[1] = kNone;
    }
    task_bytes_ = int8_task_bytes(tiling_, layout_, setup.kernels);
    image_.prepare(layout_, kernels, setup[inputs[0]].count());
    folded_bytes_ = aligned_bytes(static_cast<size_t>(int8_columns(layout_, kernels)) * sizeof(int32_t));
    return task_bytes_ * static_cast<size_t>(setup.threads) + folded_bytes_ +
           aligned_bytes(static_cast<size_t>(layout_.depth)) + image_.bytes() +
           (packed_ ? 0 : int8_packed_bytes(layout_, kernels, false));
  }

  void run(const Frame &frame) const override {
    const Int8Kernels &kernels = int8_gemm_kernels(frame.kernels, in_tile_registers_);
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), task_bytes_);
    auto *folded = reinterpret_cast<int32_t *>(memory);
    auto *outside = reinterpret_cast<uint8_t *>(memory + folded_bytes_);
    std::byte *image = memory + folded_bytes_ + aligned_bytes(static_cast<size_t>(layout_.depth));
    std::byte *room = image + image_.bytes();
    if (!packed_) pack(frame.in<uint8_t>(inputs[1]), kernels, room);
    const auto *packed = packed_ ? static_cast<const std::byte *>(packed_.get()) : room;
    Int8Params params = params_;
    params.left_zero_point = zero_point(frame, inputs[2], params.left_is_signed);
    params.right_zero_point = zero_point(frame, inputs[3], params.right_is_signed);
    fold_int8(params, 0, layout_, kernels, seeks_small_, packed, folded);
    std::memset(outside, params.left_zero_point, static_cast<size_t>(layout_.depth));
    if (image_.is_there()) {
      image_.widen(frame, frame.in<uint8_t>(inputs[0]), params.left_is_signed, params.left_zero_point, image);
    }
    const float *scale = frame.in<float>(inputs[kScale]);
    const DequantizedAccumulators real{frame.in<int32_t>(inputs[kWhole]), scale == nullptr ? 1.0f : *scale,
                                       frame.in<float>(inputs[kShift])};
    const Int8GemmTask gemm{layout_, params, packed, folded, nullptr, seeks_small_, frame.out<std::byte>(outputs[0]),
                            layout_.columns, {}, is_real_ ? &real : nullptr};
    frame.for_each(tiling_.tasks(), tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      auto *table = frame.scratch_of<const uint8_t *>(thread, task_bytes_);
      const Indirection<uint8_t> bytes(windows_, frame.in<uint8_t>(inputs[0]), outside);
      if (image_.is_there()) {
        run_int8_gemm_task(gemm, tiling_, i, kernels, table, Indirection<uint8_t>(bytes),
                           Indirection<int16_t>(windows_, WidenedImage::image(image), image_.outside(image)));
      } else {
        run_int8_gemm_task(gemm, tiling_, i, kernels, table, Indirection<uint8_t>(bytes));
      }
      finish(frame, tiling_.range(i));
    });
  }

 private:
  enum Input : size_t { kWhole = 4, kScale, kShift, kInputs };

  /* Finishes the results that a task has just made. */
  void finish(const Frame &frame, const Tiling::Range &range) const {
    const bool adds_whole = !is_real_ && inputs[kWhole] != kNone;
    if (!adds_whole && function_.function == Function::identity) return;
    const int64_t columns = range.columns();
    const int64_t place = range.first_row * layout_.columns + range.first_column;
    if (adds_whole) {
      const int32_t *whole = frame.in<int32_t>(inputs[kWhole]) + range.first_column;
      int32_t *sums = frame.out<int32_t>(outputs[0]) + place;
      for (int64_t i = 0; i < range.rows(); ++i, sums += layout_.columns) {
        for (int64_t j = 0; j < columns; ++j) sums[j] = added(sums[j], whole[j]);
      }
      return;
    }
    float *made = frame.out<float>(outputs[0]) + place;
    const bool is_dense = columns == layout_.columns;
    const int64_t count = is_dense ? range.rows() * columns : columns;
    for (int64_t i = 0; i < (is_dense ? 1 : range.rows()); ++i, made += layout_.columns) {
      frame.kernels.elementwise(function_, made, made, count);
    }
  }

  void pack(const uint8_t *weights, const Int8Kernels &kernels, void *memory) const {
    pack_int8(weights, params_.right_is_signed, layout_, kernels, seeks_small_, static_cast<std::byte *>(memory));
  }

  static int32_t zero_point(const Frame &frame, TensorId id, bool is_signed) {
    if (id == kNone) return 0;
    return is_signed ? int32_t{*frame.in<int8_t>(id)} : int32_t{*frame.in<uint8_t>(id)};
  }

  Windows windows_;
  WeightLayout layout_;
  Int8Params params_;
  bool is_real_ = false;
  Elementwise function_{Function::identity, 0.0f, 0.0f};
  Tiling tiling_{};
  bool in_tile_registers_ = false;
  bool seeks_small_ = false; /* panels that are packed ahead */
  size_t task_bytes_ = 0;
  size_t folded_bytes_ = 0;
  WidenedImage image_;
  std::shared_ptr<const void> packed_;
};

}  // namespace

OperationPtr integer_gemm(std::vector<TensorId> operands, TensorId out, const Windows &windows,
                          const WeightLayout &layout) {
  return std::make_unique<IntegerGemm>(std::move(operands), out, windows, layout);
}

}  // namespace cpuacc
