/* SPDX-License-Identifier: MIT */
/* AcmeNpu: a backend in one file. It runs subgraphs of Addition and Convolution2d in float32.
 *
 *   gcc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -fno-fast-math -Wl,-z,defs \
 *       $(python -m armnn_backend_api --includes) -o Acme_AcmeNpu_backend.so acme_npu.c -lm
 */
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <stdlib.h>
#include <string.h>

ARMNN_BACKEND_NOTE("{\"id\": \"AcmeNpu\", \"api\": \"1.0\"}");

/* Sizes whatever the layout, and elements from one index to the next. */
typedef struct { int64_t n, c, h, w, step_n, step_c, step_h, step_w; } image;

typedef struct { /* what a node became */
  int32_t id, inputs[3], output;
  uint64_t elements;
  int is_convolution;
  int64_t stride_x, stride_y, dilation_x, dilation_y, pad_left, pad_top;
  image from, weights, to;
} step;

struct armnn_backend { const armnn_host *host; }; /* per runtime; a real one has its device here */
struct armnn_program { /* immutable, shared by threads */
  const armnn_host *host;
  armnn_constant_fn drop;
  uint64_t num_values, num_steps, num_inputs, num_outputs;
  const float **constants; /* per value; NULL unless constant */
  void **kept;             /* per value; what to drop in the end */
  uint64_t *elements;      /* per value */
  int32_t *inputs, *outputs;
  step *steps;
};
struct armnn_context { /* one call at a time */
  const armnn_program *program;
  float **scratch;      /* per value; NULL unless a node computes it */
  const float **values; /* per value; where it is in this call */
};

static const char *const no_memory = "AcmeNpu has no memory left";
static armnn_string text(const char *data) { return (armnn_string){data, strlen(data)}; }
static int is(armnn_string string, const char *word) {
  return string.size == strlen(word) && !memcmp(string.data, word, string.size);
}
static armnn_code fail(armnn_error *error, armnn_code code, int32_t node, const char *message) {
  error->code = code, error->node_id = node;
  error->message = text(message); /* static, so there is nothing to release */
  return code;
}
static const armnn_value *value_at(const armnn_graph *graph, int32_t index) {
  return ARMNN_AT(const armnn_value, graph->values, graph->value_stride, index);
}
static const armnn_node *node_at(const armnn_graph *graph, uint64_t index) {
  return ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, index);
}
static uint64_t elements_of(const armnn_value *value) {
  uint64_t product = 1;
  for (int32_t axis = 0; axis < value->ndim; ++axis) product *= (uint64_t)value->shape[axis];
  return product;
}
static float *data_of(const armnn_tensor *tensor) {
  return (float *)(void *)((char *)tensor->data + tensor->byte_offset);
}
static int64_t attribute(const armnn_graph *graph, const armnn_node *node, const char *name,
                         int64_t otherwise) {
  for (uint64_t i = 0; i < node->num_attributes; ++i) {
    const armnn_attribute *row =
        ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i);
    if (is(row->name, name) && row->type == ARMNN_ATTRIBUTE_INT64 && row->count == 1)
      return *(const int64_t *)row->data;
  }
  return otherwise;
}
/* A parameter of Convolution2d, with the name and the default of armnn/layers.h. */
#define CONVOLUTION2D(name) attribute(graph, node, ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_##name))
static image image_of(const armnn_value *value, int is_nhwc) {
  const int64_t *s = value->shape;
  if (is_nhwc) return (image){s[0], s[3], s[1], s[2], s[1] * s[2] * s[3], 1, s[2] * s[3], s[3]};
  return (image){s[0], s[1], s[2], s[3], s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
}
static int same_shape(const armnn_value *a, const armnn_value *b) {
  return a->ndim == b->ndim && (!a->ndim || !memcmp(a->shape, b->shape, (size_t)a->ndim * 8));
}
/* Why not, as a static text, or NULL; *input is one more than the index of the guilty input. */
static const char *refusal(const armnn_graph *graph, const armnn_node *node, int32_t *input) {
  const int is_convolution = is(node->type, ARMNN_LAYER_CONVOLUTION2D);
  if ((!is_convolution && !is(node->type, ARMNN_LAYER_ADDITION)) || node->num_inputs > 3)
    return "AcmeNpu runs Addition and Convolution2d";
  for (uint64_t i = 0; i < node->num_inputs; ++i) {
    if (node->inputs[i] < 0) continue;
    const armnn_value *value = value_at(graph, node->inputs[i]);
    *input = (int32_t)i + 1;
    if (value->data_type != ARMNN_FLOAT32) return "AcmeNpu computes in Float32";
    if (value->ndim < 0 || (is_convolution && i < 2 && value->ndim != 4))
      return "AcmeNpu takes known ranks, and images of rank 4";
    if (!is_convolution && !same_shape(value, value_at(graph, node->outputs[0])))
      return "AcmeNpu adds tensors of equal shape";
  }
  *input = 0;
  for (uint64_t i = 0; i < node->num_attributes; ++i) /* one that is younger than this file */
    if (ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i)->since_minor >
        ARMNN_BACKEND_TARGET_MINOR)
      return "AcmeNpu does not know a parameter";
  const int64_t layout = CONVOLUTION2D(DATA_LAYOUT); /* Addition has the default: it has none */
  const int is_known = layout == ARMNN_DATA_LAYOUT_NCHW || layout == ARMNN_DATA_LAYOUT_NHWC;
  return is_known ? NULL : "AcmeNpu knows NCHW and NHWC";
}

static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    const char *why = refusal(graph, node_at(graph, i), &support->input);
    support->level = why ? ARMNN_NOT_SUPPORTED : ARMNN_SUPPORTED;
    if (why) support->reason = text(why);
  }
  return ARMNN_OK;
}
static step step_of(const armnn_graph *graph, const armnn_node *node) {
  step made = {.id = node->id, .inputs = {-1, -1, -1}, .output = node->outputs[0]};
  for (uint64_t i = 0; i < node->num_inputs; ++i) made.inputs[i] = node->inputs[i];
  made.elements = elements_of(value_at(graph, node->outputs[0]));
  made.is_convolution = is(node->type, ARMNN_LAYER_CONVOLUTION2D);
  if (!made.is_convolution) return made;
  made.stride_x = CONVOLUTION2D(STRIDE_X), made.stride_y = CONVOLUTION2D(STRIDE_Y);
  made.dilation_x = CONVOLUTION2D(DILATION_X), made.dilation_y = CONVOLUTION2D(DILATION_Y);
  made.pad_left = CONVOLUTION2D(PAD_LEFT), made.pad_top = CONVOLUTION2D(PAD_TOP);
  const int is_nhwc = CONVOLUTION2D(DATA_LAYOUT) == ARMNN_DATA_LAYOUT_NHWC;
  made.from = image_of(value_at(graph, node->inputs[0]), is_nhwc);
  made.weights = image_of(value_at(graph, node->inputs[1]), is_nhwc);
  made.to = image_of(value_at(graph, node->outputs[0]), is_nhwc);
  return made;
}
static void program_destroy(armnn_program *program) {
  for (uint64_t i = 0; program->kept && i < program->num_values; ++i)
    if (program->kept[i]) program->drop(program->kept[i]);
  free(program->constants), free(program->kept), free(program->elements);
  free(program->inputs), free(program->outputs), free(program->steps), free(program);
}
static int32_t *copy(const int32_t *indices, uint64_t count) {
  int32_t *made = malloc((count + 1) * sizeof *made);
  if (made && count) memcpy(made, indices, count * sizeof *made);
  return made;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **result, armnn_error *error) {
  (void)device;
  if (args->num_options) return fail(error, ARMNN_INVALID_ARGUMENT, -1, "AcmeNpu has no options");
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    int32_t input;
    const char *why = refusal(graph, node_at(graph, i), &input);
    if (why) return fail(error, ARMNN_UNSUPPORTED_NODE, node_at(graph, i)->id, why);
  }
  armnn_program *program = calloc(1, sizeof *program);
  if (!program) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, no_memory);
  program->host = backend->host;
  program->drop = graph->drop;
  program->num_values = graph->num_values, program->num_steps = graph->num_nodes;
  program->num_inputs = graph->num_inputs, program->num_outputs = graph->num_outputs;
  program->constants = calloc(graph->num_values, sizeof *program->constants);
  program->kept = calloc(graph->num_values, sizeof *program->kept);
  program->elements = calloc(graph->num_values, sizeof *program->elements);
  program->steps = calloc(graph->num_nodes, sizeof *program->steps);
  program->inputs = copy(graph->inputs, graph->num_inputs);
  program->outputs = copy(graph->outputs, graph->num_outputs);
  if (!program->constants || !program->kept || !program->elements || !program->steps ||
      !program->inputs || !program->outputs) {
    program_destroy(program);
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, no_memory);
  }
  for (uint64_t i = 0; i < graph->num_values; ++i) {
    const armnn_value *value = value_at(graph, (int32_t)i);
    program->elements[i] = elements_of(value);
    if (!value->constant) continue;
    graph->keep(value->constant_ref); /* the weights stay where they are */
    program->kept[i] = value->constant_ref;
    program->constants[i] = data_of(value->constant);
  }
  for (uint64_t i = 0; i < graph->num_nodes; ++i)
    program->steps[i] = step_of(graph, node_at(graph, i));
  *result = program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) {
  for (uint64_t i = 0; context->scratch && i < context->program->num_values; ++i)
    free(context->scratch[i]);
  free(context->scratch), free(context->values), free(context);
}
static armnn_code context_create(armnn_program *program, armnn_context **result,
                                 armnn_error *error) {
  armnn_context *context = calloc(1, sizeof *context);
  if (!context) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, no_memory);
  context->program = program;
  context->scratch = calloc(program->num_values, sizeof *context->scratch);
  context->values = calloc(program->num_values, sizeof *context->values);
  int complete = context->scratch && context->values;
  for (uint64_t i = 0; complete && i < program->num_steps; ++i) {
    float **scratch = &context->scratch[program->steps[i].output];
    *scratch = malloc((program->steps[i].elements + 1) * sizeof **scratch);
    complete = *scratch != NULL;
  }
  if (!complete) {
    context_destroy(context);
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, no_memory);
  }
  *result = context;
  return ARMNN_OK;
}
static float window(const step *s, const float *x, const float *weights, const int64_t at[4]) {
  const int64_t n = at[0], o = at[1], group = o / (s->to.c / (s->from.c / s->weights.c));
  float sum = 0;
  for (int64_t ky = 0; ky < s->weights.h; ++ky)
    for (int64_t kx = 0; kx < s->weights.w; ++kx) {
      const int64_t iy = at[2] * s->stride_y + ky * s->dilation_y - s->pad_top;
      const int64_t ix = at[3] * s->stride_x + kx * s->dilation_x - s->pad_left;
      if (iy < 0 || iy >= s->from.h || ix < 0 || ix >= s->from.w) continue;
      const float *pixel = x + n * s->from.step_n + iy * s->from.step_h + ix * s->from.step_w +
                           group * s->weights.c * s->from.step_c;
      const float *kernel = weights + o * s->weights.step_n + ky * s->weights.step_h +
                            kx * s->weights.step_w;
      for (int64_t c = 0; c < s->weights.c; ++c)
        sum += pixel[c * s->from.step_c] * kernel[c * s->weights.step_c];
    }
  return sum;
}
static void convolve(const step *s, const float *x, const float *weights, const float *bias,
                     float *y) {
  for (int64_t n = 0; n < s->to.n; ++n)
    for (int64_t o = 0; o < s->to.c; ++o)
      for (int64_t oy = 0; oy < s->to.h; ++oy)
        for (int64_t ox = 0; ox < s->to.w; ++ox)
          y[n * s->to.step_n + o * s->to.step_c + oy * s->to.step_h + ox * s->to.step_w] =
              window(s, x, weights, (const int64_t[]){n, o, oy, ox}) + (bias ? bias[o] : 0);
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  const armnn_program *program = context->program;
  const float **values = context->values;
  for (uint64_t i = 0; i < program->num_values; ++i)
    values[i] = program->constants[i] ? program->constants[i] : context->scratch[i];
  for (uint64_t i = 0; i < program->num_inputs; ++i)
    values[program->inputs[i]] = data_of(args->inputs[i]);
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    const step *s = &program->steps[i];
    const float *a = values[s->inputs[0]], *b = values[s->inputs[1]];
    float *out = context->scratch[s->output];
    if (armnn_host_has_cancelled(program->host) && /* it knows the deadline, too */
        program->host->cancelled(program->host->ctx, args->call_id))
      return fail(error, ARMNN_CANCELLED, s->id, "the host asked to stop");
    if (!s->is_convolution) {
      for (uint64_t e = 0; e < s->elements; ++e) out[e] = a[e] + b[e];
      continue;
    }
    convolve(s, a, b, s->inputs[2] >= 0 ? values[s->inputs[2]] : NULL, out);
  }
  for (uint64_t i = 0; i < program->num_outputs; ++i) {
    const int32_t index = program->outputs[i];
    memcpy(data_of(args->outputs[i]), values[index], program->elements[index] * sizeof(float));
  }
  return ARMNN_OK;
}
static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **result, armnn_error *error) {
  (void)options;
  if (num_options) return fail(error, ARMNN_INVALID_ARGUMENT, -1, "AcmeNpu has no options");
  armnn_backend *backend = calloc(1, sizeof *backend);
  if (!backend) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, no_memory);
  backend->host = host;
  *result = backend;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"AcmeNpu", 7},
    .version = {"1.0.0", 5},
    .vendor = {"Acme", 4},
    .flags = ARMNN_BACKEND_DETERMINISTIC,
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
};

const char *GetBackendId(void) { return table.id.data; }
void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = table.api_major, *outMinor = table.api_minor;
}
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
