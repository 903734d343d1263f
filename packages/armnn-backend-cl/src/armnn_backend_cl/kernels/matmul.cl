// SPDX-License-Identifier: MIT
// Products of matrices that lie anywhere. The last WIDTH columns begin earlier where fewer are
// left. With X_BY_COLUMNS the elements of a column of x lie behind each other, else those of a row;
// with Y_BY_COLUMNS those of a column of y.

#if WIDTH == 1
#define GATHER(f) f(0)
#elif WIDTH == 4
#define GATHER(f) f(0), f(1), f(2), f(3)
#elif WIDTH == 8
#define GATHER(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
#define GATHER(f)                                                                      \
  f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), \
      f(13), f(14), f(15)
#endif

__kernel void matmul(OPERANDS INPUT(X, x), INPUT(Y, y), OUTPUT(OUT, out), const int side,
                     const int rows, const int columns, const int depth, const int8 batch_sizes,
                     const int8 x_batches, const int8 y_batches,
                     const int8 steps) {  // of rows and columns of x and of y
  const int panels = (columns + WIDTH - 1) / WIDTH;
  const int3 own = tile(rows, panels, side);
  const int first = own.s0, made = own.s1 * WIDTH, batch = own.s2;
  if (first >= rows || own.s1 >= panels)
    return;
  const int column = min(made, columns - WIDTH);
  const __global Y *right =
      AT(y) + place(batch, batch_sizes, y_batches) + column * steps.s3;
  const __global X *left[ROWS];
  for (int p = 0; p < ROWS; ++p)
    left[p] = AT(x) + place(batch, batch_sizes, x_batches) + min(first + p, rows - 1) * steps.s0;

#if Y_BY_COLUMNS
#define ELEMENT(j) READ_Y(right + k + (j) * steps.s3)
#define RIGHT(k) (FLOATS)(GATHER(ELEMENT))
#else
#define RIGHT(k) READ_Y_ALL(right + (k) * steps.s2)
#endif

  FLOATS sum[ROWS];
  for (int p = 0; p < ROWS; ++p)
    sum[p] = 0;
  int k = 0;
#if !X_BY_COLUMNS
  for (; k + 4 <= depth; k += 4) {
#if Y_BY_COLUMNS
    float4 found[WIDTH];
    for (int j = 0; j < WIDTH; ++j)
      found[j] = READ_Y4(right + j * steps.s3 + k);
#define OF_0(j) found[j].s0
#define OF_1(j) found[j].s1
#define OF_2(j) found[j].s2
#define OF_3(j) found[j].s3
    const FLOATS four[4] = {(FLOATS)(GATHER(OF_0)), (FLOATS)(GATHER(OF_1)), (FLOATS)(GATHER(OF_2)),
                            (FLOATS)(GATHER(OF_3))};
#else
    const FLOATS four[4] = {RIGHT(k), RIGHT(k + 1), RIGHT(k + 2), RIGHT(k + 3)};
#endif
    for (int p = 0; p < ROWS; ++p) {
      const float4 v = READ_X4(left[p] + k);
      MULTIPLY(sum[p], v, four);
    }
  }
#endif
  for (; k < depth; ++k) {
    const FLOATS w = RIGHT(k);
    for (int p = 0; p < ROWS; ++p)
      sum[p] = fma((FLOATS)(READ_X(left[p] + k * steps.s1)), w, sum[p]);
  }

  for (int p = 0; p < ROWS && first + p < rows; ++p) {
    const int at = (batch * rows + first + p) * columns + column;
    FINISH(sum[p], made - column, WIDTH, at);
  }
}
