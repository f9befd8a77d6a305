#!/bin/sh
# Tests on a machine with a GPU and its driver, and nothing else. Logs go to $OUT (default: the current folder).
#   run-tests.sh            all GPU tests, and the golden file
#   run-tests.sh sanitizer  every corrected rung under compute-sanitizer: memcheck, racecheck, synccheck
# The exit status is 0 only if everything that was asked for ran and passed.
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-.}
mode=${1:-tests}
export WARPFOLD_REQUIRE_GPU=1
status=0

tests() {
    : >"$OUT/tests.log"
    for test in "$here"/test-*; do
        [ -x "$test" ] || { echo "no tests in $here" && status=1; continue; }
        echo "== $(basename "$test")" | tee -a "$OUT/tests.log"
        WARPFOLD_GOLDEN="$OUT/golden.json" "$test" --nocapture --test-threads 1 >"$OUT/part.tmp" 2>&1 || status=1
        cat "$OUT/part.tmp" >>"$OUT/tests.log"
        cat "$OUT/part.tmp"
    done
    rm -f "$OUT/part.tmp"
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
    done
    rm -f "$OUT/part.tmp"
}

case $mode in
tests) tests ;;
sanitizer) sanitizer ;;
all) tests && sanitizer ;;
*) echo "run-tests.sh [tests|sanitizer|all]" && exit 2 ;;
esac
[ $status -eq 0 ] && echo "$mode: all passed" || echo "$mode: FAILED"
exit $status
