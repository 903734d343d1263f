/* SPDX-License-Identifier: MIT */
/* The kernels of one instruction-set level: a table of functions over plain memory.
 *
 * Only declarations: an inline function here would be merged by the linker between levels.
 */
#pragma once

#include <cstdint>

#include "kernels/int8/kernels.h"

namespace cpuacc {

/* A function of one element; a and b are its parameters. Those of the layer Activation follow its
 * formulas.
 */
enum class Function : int32_t {
  identity,
  clamp, /* min(a, max(b, x)) */
  sigmoid,
  tanh, /* a * tanh(b * x) */
  linear, /* a * x + b */
  soft_relu,
  leaky_relu,
  abs,
  sqrt,
  square,
  elu,
  hard_swish,
  gelu,
  soft_sign,
  mish,
  selu,
  celu,
  hard_sigmoid,
  thresholded_relu,
  shrink,
  swish,
  gelu_tanh,
  exp,
  rsqrt,
  negative,
  log,
  ceil,
  floor,
  erf,
  round, /* ties to even */
  sign,
  reciprocal,
};

enum class Arithmetic : int32_t { add, subtract, multiply, divide, maximum, minimum, squared_difference };

enum class Reduction : int32_t { sum, maximum, mean, minimum, product };

/* The least and the largest of some numbers, if all are finite. */
struct Extremes {
  float least;
  float largest;
  bool are_finite;
};

enum class Pooling : int32_t { maximum, average, l2 };

/* How quantized elements are stored. */
enum class Integer : int32_t { unsigned8, signed8, signed16 };

/* Floats of 16 bits: they are stored, and computed in float32. */
enum class HalfFormat : int32_t { float16, bfloat16 };

/* scale * function(x) + shift. Only kernels with an epilogue look at scale and shift. */
struct Elementwise {
  Function function;
  float a;
  float b;
  float scale = 1.0f;
  float shift = 0.0f;

  /* Always inlined: a copy outside would be merged between levels by the linker. */
  __attribute__((always_inline)) bool is_scaled() const { return scale != 1.0f || shift != 0.0f; }
};

/* The upper half of a float32. */
struct Bfloat16 {
  uint16_t bits;
};

/* A pointer to where floats are stored, as float32 or as bfloat16: exactly one of the two is set. Kernels of levels that
 * do not multiply bfloat16 look at float32 only.
 */
struct FloatOutput {
  float *float32;
  Bfloat16 *bfloat16 = nullptr;

  __attribute__((always_inline)) FloatOutput operator+(int64_t offset) const {
    return bfloat16 == nullptr ? FloatOutput{float32 + offset, nullptr} : FloatOutput{nullptr, bfloat16 + offset};
  }
};

/* A pointer to floats that are read, as float32 or as bfloat16: exactly one of the two is set. */
struct FloatInput {
  const float *float32;
  const Bfloat16 *bfloat16; /* has a step of 1 */
  int64_t step; /* 1, or 0 for one number */
};

/* The epilogue of a sum: function(sum + bias + residual). */
struct Epilogue {
  const float *bias; /* of the first column; nullptr: none */
  const float *residual; /* at the indices of the results; nullptr: none */
  Elementwise function;
  const Bfloat16 *bfloat16_residual = nullptr; /* in place of residual; nullptr: none */
};

/* Where a gemm tile is stored, and its epilogue. */
struct TileOutput : Epilogue {
  float *c;
  Bfloat16 *bfloat16_c; /* in place of c, which gets the results rounded; nullptr: none */
  int64_t c_stride;
  int32_t row_count; /* 1 .. table.rows */
  int32_t column_count; /* 1 .. table.columns */
  int64_t residual_stride;
};

/* A gemm tile: rows x columns of sums over taps and depth of A * B.
 *
 * Row r of A at tap t starts at rows[t * rows_stride + r] and has depth numbers. B is packed: for
 * each tap and each k one row of table.columns numbers, or of table.lanes if it has no more columns; bfloat16 has a
 * row of all columns for each two k's, of both numbers of a column side by side, 0 where depth ends. A convolution has a
 * tap per element of its window, a gemm of matrices has one.
 */
template <typename Number>
struct TileOf : TileOutput {
  const Number *const *rows;
  int64_t rows_stride;
  int64_t taps;
  int64_t depth;
  const Number *b;
  /* weights read soon: a tile of table.rows rows fetches a line for each row of B; nullptr: none */
  const Number *ahead;
  int64_t all_rows; /* of the gemm */
  /* Float32 of an even depth: the last columns, paired_columns at most, are packed in pairs. The row of an even k ends
   * with both numbers of a column side by side, that of k + 1 with nothing; where these are all columns, both rows
   * together have one register.
   */
  bool has_paired_tail;
};
using GemmTile = TileOf<float>;
using GemmTileBfloat16 = TileOf<Bfloat16>;

/* A tile of a convolution's sums over a raster: pixels equally far apart, line after line, that see their surroundings at
 * the same distances. The last pixels of a line see what is beyond its end: they are computed, and not stored.
 * row_count counts them; memory is readable for a whole tile of table.rows_bfloat16 rows.
 */
struct RasterTile : TileOutput {
  const Bfloat16 *first; /* the first pixel */
  int64_t step; /* numbers from a pixel to the next one */
  const int64_t *tap_bytes; /* the distance from a pixel to the numbers of each tap */
  int64_t taps;
  int64_t depth; /* numbers of a tap */
  const Bfloat16 *b; /* as in TileOf */
  int64_t line; /* pixels of a line */
  int64_t outputs; /* of a line, its first pixels */
  int64_t x; /* of the first pixel */
};

/* of a row that is multiplied by one column, a register of its numbers at a time */
constexpr int64_t kMostDotNumbers = 1024;

/* Gemm tiles of any number of rows that begin at equal distances: rows of a matrix, or windows side by side that are
 * inside of an image, where a tap is a row of the window. A row's bits are the same beside any number of rows. B is a
 * panel as in TileOf; row_count is not read.
 */
template <typename Number>
struct GemmRowsOf : TileOutput {
  const Number *a; /* the first tap of the first row */
  int64_t count; /* of rows */
  int64_t step; /* numbers from a row to the next one */
  int64_t taps;
  int64_t tap_step; /* from a tap to the next one */
  int64_t depth;
  const Number *b;
  const Number *ahead; /* weights read soon, which the first tiles fetch; nullptr: none */
  int64_t ahead_bytes;
  bool has_paired_tail; /* as in TileOf */
};
using GemmRows = GemmRowsOf<float>;
using GemmRowsBfloat16 = GemmRowsOf<Bfloat16>;

/* Rows of the output of a depthwise convolution, channels last, one output channel per input channel. */
template <typename In>
struct DepthwiseRowsOf : DepthwiseShape {
  const In *input; /* the image: [height, width, channels] */
  const float *weights; /* [window_height, window_width, channels] */
  const float *bias; /* nullptr: none */
  FloatOutput output; /* [count, output_width, channels] */
  int64_t count, output_width;
  int64_t top; /* input row of the first window row of the first output; may be outside */
  int64_t left; /* input column of the first window column of the first output */
  Elementwise function;
};
using DepthwiseRows = DepthwiseRowsOf<float>;

/* A tile of an image as Winograd's minimal filtering F(m x m, 3 x 3) reads it, [H, W, channels] from
 * (top, left) on, zero outside: (m + 2)^2 transformed elements of channels numbers each, at multiples
 * of stride.
 */
template <typename Number>
struct Winograd2dInputOf {
  const Number *image;
  int64_t height, width, channels; /* at least as many channels as a vector has lanes */
  int64_t top, left;
  float *to;
  int64_t stride;
};

/* The sums of such a tile, transformed back to at most m x m outputs. */
struct Winograd2dOutput : Epilogue {
  const float *sums;
  int64_t stride; /* between the (m + 2)^2 elements */
  FloatOutput to; /* [rows, columns, count], the first numbers of a longer row of channels */
  int64_t rows, columns, count;
  int64_t row_stride, column_stride;
};

/* Filters of 3 x 3 taps, transformed by G g G^T to (m + 2)^2 numbers for each depth and column. */
struct Winograd2dFilters {
  const double *matrix; /* G: [m + 2, 3] */
  const float *weights;
  int64_t tap_stride, depth_stride, column_stride;
  int64_t depth, columns; /* at most the columns of a gemm's tile */
  float *to; /* [(m + 2)^2, depth, columns of a tile], zeros where there is no column */
};

/* A tile of a line of an image as minimal filtering along one axis, F(m, r), reads it: n = m + r - 1
 * elements of channels numbers each become n transformed ones.
 */
template <typename Number>
struct Winograd1dInputOf {
  const Number *from; /* the first element; those outside of first .. last - 1 are zeros */
  int64_t first, last;
  int64_t step; /* from one element to the next */
  int64_t channels;
  float *to;
  int64_t stride; /* between transformed elements */
};

/* The n sums of such a tile, transformed back to at most m outputs. */
struct Winograd1dOutput : Epilogue {
  const float *sums; /* whole vectors may be read */
  int64_t stride;
  FloatOutput to;
  int64_t count; /* of outputs, 1 .. m */
  int64_t step; /* from one output to the next */
  int64_t channels;
};

template <typename Number>
struct PoolingRowOf : PoolingShape {
  Pooling pooling;
  const Number *input; /* [height, width, channels] */
  Number *output; /* [output_width, channels] */
  int64_t top; /* input row of the first window row */
};
using PoolingRow = PoolingRowOf<float>;

/* Pixels between those of a row: low * (1 - share) + high * share, each product rounded, and low where the share is 0.
 * May be in place of low if count is 1.
 */
struct MixedPixels {
  const float *row; /* [pixels, channels] */
  const int64_t *low; /* pixels of the row, for each that is made */
  const int64_t *high;
  const float *share;
  int64_t count;
  int64_t channels;
  float *made; /* [count, channels] */
};

/* function((scale * x + shift) * factor + addend) of each number of some rows, of which each column has its own
 * numbers; the product with the factor is rounded by itself. May be in place.
 */
template <typename In>
struct ScaledRowsOf {
  const In *x; /* [count, columns] */
  int64_t count, columns;
  const float *scale, *shift;
  const float *factor, *addend; /* nullptr: none */
  Elementwise function; /* without a scale and a shift */
  FloatOutput to;
};

/* Sums of n columns that are kept in whole steps: sums[i] += row[k] * weights[k * stride + i] for each k,
 * after each of which they are rounded, halves away from zero, and bounded.
 */
struct SumsInSteps {
  const float *row;
  int64_t depth;
  const float *weights;
  int64_t stride;
  float scale; /* of a step; 0: all is kept */
  float lowest, highest; /* steps */
  float *sums;
  int64_t n;
};

/* Columns of a packed matrix: for each of the depth numbers of a row one row of columns, filled up to whole
 * registers, of floats, of steps in bytes or of bfloat16.
 */
struct GemvPanel {
  const float *numbers;
  const int8_t *steps; /* instead of numbers; nullptr: none */
  const float *scales; /* of the steps of each column */
  const Bfloat16 *bfloat16; /* instead of numbers; nullptr: none */
  int64_t step = 0; /* from a row to the next one, if rows are parts of longer ones; whole registers are read */
};

/* y[row * y_step + key] = the product of a row and a key, which follow each other in memory. */
struct DotRows {
  const float *rows;
  int64_t row_count;
  const float *keys;
  int64_t key_count;
  int64_t depth;
  float *y;
  int64_t y_step;
};

/* Rows times a packed matrix: y = x + bias + row * panel. A row's bits are the same beside any number of rows. */
struct GemvRows {
  const float *const *rows;
  const float *const *x; /* nullptr: none */
  float *const *y;
  int64_t count; /* of rows */
  int64_t depth;
  GemvPanel panel;
  const float *bias; /* nullptr: none */
  int64_t first; /* column of x, bias and y that the panel begins with */
  int64_t columns; /* of the panel, 1 .. gemv_columns */
};

struct Kernels {
  const char *name;
  int32_t lanes; /* floats in a register */
  int32_t rows; /* of a tile of C */
  int32_t columns;
  int32_t paired_columns; /* of a tail in pairs; 0: gemm_tile reads none */
  void (*gemm_tile)(const GemmTile &tile);
  void (*gemm_rows)(const GemmRows &rows);
  /* nullptr at a level that has no instructions for bfloat16, as the next one. */
  void (*gemm_tile_bfloat16)(const GemmTileBfloat16 &tile);
  int32_t rows_bfloat16; /* of a tile of C */
  void (*gemm_rows_bfloat16)(const GemmRowsBfloat16 &rows); /* nullptr with tile registers, too */
  void (*raster_tile_bfloat16)(const RasterTile &tile); /* nullptr without tile registers */
  /* Around its calls, as in Int8Kernels. */
  void (*begin_tiles_bfloat16)(TileState &kept, int64_t depth);
  void (*end_tiles_bfloat16)(const TileState &kept);
  /* To the nearest, ties to even; NaN stays NaN. */
  void (*round_to_bfloat16)(const float *x, Bfloat16 *y, int64_t n);
  void (*depthwise_rows)(const DepthwiseRows &rows);
  /* Computed in float32 all the same; nullptr where gemm_tile_bfloat16 is. */
  void (*depthwise_rows_of_bfloat16)(const DepthwiseRowsOf<Bfloat16> &rows);
  void (*pooling_row)(const PoolingRow &row);
  void (*pooling_row_of_bfloat16)(const PoolingRowOf<Bfloat16> &row); /* in float32, as depthwise rows */
  /* By m / 2 - 1: m = 2, m = 4 and m = 6. */
  void (*winograd_2d_input[3])(const Winograd2dInputOf<float> &tile);
  void (*winograd_2d_input_of_bfloat16[3])(const Winograd2dInputOf<Bfloat16> &tile); /* in float32, as the next one */
  void (*winograd_2d_output[3])(const Winograd2dOutput &tile);
  void (*winograd_2d_filters[3])(const Winograd2dFilters &filters);
  /* By n / 2 - 3: n = 6 and n = 8; then by m / 2 - 1, m <= n - 2. */
  void (*winograd_1d_input[2])(const Winograd1dInputOf<float> &tile);
  void (*winograd_1d_input_of_bfloat16[2])(const Winograd1dInputOf<Bfloat16> &tile);
  void (*winograd_1d_output[2][3])(const Winograd1dOutput &tile);
  void (*elementwise)(const Elementwise &function, const float *x, float *y, int64_t n);
  /* A step is 1, or 0 for an operand that is one number. */
  void (*arithmetic)(Arithmetic operation, const float *x, int64_t x_step, const float *y,
                     int64_t y_step, float *z, int64_t n);
  /* arithmetic with operands or a result in bfloat16, the bits of float32 rounded; nullptr where gemm_tile_bfloat16
   * is.
   */
  void (*arithmetic_of_bfloat16)(Arithmetic operation, const FloatInput &x, const FloatInput &y, FloatOutput z, int64_t n);
  /* x > 0 ? x : slope * x */
  void (*prelu)(const float *x, int64_t x_step, const float *slope, int64_t slope_step, float *z,
                int64_t n);
  /* Over rows of n numbers, one behind the other. */
  void (*softmax)(const float *x, float *y, int64_t rows, int64_t n, float beta, bool logarithm);
  /* gamma * (x - mean) / sqrt(variance + eps) + beta; gamma and beta may be nullptr. */
  void (*normalize)(const float *x, const float *gamma, const float *beta, float *y, int64_t n,
                    float eps, bool subtracts_mean);
  float (*reduce_row)(Reduction reduction, const float *x, int64_t n);
  /* reduce_row of each of the rows of count numbers, one behind the other. */
  void (*reduce_rows)(Reduction reduction, const float *x, int64_t rows, int64_t count, float *y);
  Extremes (*extremes)(const float *x, int64_t n); /* of one number or more */
  /* y[i] = reduction over j of x[j * stride + i]. */
  void (*reduce_columns)(Reduction reduction, const float *x, int64_t count, int64_t stride, float *y,
                         int64_t n);
  void (*reduce_columns_of_bfloat16)(Reduction reduction, const Bfloat16 *x, int64_t count, int64_t stride, float *y,
                                     int64_t n);
  void (*resize_bilinear_row)(const MixedPixels &pixels);
  void (*scale_rows)(const ScaledRowsOf<float> &rows);
  void (*scale_rows_of_bfloat16)(const ScaledRowsOf<Bfloat16> &rows); /* in float32, as depthwise rows */
  /* y[c][r] = x[r][c]. */
  void (*transpose)(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows,
                    int64_t columns);
  /* z = x * y + z */
  void (*multiply_add)(const float *x, const float *y, float *z, int64_t n);
  int32_t gemv_columns; /* of a whole panel */
  void (*gemv)(const GemvRows &rows);
  void (*dot_rows)(const DotRows &rows); /* few rows, many keys */
  void (*gemv_of_bfloat16)(const GemvRows &rows); /* gemv of panels in bfloat16, summed in float32 */
  /* By Integer: scale * (stored - zero_point), and its inverse. */
  void (*dequantize[3])(const void *x, float *y, int64_t n, float scale, int32_t zero_point);
  void (*quantize[3])(const float *x, void *y, int64_t n, float scale, int32_t zero_point);
  /* Rows of a panel, of a register or of table.columns numbers, each times the step of its column. */
  void (*dequantize_s8_panel)(const int8_t *x, const float *steps, float *y, int64_t rows, int64_t row);
  void (*accumulate_requantized)(const SumsInSteps &sums);
  /* Quantizes to unsigned bytes, ties rounded to even. */
  void (*quantize_to_even)(const float *x, uint8_t *y, int64_t n, float scale, int32_t zero_point);
  /* By HalfFormat: as float32, and back with ties to even. */
  void (*half_to_float32[2])(const uint16_t *x, float *y, int64_t n);
  void (*float32_to_half[2])(const float *x, uint16_t *y, int64_t n);
  /* Both rounded to bfloat16, as a pair: the first has the lower 16 bits. */
  void (*pair_bfloat16)(const float *first, const float *second, uint32_t *pairs, int64_t n);
  bool converts_float16; /* by an instruction of its own */
  /* On Float16, for what is rounded at most once: clamp, linear, abs, negative, sqrt and square; all
   * arithmetic but squared_difference. nullptr at a level that does not compute in it.
   */
  void (*float16_elementwise)(const Elementwise &function, const uint16_t *x, uint16_t *y, int64_t n);
  void (*float16_arithmetic)(Arithmetic operation, const uint16_t *x, int64_t x_step, const uint16_t *y,
                             int64_t y_step, uint16_t *z, int64_t n);
  Int8Kernels int8;
  /* Kernels on weights packed as for int8, their gemm tile in tile registers; no gemm tile: the level has none. */
  Int8Kernels int8_in_tile_registers;
};

/* The level of this process. */
struct ChosenLevel {
  const Kernels *kernels; /* nullptr: there is none */
  const char *unused; /* the name of a better level with tile registers; nullptr: there is none */
  bool is_refused; /* by the system; else the time of its registers is not known */
};

/* The best level that this machine has, or the one named by ARMNN_CPUACC_ISA; none if that one is
 * unknown, the machine lacks it, or the system refuses its registers.
 *
 * Args: knows_tile_registers: whether it is known what they take; else their level must be named.
 */
ChosenLevel choose_level(bool knows_tile_registers);

}  // namespace cpuacc
