/* SPDX-License-Identifier: MIT */
/* A function of what a producer computes. */
#include "passes/fusion/rules.h"

namespace cpuacc {
namespace {

/* Makes of a function this one and then a later one, if kernels compute both as one. */
bool append(Elementwise &function, bool scales, const Elementwise &later) {
  if (function.function == Function::identity) {
    function = later;
    return true;
  }
  if (!scales || later.function != Function::linear) return false;
  if (function.function == Function::linear) {
    function.a *= later.a;
    function.b = function.b * later.a + later.b;
  } else {
    function.scale *= later.a;
    function.shift = function.shift * later.a + later.b;
  }
  return true;
}

}  // namespace

Operation *fuse_function(const Candidate &candidate) {
  const auto *function = candidate.computes<Elementwise>();
  if (function == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer(0);
  if (slots.function == nullptr || !append(*slots.function, slots.scales, *function)) return nullptr;
  return producer;
}

}  // namespace cpuacc
