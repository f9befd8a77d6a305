//! One line per run, for spreadsheets.

use crate::record::{Counts, Record};

const HEAD: &str = "device,date,rung,title,family,dtype,n,block,clusters,coords,bytes,launches,passed,detail,faults,\
                    samples,median_us,low_us,high_us,gbs,percent_of_peak,percent_of_read,published_us,counted_n,\
                    barriers_per_block,warp_barriers,branch_efficiency,active_lanes,bank_conflicts,\
                    shared_passes_per_element,sectors_per_request,shuffles_per_element,atomics_per_element,\
                    global_requests_per_element,shared_requests_per_element";

/// Quoted where needed, as RFC 4180 has it, with line feeds.
pub fn csv(record: &Record) -> String {
    let mut out = HEAD.to_owned() + "\n";
    let device = &record.device;
    for run in &record.rungs {
        let float = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
        let whole = |x: Option<u32>| x.map(|x| x.to_string()).unwrap_or_default();
        let time = run.time();
        let mut cells = vec![
            device.name.clone(),
            record.date.clone(),
            run.rung.clone(),
            run.title.clone(),
            run.family.clone(),
            run.dtype.clone(),
            run.n.to_string(),
            run.block.to_string(),
            whole(run.clusters),
            whole(run.coords),
            run.bytes.to_string(),
            run.launches.to_string(),
            run.verdict.passed.to_string(),
            run.verdict.detail.clone(),
            run.verdict.faults.len().to_string(),
            run.samples_ns.len().to_string(),
            float(time.map(|t| t.median_us)),
            float(time.map(|t| t.low_us)),
            float(time.map(|t| t.high_us)),
            float(run.gbs()),
            float(run.of_peak(device)),
            float(run.of_read(device)),
            float(run.published_us),
        ];
        cells.extend(run.counters.as_ref().map_or_else(|| vec![String::new(); 12], counters));
        out += &cells.iter().map(|cell| quote(cell)).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

fn counters(c: &Counts) -> Vec<String> {
    let degrees: Vec<String> = c.bank_conflicts.iter().map(|(degree, n)| format!("{degree}:{n}")).collect();
    vec![
        c.counted_n.to_string(),
        c.barriers_per_block.to_string(),
        c.warp_barriers.to_string(),
        c.branch_efficiency.to_string(),
        c.active_lanes.to_string(),
        degrees.join(" "),
        c.shared_passes_per_element().to_string(),
        c.sectors_per_request.to_string(),
        c.shuffles_per_element.to_string(),
        c.atomics_per_element.to_string(),
        c.global_requests_per_element.to_string(),
        c.shared_requests_per_element.to_string(),
    ]
}

fn quote(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}
