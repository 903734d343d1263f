/* SPDX-License-Identifier: MIT */
/* A backend that adds float tensors, with one defect per -D switch. Without any it is good.
 *
 * ID, TABLE_ID: what GetBackendId and the table say. MAJOR, MINOR: what GetVersion says. NOTE: the
 * JSON of its note. LAYER: what it claims instead of Addition, without being able to compute it
 * right. AT_LOAD, AT_FACTORY, IN_CREATE, IN_EXECUTE: a statement to run there. The others do what
 * they are called like.
 */
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef ID
#define ID "MockAdd"
#endif
#ifndef MAJOR
#define MAJOR ARMNN_BACKEND_API_MAJOR
#endif
#ifndef MINOR
#define MINOR ARMNN_BACKEND_TARGET_MINOR
#endif
#ifndef TABLE_ID
#define TABLE_ID ID
#endif
#ifndef AT_FACTORY
#define AT_FACTORY
#endif
#ifndef AT_LOAD
#define AT_LOAD
#endif
#ifndef IN_CREATE
#define IN_CREATE
#endif
#ifndef IN_EXECUTE
#define IN_EXECUTE
#endif
#ifndef LAYER
#define LAYER ARMNN_LAYER_ADDITION
#endif
#ifdef NOTE
ARMNN_BACKEND_NOTE(NOTE);
#endif
#ifdef NEEDS_SYMBOL
extern int symbol_of_nobody(void);
#endif

static int the_one;

static void *wait_for_ever(void *arg) {
  for (;;) pause();
  return arg;
}
static inline void start_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_ever, NULL);
}
static inline void spin(void) {
  for (volatile int spins = 1; spins;) {
  }
}
static inline void write_through_wild_pointer(void) { *(volatile int *)16 = 1; }

static inline void say_goodbye(void) { fputs("goodbye", stdout); }
static inline armnn_code fail_with(armnn_error *error, armnn_code code, const char *text) {
  error->code = code;
  error->message = (armnn_string){text, strlen(text)};
  return code;
}

__attribute__((constructor)) static void at_load(void) { AT_LOAD; }

static armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t num_options,
                         armnn_backend **backend, armnn_error *error) {
  (void)host, (void)options, (void)num_options, (void)error;
  IN_CREATE;
  *backend = (armnn_backend *)(void *)&the_one;
#ifdef NEEDS_SYMBOL
  the_one = symbol_of_nobody();
#endif
  return ARMNN_OK;
}
static void destroy(armnn_backend *backend) { (void)backend; }

static int is_ours(const armnn_node *node) {
#ifdef CLAIM_ALL
  (void)node;
  return 1;
#else
  return node->type.size == strlen(LAYER) && memcmp(node->type.data, LAYER, strlen(LAYER)) == 0;
#endif
}
static armnn_code query(armnn_backend *backend, const armnn_device *device,
                        const armnn_graph *graph, armnn_support *supports, uint64_t stride,
                        armnn_error *error) {
  (void)backend, (void)device, (void)error;
  for (uint64_t i = 0; i < graph->num_nodes; ++i) {
    armnn_support *support = ARMNN_AT(armnn_support, supports, stride, i);
    if (is_ours(ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, i)))
#ifdef ANSWER
      support->level = ANSWER;
#else
      support->level = ARMNN_SUPPORTED;
#endif
    else
      support->reason = (armnn_string){"only " LAYER, strlen("only " LAYER)};
  }
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *backend, const armnn_device *device,
                          const armnn_graph *graph, const armnn_compile_args *args,
                          armnn_program **program, armnn_error *error) {
  (void)backend, (void)device, (void)graph, (void)args, (void)error;
#ifdef REFUSE_COMPILE
  return fail_with(error, ARMNN_UNSUPPORTED_NODE, "not this one");
#endif
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

static uint64_t count_of(const armnn_tensor *tensor) {
  uint64_t count = 1;
  for (int32_t i = 0; i < tensor->ndim; ++i) count *= (uint64_t)tensor->shape[i];
  return count;
}
static armnn_code execute(armnn_context *context, const armnn_execute_args *args,
                          armnn_error *error) {
  (void)context, (void)error;
#ifdef FAIL_EXECUTE
  return fail_with(error, ARMNN_INTERNAL, "out of order");
#endif
  float *a = args->inputs[0]->data, *b = args->inputs[args->num_inputs - 1]->data;
  float *sum = args->outputs[0]->data;
  const uint64_t count = count_of(args->outputs[0]);
  (void)a, (void)b, (void)sum, (void)count;
  IN_EXECUTE;
#ifndef WRITE_NOTHING
  for (uint64_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
#endif
  return ARMNN_OK;
}

static const armnn_backend_api table = {
#ifdef BROKEN_HEADER
    .header = BROKEN_HEADER,
#else
    .header = ARMNN_HEADER(ARMNN_BACKEND_API),
#endif
    .api_major = MAJOR,
    .api_minor = MINOR,
    .id = {TABLE_ID, sizeof(TABLE_ID) - 1},
    .version = {"3.2.1", 5},
    .vendor = {"Mock", 4},
    .create = create,
    .destroy = destroy,
#ifndef NULL_FUNCTIONS
    .query = query,
    .compile = compile,
#endif
    .program_destroy = program_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .execute = execute,
};

#ifndef NO_ID
const char *GetBackendId(void) {
#ifdef NULL_ID
  return NULL;
#else
  return ID;
#endif
}
#endif
#ifndef NO_VERSION
void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = table.api_major;
  *outMinor = table.api_minor;
}
#endif
#ifndef NO_FACTORY
void *BackendFactory(void) {
  AT_FACTORY;
#ifdef NULL_FACTORY
  return NULL;
#else
  return (void *)(uintptr_t)&table;
#endif
}
#endif
