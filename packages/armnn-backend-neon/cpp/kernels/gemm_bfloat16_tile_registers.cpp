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

/* The kernel of the level that this one adds to: for gemms of few rows. */
void (*gemm_in_vectors)(const GemmTileBfloat16 &tile);
int32_t rows_in_vectors;

constexpr int kRowsTogether = 4; /* rows whose epilogue is computed at one time */

GemmTileBfloat16 rows_from(const GemmTileBfloat16 &tile, int32_t first, int32_t count) {
  GemmTileBfloat16 some = tile;
  some.rows += first;
  move_down<true>(some, first);
  some.row_count = count;
  return some;
}

/* Args: Number: the type of the results in memory. */
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

/* Which rows of a block are outputs: of each line of rows the first ones. */
struct KeptRows {
  int64_t line;
  int64_t kept; /* of a line */
  int64_t x; /* of the first row in its line */
};

template <typename Number, int V>
void finish_block(const TileOutput &tile, const KeptRows &rows, const float *sums) {
  TileOutput rest = tile;
  const int64_t count = tile.row_count;
  int64_t row = 0, x = rows.x;
  for (;;) {
    const int64_t next = row + rows.line - x;
    const int64_t line_end = row + (x < rows.kept ? rows.kept - x : 0);
    const int64_t end = line_end < count ? line_end : count;
    for (; row + kRowsTogether <= end; row += kRowsTogether) finish_rows<Number, kRowsTogether, V>(rest, sums);
    for (; row < end; ++row) finish_rows<Number, 1, V>(rest, sums);
    if (next >= count) return;
    sums += (next - row) * kBlockColumns;
    row = next;
    x = 0;
  }
}

template <typename Number>
void finish_block(const TileOutput &tile, const KeptRows &rows, const float *sums) {
  tile.column_count <= kLanes ? finish_block<Number, 1>(tile, rows, sums)
                              : finish_block<Number, kVectors>(tile, rows, sums);
}

void finish_block(const TileOutput &tile, const KeptRows &rows, const float *sums) {
  tile.bfloat16_c == nullptr ? finish_block<float>(tile, rows, sums) : finish_block<Bfloat16>(tile, rows, sums);
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
  const PointedBlock<Bfloat16> block{
      {tile.taps, tile.depth * 2, reinterpret_cast<const uint8_t *>(tile.b), tile.row_count}, tile.rows, tile.rows_stride};
  multiply_in_tiles<OfBfloat16>(block, tile.column_count, sums);
  finish_block(tile, {tile.row_count, tile.row_count, 0}, sums);
}

void raster_tile_bfloat16(const RasterTile &tile) {
  alignas(64) float sums[kBlockRows * kBlockColumns];
  const EvenBlock block{{tile.taps, tile.depth * 2, reinterpret_cast<const uint8_t *>(tile.b),
                         tile.row_count > kTileRows ? kBlockRows : kTileRows},
                        reinterpret_cast<const uint8_t *>(tile.first),
                        tile.step * 2,
                        tile.tap_bytes};
  multiply_in_tiles<OfBfloat16>(block, tile.column_count, sums);
  finish_block(tile, {tile.line, tile.outputs, tile.x}, sums);
}

void begin_tiles_bfloat16(TileState &kept, int64_t depth) { begin_tiles(kept, 2 * depth); }

}  // namespace

void fill_gemm_bfloat16_tile_registers(Kernels &table) {
  gemm_in_vectors = table.gemm_tile_bfloat16;
  rows_in_vectors = table.rows_bfloat16;
  table.gemm_tile_bfloat16 = gemm_tile_bfloat16;
  table.rows_bfloat16 = kBlockRows;
  table.gemm_rows_bfloat16 = nullptr;
  table.raster_tile_bfloat16 = raster_tile_bfloat16;
  table.begin_tiles_bfloat16 = begin_tiles_bfloat16;
  table.end_tiles_bfloat16 = end_tiles;
}

}  // namespace cpuacc::CPUACC_LEVEL
