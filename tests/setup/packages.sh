#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that are not there yet: packages.sh NAME…
set -euo pipefail

if ! command -v dpkg-query >/dev/null; then
  echo "note: this is no Debian or Ubuntu; see to it that these are installed: $*" >&2
  exit 0
fi

missing=()
for name in "$@"; do
  # Ubuntu's chromium is a snap that can't run headless in a container; any Chrome-like browser will do.
  if [ "$name" = chromium ] && command -v chromium chromium-browser google-chrome >/dev/null 2>&1; then continue; fi
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)" = installed ] || missing+=("$name")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null; then
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
else
  echo "error: packages are missing and there is neither root nor sudo to install them" >&2
  echo "  fix: as root, run: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null
