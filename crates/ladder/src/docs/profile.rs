//! A hardware profiler's CSV (`ncu --csv --metrics …`) as a table: a metric per line, a kernel per column.

/// The metrics that answer the page's question, and their descriptions. A report has many more.
const TOLD: [(&str, &str); 16] = [
    ("gpu__time_duration.sum", "time"),
    ("dram__bytes_read.sum", "read from DRAM"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "“memory throughput”, the one figure"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM"),
    ("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "the multiprocessors' load and store pipe"),
    ("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed", "of that pipe, shared memory"),
    ("l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed", "requests into that pipe"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "“compute throughput”"),
    ("sm__inst_issued.avg.pct_of_peak_sustained_elapsed", "instructions issued"),
    ("smsp__inst_executed.sum", "instructions, per warp"),
    ("smsp__inst_executed_op_shared_ld.sum", "shared loads, per warp"),
    ("smsp__inst_executed_op_shared_st.sum", "shared stores, per warp"),
    ("smsp__inst_executed_op_global_ld.sum", "global loads, per warp"),
    ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "shared passes, in all"),
    ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "warps waiting at a barrier, per issue"),
    ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "warps waiting for memory, per issue"),
];

/// The metric that is the maximum of several, and its parts.
const MEMORY: &str = TOLD[2].0;
const PARTS: [(&str, &str); 3] = [TOLD[3], TOLD[4], TOLD[6]];

/// The part that the profiler's one figure for memory came from, kernel by kernel; empty if the report does not tell.
pub fn conclusion(csv: &str) -> String {
    let cells = cells(csv);
    let value = |kernel: &str, metric: &str| {
        let named = |c: &&Cell| c.kernel == kernel && c.metric.split(',').next() == Some(metric);
        cells.iter().find(named).map(|c| c.value.clone())
    };
    let mut kernels: Vec<&str> = Vec::new();
    let mut parts = Vec::new();
    for cell in &cells {
        if kernels.contains(&&*cell.kernel) {
            continue;
        }
        kernels.push(&cell.kernel);
        let Some(figure) = value(&cell.kernel, MEMORY) else { return String::new() };
        let part = PARTS.iter().find(|(metric, _)| value(&cell.kernel, metric).as_ref() == Some(&figure));
        let part = part.map_or("none of the parts in the table", |(_, words)| words);
        parts.push(format!("{figure} % for {}, which is that of {part}", cell.kernel));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("\nThe one figure is {}. So the bottleneck moved, and the figure with it.\n", parts.join("; "))
}

/// One value of one metric of one kernel.
struct Cell {
    kernel: String,
    metric: String,
    value: String,
}

/// The table; a sentence if there is nothing in it.
pub fn table(csv: &str) -> String {
    let cells = cells(csv);
    let (mut kernels, mut metrics): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for cell in &cells {
        if !kernels.contains(&&*cell.kernel) {
            kernels.push(&cell.kernel);
        }
        if !metrics.contains(&&*cell.metric) {
            metrics.push(&cell.metric);
        }
    }
    if cells.is_empty() {
        return "The report has no metrics.\n".to_owned();
    }
    let name = |metric: &str| metric.split(',').next().unwrap_or(metric).to_owned();
    let told = |metric: &str| TOLD.iter().position(|(told, _)| *told == name(metric));
    if metrics.iter().any(|m| told(m).is_some()) {
        metrics.retain(|m| told(m).is_some());
        metrics.sort_by_key(|m| told(m));
    }
    let mut out = format!("| metric | {} |\n|---|{}\n", kernels.join(" | "), "--:|".repeat(kernels.len()));
    for metric in metrics {
        let value = |kernel: &&str| {
            // Of a kernel with several launches (one per level) the first counts, which reads the whole input.
            let found = cells.iter().find(|c| c.kernel == *kernel && c.metric == metric);
            found.map_or("–", |c| &*c.value).to_owned()
        };
        let values: Vec<String> = kernels.iter().map(value).collect();
        let words = told(metric).map_or(String::new(), |i| format!("{}: ", TOLD[i].1));
        let metric = metric.replacen(&name(metric), &format!("`{}`", name(metric)), 1);
        out += &format!("| {words}{metric} | {} |\n", values.join(" | "));
    }
    out
}

fn cells(csv: &str) -> Vec<Cell> {
    let mut lines = csv.lines().map(fields).skip_while(|f| !f.iter().any(|name| name == "Kernel Name"));
    let Some(head) = lines.next() else { return Vec::new() };
    let column = |name: &str| head.iter().position(|h| h == name);
    let Some(kernel) = column("Kernel Name") else { return Vec::new() };
    let rows: Vec<Vec<String>> = lines.filter(|f| f.len() == head.len()).collect();
    let short = |row: &[String]| row[kernel].split('(').next().unwrap_or_default().to_owned();
    let unit = |name: &str, unit: &str| if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") };
    if let (Some(name), Some(of), Some(value)) = (column("Metric Name"), column("Metric Unit"), column("Metric Value"))
    {
        let cell = |row: &Vec<String>| Cell {
            kernel: short(row),
            metric: unit(&row[name], &row[of]),
            value: row[value].clone(),
        };
        return rows.iter().map(cell).collect();
    }
    // The other form has a column per metric, and the units in the line below the head.
    let Some((units, rows)) = rows.split_first() else { return Vec::new() };
    let metrics: Vec<usize> = (0..head.len()).filter(|&i| head[i].contains("__")).collect();
    let cell = |row: &Vec<String>, i: usize| Cell {
        kernel: short(row),
        metric: unit(&head[i], &units[i]),
        value: row[i].clone(),
    };
    rows.iter().flat_map(|row| metrics.iter().map(move |&i| cell(row, i))).collect()
}

/// The fields of a line, of which some are in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().expect("a field").push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| metric | a3_f32 | a4_f32 |\n|---|--:|--:|\n| `dram__x`, % | 35.4 | 1,234.5 |\n";

    #[test]
    fn both_forms_of_the_report_give_the_same_table() {
        let long = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
                    \"0\",\"a3_f32(x, y)\",\"dram__x\",\"%\",\"35.4\"\n\
                    \"1\",\"a3_f32(x, y)\",\"dram__x\",\"%\",\"0.1\"\n\
                    \"2\",\"a4_f32\",\"dram__x\",\"%\",\"1,234.5\"\n";
        assert_eq!(table(long), TABLE);
        let wide = "\"ID\",\"Kernel Name\",\"dram__x\"\n\"\",\"\",\"%\"\n\"0\",\"a3_f32\",\"35.4\"\n\
            \"1\",\"a4_f32\",\"1,234.5\"\n";
        assert_eq!(table(wide), TABLE);
        assert_eq!(table("nothing"), "The report has no metrics.\n");
    }

    #[test]
    fn the_one_figure_is_traced_to_its_part() {
        let pipe = PARTS[1].0;
        let csv = format!(
            "\"Kernel Name\",\"{MEMORY}\",\"{}\",\"{pipe}\"\n\"\",\"%\",\"%\",\"%\"\n\"a3\",\"75\",\"34\",\"75\"\n\
             \"a4\",\"47\",\"47\",\"35\"\n",
            PARTS[0].0
        );
        let told = conclusion(&csv);
        assert!(told.contains("75 % for a3, which is that of the multiprocessors' load and store pipe"), "{told}");
        assert!(told.contains("47 % for a4, which is that of DRAM"), "{told}");
        assert_eq!(conclusion("nothing"), "");
        assert!(table(&csv).starts_with("| metric | a3 | a4 |\n|---|--:|--:|\n| “memory throughput”"));
    }
}
