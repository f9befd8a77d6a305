#!/bin/sh
# Measurements on a machine with a GPU and its driver. Files go to $OUT (default: the current folder).
#   run-bench.sh          records of the ladder: published workloads; 2^22 integers; 2^28 floats; 3 and 16 coordinates
#   run-bench.sh ncu      a3, a4, a6 under the profiler (Nsight Compute): ncu.csv
# The exit status is 0 only if everything that was asked for ran and every rung was right.
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-.}
mode=${1:-record}
export WARPFOLD_REVISION="@REVISION@"
status=0

record() {
    nvidia-smi --query-gpu=name,driver_version,clocks.mem,clocks.sm,temperature.gpu,power.draw --format=csv || true
    run() {
        echo "== ladder record $*"
        "$here/ladder" record "$@" || status=1
    }
    run "$OUT/ladder.json"
    run "$OUT/ladder-a-i32.json" a 4194304 i32 128
    run "$OUT/ladder-a-2p28.json" a 268435456
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
    for rung in a3 a4 a6; do
        echo "== ncu $rung"
        # The first launch of each rung is the one over the whole input. The breakdown says what the percentage is made of.
        "$tool" --clock-control none --launch-count 1 --csv --page raw --print-units base --metrics "$metrics" \
            "$here/ladder" launch $rung 33554432 once >"$OUT/ncu-$rung.csv" 2>"$OUT/ncu.err" || status=1
        grep -q "gpu__compute_memory_throughput" "$OUT/ncu-$rung.csv" || { cat "$OUT/ncu.err"; status=1; }
        "$tool" --clock-control none --launch-count 1 --section SpeedOfLight --section MemoryWorkloadAnalysis \
            --section WarpStateStats --print-details all \
            "$here/ladder" launch $rung 33554432 once >>"$OUT/ncu-details.txt" 2>&1 || status=1
    done
    rm -f "$OUT/ncu.err"
}

case $mode in
record) record ;;
ncu) ncu_run ;;
all) record && ncu_run ;;
*) echo "run-bench.sh [record|ncu|all]" && exit 2 ;;
esac
[ $status -eq 0 ] && echo "$mode: all well" || echo "$mode: FAILED"
exit $status
