/* SPDX-License-Identifier: MIT */
/* Blocks of a product in tile registers: up to 32 rows and 32 columns, in four registers of sums.
 *
 * A register of the left side has 16 rows of 64 bytes, one of the right side 16 columns of as many: of a
 * panel, which has four bytes, or a pair of bfloat16 numbers, of each of its 32 columns side by side. The
 * last bytes of a row have two registers of their own shape, as shapes are not changed within a task; where rows
 * end with a register, these two have the shape of the others.
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

constexpr int64_t kChunkBytes = 4 * kTileRowBytes; /* of a row, copied at one time where rows are copied */

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
struct TileBlock {
  int64_t taps;
  int64_t row_bytes; /* of each tap */
  const uint8_t *panel;
  int32_t row_count; /* 1 .. kBlockRows */
};

/* One whose rows are pointed at. */
template <typename Number>
struct PointedBlock : TileBlock {
  const Number *const *rows;
  int64_t rows_stride;
};

/* One whose rows are equally far apart; behind the last one so many more can be read as fill a register. */
struct EvenBlock : TileBlock {
  const uint8_t *first;
  int64_t step; /* bytes from a row to the next one */
  const int64_t *tap_bytes; /* the distance from a row to the numbers of each tap */
};

/* The memory that a register of the left side loads: rows of the image, or copies of them. */
struct LeftRows {
  const uint8_t *first;
  int64_t step; /* bytes from a row to the next one */
};

/* The rows of a register on the left side, tap by tap. */
class LeftTile {
 public:
  /* Args: bytes: of a row. */
  void begin(int32_t first, int32_t count, int64_t bytes) {
    first_ = first;
    count_ = count;
    has_whole_fours_ = bytes % 4 == 0;
  }

  template <typename Number>
  void point(const Number *const *rows) {
    rows_ = reinterpret_cast<const uint8_t *const *>(rows + first_);
    is_even_ = false;
    if (count_ < kTileRows || !has_whole_fours_) return;
    step_ = rows_[1] - rows_[0];
    is_even_ = are_apart(step_);
  }

  /* At rows so far apart. Args: first: of the block. */
  void point(const uint8_t *first, int64_t step) {
    rows_ = own_;
    step_ = step;
    is_even_ = has_whole_fours_;
    const int32_t pointed = is_even_ ? 1 : count_;
    for (int32_t r = 0; r < pointed; ++r) own_[r] = first + (first_ + r) * step;
  }

  /* Bytes k to k + bytes of each row. Args: place: of two for copies, so that registers load the ones before
   * meanwhile.
   */
  LeftRows chunk(int64_t k, int64_t bytes, int place) {
    if (is_even_) return {rows_[0] + k, step_};
    uint8_t *to = copies_[place];
    const uint8_t *const *const rows = rows_;
    const int32_t count = count_;
    for (int64_t done = 0; done < bytes; done += kTileRowBytes) {
      const int64_t some = bytes - done < kTileRowBytes ? bytes - done : kTileRowBytes;
      for (int32_t r = 0; r < count; ++r) copy_row(to + r * kChunkBytes + done, rows[r] + k + done, some);
      /* Rows that are not there must be no NaN. */
      for (int32_t r = count; r < kTileRows; ++r) std::memset(to + r * kChunkBytes + done, 0, kTileRowBytes);
    }
    return {to, kChunkBytes};
  }

 private:
  bool are_apart(int64_t step) const {
    int64_t off = 0;
    for (int32_t r = 1; r < kTileRows; ++r) off |= (rows_[r] - rows_[r - 1]) ^ step;
    return off == 0;
  }

  const uint8_t *const *rows_;
  const uint8_t *own_[kTileRows];
  int32_t first_, count_;
  int64_t step_ = 0;
  bool has_whole_fours_; /* of bytes, as registers load them */
  bool is_even_ = false; /* the rows are equally far apart: registers are loaded from where they are */
  alignas(64) uint8_t copies_[2][kTileRows * kChunkBytes];
};

/* One step with one register of each side: a left one is loaded twice where there are four sums. */
template <int RowTiles, int ColumnTiles, typename Products, int Left, int Right>
inline void multiply_step(const LeftRows (&left)[RowTiles], int64_t k, const uint8_t *panel) {
  load_tile<Left>(left[0].first + k, left[0].step);
  load_tile<Right>(panel, kPanelStep);
  Products::template add<0, Left, Right>();
  if constexpr (RowTiles == 2) {
    load_tile<Left>(left[1].first + k, left[1].step);
    Products::template add<2, Left, Right>();
  }
  if constexpr (ColumnTiles == 2) {
    load_tile<Right>(panel + kTileRowBytes, kPanelStep);
    if constexpr (RowTiles == 2) {
      Products::template add<3, Left, Right>();
      load_tile<Left>(left[0].first + k, left[0].step);
    }
    Products::template add<1, Left, Right>();
  }
}

/* One step where all registers have the shape of a whole one: each is loaded once. */
template <int RowTiles, int ColumnTiles, typename Products>
inline void multiply_whole_step(const LeftRows (&left)[RowTiles], int64_t k, const uint8_t *panel) {
  load_tile<kLeft>(left[0].first + k, left[0].step);
  load_tile<kRight>(panel, kPanelStep);
  Products::template add<0, kLeft, kRight>();
  if constexpr (ColumnTiles == 2) {
    load_tile<kLastRight>(panel + kTileRowBytes, kPanelStep);
    Products::template add<1, kLeft, kLastRight>();
  }
  if constexpr (RowTiles == 2) {
    load_tile<kLastLeft>(left[1].first + k, left[1].step);
    Products::template add<2, kLastLeft, kRight>();
    if constexpr (ColumnTiles == 2) Products::template add<3, kLastLeft, kLastRight>();
  }
}

/* Args: is_whole: rows end with a register. */
template <int RowTiles, int ColumnTiles, typename Products>
inline void multiply_chunk(const LeftRows (&left)[RowTiles], int64_t bytes, bool is_whole, const uint8_t *panel) {
  int64_t k = 0;
  if (is_whole) {
    for (; k < bytes; k += kTileRowBytes, panel += kTileRowBytes / 4 * kPanelStep) {
      multiply_whole_step<RowTiles, ColumnTiles, Products>(left, k, panel);
    }
    return;
  }
  for (; k + kTileRowBytes <= bytes; k += kTileRowBytes, panel += kTileRowBytes / 4 * kPanelStep) {
    multiply_step<RowTiles, ColumnTiles, Products, kLeft, kRight>(left, k, panel);
  }
  if (k < bytes) multiply_step<RowTiles, ColumnTiles, Products, kLastLeft, kLastRight>(left, k, panel);
}

template <typename Number>
inline void point(LeftTile &tile, const PointedBlock<Number> &block, int64_t tap) {
  tile.point(block.rows + tap * block.rows_stride);
}

inline void point(LeftTile &tile, const EvenBlock &block, int64_t tap) {
  tile.point(block.first + block.tap_bytes[tap], block.step);
}

/* Sums of all taps, in the registers. Rows are looked at, and copied where they must be, one chunk ahead of the one that
 * is multiplied: a register that loads what was just stored waits for it.
 */
template <int RowTiles, int ColumnTiles, typename Products, typename Block>
inline void sum_up(const Block &block, LeftTile (&tiles)[RowTiles]) {
  const int64_t row_bytes = block.row_bytes;
  const bool is_whole = row_bytes % kTileRowBytes == 0;
  LeftRows left[2][RowTiles];
  const auto stage = [&](int64_t tap, int64_t k, int place) {
    const int64_t bytes = row_bytes - k < kChunkBytes ? row_bytes - k : kChunkBytes;
    for (int i = 0; i < RowTiles; ++i) {
      if (k == 0) point(tiles[i], block, tap);
      left[place][i] = tiles[i].chunk(k, bytes, place);
    }
    return bytes;
  };
  if (block.taps == 0 || row_bytes == 0) return;
  const uint8_t *panel = block.panel;
  int64_t tap = 0, k = 0;
  int place = 0;
  for (int64_t bytes = stage(tap, k, place); bytes != 0; place ^= 1) {
    k += bytes;
    if (k == row_bytes) ++tap, k = 0;
    const int64_t next_bytes = tap == block.taps ? 0 : stage(tap, k, place ^ 1);
    multiply_chunk<RowTiles, ColumnTiles, Products>(left[place], bytes, is_whole, panel);
    panel += (bytes + 3) / 4 * kPanelStep;
    bytes = next_bytes;
  }
}

/* Writes kBlockRows rows of kBlockColumns sums, those that are there. Where rows end within a register, two
 * overlap, or it is filled up with zeros.
 */
template <int RowTiles, int ColumnTiles, typename Products, typename Block>
inline void multiply_block(const Block &block, void *sums) {
  const int32_t second = RowTiles == 2 ? block.row_count - kTileRows : 0;
  const int32_t count = block.row_count < kTileRows ? block.row_count : kTileRows;
  LeftTile tiles[RowTiles]; /* their bytes are written where they are read */
  tiles[0].begin(0, count, block.row_bytes);
  if constexpr (RowTiles == 2) tiles[1].begin(second, count, block.row_bytes);
  clear_tile<0>();
  clear_tile<1>();
  clear_tile<2>();
  clear_tile<3>();
  sum_up<RowTiles, ColumnTiles, Products>(block, tiles);
  auto *to = static_cast<uint8_t *>(sums);
  store_tile<0>(to, kSumStep);
  if constexpr (ColumnTiles == 2) store_tile<1>(to + kTileRowBytes, kSumStep);
  if constexpr (RowTiles == 2) store_tile<2>(to + second * kSumStep, kSumStep);
  if constexpr (RowTiles == 2 && ColumnTiles == 2) store_tile<3>(to + second * kSumStep + kTileRowBytes, kSumStep);
}

/* Args: columns: how many of the panel are there. */
template <typename Products, typename Block>
void multiply_in_tiles(const Block &block, int32_t columns, void *sums) {
  if (block.row_count > kTileRows) {
    columns > kTileColumns ? multiply_block<2, 2, Products>(block, sums) : multiply_block<2, 1, Products>(block, sums);
  } else {
    columns > kTileColumns ? multiply_block<1, 2, Products>(block, sums) : multiply_block<1, 1, Products>(block, sums);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
