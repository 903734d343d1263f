// SPDX-License-Identifier: MIT
// Depthwise convolution of NHWC tensors: each channel has `multiplier` kernels of its own.
// A work item makes eight channels of four places in a row, so that weights are read once for
// these; the last eight begin earlier where fewer are left. With WIDTH 1 it makes any one channel.
// Generated before it: OPERANDS and CHAIN(v, i), what is done to each result, and the accessors of x
// and out.

#define PLACES 4

__kernel void depthwise(OPERANDS INPUT(X, x), INPUT(float, weights), INPUT(float, bias),
                        OUTPUT(OUT, out), const int items, const int height, const int width,
                        const int in_channels, const int out_height, const int out_width,
                        const int multiplier, const int8 window) {
  // The window: rows, columns, strides, dilations, padding before.
  int item = get_global_id(0);
  if (item >= items)
    return;
  const int out_channels = in_channels * multiplier;
  const int across = (out_channels + WIDTH - 1) / WIDTH;
  const int made = item % across * WIDTH, o = min(made, out_channels - WIDTH);
  item /= across;
  const int spans = (out_width + PLACES - 1) / PLACES;
  const int column = item % spans * PLACES, line = item / spans;
  const int top = line % out_height * window.s2 - window.s6;
  const int left = column * window.s3 - window.s7;
  const __global X *image =
      AT(x) + line / out_height * height * width * in_channels + o / multiplier;

  FLOATS sum[PLACES];
  for (int p = 0; p < PLACES; ++p)
    sum[p] = LOAD(0, AT(bias) + o);
  for (int i = 0; i < window.s0; ++i) {
    const int row = top + i * window.s4;
    if (row < 0 || row >= height)
      continue;
    for (int j = 0; j < window.s1; ++j) {
      const FLOATS w = LOAD(0, AT(weights) + (i * window.s1 + j) * out_channels + o);
      for (int p = 0; p < PLACES; ++p) {
        const int at = left + p * window.s3 + j * window.s5;
        if (at >= 0 && at < width)
          sum[p] = fma(READ_X_ALL(image + (row * width + at) * in_channels), w, sum[p]);
      }
    }
  }

  for (int p = 0; p < PLACES && column + p < out_width; ++p) {
    const int at = (line * out_width + column + p) * out_channels + o;
    float result[WIDTH];
    STORE(sum[p], 0, result);
    for (int c = made - o; c < WIDTH; ++c)
      STORE_OUT(at + c, CHAIN(result[c], at + c));
  }
}
