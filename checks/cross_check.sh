#!/usr/bin/env bash
# Checks that the Python package and the command compile for other systems, without linking: no system's tools are needed.
#
#   checks/cross_check.sh [TARGET…]      by default aarch64 Linux, macOS on ARM, Windows; and free-threaded Python, which
#                                        has an ABI of its own, on the first of them
#   checks/cross_check.sh --bits         the bits on aarch64, under emulation; needs Debian's gcc-aarch64-linux-gnu,
#                                        libc6-dev-arm64-cross and qemu-user-static
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

if [ "${1-}" = --bits ]; then
    target=aarch64-unknown-linux-gnu
    rustup target add "$target" 2> /dev/null
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
    # The bits that a GPU gave, those of states in bytes, and those that threads and layouts must not change.
    cargo test --target "$target" -p warpfold-emulated -- the_cpu_gives_the
    cargo test --target "$target" -p warpfold --all-features --test all -- spans bits
    exit
fi

export RUSTFLAGS="-D warnings"
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    targets=(aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc)
fi
for target in "${targets[@]}"; do
    rustup target add "$target" 2> /dev/null
    echo "cargo check for $target"
    cargo check --quiet --target "$target" -p warpfold-python -p warpfold-cli
done

config="$(mktemp)"
trap 'rm -f "$config"' EXIT
# What PyO3 would ask such an interpreter.
printf '%s\n' implementation=CPython version=3.14 shared=true pointer_width=64 build_flags=Py_GIL_DISABLED > "$config"
echo "cargo check for free-threaded Python on ${targets[0]}"
PYO3_CONFIG_FILE="$config" cargo check --quiet --target "${targets[0]}" -p warpfold-python
