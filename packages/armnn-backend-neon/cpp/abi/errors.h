/* SPDX-License-Identifier: MIT */
/* Failures on their way to the caller's armnn_error. */
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "armnn/backend.h"

namespace cpuacc {

struct Failure {
  armnn_code code;
  std::string message;
  std::vector<int32_t> nodes;
};

/* Fills error, if it is there, and returns the code. */
armnn_code report(armnn_error *error, Failure failure) noexcept;

/* Runs a body that may throw; returns the code of its failure, or ARMNN_OK. */
template <typename Body>
Failure caught(const Body &body) {
  try {
    body();
    return {ARMNN_OK, {}, {}};
  } catch (const Failure &failure) {
    return failure;
  } catch (const std::bad_alloc &) {
    return {ARMNN_RESOURCE_EXHAUSTED, "there is no memory left", {}};
  } catch (const std::out_of_range &wrong) {
    return {ARMNN_INVALID_ARGUMENT, wrong.what(), {}};
  } catch (const std::exception &defect) {
    return {ARMNN_INTERNAL, defect.what(), {}};
  } catch (...) {
    return {ARMNN_INTERNAL, "an unknown exception was thrown", {}};
  }
}

/* Runs a body and writes its exception to the caller's armnn_error: no exception crosses the C interface. */
template <typename Body>
armnn_code guarded(armnn_error *error, const Body &body) noexcept {
  Failure failure = caught(body);
  return failure.code == ARMNN_OK ? ARMNN_OK : report(error, std::move(failure));
}

}  // namespace cpuacc
