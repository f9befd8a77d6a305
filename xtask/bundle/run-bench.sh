#!/bin/sh
# Measurements on a machine with a GPU and its driver. Files go to $OUT (default: the current folder).
#   run-bench.sh          records of the ladder: published workloads; 2^22 integers; 2^28 floats; 3 and 16 coordinates
#   run-bench.sh suite NAME[:SECONDS]...   suites of `warpfold bench`, beside those peers that have something of them: bench-NAME.json. No case
#                         begins later than so many seconds after the suite did; what is left out then is said. `random:SEED:CASES[:SECONDS]`
#                         is so many random problems: bench-random.json. Needs python3 with torch and cupy, and nvcc; what is missing is said.
#                         $SAMPLES, $FILTER, $PEERS, $BUDGET (seconds for the samples of one case and side), $DEVICE; BITS=1 compares
#                         all bits with the CPU's; RESUME=1 goes on from the records in $OUT
#   run-bench.sh reasons  reductions that are under the speed of memory, under the profiler: ncu-reductions.txt
#   run-bench.sh ncu      a3, a4, a6 under the profiler (Nsight Compute): ncu-ladder.csv, ncu-details.txt
# The exit status is 0 only if everything that was asked for ran and every rung was right.
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-.}
# The programs travel packed; they are unpacked where this script lies, once.
if [ ! -x "$here/ladder" ]; then
    tar -xJf "$here/programs.tar.xz" -C "$here" || { echo "programs.tar.xz was not unpacked: this needs tar and xz"; exit 2; }
fi
mode=${1:-record}
export WARPFOLD_REVISION="@REVISION@"
status=0

record() {
    nvidia-smi --query-gpu=name,driver_version,clocks.mem,clocks.sm,temperature.gpu,power.draw --format=csv || true
    run() {
        name=$1
        shift
        echo "== warpfold ladder $*"
        "$here/warpfold" ladder --device cuda "$@" --json "$OUT/$name.json" >"$OUT/table.tmp" || status=1
        cat "$OUT/table.tmp"
    }
    run ladder-published
    run ladder-a-i32 --family a --dtype i32
    run ladder-a-2p28 --rung a0,a3,a6,a7,a8 -n 2^28
    run ladder-c-3 --family c --coords 3
    run ladder-c-16 --family c --coords 16
    rm -f "$OUT/table.tmp"
}

ncu_run() {
    tool=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -n 1)
    [ -n "$tool" ] || { echo "ncu not found"; status=1; return; }
    metrics=gpu__time_duration.sum
    metrics=$metrics,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,sm__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,l1tex__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,lts__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
    metrics=$metrics,l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,smsp__inst_executed.sum,smsp__inst_executed_pipe_lsu.sum
    metrics=$metrics,smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum
    metrics=$metrics,smsp__inst_executed_op_global_ld.sum
    metrics=$metrics,sm__inst_issued.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
    metrics=$metrics,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
    metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active
    # A name that this GPU does not have would stop everything, so those that the tool does not list go, except the first
    # few, which are what its own summary shows.
    known=$("$tool" --query-metrics 2>/dev/null | sed -n 's/^\([a-z0-9]*__[a-z0-9_]*\).*/\1/p')
    kept=
    for metric in $(echo "$metrics" | tr ',' ' '); do
        case $metric in
        gpu__time* | dram__bytes* | dram__throughput* | gpu__compute_memory_throughput* | sm__throughput*) ;;
        *)
            if [ -n "$known" ] && ! echo "$known" | grep -qx "${metric%%.*}"; then
                echo "this GPU has no $metric"
                continue
            fi
            ;;
        esac
        kept=${kept:+$kept,}$metric
    done
    # All launches of a rung are profiled; the first is the one over the whole input.
    "$tool" --clock-control none --csv --page raw --print-units base --metrics "$kept" \
        "$here/ladder" a3,a4,a6 33554432 once >"$OUT/ncu-ladder.csv" 2>"$OUT/ncu.err" || status=1
    lines=$(grep -c '^"[0-9].*a[346]_f32' "$OUT/ncu-ladder.csv")
    [ "$lines" -eq 8 ] || { echo "$lines kernels profiled instead of 8"; cat "$OUT/ncu.err"; tail -n 20 "$OUT/ncu-ladder.csv"; status=1; }
    # The breakdown says what the percentages are made of.
    "$tool" --clock-control none --section SpeedOfLight --section MemoryWorkloadAnalysis --section WarpStateStats \
        --print-details all "$here/ladder" a3,a4,a6 33554432 once >"$OUT/ncu-details.txt" 2>&1 || status=1
    rm -f "$OUT/ncu.err"
}

suites() {
    [ $# -gt 0 ] || { echo "run-bench.sh suite NAME...: $("$here/warpfold" bench --list | tr '\n' ';')"; exit 2; }
    nvidia-smi --query-gpu=name,driver_version,clocks.mem,clocks.sm,temperature.gpu,power.draw --format=csv || true
    # It may have come along; or else it is built, and lasts as long as the machine.
    [ ! -x "$here/cub" ] || mv "$here/cub" "$here/bench/peers/cub"
    if [ ! -x "$here/bench/peers/cub" ]; then
        echo "== nvcc builds CUB's peer: a minute or two"
        sh "$here/bench/peers/build.sh" >"$OUT/build-cub.tmp" 2>&1 || { echo "CUB's peer was not built:"; tail -n 5 "$OUT/build-cub.tmp"; }
        rm -f "$OUT/build-cub.tmp"
    fi
    export WARPFOLD_PEERS="$here/bench/peers"
    for word in "$@"; do
        # NAME, NAME:SECONDS, random:SEED:CASES, or random:SEED:CASES:SECONDS
        name=${word%%:*}
        rest=${word#"$name"}
        rest=${rest#:}
        what="--suite $name"
        base=bench-$(basename "$name" .toml)
        budget=${BUDGET:-1}
        if [ "$name" = random ]; then
            seed=${rest%%:*}
            rest=${rest#*:}
            what="--random $seed --cases ${rest%%:*} --bytes ${BYTES:-256MiB}"
            case $rest in
            *:*) rest=${rest#*:} ;;
            *) rest= ;;
            esac
            budget=${BUDGET:-0.3}
        fi
        echo "== warpfold bench $what${rest:+, $rest s}"
        # What the driver has compiled before would not be a first use.
        [ "$name" = first ] && uncached=1 || uncached=0
        # Those that have something of the suite.
        case $name in
        kmeans) peers=torch,cupy,flash-kmeans,flashlib ;;
        segments) peers=cub,cub-by-key,torch ;;
        groups) peers=cub-by-key,torch,torch-deterministic,cupy ;;
        shapes) peers=cub,torch,torch-compile,cupy ;;
        random) peers=cub,torch ;;
        *) peers=cub,torch,cupy ;;
        esac
        began=$(date +%s)
        # shellcheck disable=SC2086
        CUDA_CACHE_DISABLE=$uncached "$here/warpfold" bench $what --device "${DEVICE:-cuda}" --peers "${PEERS:-$peers}" \
            --samples "${SAMPLES:-11}" --budget "$budget" ${FILTER:+--filter "$FILTER"} ${rest:+--limit "$rest"} \
            ${BITS:+--bits} ${RESUME:+--resume} --json "$OUT/$base.json" || status=1
        echo "== $name took $(($(date +%s) - began)) s"
    done
}

# Why a reduction is not faster: one launch of a case of the suite `ops` under the profiler. Each line: kernel, case.
reasons() {
    tool=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -n 1)
    [ -n "$tool" ] || { echo "ncu not found"; status=1; return; }
    : >"$OUT/ncu-reductions.txt"
    while IFS='|' read -r kernel case; do
        echo "== $kernel: $case" | tee -a "$OUT/ncu-reductions.txt"
        "$tool" --clock-control none --kernel-name "$kernel" --launch-skip 2 --launch-count 1 --section SpeedOfLight --section WarpStateStats \
            --section Occupancy --section LaunchStats --section InstructionStats "$here/warpfold" bench --suite ops --filter "$case" --peers none --samples 1 \
            >"$OUT/part.tmp" 2>&1 || status=1
        grep -E "Duration|Throughput|Issued|Registers|Theoretical Occ|Achieved Occ|Executed Instr|Block Limit|Cycles Per Issued|Stall|On average|Grid Size" \
            "$OUT/part.tmp" >>"$OUT/ncu-reductions.txt" || { tail -n 5 "$OUT/part.tmp"; status=1; }
    done <<'END'
short_argmax_b4|argmax f32 (4194304,64) axis 1
tiny_argmax_b4|argmax f32 (67108864,4) axis 1
tiny_sum_f32|mean f32 (67108864,4) axis 1
tiny_logsumexp_f32|logsumexp f32 (67108864,4) axis 1
narrow_sum_f32|mean f32 (67108864,4) axis 0
narrow_var_f32|var f32 (67108864,4) axis 0
narrow_sum_bf16|sum bf16 (67108864,4) axis 0
tiny_sum_bf16|sum bf16 (67108864,4) axis 1
short_argmax_b2|argmax bf16 (262144,1024) axis 1
columns_argmax_b2|argmax bf16 (16384,16384) axis 0
columns_sum_b1|sum i8 (16384,16384) axis 0
rows_sum_f32|mean f32 (100003,2503) axis 1
rows_sum_bf16|sum bf16 (100003,2503) axis 1
rows_argmax_b1|argmax i8 (100003,2503) axis 1
columns_logsumexp_f32|logsumexp f32 (16384,16384) axis 0
short_logsumexp_f32|logsumexp f32 (4194304,64) axis 1
rows_sum2_f32|sum f32 (16384,16384) axis 1 compensated
narrow_sum2_f32|sum f32 (67108864,4) axis 0 compensated
rows_describe_f32|describe f32 (16384,16384) axis 1
columns_describe_f32|describe f32 (16384,16384) axis 0
END
    rm -f "$OUT/part.tmp"
    cat "$OUT/ncu-reductions.txt"
}

case $mode in
record) record ;;
reasons) reasons ;;
suite) shift; suites "$@" ;;
ncu) ncu_run ;;
all) record && ncu_run ;;
*) echo "run-bench.sh [record|suite NAME[:SECONDS]...|reasons|ncu|all]" && exit 2 ;;
esac
[ $status -eq 0 ] && echo "$mode: all well" || echo "$mode: FAILED"
exit $status
