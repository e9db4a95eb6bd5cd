#!/bin/sh
# Makes a virtual environment with the peers at pinned versions, outside the source tree.
#
#   sh benches/peers/setup.sh FOLDER [PYTHON]
#
# Needs Python 3.11 or newer with the venv module, access to a package index, and Rust for nuts-rs.
set -eu
folder=${1:?usage: setup.sh FOLDER [PYTHON]}
here=$(cd "$(dirname "$0")" && pwd)
"${2:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
cargo build --quiet --release --locked --manifest-path "$here/nuts-rs/Cargo.toml" --target-dir "$folder/nuts-rs"
"$folder/bin/python" "$here/sample.py" --versions
