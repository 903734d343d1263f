// SPDX-License-Identifier: MIT
// Integers of BITS bits in blocks of BLOCK, each with a scale and a zero point.
// Generated before it: the accessors, GIVEN if there are zero points, else each is ZERO,
// and PACKED if these are integers of BITS bits, too.

#define MASK ((1 << BITS) - 1)

#ifdef ROWS
// The product of rows of x and of such weights: a group makes COLUMNS columns of ROWS rows, its items
// sum up every fourth block of a column, and the four sums are added up in a tree. Words of a column
// lie `columns` apart, so that items side by side read words side by side.
// Generated before it, too: OPERANDS and CHAIN(v, i), what is done to each result.
#define COLUMNS (GROUP / 4)
#define WORD (32 / BITS)

#ifdef GIVEN
#define ZERO_OF(b) AT(zeros)[(b) * columns + column]
#else
#define ZERO_OF(b) ZERO
#endif

#define ADD(word, i)                                                         \
  do {                                                                       \
    const float v = (float)((word) >> (i) * BITS & MASK) - zero;             \
    for (int p = 0; p < ROWS; ++p)                                           \
      part[p] = fma(READ_X(row[p] + k + (i)), v, part[p]);                   \
  } while (0)

__kernel void matmul_blocks(OPERANDS INPUT(X, x), INPUT(uint, weights), INPUT(float, scales),
                            INPUT(float, zeros), INPUT(float, bias), OUTPUT(OUT, out),
                            const int rows, const int columns, const int depth, const int blocks) {
  __local float shared[ROWS][GROUP];
  const int lane = get_local_id(0), across = (columns + COLUMNS - 1) / COLUMNS;
  const int made = get_group_id(0) % across * COLUMNS + lane % COLUMNS;
  const int column = min(made, columns - 1), first = get_group_id(0) / across * ROWS;
  const __global X *row[ROWS];
  float sum[ROWS];
  for (int p = 0; p < ROWS; ++p) {
    row[p] = AT(x) + min(first + p, rows - 1) * depth;
    sum[p] = 0;
  }

  for (int b = lane / COLUMNS; b < blocks; b += 4) {
    const float zero = ZERO_OF(b), scale = AT(scales)[b * columns + column];
    const int end = min((b + 1) * BLOCK, depth);
    float part[ROWS];
    for (int p = 0; p < ROWS; ++p)
      part[p] = 0;
    int k = b * BLOCK;
    for (; k + WORD <= end; k += WORD) {
      const uint word = AT(weights)[k / WORD * columns + column];
      for (int i = 0; i < WORD; ++i)
        ADD(word, i);
    }
    if (k < end) {
      const uint word = AT(weights)[k / WORD * columns + column];
      for (int i = 0; i < end - k; ++i)
        ADD(word, i);
    }
    for (int p = 0; p < ROWS; ++p)
      sum[p] = fma(scale, part[p], sum[p]);
  }
  for (int p = 0; p < ROWS; ++p)
    shared[p][lane] = sum[p];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane >= COLUMNS || made >= columns)
    return;
  for (int p = 0; p < ROWS && first + p < rows; ++p) {
    const float total = (shared[p][lane] + shared[p][lane + COLUMNS]) +
                        (shared[p][lane + 2 * COLUMNS] + shared[p][lane + 3 * COLUMNS]);
    const int at = (first + p) * columns + column;
    STORE_OUT(at, CHAIN(total + AT(bias)[column], at));
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
