#!/usr/bin/env bash
# pretrain.sh STAGE --dir DIR [options]: pre-trains the general model in a bundle (npm run gpu:bundle -- --pretraining
# FILE), on its recorded screens. It requires only bash, tar, and one of dpkg, Python or xz. Options: STAGE --help.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/unpack.sh"

unpack_bundle "$here"
find_driver
make_runtime_folder
command=("$work/bin/node" "$work/pretraining/main.js" "$@")
if [[ " $* " != *" --screens"* ]]; then command+=(--screens "$work/screens.bin"); fi
# On a signal the command ends by itself; the unpacked files are removed after it.
trap : INT TERM
"${command[@]}"
