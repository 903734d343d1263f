/* SPDX-License-Identifier: MIT */
/* MutatedNpu: eight layer types in float32, in one arena per context, with programs that can be
 * stored. native_mutants.py plants one fault at a time in it; it ships nowhere.
 */
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

ARMNN_BACKEND_NOTE("{\"id\": \"MutatedNpu\", \"api\": \"1.0\"}");

#include "mutated_lowering.h"
#include "mutated_kernels.h"

enum { MAGIC = 0x4d555431 };

typedef struct {
  uint64_t elements, offset; /* in the arena, of elements; what nodes compute */
  int32_t is_constant, unused;
} place;

struct armnn_backend { const armnn_host *host; };
struct armnn_program {
  const armnn_host *host;
  armnn_constant_fn drop;
  uint64_t num_values, num_steps, num_inputs, num_outputs, arena_elements;
  place *places;
  const float **constants;
  void **kept, **owned;
  step *steps;
  int32_t *inputs, *outputs;
};
struct armnn_context {
  const armnn_program *program;
  float *arena;
  const float **values;
};

static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    step ignored;
    const char *why = lower(graph, node_at(graph, i), &ignored, &support->input);
    support->level = why ? ARMNN_NOT_SUPPORTED : ARMNN_PREFERRED;
    if (why) support->reason = text(why);
  }
  return ARMNN_OK;
}

static void program_destroy(armnn_program *program) {
  for (uint64_t i = 0; program->kept && i < program->num_values; ++i)
    if (program->kept[i]) program->drop(program->kept[i]);
  for (uint64_t i = 0; program->owned && i < program->num_values; ++i) free(program->owned[i]);
  free(program->places), free(program->constants), free(program->kept), free(program->owned);
  free(program->steps), free(program->inputs), free(program->outputs), free(program);
}
static armnn_program *program_new(const armnn_host *host, const uint64_t counts[4]) {
  armnn_program *program = calloc(1, sizeof *program);
  if (!program) return NULL;
  program->host = host;
  program->num_values = counts[0], program->num_steps = counts[1];
  program->num_inputs = counts[2], program->num_outputs = counts[3];
  program->places = calloc(counts[0] + 1, sizeof *program->places);
  program->constants = calloc(counts[0] + 1, sizeof *program->constants);
  program->kept = calloc(counts[0] + 1, sizeof *program->kept);
  program->owned = calloc(counts[0] + 1, sizeof *program->owned);
  program->steps = calloc(counts[1] + 1, sizeof *program->steps);
  program->inputs = calloc(counts[2] + 1, sizeof *program->inputs);
  program->outputs = calloc(counts[3] + 1, sizeof *program->outputs);
  if (program->places && program->constants && program->kept && program->owned &&
      program->steps && program->inputs && program->outputs)
    return program;
  program_destroy(program);
  return NULL;
}
static void plan(armnn_program *program) {
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    place *at = &program->places[program->steps[i].output];
    at->offset = program->arena_elements;
    program->arena_elements += at->elements;
  }
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **result, armnn_error *error) {
  (void)device;
  for (uint64_t i = 0; i < args->num_options; ++i)
    if (!is(args->options[i].key, "FastMathEnabled"))
      return fail(error, ARMNN_INVALID_ARGUMENT, -1, "the only option is FastMathEnabled");
  const uint64_t counts[] = {graph->num_values, graph->num_nodes, graph->num_inputs,
                             graph->num_outputs};
  armnn_program *program = program_new(backend->host, counts);
  if (!program) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  program->drop = graph->drop;
  for (uint64_t i = 0; i < graph->num_values; ++i) {
    const armnn_value *value = value_at(graph, (int32_t)i);
    program->places[i].elements = elements_of(value);
    if (!value->constant) continue;
    graph->keep(value->constant_ref);
    program->kept[i] = value->constant_ref;
    program->places[i].is_constant = 1;
    program->constants[i] = data_of(value->constant);
  }
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    int32_t input;
    const char *why = lower(graph, node_at(graph, i), &program->steps[i], &input);
    if (why) {
      program_destroy(program);
      return fail(error, ARMNN_UNSUPPORTED_NODE, node_at(graph, i)->id, why);
    }
  }
  memcpy(program->inputs, graph->inputs, graph->num_inputs * sizeof *program->inputs);
  memcpy(program->outputs, graph->outputs, graph->num_outputs * sizeof *program->outputs);
  plan(program);
  *result = program;
  return ARMNN_OK;
}

/* The bytes of a program: counts, places, steps, inputs, outputs, constants. */
static armnn_code serialize(armnn_program *program, armnn_write_fn write, void *arg,
                            armnn_error *error) {
  const uint64_t head[] = {MAGIC, program->num_values, program->num_steps, program->num_inputs,
                           program->num_outputs};
  const struct { const void *data; uint64_t size; } parts[] = {
      {head, sizeof head},
      {program->places, program->num_values * sizeof *program->places},
      {program->steps, program->num_steps * sizeof *program->steps},
      {program->inputs, program->num_inputs * sizeof *program->inputs},
      {program->outputs, program->num_outputs * sizeof *program->outputs}};
  armnn_code code = ARMNN_OK;
  for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; ++i)
    if (parts[i].size) code = write(arg, parts[i].data, parts[i].size);
  for (uint64_t i = 0; !code && i < program->num_values; ++i)
    if (program->places[i].is_constant && program->places[i].elements)
      code = write(arg, program->constants[i], program->places[i].elements * sizeof(float));
  return code ? fail(error, code, -1, "the host takes no more bytes") : ARMNN_OK;
}
static int take(const char **at, const char *end, void *to, uint64_t size) {
  if ((uint64_t)(end - *at) < size) return 0;
  if (size) memcpy(to, *at, size);
  *at += size;
  return 1;
}
static armnn_code deserialize(armnn_backend *backend, const armnn_device *device, const void *data,
                              uint64_t size, armnn_program **result, armnn_error *error) {
  (void)device;
  const char *at = data, *end = at + size;
  uint64_t head[5];
  if (!take(&at, end, head, sizeof head) || head[0] != MAGIC || head[1] > size || head[2] > size ||
      head[3] > size || head[4] > size)
    return fail(error, ARMNN_INCOMPATIBLE_BLOB, -1, "not of MutatedNpu");
  armnn_program *program = program_new(backend->host, head + 1);
  if (!program) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  int fits = take(&at, end, program->places, head[1] * sizeof *program->places) &&
             take(&at, end, program->steps, head[2] * sizeof *program->steps) &&
             take(&at, end, program->inputs, head[3] * sizeof *program->inputs) &&
             take(&at, end, program->outputs, head[4] * sizeof *program->outputs);
  for (uint64_t i = 0; fits && i < head[1]; ++i) {
    if (!program->places[i].is_constant) continue;
    const uint64_t bytes = program->places[i].elements * sizeof(float);
    program->owned[i] = bytes <= size ? malloc(bytes + 1) : NULL;
    program->constants[i] = program->owned[i];
    fits = program->owned[i] && take(&at, end, program->owned[i], bytes);
  }
  if (!fits) {
    program_destroy(program);
    return fail(error, ARMNN_INCOMPATIBLE_BLOB, -1, "it is cut short");
  }
  plan(program);
  *result = program;
  return ARMNN_OK;
}

static void context_destroy(armnn_context *context) {
  free(context->arena), free(context->values), free(context);
}
static armnn_code context_create(armnn_program *program, armnn_context **result,
                                 armnn_error *error) {
  armnn_context *context = calloc(1, sizeof *context);
  if (!context) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  context->program = program;
  context->arena = malloc((program->arena_elements + 1) * sizeof *context->arena);
  context->values = calloc(program->num_values + 1, sizeof *context->values);
  if (!context->arena || !context->values) {
    context_destroy(context);
    return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  }
  *result = context;
  return ARMNN_OK;
}

static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  const armnn_program *program = context->program;
  const armnn_host *host = program->host;
  const float **values = context->values;
  for (uint64_t i = 0; i < program->num_values; ++i)
    values[i] = program->places[i].is_constant ? program->constants[i]
                                               : context->arena + program->places[i].offset;
  for (uint64_t i = 0; i < program->num_inputs; ++i)
    values[program->inputs[i]] = data_of(args->inputs[i]);
  for (uint64_t i = 0; i < program->num_steps; ++i) {
    const step *s = &program->steps[i];
    if (armnn_host_has_cancelled(host) && host->cancelled(host->ctx, args->call_id))
      return fail(error, ARMNN_CANCELLED, s->id, "the host asked to stop");
    const place *at = &program->places[s->output];
    run(s, values, at->elements, context->arena + at->offset);
  }
  for (uint64_t i = 0; i < program->num_outputs; ++i) {
    const int32_t index = program->outputs[i];
    memcpy(data_of(args->outputs[i]), values[index],
           program->places[index].elements * sizeof(float));
  }
  return ARMNN_OK;
}

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **result, armnn_error *error) {
  (void)options;
  if (num_options) return fail(error, ARMNN_INVALID_ARGUMENT, -1, "there are no options");
  armnn_backend *backend = calloc(1, sizeof *backend);
  if (!backend) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, "no memory");
  backend->host = host;
  *result = backend;
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { free(backend); }
static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
    .api_major = ARMNN_BACKEND_API_MAJOR,
    .api_minor = ARMNN_BACKEND_TARGET_MINOR,
    .id = {"MutatedNpu", 10},
    .version = {"1.0.0", 5},
    .vendor = {"Acme", 4},
    .create = create,
    .destroy = destroy,
    .query = query,
    .compile = compile,
    .serialize = serialize,
    .deserialize = deserialize,
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
