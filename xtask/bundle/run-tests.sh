#!/bin/sh
# Tests on a machine with a GPU and its driver, and nothing else. Logs go to $OUT (default: the current folder).
#   run-tests.sh                 all GPU tests, and the golden files
#   run-tests.sh tests FILTER    those of the library whose names contain FILTER, such as class_rows
#   run-tests.sh soak SECONDS    random reductions for so long; others each time, or from $WARPFOLD_GPU_FROM
#   run-tests.sh sanitizer       every corrected rung, and reductions of every form, op and dtype, under compute-sanitizer:
#                                memcheck, racecheck, synccheck and initcheck; $WARPFOLD_GPU_CASES of them (120), of 1755
# The exit status is 0 only if everything that was asked for ran and passed.
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-.}
# The programs travel packed; they are unpacked where this script lies, once.
if [ ! -x "$here/ladder" ]; then
    tar -xJf "$here/programs.tar.xz" -C "$here" || { echo "programs.tar.xz was not unpacked: this needs tar and xz"; exit 2; }
fi
mode=${1:-tests}
export WARPFOLD_REQUIRE_GPU=1
export WARPFOLD_REVISION="@REVISION@"
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
        WARPFOLD_GOLDEN="$OUT/golden.json" WARPFOLD_GOLDEN_OUT="$OUT/golden-reductions.json" "$test" --nocapture --test-threads 1 >"$OUT/part.tmp" 2>&1 || status=1
        cat "$OUT/part.tmp" >>"$OUT/tests.log"
        cat "$OUT/part.tmp"
    done
    rm -f "$OUT/part.tmp"
}

# The classes share the time; each does one case at least.
soak() {
    seconds=${1:-60}
    WARPFOLD_GPU_CASES=1 WARPFOLD_GPU_SECONDS=$(((seconds + 9) / 10)) WARPFOLD_GPU_FROM=${WARPFOLD_GPU_FROM:-$(date +%s)000} \
        "$here/test-warpfold-gpu" --nocapture --test-threads 1 class_ >"$OUT/soak.log" 2>&1 || status=1
    cat "$OUT/soak.log"
    awk '{ for (i = 2; i <= NF; i++) { if ($i == "cases,") cases += $(i - 1); if ($i == "wrong,") wrong += $(i - 1) } }
        END { print cases + 0 " cases, " wrong + 0 " wrong" }' "$OUT/soak.log"
}

# check TOOL WORDS PROGRAM...: fails unless the program says the words, lest a tool that did not start pass for a clean one.
check() {
    check=$1
    words=$2
    shift 2
    echo "== $check of $(basename "$1")" | tee -a "$OUT/sanitizer.log"
    "$tool" --tool "$check" --error-exitcode 9 "$@" >"$OUT/part.tmp" 2>&1
    code=$?
    cat "$OUT/part.tmp" >>"$OUT/sanitizer.log"
    tail -n 12 "$OUT/part.tmp"
    if [ $code -ne 0 ] || ! grep -q "$words" "$OUT/part.tmp"; then
        echo "$check of $(basename "$1") FAILED (exit $code)" | tee -a "$OUT/sanitizer.log"
        status=1
    fi
}

sanitizer() {
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null | head -n 1)
    [ -n "$tool" ] || { echo "compute-sanitizer not found"; status=1; return; }
    : >"$OUT/sanitizer.log"
    export WARPFOLD_GPU_CASES=${WARPFOLD_GPU_CASES:-120}
    for name in memcheck racecheck synccheck initcheck; do
        check $name "test result: ok. 1 passed" "$here/test-warpfold-gpu" --nocapture --test-threads 1 golden_results
        [ $name = initcheck ] || check $name " cases launched, 0 wrong" "$here/ladder" all 31,2500
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
