/* SPDX-License-Identifier: MIT */
/* The int8 gemm tile in tile registers. Its sums are those of the level that this one adds to, to the bit. */
#include "kernels/int8/store_sums.h"
#include "kernels/tile_registers.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct OfUnsigned {
  template <int Sums, int Left, int Right>
  static void add() { add_unsigned_products<Sums, Left, Right>(); }
};

struct OfSigned {
  template <int Sums, int Left, int Right>
  static void add() { add_signed_products<Sums, Left, Right>(); }
};

constexpr int kBlockVectors = kBlockColumns / static_cast<int>(kLanes);
constexpr int32_t kRowsTogether = 4;

/* The kernel of the level that this one adds to: for rows that do not fill a register. */
void (*gemm_in_vectors)(const Int8GemmTile &tile);
int32_t rows_in_vectors;

Int8GemmTile rows_from(const Int8GemmTile &tile, int32_t first, int32_t count) {
  Int8GemmTile some = tile;
  some.rows += first;
  if (some.row_sums != nullptr) some.row_sums += first;
  const int64_t size = tile.requantization.scales == nullptr ? 4 : 1;
  some.c = static_cast<uint8_t *>(tile.c) + first * tile.c_stride * size;
  some.row_count = count;
  return some;
}

/* Args: start: of the sums of each column. */
template <int R, int V>
inline void finish_rows(const Int8GemmTile &tile, int32_t first, const int32_t *sums, const Ints (&start)[V]) {
  Ints rows[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      rows[r][v] = load_ints(sums + (first + r) * kBlockColumns + v * kLanes) + start[v];
    }
  }
  finish<R, V>(rows_from(tile, first, R), rows);
}

template <int V>
void finish_block(const Int8GemmTile &tile, const int32_t *sums) {
  /* The sums of the panel's columns stand behind it. Signed bytes are read as they are here, and with 128 added
   * by the level whose bias this is.
   */
  const auto *column_sums = reinterpret_cast<const int32_t *>(tile.b + tile.taps * ((tile.depth + 3) / 4) * kPanelStep);
  const int32_t added = tile.is_signed ? 128 : 0;
  Ints start[V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    start[v] = load_ints(tile.bias + v * kLanes) + load_ints(column_sums + v * kLanes) * added;
  }
  int32_t row = 0;
  for (; row + kRowsTogether <= tile.row_count; row += kRowsTogether) {
    finish_rows<kRowsTogether, V>(tile, row, sums, start);
  }
  for (; row < tile.row_count; ++row) finish_rows<1, V>(tile, row, sums, start);
}

void gemm_tile(const Int8GemmTile &tile) {
  if (tile.row_count < kTileRows) {
    for (int32_t row = 0; row < tile.row_count; row += rows_in_vectors) {
      const int32_t left = tile.row_count - row;
      gemm_in_vectors(rows_from(tile, row, left < rows_in_vectors ? left : rows_in_vectors));
    }
    return;
  }
  alignas(64) int32_t sums[kBlockRows * kBlockColumns];
  const PointedBlock<uint8_t> block{{tile.taps, tile.depth, reinterpret_cast<const uint8_t *>(tile.b), tile.row_count},
                                    tile.rows, tile.rows_stride};
  tile.is_signed ? multiply_in_tiles<OfSigned>(block, tile.column_count, sums)
                 : multiply_in_tiles<OfUnsigned>(block, tile.column_count, sums);
  tile.column_count <= kTileColumns ? finish_block<kBlockVectors / 2>(tile, sums)
                                    : finish_block<kBlockVectors>(tile, sums);
}

}  // namespace

void fill_int8_gemm_tile_registers(Kernels &table) {
  gemm_in_vectors = table.int8.gemm_tile;
  rows_in_vectors = table.int8.rows;
  table.int8_in_tile_registers = table.int8;
  table.int8_in_tile_registers.rows = kBlockRows;
  table.int8_in_tile_registers.gemm_tile = gemm_tile;
  table.int8_in_tile_registers.begin_tiles = begin_tiles;
  table.int8_in_tile_registers.end_tiles = end_tiles;
}

}  // namespace cpuacc::CPUACC_LEVEL
