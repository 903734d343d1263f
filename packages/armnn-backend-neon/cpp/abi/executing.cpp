/* SPDX-License-Identifier: MIT */
/* The function execute of the table: takes pointers, runs the operations in order, and looks at the deadline. */
#include <algorithm>
#include <string>

#include "abi/backend.h"
#include "abi/clock.h"
#include "abi/errors.h"
#include "costs/machine.h"

namespace cpuacc {
namespace {

constexpr uint64_t kLookEveryNs = 5000000; /* the host is asked at most that often */

void *data_of(const armnn_tensor &tensor) { return static_cast<char *>(tensor.data) + tensor.byte_offset; }

constexpr double kMostInJson = 1e15;

/* A number from 0 on, to a thousandth: printf writes it as the application's language does, and a stream would bring
 * 0.5 MB of such languages into the library.
 */
std::string json_of(double number) {
  const auto thousandths = static_cast<uint64_t>(std::min(number, kMostInJson) * 1000.0 + 0.5);
  const std::string behind = std::to_string(1000 + thousandths % 1000);
  return std::to_string(thousandths / 1000) + "." + behind.substr(1);
}

/* Watches the deadline and the wishes to stop, and times operations for a profiler. */
class Watch {
 public:
  Watch(const armnn_program &program, const armnn_execute_args &args, const std::atomic<bool> *stop)
      : program_(program), host_(*program.backend.host), args_(args), stop_(stop) {
    is_profiling_ = args.call_id != 0 && armnn_host_has_profiling(&host_) && armnn_host_has_event(&host_) &&
                    host_.profiling(host_.ctx) != 0;
  }

  bool operator()(size_t position) {
    const uint64_t now = now_ns();
    if (is_profiling_) record(position, now);
    if (args_.deadline_ns != 0 && now >= args_.deadline_ns) code = ARMNN_DEADLINE_EXCEEDED;
    if (stop_ != nullptr && stop_->load()) code = ARMNN_CANCELLED;
    if (args_.call_id != 0 && now - asked_ns_ >= kLookEveryNs && armnn_host_has_cancelled(&host_)) {
      asked_ns_ = now;
      if (host_.cancelled(host_.ctx, args_.call_id) != 0) code = ARMNN_CANCELLED;
    }
    return code != ARMNN_OK;
  }

  /* The kernel that was chosen, its work and the time that this should take, in JSON. */
  std::string kernel_of(const Operation &operation) const {
    if (operation.kernel.empty()) return "";
    const double predicted_ns = costs::machine(program_.backend.kernels.lanes).ns_of(operation.work);
    std::string text =
        "{\"kernel\": \"" + operation.kernel + "\", \"predicted_ns\": " + json_of(predicted_ns) + ", \"work\": {";
    const char *between = "";
    for (size_t i = 0; i < costs::kUnits; ++i) {
      if (operation.work.counts[i] == 0.0) continue;
      text += between + ("\"" + std::string(costs::kUnitNames[i]) + "\": " + json_of(operation.work.counts[i]));
      between = ", ";
    }
    return text + "}}";
  }

  /* The operation before this position ends now. */
  void record(size_t position, uint64_t now) {
    if (is_profiling_ && position > 0) {
      const Operation &operation = *program_.program.graph().operations[position - 1];
      const int32_t node = operation.node;
      const std::string name = node < 0 ? "reorder" : program_.graph.layers[static_cast<size_t>(node)]->name;
      const std::string args = kernel_of(operation);
      host_.event(host_.ctx, args_.call_id, ARMNN_PROFILE_KERNEL, {name.c_str(), name.size()},
                  began_ns_, now, {args.c_str(), args.size()});
    }
    /* The time that the host spends on an event is not counted in the next one. */
    began_ns_ = is_profiling_ ? now_ns() : now;
  }

  armnn_code code = ARMNN_OK;

 private:
  const armnn_program &program_;
  const armnn_host &host_;
  const armnn_execute_args &args_;
  const std::atomic<bool> *stop_;
  bool is_profiling_ = false;
  uint64_t asked_ns_ = 0;
  uint64_t began_ns_ = 0;
};

}  // namespace

void execute(armnn_context &context, const armnn_execute_args &args, const std::atomic<bool> *stop) {
  const armnn_program &program = context.program;
  if (args.num_inputs != context.inputs.size() || args.num_outputs != context.outputs.size()) {
    throw Failure{ARMNN_INVALID_ARGUMENT,
                  "got " + std::to_string(args.num_inputs) + " inputs and " +
                      std::to_string(args.num_outputs) + " outputs, expected " +
                      std::to_string(context.inputs.size()) + " and " +
                      std::to_string(context.outputs.size()),
                  {}};
  }
  for (size_t i = 0; i < context.inputs.size(); ++i) context.inputs[i] = data_of(*args.inputs[i]);
  for (size_t i = 0; i < context.outputs.size(); ++i) context.outputs[i] = data_of(*args.outputs[i]);
  const void *const *inputs = context.inputs.data();
  void *const *outputs = context.outputs.data();
  if (args.call_id == 0 && args.deadline_ns == 0 && stop == nullptr) {
    context.context.run(inputs, outputs, [](size_t) { return false; });
    return;
  }
  Watch watch(program, args, stop);
  if (context.context.run(inputs, outputs, [&](size_t position) { return watch(position); })) {
    watch.record(program.program.graph().operations.size(), now_ns());
  } else {
    throw Failure{watch.code, watch.code == ARMNN_CANCELLED ? "it was cancelled" : "the time is over",
                  {}};
  }
}

}  // namespace cpuacc
