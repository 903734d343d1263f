/* SPDX-License-Identifier: MIT */
/* The kernels of MutatedNpu, on plain memory. mutated.c includes it. */
static void run_softmax(const step *s, const float *x, float *y) {
  for (int64_t o = 0; o < s->outer; ++o)
    for (int64_t i = 0; i < s->inner; ++i) {
      const int64_t start = o * s->axis * s->inner + i;
      double most = -INFINITY, total = 0;
      for (int64_t a = 0; a < s->axis; ++a) {
        const double v = s->beta * x[start + a * s->inner];
        if (v > most || isnan(v)) most = v;
      }
      for (int64_t a = 0; a < s->axis; ++a) total += exp(s->beta * x[start + a * s->inner] - most);
      for (int64_t a = 0; a < s->axis; ++a) {
        const int64_t at = start + a * s->inner;
        y[at] = (float)(exp(s->beta * x[at] - most) / total);
      }
    }
}
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static float window(const step *s, const float *x, int64_t row, int64_t column) {
  const int64_t top = row * s->stride_h - s->top, left = column * s->stride_w - s->left;
  double total = 0, most = -INFINITY;
  int64_t inside = 0;
  for (int64_t h = top; h < top + s->pool_h; ++h)
    for (int64_t w = left; w < left + s->pool_w; ++w) {
      if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
      const float v = x[h * s->step_h + w * s->step_w];
      total += v, ++inside;
      if (v > most || isnan(v)) most = v;
    }
  if (!inside) return 0;
  if (s->is_max) return (float)most;
  const int64_t height = least(top + s->pool_h, s->h + s->bottom) - top;
  const int64_t width = least(left + s->pool_w, s->w + s->right) - left;
  return (float)(total / (double)(s->counts_padding ? height * width : inside));
}
static void run_pool(const step *s, const float *x, float *y) {
  for (int64_t n = 0; n < s->n; ++n)
    for (int64_t c = 0; c < s->c; ++c)
      for (int64_t h = 0; h < s->to_h; ++h)
        for (int64_t w = 0; w < s->to_w; ++w)
          y[n * s->out_n + c * s->out_c + h * s->out_h + w * s->out_w] =
              window(s, x + n * s->step_n + c * s->step_c, h, w);
}
static void run_dense(const step *s, const float *x, const float *weights, const float *bias,
                      float *y) {
  for (int64_t r = 0; r < s->rows; ++r)
    for (int64_t c = 0; c < s->columns; ++c) {
      double sum = bias ? bias[c] : 0;
      for (int64_t d = 0; d < s->depth; ++d)
        sum += (double)x[r * s->depth + d] *
               weights[s->is_transposed ? c * s->depth + d : d * s->columns + c];
      y[r * s->columns + c] = (float)sum;
    }
}
static void run_concat(const step *s, const float **values, float *y) {
  int64_t before = 0;
  for (int32_t i = 0; i < s->num_inputs; ++i) {
    const float *x = values[s->inputs[i]];
    const int64_t run = s->lengths[i] * s->inner;
    for (int64_t o = 0; o < s->outer; ++o)
      memcpy(y + (o * s->axis + before) * s->inner, x + o * run, (size_t)run * sizeof *y);
    before += s->lengths[i];
  }
}
static void run(const step *s, const float **values, uint64_t elements, float *y) {
  const float *x = values[s->inputs[0]], *z = s->num_inputs > 1 ? values[s->inputs[1]] : NULL;
  switch (s->kind) {
    case ADD:
      for (uint64_t e = 0; e < elements; ++e) y[e] = x[e] + z[e];
      break;
    case MULTIPLY:
      for (uint64_t e = 0; e < elements; ++e) y[e] = x[e] * z[e];
      break;
    case RELU:
      for (uint64_t e = 0; e < elements; ++e) {
        const float raised = x[e] < (float)s->lower ? (float)s->lower : x[e];
        y[e] = raised > (float)s->upper ? (float)s->upper : raised;
      }
      break;
    case SOFTMAX: run_softmax(s, x, y); break;
    case POOL: run_pool(s, x, y); break;
    case CONCAT: run_concat(s, values, y); break;
    case COPY: memcpy(y, x, elements * sizeof *y); break;
    case DENSE:
      run_dense(s, x, z, s->num_inputs > 2 && s->inputs[2] >= 0 ? values[s->inputs[2]] : NULL, y);
      break;
  }
}
