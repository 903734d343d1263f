/* SPDX-License-Identifier: MIT */
/* The kernels of one level for 8-bit integers, as those of kernels.h are for floats.
 *
 * A tensor of bytes is signed or unsigned. A level multiplies one of the two kinds with signed
 * weights; it reads the other kind with the highest bit turned over, which adds or takes 128. Code
 * that folds zero points into a bias adds read_offset. A level that multiplies numbers of 16 bits reads
 * both as they are, after widen().
 */
#pragma once

#include <cstdint>

namespace cpuacc {

/* How an accumulator is requantized: stored = bounded(round(scales[column] * sum) + zero_point),
 * ties to even.
 */
struct Requantization {
  const float *scales; /* of the first column, filled up to a whole vector */
  int32_t zero_point;
  int32_t lowest; /* the least byte that is stored */
  int32_t highest;
};

/* How a level reads the left side. */
enum class Reads { unsigned_bytes, signed_bytes, shorts };

/* Accumulators as real numbers: (sum + whole * whole_factor) * scale * column_scale + shift. */
struct DequantizedAccumulators {
  const int32_t *whole; /* of each column, as the next ones; nullptr: none */
  float scale;
  const float *shift; /* nullptr: none */
  int32_t whole_factor = 1;
  const float *column_scales = nullptr; /* filled up to whole panels; nullptr: none */
};

/* An int8 gemm tile: rows x columns of C = sum over taps and depth of A * B, plus bias.
 *
 * Row r of A at tap t starts at rows[t * rows_stride + r] and has depth bytes; where table.widen is there, as many
 * numbers of 16 bits, with zeros behind them up to a multiple of four. B is packed: for each tap and each four k
 * (zeros where depth runs out) a row of table.columns times four bytes, by place_in_four().
 */
struct Int8GemmTile {
  const uint8_t *const *rows;
  int64_t rows_stride;
  int64_t taps;
  int64_t depth;
  bool is_signed; /* whether the bytes of the rows are */
  const int8_t *b;
  const int8_t *ahead; /* weights read soon: a tile of table.rows rows fetches a line for each four k; nullptr: none */
  int32_t b_zero_point; /* times the sum of each row is taken off */
  const int32_t *row_sums; /* by sum_rows; nullptr where b_zero_point is 0 */
  const int32_t *bias; /* of the first column, filled up to table.columns */
  void *c; /* bytes, or int32_t where scales is nullptr */
  const DequantizedAccumulators *real; /* float32 instead of int32_t; nullptr: these */
  int64_t c_stride; /* in elements */
  int32_t row_count; /* 1 .. table.rows */
  int32_t column_count; /* 1 .. table.columns */
  Requantization requantization;
  /* In a panel of small weights, the fours of k whose weights are too large, which are zeros in the panel: each the tap's
   * number times the fours of a tap, plus its own in the tap; and a row of the panel for each.
   */
  int32_t small_fours; /* fours whose products are added in 16 bits: kFewSmallFours or kManySmallFours */
  int32_t large_count;
  const int32_t *large_fours;
  const int8_t *large_weights;
};

/* Fours of k of a panel of small weights whose products are added in 16 bits: of each column the first two of each four
 * and the last two of each. Neither the weights above 0 nor those below make more than kMostSmallSum.
 */
constexpr int kFewSmallFours = 2;
constexpr int kManySmallFours = 4;
constexpr int32_t kMostSmallSum = 128; /* times 255, it fits */

/* A row of unsigned bytes that a gemv multiplies, and where its product goes. */
struct Int8GemvRow {
  const uint8_t *bytes;
  const uint8_t *read; /* as gemm_tile reads it: the bytes, or numbers of 16 bits by table.widen */
  int32_t sum; /* by sum_rows; 0 where b_zero_point is 0 */
  DequantizedAccumulators real; /* from the first column on, as the next one */
  float *y;
};

/* Rows times panels that are one behind the other. */
struct Int8Gemv {
  const Int8GemvRow *rows;
  int64_t count;
  int64_t depth;
  const int8_t *panels; /* from the first column of the matrix on */
  int64_t panel_bytes; /* from one to the next */
  int64_t small_offset; /* of a panel's numbers of small weights, as Int8GemmTile has them; 0: no panel has them */
  int64_t large_offset; /* of its large weights */
  int32_t b_zero_point;
  int64_t first; /* column: a multiple of table.columns */
  int64_t last;
};

/* The shapes of tile registers that a task found, another library's or none. */
struct alignas(64) TileState {
  uint8_t bytes[64];
};

/* Outputs side by side of a convolution with windows inside of the image, as in DirectRow; B is a
 * panel as in Int8GemmTile, without a zero point.
 */
struct Int8DirectRow {
  const void *image; /* the first tap of the first output: bytes, or numbers of 16 bits by table.widen */
  int64_t count; /* outputs */
  int64_t step;
  int64_t taps;
  int64_t tap_step;
  int64_t depth; /* a multiple of four; B has zeros where the window has no numbers */
  bool is_signed; /* whether the bytes of the image are */
  const int8_t *b;
  const int32_t *bias; /* of the first column, filled up to table.columns */
  uint8_t *c;
  int64_t c_stride;
  int32_t column_count; /* 1 .. table.columns */
  Requantization requantization;
};

/* The windows of a depthwise convolution in an image. */
struct DepthwiseShape {
  int64_t height, width, channels;
  int64_t window_height, window_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
};

/* Rows of the output of a depthwise convolution, channels last, one output channel per input channel.
 * Weights: for each window row and each group of table.depthwise_group window columns, four bytes per
 * channel: those columns' weights side by side, zeros where columns run out.
 */
struct Int8DepthwiseRows : DepthwiseShape {
  const uint8_t *input; /* the image: [height, width, channels] */
  const void *weights;
  const int32_t *bias; /* filled up to a whole vector, as are the scales */
  uint8_t *output; /* [count, output_width, channels] */
  int64_t output_step; /* between the rows of the output */
  int64_t count, output_width;
  int64_t top; /* as in DepthwiseRows */
  int64_t left;
  /* Groups of columns that are gathered of a row of the image, from left on, and the columns from one to
   * the next; stride_x and, if a window has several groups, theirs are multiples of it.
   */
  int64_t gathered;
  int64_t gathered_step;
  void *gathered_rows; /* room for gathered vectors, 2 + (window_height - 1) * dilation_y times */
  void **window_rows; /* room for window_height pointers */
  bool is_signed;
  int32_t zero_point; /* of the image, as stored */
  Requantization requantization;
};

/* A depthwise row from lines of the image, four of which are multiplied at once: rows of the window, or columns of one.
 * Bias, scales and weights are in the order of interleaved channels: for each table.line_channels of them, the last
 * ones overlapping those before where there are so many, in each of four registers 4 of each 16.
 */
struct Int8DepthwiseLines : DepthwiseShape {
  const uint8_t *input; /* the image: [height, width, channels] */
  const void *weights; /* for each line and tap, four bytes a channel; zeros where the window ends */
  const void *bias; /* of each channel, int32_t */
  uint8_t *output; /* [count, output_width, channels] */
  int64_t output_step; /* between the rows of the output */
  int64_t count, output_width;
  int64_t top; /* as in DepthwiseRows */
  int64_t left;
  bool joins_rows; /* else columns */
  int64_t lines; /* of four rows each, or of one */
  int64_t taps; /* of a line, so many columns apart */
  int64_t tap_step;
  int64_t columns; /* columns that outputs see, from left on */
  void *interleaved; /* room for lines * columns * 4 vectors */
  bool is_signed;
  int32_t zero_point; /* of the image, as stored */
  Requantization requantization;
};

/* The windows of pooling in an image. */
struct PoolingShape {
  int64_t height, width, channels;
  int64_t output_width;
  int64_t window_height, window_width;
  int64_t stride_x;
  int64_t dilation_x, dilation_y;
  int64_t left; /* input column of the first window column of the first output */
  int64_t padded_bottom, padded_right; /* where padding ends, counted from the input's first element */
  bool counts_padding; /* in the divisor of an average */
};

struct Int8PoolingRow : PoolingShape {
  bool takes_maximum; /* else the average */
  const uint8_t *input; /* [height, width, channels] */
  uint8_t *output; /* [output_width, channels] */
  int64_t top; /* input row of the first window row */
  bool is_signed;
  int32_t input_zero_point;
  float scale; /* steps of the output in one of the input */
  /* Whether averages are rounded as they are stored, ties away from zero, as TensorFlow Lite does;
   * only for outputs with the scale and the zero point of the input.
   */
  bool rounds_stored;
  Requantization requantization; /* without scales */
};

/* z = (x * x_factor + y * y_factor + bias) >> shift, plus the zero point, bounded. */
struct Int8Addition {
  int32_t x_factor, y_factor;
  int32_t bias;
  int32_t shift;
  bool is_signed;
  Requantization requantization; /* without scales */
};

/* z = round((x - x_zero_point) * (y - y_zero_point) * scale), plus the zero point, bounded. */
struct Int8Multiplication {
  int32_t x_zero_point, y_zero_point;
  float scale;
  bool is_signed;
  Requantization requantization; /* without scales */
};

/* z = round(a * (a < 0 ? (y - y_zero_point) * scale : whole_scale)), a = x - x_zero_point, plus the zero point,
 * bounded.
 */
struct Int8Prelu {
  int32_t x_zero_point, y_zero_point;
  float scale;
  float whole_scale; /* steps of z in one of x */
  bool is_signed;
  Requantization requantization; /* without scales */
};

constexpr float kFewBitsSecond = 1.0f / 254.0f; /* a step of the second term, in steps of the first one */

/* How a row is rounded: to four bytes or two shorts in a word of 32 bits; to one term or the sum of two.
 */
struct FewBitsSteps {
  int32_t in_word;
  int32_t terms;
  int64_t group; /* numbers that have the same step: a whole part of a block */
};

/* A row of floats, rounded to (first[k] + second[k] * kFewBitsSecond) * the step of k's group. Both are in the
 * order in which few_bits_panel reads them.
 */
struct FewBitsRow {
  const float *group_steps;
  const float *block_sums; /* of rounded numbers */
  const int32_t *first;
  const int32_t *second; /* nullptr: none */
};

struct FewBitsRounding {
  const float *x;
  int64_t size;
  int64_t block_size; /* a multiple of 16 */
  int32_t bits; /* of the weights that the row meets */
  FewBitsSteps steps;
  FewBitsRow to; /* is written */
};

/* Columns of weights of few bits: scale * (number - zero point). */
struct FewBitsPanel {
  const int32_t *weights; /* word by word of a column, of each word those of all columns */
  const float *scales; /* block by block, of each block those of all columns; so are the next two */
  const uint8_t *points; /* nullptr: none */
  const float *real_points; /* instead of points; nullptr: none */
  float zero; /* is added to each zero point */
  int32_t bits;
  FewBitsSteps steps; /* of the rows */
  int64_t blocks;
  int64_t block_words;
  const FewBitsRow *rows;
  int64_t count; /* of rows */
  const float *bias; /* nullptr: none */
  float *y;
  int64_t y_step; /* from a row to the next one */
  int64_t columns; /* 1 .. few_bits_columns */
};

struct Int8Kernels {
  int32_t rows; /* of a tile of C */
  int32_t columns;
  int32_t read_offset[2]; /* the number that reading adds to an element: to an unsigned one, to a signed one */
  int32_t depthwise_group; /* 4: bytes side by side, 2: 16 bits each, 1: 32 bits */
  int32_t lanes; /* int32_t in a vector */
  /* Bytes as numbers of 16 bits, which gemm_tile, direct_row and sum_rows read then; nullptr: these read bytes. */
  void (*widen)(const uint8_t *bytes, int16_t *numbers, int64_t n, bool are_signed);
  void (*gemm_tile)(const Int8GemmTile &tile);
  /* As gemm_tile, of rows of unsigned bytes and a panel of small weights, each four of a column side by side;
   * nullptr: it is no faster.
   */
  void (*small_weights_tile)(const Int8GemmTile &tile);
  void (*sum_unsigned_rows)(const Int8GemmTile &tile, int32_t *sums); /* as sum_rows, for such a tile */
  void (*gemv)(const Int8Gemv &product);
  /* Around the calls of gemm_tile of a task, for rows of so much depth; nullptr: it needs no such calls. */
  void (*begin_tiles)(TileState &kept, int64_t depth);
  void (*end_tiles)(const TileState &kept);
  void (*direct_row)(const Int8DirectRow &row);
  void (*depthwise_rows)(const Int8DepthwiseRows &rows);
  /* nullptr: the level has no instructions for it; the channels that it computes together, and that it needs. */
  void (*depthwise_lines)(const Int8DepthwiseLines &lines);
  int32_t line_channels;
  int32_t least_line_channels;
  /* The sum of each row of A over taps and depth, as bytes are read. */
  void (*sum_rows)(const Int8GemmTile &tile, int32_t *sums);
  void (*pooling_row)(const Int8PoolingRow &row);
  /* A step is 1, or 0 for an operand that is one number. */
  void (*add)(const Int8Addition &addition, const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step,
              uint8_t *z, int64_t n);
  void (*multiply)(const Int8Multiplication &multiplication, const uint8_t *x, int64_t x_step,
                   const uint8_t *y, int64_t y_step, uint8_t *z, int64_t n);
  void (*prelu)(const Int8Prelu &prelu, const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step,
                uint8_t *z, int64_t n);
  /* y = table[x]; y may be x. The table has 256 bytes. */
  void (*look_up)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n);

  int32_t few_bits_columns; /* of a panel */
  /* Args: bits: of weights; quantizes_rows: whether a number of a row may be rounded to 8 bits, else two terms of 8 bits
   * hold it nearly as a float.
   */
  FewBitsSteps (*few_bits_steps)(int32_t bits, int64_t block_size, bool quantizes_rows);
  bool few_bits_turned; /* whether weights of 8 bits are read as signed bytes */
  void (*few_bits_panel)(const FewBitsPanel &panel);
  void (*round_few_bits)(const FewBitsRounding &rounding);

  /* The place of the weight of one of four k and a column of a panel. Bytes: the four of a column side by side. Numbers of 16
   * bits: two and two k; the weights of a vector of columns are the low bytes of such numbers, those of the next
   * vector the high ones.
   */
  int64_t place_in_four(int64_t k, int64_t column) const {
    if (widen == nullptr) return column * 4 + k;
    return k / 2 * columns * 2 + column % lanes * 4 + k % 2 * 2 + column / lanes;
  }
};

}  // namespace cpuacc
