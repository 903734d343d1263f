/* SPDX-License-Identifier: MIT */
/* Blocks of a product in tile registers: up to 32 rows and 32 columns, in four registers of sums.
 *
 * A register of the left side has 16 rows of 64 bytes, one of the right side 16 columns of as many: of a
 * panel, which has four bytes, or a pair of bfloat16 numbers, of each of its 32 columns side by side. The
 * last bytes of a row have two registers of their own shape, as shapes are not changed within a task.
 */
#pragma once

#include CPUACC_TILE_REGISTERS_HEADER /* isa/tile_registers_<instruction set>.h, by levels.toml */

#include <cstring>

#include "kernels/kernels.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int32_t kTileRows = 16;
constexpr int64_t kTileRowBytes = 64;
constexpr int64_t kTileColumns = 16;
constexpr int32_t kBlockRows = 2 * kTileRows;
constexpr int32_t kBlockColumns = 2 * kTileColumns;
constexpr int64_t kPanelStep = kBlockColumns * 4; /* bytes from four bytes of a column to the next four */
constexpr int64_t kSumStep = kBlockColumns * 4;

/* The registers. Sums: 0 to 3, by rows. */
constexpr int kLeft = 4, kRight = 5, kLastLeft = 6, kLastRight = 7;

static_assert(sizeof(TileShapes) == sizeof(TileState), "what begin_tiles keeps");

/* Sets the shapes for rows of so many bytes, and keeps those of another library, or none. */
inline void begin_tiles(TileState &kept, int64_t row_bytes) {
  keep_tile_shapes(reinterpret_cast<TileShapes &>(kept));
  const int64_t last_fours = (row_bytes % kTileRowBytes + 3) / 4;
  TileShapes shapes{};
  shapes.palette = 1;
  for (int i = 0; i < 8; ++i) {
    shapes.rows[i] = kTileRows;
    shapes.row_bytes[i] = kTileRowBytes;
  }
  if (last_fours != 0) {
    shapes.row_bytes[kLastLeft] = static_cast<uint16_t>(last_fours * 4);
    shapes.rows[kLastRight] = static_cast<uint8_t>(last_fours);
  }
  load_tile_shapes(shapes);
}

/* Without tiles the core may rest deeper, and its state is switched faster. */
inline void end_tiles(const TileState &kept) {
  const auto &shapes = reinterpret_cast<const TileShapes &>(kept);
  shapes.palette == 0 ? release_tile_registers() : load_tile_shapes(shapes);
}

/* A block of sums of products. */
template <typename Number>
struct TileBlock {
  const Number *const *rows;
  int64_t rows_stride;
  int64_t taps;
  int64_t row_bytes; /* of each tap */
  const uint8_t *panel;
  int32_t row_count; /* 1 .. kBlockRows */
};

/* The rows of a register on the left side, tap by tap. */
class LeftTile {
 public:
  /* Args: bytes: of a row. */
  void begin(int32_t first, int32_t count, int64_t bytes) {
    first_ = first;
    count_ = count;
    row_bytes_ = bytes;
    last_bytes_ = bytes % kTileRowBytes;
    /* Bytes behind a row, and rows that are not there, must be no NaN. */
    if (count < kTileRows) std::memset(copies_, 0, sizeof copies_);
    if (count < kTileRows || last_bytes_ != 0) std::memset(last_, 0, sizeof last_);
  }

  template <typename Number>
  void point(const Number *const *rows) {
    for (int32_t r = 0; r < count_; ++r) rows_[r] = reinterpret_cast<const uint8_t *>(rows[first_ + r]);
    is_even_ = count_ == kTileRows;
    if (!is_even_) return;
    step_ = rows_[1] - rows_[0];
    for (int32_t r = 2; r < kTileRows; ++r) is_even_ &= rows_[r] - rows_[r - 1] == step_;
  }

  /* Whole registers, from byte k of each row on. Args: is_again: they were loaded before. */
  void load(int64_t k, bool is_again) {
    if (is_even_) return load_tile<kLeft>(rows_[0] + k, step_);
    if (!is_again) copy(copies_, k, kTileRowBytes);
    load_tile<kLeft>(copies_, kTileRowBytes);
  }

  void load_last(bool is_again) {
    const int64_t k = row_bytes_ - last_bytes_;
    if (is_even_ && last_bytes_ % 4 == 0) return load_tile<kLastLeft>(rows_[0] + k, step_);
    if (!is_again) copy(last_, k, last_bytes_);
    load_tile<kLastLeft>(last_, kTileRowBytes);
  }

 private:
  void copy(uint8_t *to, int64_t k, int64_t bytes) const {
    for (int32_t r = 0; r < count_; ++r) std::memcpy(to + r * kTileRowBytes, rows_[r] + k, static_cast<size_t>(bytes));
  }

  const uint8_t *rows_[kTileRows];
  int32_t first_, count_;
  int64_t row_bytes_, last_bytes_;
  int64_t step_;
  bool is_even_; /* the rows are equally far apart: registers are loaded from where they are */
  alignas(64) uint8_t copies_[kTileRows * kTileRowBytes];
  alignas(64) uint8_t last_[kTileRows * kTileRowBytes];
};

/* One step: each left register by each right one. A left register is loaded twice where all are there, so that
 * one register of each side is enough.
 */
template <int RowTiles, int ColumnTiles, typename Products, int Left, int Right, typename LoadLeft>
inline void multiply_step(const uint8_t *panel, const LoadLeft &load_left) {
  load_left(0, false);
  load_tile<Right>(panel, kPanelStep);
  Products::template add<0, Left, Right>();
  if constexpr (RowTiles == 2) {
    load_left(1, false);
    Products::template add<2, Left, Right>();
  }
  if constexpr (ColumnTiles == 2) {
    load_tile<Right>(panel + kTileRowBytes, kPanelStep);
    if constexpr (RowTiles == 2) {
      Products::template add<3, Left, Right>();
      load_left(0, true);
    }
    Products::template add<1, Left, Right>();
  }
}

/* Writes kBlockRows rows of kBlockColumns sums, those that are there. Where rows end within a register, two
 * overlap, or it is filled up with zeros.
 */
template <int RowTiles, int ColumnTiles, typename Products, typename Number>
inline void multiply_block(const TileBlock<Number> &block, void *sums) {
  const int32_t second = RowTiles == 2 ? block.row_count - kTileRows : 0;
  const int32_t count = block.row_count < kTileRows ? block.row_count : kTileRows;
  LeftTile left[RowTiles]; /* their bytes are written where they are read */
  left[0].begin(0, count, block.row_bytes);
  if constexpr (RowTiles == 2) left[1].begin(second, count, block.row_bytes);
  clear_tile<0>();
  clear_tile<1>();
  clear_tile<2>();
  clear_tile<3>();
  const uint8_t *panel = block.panel;
  const int64_t whole = block.row_bytes / kTileRowBytes * kTileRowBytes;
  const int64_t fours = (block.row_bytes + 3) / 4;
  for (int64_t t = 0; t < block.taps; ++t, panel += fours * kPanelStep) {
    for (LeftTile &tile : left) tile.point(block.rows + t * block.rows_stride);
    for (int64_t k = 0; k < whole; k += kTileRowBytes) {
      multiply_step<RowTiles, ColumnTiles, Products, kLeft, kRight>(
          panel + k / 4 * kPanelStep, [&](int i, bool is_again) { left[i].load(k, is_again); });
    }
    if (whole == block.row_bytes) continue;
    multiply_step<RowTiles, ColumnTiles, Products, kLastLeft, kLastRight>(
        panel + whole / 4 * kPanelStep, [&](int i, bool is_again) { left[i].load_last(is_again); });
  }
  auto *to = static_cast<uint8_t *>(sums);
  store_tile<0>(to, kSumStep);
  if constexpr (ColumnTiles == 2) store_tile<1>(to + kTileRowBytes, kSumStep);
  if constexpr (RowTiles == 2) store_tile<2>(to + second * kSumStep, kSumStep);
  if constexpr (RowTiles == 2 && ColumnTiles == 2) store_tile<3>(to + second * kSumStep + kTileRowBytes, kSumStep);
}

/* Args: columns: how many of the panel are there. */
template <typename Products, typename Number>
void multiply_in_tiles(const TileBlock<Number> &block, int32_t columns, void *sums) {
  if (block.row_count > kTileRows) {
    columns > kTileColumns ? multiply_block<2, 2, Products>(block, sums) : multiply_block<2, 1, Products>(block, sums);
  } else {
    columns > kTileColumns ? multiply_block<1, 2, Products>(block, sums) : multiply_block<1, 1, Products>(block, sums);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
