// SPDX-License-Identifier: MIT
// Depthwise convolution of NHWC tensors: each channel has `multiplier` kernels of its own.
// Generated before it: the function activate(v, a, b) of each result.

__kernel void depthwise(INPUT(float, x), INPUT(float, weights), INPUT(float, bias),
                        OUTPUT(float, y), const int items, const int height, const int width,
                        const int in_channels, const int out_height, const int out_width,
                        const int multiplier,
                        const int8 window,  // rows, columns, strides, dilations, padding before
                        const float a, const float b) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int out_channels = in_channels * multiplier;
  const int o = item % out_channels, place = item / out_channels;
  const int column = place % out_width, row = place / out_width % out_height;
  const int top = row * window.s2 - window.s6, left = column * window.s3 - window.s7;
  const __global float *image =
      AT(x) + place / out_width / out_height * height * width * in_channels + o / multiplier;

  float sum = AT(bias)[o];
  for (int i = 0; i < window.s0; ++i) {
    const int y_in = top + i * window.s4;
    if (y_in < 0 || y_in >= height)
      continue;
    for (int j = 0; j < window.s1; ++j) {
      const int x_in = left + j * window.s5;
      if (x_in >= 0 && x_in < width)
        sum = fma(image[(y_in * width + x_in) * in_channels],
                  AT(weights)[(i * window.s1 + j) * out_channels + o], sum);
    }
  }
  AT(y)[item] = activate(sum, a, b);
}
