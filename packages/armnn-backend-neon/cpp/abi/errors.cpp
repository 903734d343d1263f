/* SPDX-License-Identifier: MIT */
/* Failures as the caller's armnn_error. */
#include "abi/errors.h"

namespace cpuacc {

armnn_code report(armnn_error *error, Failure failure) noexcept {
  const armnn_code code = failure.code;
  if (error == nullptr) return code;
  error->code = code;
  error->node_id = failure.nodes.empty() ? -1 : failure.nodes[0];
  auto *kept = new (std::nothrow) Failure(std::move(failure));
  if (kept == nullptr) return code;
  error->message = {kept->message.c_str(), kept->message.size()};
  error->nodes = kept->nodes.empty() ? nullptr : kept->nodes.data();
  error->num_nodes = kept->nodes.size();
  error->priv = kept;
  error->release = [](armnn_error *filled) {
    delete static_cast<Failure *>(filled->priv);
    filled->priv = nullptr;
  };
  return code;
}

}  // namespace cpuacc
