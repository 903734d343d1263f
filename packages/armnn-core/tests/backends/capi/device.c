/* SPDX-License-Identifier: MIT */
/* A backend that adds float32 tensors in the memory of a device: its bytes are stored inverted and
 * its addresses are handles, so that a host that reads or writes them by itself is found out.
 * It deletes activations that change nothing, leaves nodes called "alone" untouched, and counts runs.
 */
#ifndef ARMNN_BACKEND_TARGET_MINOR
#define ARMNN_BACKEND_TARGET_MINOR 2
#endif
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if ARMNN_BACKEND_TARGET_MINOR < 2 /* What the header hides, to see that the host does not ask. */
enum { ARMNN_NODE_COMPILED, ARMNN_NODE_UNTOUCHED, ARMNN_NODE_DELETED, ARMNN_AFTER_ENQUEUE = 5 };
#endif
#ifndef TAKES_HOST_MEMORY
#define TAKES_HOST_MEMORY 0
#endif
#ifndef DEVICE_TYPE
#define DEVICE_TYPE 12 /* kDLExtDev */
#endif
#ifndef WORST_DISPOSITION
#define WORST_DISPOSITION ARMNN_NODE_DELETED
#endif

/* What the tests read through get_extension("test.device/1"). */
static struct {
  atomic_llong buffers, copied_in, copied_out, imported, programs, runs, on_host, on_device;
} counts;

struct armnn_backend { int unused; };
struct armnn_program { uint64_t elements; int32_t *places; uint64_t num_nodes, num_values; };
struct armnn_context { const armnn_program *program; };
struct armnn_device_buffer { unsigned char *bytes; int is_imported; uint64_t size; };

static armnn_code fail(armnn_error *error, armnn_code code, const char *text) {
  error->code = code;
  error->message = (armnn_string){text, strlen(text)};
  return code;
}
static int is(armnn_string text, const char *word) { return strcmp(text.data, word) == 0; }
static const armnn_node *node_at(const armnn_graph *graph, uint64_t i) {
  return ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i);
}
static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t count,
                         armnn_backend **backend, armnn_error *error) {
  (void)host, (void)options, (void)count, (void)error;
  *backend = malloc(sizeof **backend);
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *out, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_string type = node_at(graph, i)->type;
    armnn_support *support = ARMNN_AT(armnn_support, out, stride, i);
    support->level = is(type, ARMNN_LAYER_ADDITION) || is(type, ARMNN_LAYER_ACTIVATION);
    if (!support->level) support->reason = (armnn_string){"only Addition", 13};
  }
  return ARMNN_OK;
}
static armnn_code optimize(armnn_backend *backend, const armnn_device *device,
                           const armnn_graph *graph, int32_t *dispositions, armnn_error *error) {
  (void)backend, (void)device;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    const armnn_node *node = node_at(graph, i);
    if (dispositions[i] != ARMNN_NODE_COMPILED)
      return fail(error, ARMNN_INTERNAL, "the dispositions are not ARMNN_NODE_COMPILED");
    if (is(node->name, "refused")) return fail(error, ARMNN_INTERNAL, "no plan for it");
    if (is(node->type, ARMNN_LAYER_ACTIVATION)) dispositions[i] = WORST_DISPOSITION;
    if (is(node->name, "alone")) dispositions[i] = ARMNN_NODE_UNTOUCHED;
  }
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **made, armnn_error *error) {
  (void)backend, (void)device, (void)args;
  if (graph->num_nodes != 1 || !is(node_at(graph, 0)->type, ARMNN_LAYER_ADDITION))
    return fail(error, ARMNN_INTERNAL, "compile takes one Addition");
  const armnn_value *value = ARMNN_AT(const armnn_value, graph->values, graph->value_stride, 0);
  armnn_program *program = calloc(1, sizeof *program);
  program->elements = 1;
  for (int32_t i = 0; i < value->ndim; ++i) program->elements *= (uint64_t)value->shape[i];
  ++counts.programs;
  *made = program;
  return ARMNN_OK;
}
static void program_destroy(armnn_program *program) {
  --counts.programs;
  free(program);
}
static armnn_code context_create(armnn_program *program, armnn_context **context,
                                 armnn_error *error) {
  (void)error;
  *context = malloc(sizeof **context);
  (*context)->program = program;
  return ARMNN_OK;
}
static void context_destroy(armnn_context *context) { free(context); }

static void move(armnn_device_buffer *buffer, unsigned char *host, uint64_t size, int to_host) {
  for (uint64_t i = 0; i < size; ++i) {
    unsigned char flip = buffer->is_imported ? 0 : 0xff;
    if (to_host) host[i] = buffer->bytes[i] ^ flip;
    else buffer->bytes[i] = host[i] ^ flip;
  }
}
static float element(const armnn_tensor *tensor, uint64_t i) {
  if (tensor->device_type == ARMNN_DEVICE_CPU) return ((const float *)tensor->data)[i];
  armnn_device_buffer part = *(armnn_device_buffer *)tensor->data;
  float value;
  part.bytes += i * sizeof value;
  move(&part, (unsigned char *)&value, sizeof value, 1);
  return value;
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  const armnn_tensor *x = args->inputs[0], *y = args->inputs[args->num_inputs - 1];
  const armnn_tensor *sum = args->outputs[0];
  const armnn_tensor *all[] = {x, y, sum};
  for (int i = 0; i < 3; ++i) {
    int on_host = all[i]->device_type == ARMNN_DEVICE_CPU;
    ++*(on_host ? &counts.on_host : &counts.on_device);
    if (on_host && !TAKES_HOST_MEMORY) return fail(error, ARMNN_INTERNAL, "host memory");
  }
  for (uint64_t i = 0; i < context->program->elements; ++i) {
    float value = element(x, i) + element(y, i);
    if (sum->device_type == ARMNN_DEVICE_CPU) {
      ((float *)sum->data)[i] = value;
      continue;
    }
    armnn_device_buffer part = *(armnn_device_buffer *)sum->data;
    part.bytes += i * sizeof value;
    move(&part, (unsigned char *)&value, sizeof value, 0);
  }
  return ARMNN_OK;
}
static armnn_code network_event(armnn_backend *backend, int32_t event, uint64_t network_id,
                                armnn_error *error) {
  (void)backend, (void)network_id, (void)error;
  counts.runs += event == ARMNN_AFTER_ENQUEUE;
  return ARMNN_OK;
}

static armnn_code make(unsigned char *bytes, int is_imported, uint64_t size,
                       armnn_device_buffer **buffer) {
  *buffer = malloc(sizeof **buffer);
  **buffer = (armnn_device_buffer){bytes, is_imported, size};
  ++counts.buffers;
  return ARMNN_OK;
}
static armnn_code allocate(armnn_backend *backend, uint64_t size, armnn_device_buffer **buffer,
                           armnn_error *error) {
  (void)backend;
  if (size > 1 << 20) return fail(error, ARMNN_RESOURCE_EXHAUSTED, "the device has 1 MiB");
  return make(malloc(size), 0, size, buffer);
}
static void *data(armnn_device_buffer *buffer) { return buffer; }
static armnn_code copy_in(armnn_device_buffer *buffer, const void *from, uint64_t size,
                          armnn_error *error) {
  if (size > buffer->size) return fail(error, ARMNN_INVALID_ARGUMENT, "too many bytes");
  ++counts.copied_in;
  move(buffer, (unsigned char *)from, size, 0);
  return ARMNN_OK;
}
static armnn_code copy_out(armnn_device_buffer *buffer, void *to, uint64_t size,
                           armnn_error *error) {
  if (size > buffer->size) return fail(error, ARMNN_INVALID_ARGUMENT, "too many bytes");
  ++counts.copied_out;
  move(buffer, to, size, 1);
  return ARMNN_OK;
}
#ifdef IMPORTS
static armnn_code import_memory(armnn_backend *backend, void *memory, uint64_t size,
                              armnn_device_buffer **buffer, armnn_error *error) {
  (void)backend;
  if (size == 12) return fail(error, ARMNN_UNIMPLEMENTED, "not three floats");
  ++counts.imported;
  return make(memory, 1, size, buffer);
}
#define IMPORT import_memory
#else
#define IMPORT NULL
#endif
static void buffer_destroy(armnn_device_buffer *buffer) {
  if (!buffer->is_imported) free(buffer->bytes);
  --counts.buffers;
  free(buffer);
}
static const armnn_device_memory memory = {
  .header = ARMNN_HEADER(ARMNN_DEVICE_MEMORY), .device_type = DEVICE_TYPE,
  .takes_host_memory = TAKES_HOST_MEMORY, .allocate = allocate, .data = data,
  .copy_in = copy_in, .copy_out = copy_out, .import_host = IMPORT,
  .buffer_destroy = buffer_destroy,
};
static const void *get_extension(const char *name) {
  if (strcmp(name, "armnn.device/1") == 0) return &memory;
  return strcmp(name, "test.device/1") == 0 ? &counts : NULL;
}
static const armnn_backend_api table = {
  .header = ARMNN_HEADER(ARMNN_BACKEND_API), .api_major = ARMNN_BACKEND_API_MAJOR,
  .api_minor = ARMNN_BACKEND_TARGET_MINOR, .id = {"AcmeDevice", 10}, .version = {"1.0", 3},
  .vendor = {"Acme", 4}, .create = create, .destroy = destroy, .query = query,
  .compile = compile, .program_destroy = program_destroy, .context_create = context_create,
  .context_destroy = context_destroy, .execute = execute, .network_event = network_event,
  .get_extension = get_extension, .optimize = optimize,
};
ARMNN_EXPORT const char *GetBackendId(void) { return "AcmeDevice"; }
ARMNN_EXPORT void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = ARMNN_BACKEND_API_MAJOR;
  *outMinor = ARMNN_BACKEND_TARGET_MINOR;
}
ARMNN_EXPORT void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
