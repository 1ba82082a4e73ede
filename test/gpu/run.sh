#!/usr/bin/env bash
# run.sh OUT [options]: tests and measures this project on a GPU, in less than ten minutes. In a checkout it runs the
# sources; in a bundle (npm run gpu:bundle) it requires only bash, tar, and one of dpkg, Python or xz. Options:
# --help.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# unpack PACKAGE FOLDER: uses whichever tool the machine has
unpack() {
  mkdir -p "$2"
  if command -v dpkg-deb >/dev/null; then
    dpkg-deb -x "$1" "$2"
  elif command -v python3 >/dev/null; then
    python3 - "$1" "$2" <<'PYTHON'
import io, lzma, sys, tarfile
data, at = open(sys.argv[1], 'rb').read(), 8
while at < len(data):
    name, size = data[at:at + 16].decode().strip(), int(data[at + 48:at + 58])
    if name.startswith('data.tar'):
        body = data[at + 60:at + 60 + size]
        tarfile.open(fileobj=io.BytesIO(lzma.decompress(body) if name.endswith('xz') else body)).extractall(sys.argv[2])
    at += 60 + size + size % 2
PYTHON
  elif command -v ar >/dev/null && command -v xz >/dev/null; then
    ar p "$1" data.tar.xz | xz -d | tar -x -C "$2"
  else
    echo "nothing here unpacks $1: expected dpkg-deb, python3, or ar and xz" >&2
    exit 1
  fi
}

# Links to libraries that the machine lacks, so that no other bundled library shadows the system's.
link_missing() {
  local known file name
  known=$( (ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true) | awk '{print $1}')
  mkdir -p "$work/lib"
  for file in "$work"/system/usr/lib/x86_64-linux-gnu/*.so.* "$work"/system/lib/x86_64-linux-gnu/*.so.*; do
    [ -e "$file" ] || continue
    name=${file##*/}
    if ! grep -qxF -- "$name" <<<"$known"; then ln -sf "$file" "$work/lib/$name"; fi
  done
}

# A driver that the loader does not find by itself.
find_driver() {
  local nvidia=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
  [ -z "${VK_DRIVER_FILES:-}" ] && [ -e "$nvidia" ] || return 0
  if compgen -G '/etc/vulkan/icd.d/*.json' >/dev/null || compgen -G '/usr/share/vulkan/icd.d/*.json' >/dev/null; then return 0; fi
  export VK_DRIVER_FILES=$nvidia
  # Last in the search path: the folder of the library that the driver's manifest names.
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64:/usr/local/nvidia/lib"
}

if [ -e "$here/command.deb" ]; then
  work=$(mktemp -d "${TMPDIR:-/tmp}/ui-rl-gpu-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  for package in "$here"/*.deb; do unpack "$package" "$work"; done
  for package in "$here"/packages/*.deb; do unpack "$package" "$work/system"; done
  link_missing
  export LD_LIBRARY_PATH="$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PATH="$PATH:$work/system/usr/bin"
  command=("$work/bin/node" "$work/test/gpu/main.js")
else
  command=(node "$here/../../libs/testkit/run-ts.cjs" "$here/main.ts")
fi
find_driver
# Some drivers require a private runtime folder.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ui-rl-gpu-run-XXXXXX")
trap 'rm -rf "$scratch" ${work:+"$work"}' EXIT
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$scratch}"
"${command[@]}" "$@"
