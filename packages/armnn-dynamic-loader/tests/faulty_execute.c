// SPDX-License-Identifier: MIT
// A backend of Activation that computes ReLu, and has the fault in execute that the first element
// of its input names: isolation must keep each of them from the host.
#include <armnn/backend.h>
#include <armnn/layers.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int the_one;

static armnn_code create(const armnn_host *h, const armnn_option *o, uint64_t n, armnn_backend **made,
                         armnn_error *e) {
  return *made = (armnn_backend *)(void *)&the_one, ARMNN_OK;
}

static void destroy(armnn_backend *b) {}

static armnn_code query(armnn_backend *b, const armnn_device *d, const armnn_graph *g,
                        armnn_support *s, uint64_t stride, armnn_error *e) {
  for (uint64_t i = 0; i < g->num_nodes; ++i) {
    armnn_support *row = (armnn_support *)((char *)s + i * stride);
    const armnn_node *node = (const armnn_node *)((const char *)g->nodes + i * g->node_stride);
    const size_t size = strlen(ARMNN_LAYER_ACTIVATION);
    const int is_ours = node->type.size == size && !memcmp(node->type.data, ARMNN_LAYER_ACTIVATION, size);
    row->level = is_ours ? ARMNN_SUPPORTED : ARMNN_NOT_SUPPORTED;
  }
  return ARMNN_OK;
}

static armnn_code compile(armnn_backend *b, const armnn_device *d, const armnn_graph *g,
                          const armnn_compile_args *a, armnn_program **made, armnn_error *e) {
  return *made = (armnn_program *)(void *)&the_one, ARMNN_OK;
}

static void program_destroy(armnn_program *p) {}

static armnn_code context_create(armnn_program *p, armnn_context **made, armnn_error *e) {
  return *made = (armnn_context *)(void *)&the_one, ARMNN_OK;
}

static void context_destroy(armnn_context *c) {}

static void *crash(void *nothing) {
  *(volatile int *)nothing = 1;
  return nothing;
}

// What the first element asks for, from 1.
enum fault {
  NO_FAULT,
  POINTER, BUS, ABORT, QUICK_EXIT, EXIT, HANG, SPIN, MEMORY,
  BEHIND, BEFORE, INPUT, THREAD, DESCRIPTORS, ROUNDING, STATE
};

static void fault(enum fault code, float *in, float *out, size_t count) {
  pthread_t thread;
  switch (code) {
    case POINTER: crash(NULL); break;
    case BUS: raise(SIGBUS); break;
    case ABORT: abort();
    case QUICK_EXIT: _exit(0);
    case EXIT: exit(0);
    case HANG: for (;;) pause();
    case SPIN: for (volatile int spin = 1; spin;) {} break;
    case MEMORY: // kept in memory: gcc 16 leaves out a malloc that is not read
      for (void *volatile more; (more = malloc(1 << 24)) != NULL;) {} abort();
    case BEHIND: memset(out + count, 0, 16); break;
    case BEFORE: memset(out - 4, 0, 16); break;
    case INPUT: in[1] = 99; break;
    case THREAD: pthread_create(&thread, NULL, crash, NULL), pthread_join(thread, NULL); break;
    case DESCRIPTORS: for (int each = 0; each < 21; ++each) close(each); break;
    case ROUNDING: fesetround(FE_UPWARD); break;
    case STATE: signal(SIGTERM, SIG_IGN), signal(SIGSEGV, SIG_IGN), (void)!chdir("/"); break;
    default: break;
  }
}

static armnn_code execute(armnn_context *c, const armnn_execute_args *a, armnn_error *e) {
  const armnn_tensor *source = a->inputs[0], *target = a->outputs[0];
  float *in = (float *)((char *)source->data + source->byte_offset);
  float *out = (float *)((char *)target->data + target->byte_offset);
  size_t count = 1;
  for (int axis = 0; axis < (int)source->ndim; ++axis) count *= (size_t)source->shape[axis];
  if (in[0] > 0) fault((enum fault)in[0], in, out, count);
  for (size_t i = 0; i < count; ++i) out[i] = in[i] > 0 ? in[i] : 0;
  return ARMNN_OK;
}

static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API), .api_major = ARMNN_BACKEND_API_MAJOR,
    .id = {"Faulty", 6}, .create = create, .destroy = destroy, .query = query, .compile = compile,
    .program_destroy = program_destroy, .context_create = context_create,
    .context_destroy = context_destroy, .execute = execute};

const char *GetBackendId(void) { return "Faulty"; }
void GetVersion(uint32_t *major, uint32_t *minor) { *major = ARMNN_BACKEND_API_MAJOR, *minor = 0; }
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
