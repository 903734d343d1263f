/* SPDX-License-Identifier: MIT */
/* The kernels in tile registers, over a level that marks what it gets, for test_tile_registers.py. */
#include <cstdlib>
#include "kernels/kernels.h"
using namespace cpuacc;
namespace cpuacc {
namespace TILES { void fill_int8_gemm_tile_registers(Kernels &); void fill_gemm_bfloat16_tile_registers(Kernels &); }
}
namespace {
constexpr int kRowsBelow = 14;

template <typename Tile>
void mark(const Tile &tile) {
  if (tile.row_count > kRowsBelow) std::abort();
  for (int32_t i = 0; i < tile.row_count * tile.c_stride; ++i) static_cast<float *>(tile.c)[i] = 55.0f;
}

/* The level below marks what it is given. */
const Kernels &tiles() {
  static const Kernels table = [] {
    Kernels own{};
    own.int8.rows = own.rows_bfloat16 = kRowsBelow;
    own.int8.gemm_tile = [](const Int8GemmTile &tile) { mark(tile); };
    own.gemm_tile_bfloat16 = [](const GemmTileBfloat16 &tile) { mark(tile); };
    TILES::fill_int8_gemm_tile_registers(own);
    TILES::fill_gemm_bfloat16_tile_registers(own);
    return own;
  }();
  return table;
}
}
extern "C" void multiply_bytes(const uint8_t *const *rows, int64_t stride, int64_t taps, int64_t depth,
                               int is_signed, const int8_t *panel, int32_t zero, const int32_t *row_sums, const int32_t *bias, void *c,
                               int64_t c_stride, int32_t row_count, int32_t columns, const float *scales) {
  const Int8Kernels &own = tiles().int8_in_tile_registers;
  Int8GemmTile tile{rows, stride, taps, depth, is_signed != 0, panel, nullptr, zero, row_sums, bias, c, nullptr,
                    c_stride, row_count, columns,
                    {scales, 3, -90, 100}};
  TileState kept;
  own.begin_tiles(kept, depth);
  own.gemm_tile(tile);
  own.end_tiles(kept);
}
extern "C" void multiply_bfloat16(const Bfloat16 *const *rows, int64_t stride, int64_t taps, int64_t depth,
                                  const Bfloat16 *panel, const float *bias, const float *residual, float *c,
                                  int64_t c_stride, int32_t row_count, int32_t columns, int64_t all_rows) {
  GemmTileBfloat16 tile{};
  tile.bias = bias;
  tile.residual = residual;
  tile.function = {Function::clamp, 90.0f, -90.0f};
  tile.c = c;
  tile.c_stride = tile.residual_stride = c_stride;
  tile.row_count = row_count;
  tile.column_count = columns;
  tile.rows = rows;
  tile.rows_stride = stride;
  tile.taps = taps;
  tile.depth = depth;
  tile.b = panel;
  tile.all_rows = all_rows;
  TileState kept;
  tiles().begin_tiles_bfloat16(kept, depth);
  tiles().gemm_tile_bfloat16(tile);
  tiles().end_tiles_bfloat16(kept);
}
