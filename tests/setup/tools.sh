#!/usr/bin/env bash
# Checks that Rust, Node and git are there and new enough: tools.sh RUST_MIN NODE_MIN GIT_MIN
set -euo pipefail

missing=0
check() { # NAME MINIMUM FOUND HOW
  local name=$1 minimum=$2 found=$3 how=$4
  if [ -z "$found" ]; then
    echo "error: $name $minimum or newer is needed and none was found" >&2
    echo "  fix: $how" >&2
    missing=1
  elif [ "$(printf '%s\n%s\n' "$minimum" "$found" | sort -V | head -n 1)" != "$minimum" ]; then
    echo "error: $name $minimum or newer is needed; this is $found" >&2
    echo "  fix: $how" >&2
    missing=1
  fi
}
version() { "$@" 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1 || true; }

check Rust "$1" "$(version rustc --version)" "install it with rustup (https://rustup.rs), then open a new shell"
check Node.js "$2" "$(version node --version)" "install Node.js 20.19 or newer (https://nodejs.org); Debian's own package is older"
check git "$3" "$(version git --version)" "install the package git"
exit $missing
