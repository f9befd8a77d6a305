#!/bin/sh
# Tests on a machine with a GPU and its driver, and nothing else. Logs go to $OUT (default: the current folder).
#   run-tests.sh                 all GPU tests, and the golden file
#   run-tests.sh tests FILTER    those of the library whose names contain FILTER, such as class_rows
#   run-tests.sh soak SECONDS    random reductions, each class for so long; WARPFOLD_GPU_FROM=100000 takes others
#   run-tests.sh sanitizer       every corrected rung and some reductions under compute-sanitizer: memcheck, racecheck, synccheck
# The exit status is 0 only if everything that was asked for ran and passed.
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-.}
# The programs travel packed; they are unpacked where this script lies, once.
if [ ! -x "$here/ladder" ]; then
    tar -xJf "$here/programs.tar.xz" -C "$here" || { echo "programs.tar.xz was not unpacked: this needs tar and xz"; exit 2; }
fi
mode=${1:-tests}
export WARPFOLD_REQUIRE_GPU=1
status=0

tests() {
    : >"$OUT/tests.log"
    if [ -n "$1" ]; then
        "$here/test-warpfold-gpu" --nocapture --test-threads 1 "$1" >"$OUT/tests.log" 2>&1 || status=1
        cat "$OUT/tests.log"
        return
    fi
    for test in "$here"/test-*; do
        [ -x "$test" ] || { echo "no tests in $here" && status=1; continue; }
        echo "== $(basename "$test")" | tee -a "$OUT/tests.log"
        WARPFOLD_GOLDEN="$OUT/golden.json" "$test" --nocapture --test-threads 1 >"$OUT/part.tmp" 2>&1 || status=1
        cat "$OUT/part.tmp" >>"$OUT/tests.log"
        cat "$OUT/part.tmp"
    done
    rm -f "$OUT/part.tmp"
}

soak() {
    WARPFOLD_GPU_SECONDS=${1:-60} "$here/test-warpfold-gpu" --nocapture --test-threads 1 class_ >"$OUT/soak.log" 2>&1 || status=1
    cat "$OUT/soak.log"
}

sanitizer() {
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null | head -n 1)
    [ -n "$tool" ] || { echo "compute-sanitizer not found"; status=1; return; }
    : >"$OUT/sanitizer.log"
    for check in memcheck racecheck synccheck; do
        echo "== $check" | tee -a "$OUT/sanitizer.log"
        "$tool" --tool "$check" --error-exitcode 9 "$here/ladder" all 31,2500 >"$OUT/part.tmp" 2>&1
        code=$?
        cat "$OUT/part.tmp" >>"$OUT/sanitizer.log"
        tail -n 12 "$OUT/part.tmp"
        # The program's own words as well, lest a tool that did not start pass for a clean one.
        if [ $code -ne 0 ] || ! grep -q " cases launched, 0 wrong" "$OUT/part.tmp"; then
            echo "$check FAILED (exit $code)" | tee -a "$OUT/sanitizer.log"
            status=1
        fi
        echo "== $check of reductions" | tee -a "$OUT/sanitizer.log"
        WARPFOLD_GPU_CASES=${WARPFOLD_GPU_CASES:-39} "$tool" --tool "$check" --error-exitcode 9 \
            "$here/test-warpfold-gpu" --nocapture --test-threads 1 class_ --skip class_large >"$OUT/part.tmp" 2>&1
        code=$?
        cat "$OUT/part.tmp" >>"$OUT/sanitizer.log"
        tail -n 12 "$OUT/part.tmp"
        if [ $code -ne 0 ] || ! grep -q "test result: ok" "$OUT/part.tmp"; then
            echo "$check of reductions FAILED (exit $code)" | tee -a "$OUT/sanitizer.log"
            status=1
        fi
    done
    rm -f "$OUT/part.tmp"
}

case $mode in
tests) tests "$2" ;;
soak) soak "$2" ;;
sanitizer) sanitizer ;;
all) tests && sanitizer ;;
*) echo "run-tests.sh [tests [FILTER]|soak [SECONDS]|sanitizer|all]" && exit 2 ;;
esac
[ $status -eq 0 ] && echo "$mode: all passed" || echo "$mode: FAILED"
exit $status
