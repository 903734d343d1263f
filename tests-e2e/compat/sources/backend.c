/* SPDX-License-Identifier: MIT */
/* The backend of the compatibility matrix in C: Convolution2d and ArgMinMax of float32 tensors, one
 * layer per program. Built against the header of each Backend API; what a header does not know, the
 * backend made with it does not know either.
 */
#include <armnn/backend.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_(n) #n
#define NUMBER(n) NUMBER_(n)
ARMNN_BACKEND_NOTE("{\"id\": \"Compat\", \"api\": \"" NUMBER(ARMNN_BACKEND_API_MAJOR) "." NUMBER(
    ARMNN_BACKEND_TARGET_MINOR) "\"}");

typedef struct { int64_t n, c, h, w; } extent;
struct armnn_backend { int unused; };
struct armnn_program {
  int is_convolution, selects_last, finds_largest;
  extent input, weights, output;
  int64_t stride_x, stride_y, pad_left, pad_top;
  float *constant;
  int64_t length;
};
struct armnn_context { const armnn_program *program; };

static armnn_code fail(armnn_error *error, armnn_code code, const char *text) {
  error->code = code;
  error->message = (armnn_string){text, strlen(text)};
  return code;
}
static int64_t attribute(const armnn_graph *graph, const armnn_node *node, const char *name) {
  for (uint64_t i = 0; i < node->num_attributes; ++i) {
    const armnn_attribute *at =
        ARMNN_AT(const armnn_attribute, node->attributes, graph->attribute_stride, i);
    if (strcmp(at->name.data, name) == 0 && at->type == ARMNN_ATTRIBUTE_INT64)
      return *(const int64_t *)at->data;
  }
  return 0;
}
static const armnn_value *value_of(const armnn_graph *graph, int32_t index) {
  return ARMNN_AT(const armnn_value, graph->values, graph->value_stride, index);
}
static extent extent_of(const armnn_value *value) {
  return (extent){value->shape[0], value->shape[1], value->shape[2], value->shape[3]};
}

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t count,
                         armnn_backend **backend, armnn_error *error) {
  (void)host, (void)options, (void)count;
  *backend = malloc(sizeof **backend);
  return *backend ? ARMNN_OK : fail(error, ARMNN_RESOURCE_EXHAUSTED, "no memory");
}
static void destroy(armnn_backend *backend) { free(backend); }

static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *out, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
    armnn_support *support = ARMNN_AT(armnn_support, out, stride, i);
    const armnn_value *input = value_of(graph, node->inputs[0]);
    int known = input->data_type == ARMNN_FLOAT32;
    if (strcmp(node->type.data, "Convolution2d") == 0)
      known = known && node->num_inputs == 2 && value_of(graph, node->inputs[1])->constant;
    else
      known = known && strcmp(node->type.data, "ArgMinMax") == 0 && input->ndim == 1 &&
              value_of(graph, node->outputs[0])->data_type == ARMNN_SIGNED64;
    support->level = known ? ARMNN_SUPPORTED : ARMNN_NOT_SUPPORTED;
    if (!known) support->reason = (armnn_string){"not in the matrix", 17};
  }
  return ARMNN_OK;
}

static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **program, armnn_error *error) {
  (void)backend, (void)device, (void)args;
  const armnn_node *node = graph->nodes;
  if (graph->num_nodes != 1) return fail(error, ARMNN_UNIMPLEMENTED, "one layer at a time");
  armnn_program *made = calloc(1, sizeof *made);
  const armnn_value *input = value_of(graph, node->inputs[0]);
  made->is_convolution = strcmp(node->type.data, "Convolution2d") == 0;
  if (made->is_convolution) {
    const armnn_value *weights = value_of(graph, node->inputs[1]);
    made->input = extent_of(input);
    made->weights = extent_of(weights);
    made->output = extent_of(value_of(graph, node->outputs[0]));
    made->stride_x = attribute(graph, node, "stride_x");
    made->stride_y = attribute(graph, node, "stride_y");
    made->pad_left = attribute(graph, node, "pad_left");
    made->pad_top = attribute(graph, node, "pad_top");
    size_t size = sizeof(float) * (size_t)(made->weights.n * made->weights.c * made->weights.h *
                                           made->weights.w);
    made->constant = malloc(size);
    memcpy(made->constant, (char *)weights->constant->data + weights->constant->byte_offset, size);
  } else {
    made->length = input->shape[0];
    made->finds_largest = attribute(graph, node, "function") == 1;
#if ARMNN_BACKEND_API_MAJOR > 1 || ARMNN_BACKEND_API_MINOR >= 1
    made->selects_last = attribute(graph, node, "select_last_index") != 0;
#endif
  }
  *program = made;
  return ARMNN_OK;
}
static void program_destroy(armnn_program *program) {
  free(program->constant);
  free(program);
}
static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  *context = malloc(sizeof **context);
  if (!*context) return fail(error, ARMNN_RESOURCE_EXHAUSTED, "no memory");
  (*context)->program = program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) { free(context); }

static float sum_at(const armnn_program *p, const float *x, int64_t o, int64_t y, int64_t col) {
  float sum = 0;
  for (int64_t c = 0; c < p->weights.c; ++c)
    for (int64_t i = 0; i < p->weights.h; ++i)
      for (int64_t j = 0; j < p->weights.w; ++j) {
        int64_t row = y * p->stride_y - p->pad_top + i, at = col * p->stride_x - p->pad_left + j;
        if (row < 0 || row >= p->input.h || at < 0 || at >= p->input.w) continue;
        sum += x[(c * p->input.h + row) * p->input.w + at] *
               p->constant[((o * p->weights.c + c) * p->weights.h + i) * p->weights.w + j];
      }
  return sum;
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  (void)error;
  const armnn_program *p = context->program;
  const float *x = args->inputs[0]->data;
  if (!p->is_convolution) {
    int64_t best = 0;
    for (int64_t i = 1; i < p->length; ++i) {
      int is_better = p->finds_largest ? x[i] > x[best] : x[i] < x[best];
      if (is_better || (p->selects_last && x[i] == x[best])) best = i;
    }
    *(int64_t *)args->outputs[0]->data = best;
    return ARMNN_OK;
  }
  float *out = args->outputs[0]->data;
  for (int64_t o = 0; o < p->output.c; ++o)
    for (int64_t y = 0; y < p->output.h; ++y)
      for (int64_t col = 0; col < p->output.w; ++col) *out++ = sum_at(p, x, o, y, col);
  return ARMNN_OK;
}

static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"Compat", 6},
    .version = {"1", 1},
    .vendor = {"Matrix", 6},
    .score = 1,
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
};
ARMNN_EXPORT const char *GetBackendId(void) { return "Compat"; }
ARMNN_EXPORT void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = ARMNN_BACKEND_API_MAJOR;
  *outMinor = ARMNN_BACKEND_TARGET_MINOR;
}
ARMNN_EXPORT void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
