// SPDX-License-Identifier: MIT
// Products of matrices that lie anywhere: a work item makes four rows of four columns.

#define SIDE 4

__kernel void matmul(INPUT(float, x), INPUT(float, y), OUTPUT(float, z), const int items,
                     const int rows, const int columns, const int depth, const int8 batch_sizes,
                     const int8 x_batches, const int8 y_batches, const int8 z_batches,
                     const int8 steps) {  // of rows and columns of x, of y and of z
  int item = get_global_id(0);
  if (item >= items)
    return;
  const int across = (columns + SIDE - 1) / SIDE, down = (rows + SIDE - 1) / SIDE;
  const int column = item % across * SIDE;
  item /= across;
  const int row = item % down * SIDE;
  const int batch = item / down;
  const __global float *left = AT(x) + place(batch, batch_sizes, x_batches);
  const __global float *right = AT(y) + place(batch, batch_sizes, y_batches);

  float sum[SIDE][SIDE] = {{0}};
  for (int k = 0; k < depth; ++k) {
    float l[SIDE], r[SIDE];
    for (int i = 0; i < SIDE; ++i) {
      l[i] = left[min(row + i, rows - 1) * steps.s0 + k * steps.s1];
      r[i] = right[k * steps.s2 + min(column + i, columns - 1) * steps.s3];
    }
    for (int i = 0; i < SIDE; ++i)
      for (int j = 0; j < SIDE; ++j)
        sum[i][j] = fma(l[i], r[j], sum[i][j]);
  }
  __global float *target = AT(z) + place(batch, batch_sizes, z_batches);
  for (int i = 0; i < SIDE && row + i < rows; ++i)
    for (int j = 0; j < SIDE && column + j < columns; ++j)
      target[(row + i) * steps.s4 + (column + j) * steps.s5] = sum[i][j];
}
