/* SPDX-License-Identifier: MIT */
/* The tile registers of AMX in memory, for builds for tests: each function does to the last bit what the
 * instruction in tile_registers_amx.h is documented to do, and ends the process where that one faults.
 */
#pragma once

#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#include "kernels/isa/tile_shapes.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kMostRowsOfTile = 16;
constexpr int kMostBytesOfRow = 64;
constexpr int kMostNumbersOfRow = kMostBytesOfRow / 4;

struct EmulatedTile {
  uint8_t bytes[kMostRowsOfTile][kMostBytesOfRow];
};

struct EmulatedRegisters {
  TileShapes shapes;
  EmulatedTile tiles[8];
};

inline EmulatedRegisters &emulated() {
  static thread_local EmulatedRegisters registers{};
  return registers;
}

/* As an instruction that the processor does not know in this state. */
inline void require(bool condition) {
  if (!condition) std::abort();
}

/* A tile that has a shape. */
template <int Number>
inline EmulatedTile &tile_of() {
  EmulatedRegisters &all = emulated();
  require(all.shapes.palette == 1 && all.shapes.rows[Number] != 0 && all.shapes.row_bytes[Number] != 0);
  return all.tiles[Number];
}

template <int Number>
inline int rows_of() { return emulated().shapes.rows[Number]; }

template <int Number>
inline int row_bytes_of() { return emulated().shapes.row_bytes[Number]; }

inline void keep_tile_shapes(TileShapes &to) { to = emulated().shapes; }

inline void release_tile_registers() { emulated() = EmulatedRegisters{}; }

inline void load_tile_shapes(const TileShapes &shapes) {
  require(reinterpret_cast<uintptr_t>(&shapes) % 64 == 0 && shapes.palette <= 1);
  for (int i = 0; i < 16; ++i) {
    const bool is_empty = shapes.rows[i] == 0 && shapes.row_bytes[i] == 0;
    const bool is_whole = i < 8 && shapes.rows[i] != 0 && shapes.row_bytes[i] != 0;
    require(is_empty || (is_whole && shapes.rows[i] <= kMostRowsOfTile && shapes.row_bytes[i] <= kMostBytesOfRow));
  }
  release_tile_registers();
  if (shapes.palette == 1) emulated().shapes = shapes;
}

template <int To>
inline void clear_tile() { tile_of<To>() = EmulatedTile{}; }

template <int To>
inline void load_tile(const void *from, int64_t step) {
  EmulatedTile &to = tile_of<To>();
  to = EmulatedTile{};
  for (int row = 0; row < rows_of<To>(); ++row) {
    std::memcpy(to.bytes[row], static_cast<const uint8_t *>(from) + row * step, static_cast<size_t>(row_bytes_of<To>()));
  }
}

template <int From>
inline void store_tile(void *to, int64_t step) {
  const EmulatedTile &from = tile_of<From>();
  for (int row = 0; row < rows_of<From>(); ++row) {
    std::memcpy(static_cast<uint8_t *>(to) + row * step, from.bytes[row], static_cast<size_t>(row_bytes_of<From>()));
  }
}

inline void copy_row(uint8_t *to, const uint8_t *from, int64_t bytes) {
  require(bytes >= 1 && bytes <= kMostBytesOfRow);
  std::memset(to, 0, kMostBytesOfRow);
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

/* The shape of a product: its rows and columns, and the fours of k that both operands have. */
struct ProductShape {
  int rows, columns, fours;
};

template <int Sums, int Left, int Right>
inline ProductShape product_shape() {
  static_assert(Sums != Left && Sums != Right && Left != Right, "one register twice is a fault");
  tile_of<Sums>(), tile_of<Left>(), tile_of<Right>();
  require(rows_of<Sums>() == rows_of<Left>() && row_bytes_of<Sums>() == row_bytes_of<Right>());
  require(row_bytes_of<Left>() == 4 * rows_of<Right>() && row_bytes_of<Sums>() % 4 == 0);
  return {rows_of<Sums>(), row_bytes_of<Sums>() / 4, rows_of<Right>()};
}

/* Sums wrap around. */
template <typename Number>
inline void add_products(const ProductShape &shape, EmulatedTile &sums, const EmulatedTile &left,
                         const EmulatedTile &right) {
  for (int m = 0; m < shape.rows; ++m) {
    uint32_t row[kMostNumbersOfRow];
    std::memcpy(row, sums.bytes[m], sizeof row);
    for (int k = 0; k < 4 * shape.fours; ++k) {
      const int32_t a = static_cast<Number>(left.bytes[m][k]);
      const uint8_t *b = right.bytes[k / 4] + k % 4;
      for (int n = 0; n < shape.columns; ++n) row[n] += static_cast<uint32_t>(a * static_cast<int8_t>(b[4 * n]));
    }
    std::memcpy(sums.bytes[m], row, sizeof row);
  }
}

template <int Sums, int Left, int Right>
inline void add_unsigned_products() {
  add_products<uint8_t>(product_shape<Sums, Left, Right>(), tile_of<Sums>(), tile_of<Left>(), tile_of<Right>());
}

template <int Sums, int Left, int Right>
inline void add_signed_products() {
  add_products<int8_t>(product_shape<Sums, Left, Right>(), tile_of<Sums>(), tile_of<Left>(), tile_of<Right>());
}

inline float bfloat16_at(const EmulatedTile &tile, int row, int place) {
  uint16_t half;
  std::memcpy(&half, tile.bytes[row] + 2 * place, sizeof half);
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/* The result does not depend on the state of the floating-point unit. Even and odd numbers are summed separately, each
 * product fused with its addition; then the two sums are added, and their sum is added to the tile.
 */
[[maybe_unused]] __attribute__((noinline, noclone)) void add_bfloat16_tiles(
    const ProductShape &shape, EmulatedTile &to, const EmulatedTile &left, const EmulatedTile &right) {
  for (int m = 0; m < shape.rows; ++m) {
    float sums[kMostNumbersOfRow];
    std::memcpy(sums, to.bytes[m], sizeof sums);
    for (int n = 0; n < shape.columns; ++n) {
      float even = 0.0f, odd = 0.0f;
      for (int k = 0; k < shape.fours; ++k) {
        even = __builtin_fmaf(bfloat16_at(left, m, 2 * k), bfloat16_at(right, k, 2 * n), even);
        odd = __builtin_fmaf(bfloat16_at(left, m, 2 * k + 1), bfloat16_at(right, k, 2 * n + 1), odd);
      }
      const float both = even + odd;
      sums[n] += both;
    }
    std::memcpy(to.bytes[m], sums, sizeof sums);
  }
}

/* Rounds to nearest, ties to even, and takes subnormal numbers as zeros, also those that it makes. */
template <int Sums, int Left, int Right>
inline void add_bfloat16_products() {
  constexpr unsigned kFlushed = 0x9fc0; /* no exceptions, nearest, subnormal numbers in and out are zeros */
  const unsigned kept = _mm_getcsr();
  _mm_setcsr(kFlushed);
  add_bfloat16_tiles(product_shape<Sums, Left, Right>(), tile_of<Sums>(), tile_of<Left>(), tile_of<Right>());
  _mm_setcsr(kept);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
