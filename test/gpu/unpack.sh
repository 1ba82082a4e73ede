# Functions of run.sh and pretrain.sh: they unpack a bundle, and let its programs find their libraries.

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

# unpack_bundle FOLDER: sets `work` to the folder of its programs
unpack_bundle() {
  local package
  work=$(mktemp -d "${TMPDIR:-/tmp}/ui-rl-gpu-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  for package in "$1"/*.deb; do unpack "$package" "$work"; done
  for package in "$1"/packages/*.deb; do unpack "$package" "$work/system"; done
  link_missing
  export LD_LIBRARY_PATH="$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PATH="$PATH:$work/system/usr/bin"
}

# Some drivers require a private runtime folder.
make_runtime_folder() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/ui-rl-gpu-run-XXXXXX")
  trap 'rm -rf "$scratch" ${work:+"$work"}' EXIT
  export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$scratch}"
}
