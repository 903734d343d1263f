/* SPDX-License-Identifier: MIT */
/* AcmeNpu, the sample of armnn-dynamic-loader, with one fault that its probe does not meet.
 *
 * -DFAULT_CRASH: the second call that convolves an image of 100 rows or more writes to address 0.
 * -DFAULT_PADDING: convolutions of stride 2 on images that large begin without their left padding.
 */
#include <armnn/backend.h>

#define BackendFactory right_factory
#include "acme_npu.c"
#undef BackendFactory

static armnn_backend_api faulty;

#ifdef FAULT_CRASH
static armnn_code faulty_execute(armnn_context *context, const armnn_execute_args *args, armnn_error *error) {
  static int calls = 0;
  for (uint64_t i = 0; i < context->program->num_steps; ++i)
    if (context->program->steps[i].from.h >= 100 && ++calls == 2) *(volatile int *)0 = 1;
  return execute(context, args, error);
}
#else
static armnn_code faulty_compile(armnn_backend *backend, const armnn_device *device, const armnn_graph *graph,
                                 const armnn_compile_args *args, armnn_program **result, armnn_error *error) {
  const armnn_code code = compile(backend, device, graph, args, result, error);
  for (uint64_t i = 0; code == ARMNN_OK && i < (*result)->num_steps; ++i) {
    step *each = &(*result)->steps[i];
    if (each->from.h >= 100 && each->stride_x == 2) each->pad_left = 0;
  }
  return code;
}
#endif

void *BackendFactory(void) {
  faulty = *(const armnn_backend_api *)right_factory();
#ifdef FAULT_CRASH
  faulty.execute = faulty_execute;
#else
  faulty.compile = faulty_compile;
#endif
  return &faulty;
}
