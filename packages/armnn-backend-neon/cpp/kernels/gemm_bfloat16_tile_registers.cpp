/* SPDX-License-Identifier: MIT */
/* The bfloat16 gemm tile in tile registers, summed in float32. */
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
/* And to convert rows, as a row of a tile is finished in float32. */
void (*round_row)(const float *x, Bfloat16 *y, int64_t n);
void (*widen_row)(const uint16_t *x, float *y, int64_t n);

GemmTileBfloat16 rows_from(const GemmTileBfloat16 &tile, int32_t first, int32_t count) {
  GemmTileBfloat16 some = tile;
  some.rows += first;
  if (some.c != nullptr) some.c += first * tile.c_stride;
  if (some.rounded_c != nullptr) some.rounded_c += first * tile.c_stride;
  if (some.residual != nullptr) some.residual += first * tile.residual_stride;
  if (some.rounded_residual != nullptr) some.rounded_residual += first * tile.residual_stride;
  some.row_count = count;
  return some;
}

template <int V>
void finish_row(const GemmTileBfloat16 &tile, const float *sums) {
  Floats row[1][V];
  for (int v = 0; v < V; ++v) row[0][v] = load(sums + v * kLanes);
  alignas(64) float residual[kBlockColumns], made[kBlockColumns];
  TileOutput wide = tile;
  if (tile.rounded_residual != nullptr) {
    widen_row(reinterpret_cast<const uint16_t *>(tile.rounded_residual), residual, tile.column_count);
    wide.residual = residual;
  }
  if (tile.rounded_c != nullptr) wide.c = made;
  finish<1, V>(wide, row);
  if (tile.rounded_c != nullptr) round_row(made, tile.rounded_c, tile.column_count);
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
  const bool is_narrow = tile.column_count <= kLanes;
  for (int32_t row = 0; row < tile.row_count; ++row) {
    const GemmTileBfloat16 one = rows_from(tile, row, 1);
    is_narrow ? finish_row<1>(one, sums + row * kBlockColumns) : finish_row<kVectors>(one, sums + row * kBlockColumns);
  }
}

void begin_tiles_bfloat16(TileState &kept, int64_t depth) { begin_tiles(kept, 2 * depth); }

}  // namespace

void fill_gemm_bfloat16_tile_registers(Kernels &table) {
  gemm_in_vectors = table.gemm_tile_bfloat16;
  rows_in_vectors = table.rows_bfloat16;
  round_row = table.round_to_bfloat16;
  widen_row = table.half_to_float32[static_cast<int>(HalfFormat::bfloat16)];
  table.gemm_tile_bfloat16 = gemm_tile_bfloat16;
  table.rows_bfloat16 = kBlockRows;
  table.begin_tiles_bfloat16 = begin_tiles_bfloat16;
  table.end_tiles_bfloat16 = end_tiles;
}

}  // namespace cpuacc::CPUACC_LEVEL
