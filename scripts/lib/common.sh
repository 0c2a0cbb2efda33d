# What the scripts share; sourced with the shell's strict mode on. Leaves the shell in the checkout's root.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

# A newer node that install_dependencies put there, where the system's is too old.
if [ -x "$root/build/tools/node_modules/.bin/node" ]; then
  PATH="$root/build/tools/node_modules/.bin:$PATH"
fi

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# Prints the comment block at the top of the calling script.
usage() {
  awk 'NR == 1 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"
}

jobs=${MESHWISE_JOBS:-$(nproc)}
