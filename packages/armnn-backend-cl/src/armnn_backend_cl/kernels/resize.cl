// SPDX-License-Identifier: MIT
// Pictures sampled at other places. For each row and each column of the output, a table has the
// rows or columns of the input that count, and how much: `taps` pairs.
// Generated before it: the accessors of x and y.

// sizes: channels, columns and rows of the output
// steps: elements between channels, columns, rows and images, of x and of y
__kernel void resize(INPUT(X, x), INPUT(float, rows), INPUT(float, columns), OUTPUT(Y, y),
                     const int items, const int taps, const int8 sizes, const int8 steps) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int channel = item % sizes.s0, place = item / sizes.s0;
  const int column = place % sizes.s1, row = place / sizes.s1 % sizes.s2;
  const int batch = place / sizes.s1 / sizes.s2;
  const int image = batch * steps.s3 + channel * steps.s0;
  const __global float *row_taps = AT(rows) + row * taps * 2;
  const __global float *column_taps = AT(columns) + column * taps * 2;

  float result = 0;
  for (int i = 0; i < taps; ++i) {
    const int line = image + (int)row_taps[2 * i] * steps.s2;
    float sum = 0;
    for (int j = 0; j < taps; ++j)
      sum = fma(LOAD_X(line + (int)column_taps[2 * j] * steps.s1), column_taps[2 * j + 1], sum);
    result = fma(sum, row_taps[2 * i + 1], result);
  }
  STORE_Y(batch * steps.s7 + channel * steps.s4 + column * steps.s5 + row * steps.s6, result);
}
