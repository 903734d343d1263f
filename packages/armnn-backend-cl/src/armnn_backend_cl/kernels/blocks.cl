// SPDX-License-Identifier: MIT
// Integers of BITS bits in blocks of BLOCK, each with a scale and a zero point.
// Generated before it: the accessors, GIVEN if there are zero points, else each is ZERO,
// and PACKED if these are integers of BITS bits, too.

#define MASK ((1 << BITS) - 1)

#ifdef ROWS
// The product of rows of x and of such weights: a work item sums up every eighth block of four
// columns of ROWS rows, a group does so for COLUMNS columns, and the eight sums are added up in a
// tree. Words of a column lie `stride` apart, so that items side by side read words side by side.
// Generated before it, too: OPERANDS and CHAIN(v, i), what is done to each result.
#define SLICES 8
#define LANES (GROUP / SLICES)
#define COLUMNS (4 * LANES)
#define WORD (32 / BITS)

#ifdef GIVEN
#define ZERO_OF(b) vload4(0, AT(zeros) + (b) * stride + column)
#else
#define ZERO_OF(b) (float4)(ZERO)
#endif

#define ADD(words, i)                                                              \
  do {                                                                             \
    const float4 v = convert_float4((words) >> (uint)((i) * BITS) & MASK) - zero;  \
    for (int p = 0; p < ROWS; ++p)                                                 \
      part[p] = fma((float4)(READ_X(row[p] + k + (i))), v, part[p]);               \
  } while (0)

__kernel void matmul_blocks(OPERANDS INPUT(X, x), INPUT(uint, weights), INPUT(float, scales),
                            INPUT(float, zeros), INPUT(float, bias), OUTPUT(OUT, out),
                            const int rows, const int columns, const int depth, const int blocks) {
  __local float4 shared[ROWS][GROUP];
  const int item = get_local_id(0), across = (columns + COLUMNS - 1) / COLUMNS;
  const int slice = item / LANES, stride = (columns + 3) / 4 * 4;
  const int made = (get_group_id(0) % across * LANES + item % LANES) * 4;
  const int column = min(made, stride - 4), first = get_group_id(0) / across * ROWS;
  const __global X *row[ROWS];
  float4 sum[ROWS];
  for (int p = 0; p < ROWS; ++p) {
    row[p] = AT(x) + min(first + p, rows - 1) * depth;
    sum[p] = 0;
  }

  for (int b = slice; b < blocks; b += SLICES) {
    const float4 zero = ZERO_OF(b), scale = vload4(0, AT(scales) + b * stride + column);
    const int end = min((b + 1) * BLOCK, depth);
    float4 part[ROWS];
    for (int p = 0; p < ROWS; ++p)
      part[p] = 0;
    int k = b * BLOCK;
    for (; k + WORD <= end; k += WORD) {
      const uint4 words = vload4(0, AT(weights) + k / WORD * stride + column);
      for (int i = 0; i < WORD; ++i)
        ADD(words, i);
    }
    if (k < end) {
      const uint4 words = vload4(0, AT(weights) + k / WORD * stride + column);
      for (int i = 0; i < end - k; ++i)
        ADD(words, i);
    }
    for (int p = 0; p < ROWS; ++p)
      sum[p] = fma(scale, part[p], sum[p]);
  }
  for (int p = 0; p < ROWS; ++p)
    shared[p][item] = sum[p];
  for (int half_ = SLICES / 2; half_ > 0; half_ /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice < half_)
      for (int p = 0; p < ROWS; ++p)
        shared[p][item] += shared[p][item + half_ * LANES];
  }
  if (slice > 0 || made >= columns)
    return;
  for (int p = 0; p < ROWS && first + p < rows; ++p) {
    float result[4];
    vstore4(shared[p][item] + vload4(0, AT(bias) + column), 0, result);
    const int at = (first + p) * columns + column;
    for (int o = 0; o < min(4, columns - column); ++o)
      STORE_OUT(at + o, CHAIN(result[o], at + o));
  }
}
#else
// The real numbers. Bytes of a row of x and, if they are packed, of its zero points.
__kernel void dequantize_blocks(INPUT(X, x), INPUT(SCALES, scales), INPUT(ZEROS, zeros),
                                OUTPUT(Y, y), const int items, const int size, const int blocks,
                                const int x_bytes, const int zero_bytes) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int k = item % size, row = item / size, block = k / BLOCK;
  const int number = AT(x)[row * x_bytes + k * BITS / 8] >> k * BITS % 8 & MASK;
#if defined(PACKED)
  const float zero =
      (float)(AT(zeros)[row * zero_bytes + block * BITS / 8] >> block * BITS % 8 & MASK);
#elif defined(GIVEN)
  const float zero = LOAD_ZEROS(row * blocks + block);
#else
  const float zero = ZERO;
#endif
  STORE_Y(item, ((float)number - zero) * LOAD_SCALES(row * blocks + block));
}
#endif
