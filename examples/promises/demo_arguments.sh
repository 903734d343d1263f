# SPDX-License-Identifier: MIT
# Without arguments, a promise is run with what ./nox -s demo has installed and downloaded.
if [ $# = 0 ]; then
    PATH="$PWD/../../.nox/demo/bin:$PATH"
    set -- "$PWD/../../.cache/models/page_orientation.onnx" "$PWD/../page_turned_90.png"
fi
