#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in crashes in the middle of a model, and no answer is lost: any_fault_explained.sh [MODEL IMAGE]
set -eu
cd "$(dirname "$0")"
. ./demo_arguments.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache" # what doctor remembers of this file goes with it
sh build_npu.sh faulty_npu.c "$folder" -DFAULT_CRASH
armnn run "$1" --input "x=$2" --dynamic-backends-path "$folder" --backends AcmeNpu,CpuAcc,CpuRef --isolate dynamic
armnn doctor --dynamic-backends-path "$folder" | sed -n '/^Worth knowing:/,$p'
