/* SPDX-License-Identifier: MIT */
/* The bfloat16 gemm tile in tile registers, summed in float32. */
#include "kernels/bfloat16.h"
#include "kernels/epilogue.h"
#include "kernels/tile_registers.h"
#include "kernels/tile_shape.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct OfBfloat16 {
  template <int Sums, int Left, int Right>
  static void add() { add_bfloat16_products<Sums, Left, Right>(); }
};

static_assert(kColumns == kBlockColumns, "panels are those of the other kernels");

/* Of the level that this one adds to: for gemms of few rows. */
void (*gemm_in_vectors)(const GemmTileBfloat16 &tile);
int32_t rows_in_vectors;

constexpr int kRowsTogether = 4; /* that are finished in registers */

GemmTileBfloat16 rows_from(const GemmTileBfloat16 &tile, int32_t first, int32_t count) {
  GemmTileBfloat16 some = tile;
  some.rows += first;
  move_down<true>(some, first);
  some.row_count = count;
  return some;
}

/* Args: Number: what is stored. */
template <typename Number, int R, int V>
inline void finish_rows(TileOutput &tile, const float *&sums) {
  Floats rows[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) rows[r][v] = load(sums + r * kBlockColumns + v * kLanes);
  }
  finish<R, V, Number, true>(tile, rows);
  move_down<true>(tile, R);
  sums += R * kBlockColumns;
}

template <typename Number, int V>
void finish_block(const GemmTileBfloat16 &tile, const float *sums) {
  TileOutput rest = tile;
  int32_t row = 0;
  for (; row + kRowsTogether <= tile.row_count; row += kRowsTogether) finish_rows<Number, kRowsTogether, V>(rest, sums);
  for (; row < tile.row_count; ++row) finish_rows<Number, 1, V>(rest, sums);
}

template <typename Number>
void finish_block(const GemmTileBfloat16 &tile, const float *sums) {
  tile.column_count <= kLanes ? finish_block<Number, 1>(tile, sums) : finish_block<Number, kVectors>(tile, sums);
}

/* Each row is computed alike beside any number of others, so that its bits do not depend on the tasks: how many
 * there are in all decides, not those of a tile.
 */
void gemm_tile_bfloat16(const GemmTileBfloat16 &tile) {
  if (tile.all_rows < kTileRows) {
    for (int32_t row = 0; row < tile.row_count; row += rows_in_vectors) {
      const int32_t left = tile.row_count - row;
      gemm_in_vectors(rows_from(tile, row, left < rows_in_vectors ? left : rows_in_vectors));
    }
    return;
  }
  alignas(64) float sums[kBlockRows * kBlockColumns];
  const TileBlock<Bfloat16> block{tile.rows, tile.rows_stride, tile.taps, tile.depth * 2,
                                  reinterpret_cast<const uint8_t *>(tile.b), tile.row_count};
  multiply_in_tiles<OfBfloat16>(block, tile.column_count, sums);
  tile.rounded_c == nullptr ? finish_block<float>(tile, sums) : finish_block<Bfloat16>(tile, sums);
}

void begin_tiles_bfloat16(TileState &kept, int64_t depth) { begin_tiles(kept, 2 * depth); }

}  // namespace

void fill_gemm_bfloat16_tile_registers(Kernels &table) {
  gemm_in_vectors = table.gemm_tile_bfloat16;
  rows_in_vectors = table.rows_bfloat16;
  table.gemm_tile_bfloat16 = gemm_tile_bfloat16;
  table.rows_bfloat16 = kBlockRows;
  table.begin_tiles_bfloat16 = begin_tiles_bfloat16;
  table.end_tiles_bfloat16 = end_tiles;
}

}  // namespace cpuacc::CPUACC_LEVEL
