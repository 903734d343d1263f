#!/bin/sh
# SPDX-License-Identifier: MIT
# One of 73 layers computes wrongly: its name, and a model that shows it: any_wrong_layer_found.sh [MODEL]
set -eu
cd "$(dirname "$0")"
. ./demo_arguments.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache" # what the loader remembers of this file goes with it
sh build_npu.sh faulty_npu.c "$folder" -DFAULT_PADDING
backends="--dynamic-backends-path $folder --backends AcmeNpu,CpuAcc"
armnn compare "$1" $backends || true # 1: a layer is wrong
armnn reduce "$1" $backends -o "$folder/small.onnx"
cat "$folder/small.py"
