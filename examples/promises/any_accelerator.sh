#!/bin/sh
# SPDX-License-Identifier: MIT
# A dropped file runs what it can, and the report says why not the rest: any_accelerator.sh [MODEL IMAGE]
set -eu
cd "$(dirname "$0")"
. ./demo_arguments.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache" # what the loader remembers of this file goes with it
sh build_npu.sh acme_npu.c "$folder"
armnn run "$1" --input "x=$2" --dynamic-backends-path "$folder" --backends AcmeNpu,CpuAcc,CpuRef --report
