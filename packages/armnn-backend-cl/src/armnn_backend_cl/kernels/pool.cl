// SPDX-License-Identifier: MIT
// Pooling over two axes; a window that reads only padding gives ZERO. A work item makes WIDTH
// channels, which lie behind each other where these are many; the last ones begin earlier where
// fewer are left.
// Generated before it: the accessors of x and y, and AVERAGE, L2 or MAXIMUM with LOWEST, the
// least number.

#ifndef ZERO
#define ZERO 0
#endif
#if WIDTH == 1
#define VALUES X_VALUE
#else
#define VALUES FLOATS
#endif

// sizes: channels, columns and rows of the output, rows and columns of the input, both with the
//     padding behind them, and whether padding counts in an average
// window: rows, columns, strides, dilations, padding before
// steps: elements between channels, columns, rows and images, of x and of y
__kernel void pool(INPUT(X, x), OUTPUT(Y, y), const int items, const int8 sizes,
                   const int8 window, const int8 steps) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int across = (sizes.s0 + WIDTH - 1) / WIDTH;
  const int made = item % across * WIDTH, channel = min(made, sizes.s0 - WIDTH);
  const int place = item / across;
  const int column = place % sizes.s1, row = place / sizes.s1 % sizes.s2;
  const int batch = place / sizes.s1 / sizes.s2;
  const int top = row * window.s2 - window.s6, left = column * window.s3 - window.s7;
  const int image = batch * steps.s3 + channel * steps.s0;

#ifdef MAXIMUM
  VALUES result = LOWEST;
#else
  FLOATS result = 0;
#endif
  int read = 0, counted = 0;
  for (int i = 0; i < window.s0; ++i) {
    const int y_in = top + i * window.s4;
    for (int j = 0; j < window.s1; ++j) {
      const int x_in = left + j * window.s5;
      counted += y_in < sizes.s5 && x_in < sizes.s6;
      if (y_in < 0 || y_in >= sizes.s3 || x_in < 0 || x_in >= sizes.s4)
        continue;
      ++read;
      const VALUES v = READ_X_ALL(AT(x) + image + y_in * steps.s2 + x_in * steps.s1);
#if defined(MAXIMUM)
      result = ((v > result) | (v != v)) ? v : result;
#elif defined(L2)
      result = fma(v, v, result);
#else
      result += v;
#endif
    }
  }
#ifndef MAXIMUM
  result /= max(sizes.s7 ? counted : read, 1);
#endif
#ifdef L2
  result = sqrt(result);
#endif
  const int at = batch * steps.s7 + channel * steps.s4 + column * steps.s5 + row * steps.s6;
  X_VALUE results[WIDTH];
  STORE(result, 0, results);
  for (int c = made - channel; c < WIDTH; ++c)
    STORE_Y(at + c, read ? results[c] : ZERO);
}
