/* SPDX-License-Identifier: MIT */
/* The emulated instructions, for test_tile_registers.py. */
#include "kernels/tile_registers.h"
using namespace cpuacc::CPUACC_LEVEL;
extern "C" void multiply(int kind, const void *shapes, const void *a, const void *b, void *c) {
  load_tile_shapes(*static_cast<const TileShapes *>(shapes));
  load_tile<4>(a, 64);
  load_tile<5>(b, 64);
  load_tile<0>(c, 64);
  if (kind == 0) add_unsigned_products<0, 4, 5>();
  if (kind == 1) add_signed_products<0, 4, 5>();
  if (kind == 2) add_bfloat16_products<0, 4, 5>();
  store_tile<0>(c, 64);
  release_tile_registers();
}
extern "C" void keep(void *shapes) { keep_tile_shapes(*static_cast<TileShapes *>(shapes)); }
extern "C" void begin(void *kept, int64_t row_bytes) {
  begin_tiles(*static_cast<cpuacc::TileState *>(kept), row_bytes);
}
extern "C" void end(const void *kept) { end_tiles(*static_cast<const cpuacc::TileState *>(kept)); }
extern "C" void load(const void *shapes) { load_tile_shapes(*static_cast<const TileShapes *>(shapes)); }
extern "C" void fault() { clear_tile<0>(); }
