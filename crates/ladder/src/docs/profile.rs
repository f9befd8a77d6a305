//! A hardware profiler's CSV (`ncu --csv --metrics …`) as a table: a metric per line, a kernel per column.

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
    let mut out = format!("| metric | {} |\n|---|{}\n", kernels.join(" | "), "--:|".repeat(kernels.len()));
    for metric in metrics {
        let value = |kernel: &&str| {
            // A kernel that ran more than once (a launch per level) is the first: the one over the whole input.
            let found = cells.iter().find(|c| c.kernel == *kernel && c.metric == metric);
            found.map_or("–", |c| &*c.value).to_owned()
        };
        let values: Vec<String> = kernels.iter().map(value).collect();
        out += &format!("| {metric} | {} |\n", values.join(" | "));
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

    const TABLE: &str = "| metric | a3_f32 | a4_f32 |\n|---|--:|--:|\n| dram__x, % | 35.4 | 1,234.5 |\n";

    #[test]
    fn both_forms_of_the_report_give_the_same_table() {
        let long = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
                    \"0\",\"a3_f32(x, y)\",\"dram__x\",\"%\",\"35.4\"\n\"1\",\"a3_f32(x, y)\",\"dram__x\",\"%\",\"0.1\"\n\
                    \"2\",\"a4_f32\",\"dram__x\",\"%\",\"1,234.5\"\n";
        assert_eq!(table(long), TABLE);
        let wide = "\"ID\",\"Kernel Name\",\"dram__x\"\n\"\",\"\",\"%\"\n\"0\",\"a3_f32\",\"35.4\"\n\"1\",\"a4_f32\",\"1,234.5\"\n";
        assert_eq!(table(wide), TABLE);
        assert_eq!(table("nothing"), "The report has no metrics.\n");
    }
}
