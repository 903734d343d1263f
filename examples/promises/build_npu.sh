# SPDX-License-Identifier: MIT
# Builds a source of AcmeNpu as a dynamic backend: build_npu.sh SOURCE FOLDER [-DFAULT_...].
set -eu
samples=$(python -c 'import armnn_dynamic_loader.samples as s; print(*s.__path__)')
mkdir -p "$2"
gcc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -fno-fast-math -Wl,-z,defs -I"$samples" \
    $(python -m armnn_backend_api --includes) -o "$2/Acme_AcmeNpu_backend.so" \
    "$(test -e "$1" && echo "$1" || echo "$samples/$1")" ${3:-} -lm
