/* SPDX-License-Identifier: MIT */
/* A backend that adds two float vectors: the least that a table can hold. */
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <string.h>

ARMNN_BACKEND_NOTE("{\"id\": \"AcmeAdd\", \"api\": \"1.0\"}");

static int the_one;

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **backend, armnn_error *error) {
  (void)host, (void)options, (void)num_options, (void)error;
  *backend = (armnn_backend *)(void *)&the_one;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { (void)backend; }

static int is_addition(const armnn_node *node) {
  static const char name[] = ARMNN_LAYER_ADDITION;
  return node->type.size == sizeof name - 1 && memcmp(node->type.data, name, sizeof name - 1) == 0;
}
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    const int ok = is_addition(ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i));
    support->level = ok ? ARMNN_SUPPORTED : ARMNN_NOT_SUPPORTED;
    if (!ok) support->reason = (armnn_string){"only Addition", 13};
  }
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **program, armnn_error *error) {
  (void)backend, (void)device, (void)args;
  if (graph->num_nodes != 1 || !is_addition(graph->nodes)) {
    error->code = ARMNN_UNSUPPORTED_NODE;
    return ARMNN_UNSUPPORTED_NODE;
  }
  *program = (armnn_program *)(void *)&the_one;
  return ARMNN_OK;
}
static void program_destroy(armnn_program *program) { (void)program; }

static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  (void)error;
  *context = (armnn_context *)(void *)program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) { (void)context; }

static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  (void)context, (void)error;
  const float *a = args->inputs[0]->data, *b = args->inputs[1]->data;
  float *sum = args->outputs[0]->data;
  for (int64_t i = 0; i < args->outputs[0]->shape[0]; ++i) sum[i] = a[i] + b[i];
  return ARMNN_OK;
}

static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"AcmeAdd", 7},
    .version = {"1", 1},
    .vendor = {"Acme", 4},
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
  *outMajor = table.api_major;
  *outMinor = table.api_minor;
}
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
