#!/usr/bin/env bash
# run.sh OUT [options]: tests and measures this project on a GPU, in less than ten minutes. In a checkout it runs the
# sources; in a bundle (npm run gpu:bundle) it requires only bash, tar, and one of dpkg, Python or xz. Options:
# --help.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

source "$here/unpack.sh"

if [ -e "$here/command.deb" ]; then
  unpack_bundle "$here"
  command=("$work/bin/node" "$work/test/gpu/main.js")
else
  command=(node "$here/../../libs/testkit/run-ts.cjs" "$here/main.ts")
fi
find_driver
make_runtime_folder
"${command[@]}" "$@"
