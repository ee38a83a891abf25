#!/usr/bin/env bash
# Installs the peers into the target folder and runs the benches: run.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
peers=${CARGO_TARGET_DIR:-target}/bench-peers
tests/setup/packages.sh python3-venv task-spooler || echo "note: some peers could not be installed" >&2
if [ ! -x "$peers/bin/semgrep" ] || [ ! -x "$peers/bin/ast-grep" ]; then
  python3 -m venv "$peers" && "$peers/bin/pip" install --quiet semgrep==1.185.0 ast-grep-cli==0.51.1 \
    || echo "note: the peers could not be installed; what is missing is left out" >&2
fi
export SIDETRACK_BENCH_PEERS=$peers/bin PATH=$peers/bin:$PATH
cargo bench --workspace --locked --bench peers
