//! Columns side by side: panels of them, and who of a block takes which rows.

use warpfold_array::problem::Dim;
use warpfold_kernels::blocks;
use warpfold_kernels::params::Plain;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::facts::EXACT;
use warpfold_kernels::reduce::shape::columns::{ALONE, Columns};
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::reduce::shape::panel::{Apart, Pitch};
use warpfold_kernels::reduce::shape::parts::{PANEL_GROUP, room};
use warpfold_kernels::reduce::shape::piece::{Kept, Outputs};
use warpfold_kernels::reduce::shape::shallow::Shallow;
use warpfold_kernels::reduce::table::KEPT;

use super::Launch;
use super::near::is_stepped;
use super::planner::{Planner, map};
use super::policy::{COLUMN_COSTS, COLUMN_TILES, DEALT_ROWS, EXACT_COSTS, SHALLOW, UNIT_BYTES, UNIT_ROWS, WARPS};
use super::share::{Blocks, Lanes, Share, has_teams, team, teams};

impl Planner<'_> {
    /// Outputs side by side.
    pub(super) fn columns(&mut self, outer: &[Dim], columns: Dim, rows: Dim) -> Option<Launch<CallAt>> {
        let (width, wide) = (columns.len as u64, self.fold.facts.wide);
        let lanes = width.div_ceil(wide).next_power_of_two().min(32);
        // Shallow columns leave no parts.
        let is_shallow = self.fold.facts.shallow && self.parts.is_none() && self.skip == 0;
        if is_shallow && rows.len <= 8 && columns.len >= SHALLOW {
            let outputs = self.outputs::<KEPT>(outer);
            let warps = width.div_ceil(32 * wide).min(WARPS).next_power_of_two();
            let panels = width.div_ceil(32 * wide * warps);
            let (x, out) = (columns.x as i64, self.out(&columns));
            let narrow = self.fold.narrow && out == 1;
            // Reading several columns at once does not pay for writing their results one by one.
            let slow = self.fold.facts.packed || self.fold.facts.describes();
            let together = (self.problem.size <= 2 && (narrow || !slow)) as u32;
            // Where a lane has all of its columns is for the kernel to see.
            let reduced = self.pitch(outer, width.next_multiple_of(wide), rows);
            let (grid, rows, narrow) = (outputs.total * panels, rows.len as u64, narrow as u32);
            let shape = Shallow { outputs, width, x, out, rows, together, narrow, panels, reduced };
            return Some(self.launch(format!("shallow_{}", self.fold.name), grid, warps, shape));
        }
        let all = width.div_ceil(wide);
        if has_teams(&self.fold.facts, self.problem.size, width) {
            let pitch = self.pitch(outer, width, rows);
            let lanes = Lanes::Team(team(all.div_ceil(all.div_ceil(32))));
            let launch = self.panels("columns", outer, columns, lanes, rows.len as u64, pitch);
            if launch.is_some() {
                return launch;
            }
        }
        if lanes < 32 && self.fold.facts.ordered && !self.fold.facts.slim {
            return self.apart(outer, columns, &[rows]);
        }
        let reduced = self.pitch(outer, width, rows);
        // Where columns begin anywhere, places are found by lanes that read an element at a time: on an H200
        // (`plans-raw.txt.xz`), argmax bf16 (520,18,14339) along axis 1 took 215 us in `columns_` and 160 so.
        let is_apart = self.fold.facts.places && self.fold.facts.packed && self.problem.size == 2;
        if is_apart && self.skip == 0 && reduced.each == 1 && (reduced.aligned == 0 || !self.aligned) {
            return self.apart(outer, columns, &[rows]);
        }
        let class = if lanes < 32 && self.fold.facts.ordered { "narrow" } else { "columns" };
        self.panels(class, outer, columns, Lanes::Abreast(lanes), (rows.len as u64).div_ceil(reduced.each), reduced)
    }

    /// Outputs a few steps apart: columns side by side, some of which are no output's. On an H100, every second column
    /// of var f32 (2175,5,3085) along axis 1 took 633 us in `apart_`, and 169 so.
    pub(super) fn stepped(&mut self, outer: &[Dim], columns: Dim, rows: Dim) -> Option<Launch<CallAt>> {
        let size = self.problem.size as isize;
        // A reducer of one's own is not shown what is no element of the array.
        let is_ours = self.fold.facts.columns && self.fold.facts.apart;
        if !is_ours
            || self.are_better_apart(columns)
            || rows.len < 2
            || columns.len < 2
            || !is_stepped(columns.x, self.problem.size)
        {
            return None;
        }
        self.skip = (columns.x / size) as u64;
        let len = (columns.len - 1) * self.skip as usize + 1;
        let launch = self.columns(outer, Dim { len, x: size, ..columns }, rows);
        self.skip *= launch.is_some() as u64;
        launch
    }

    /// Whether columns some steps apart are faster where each lane reads its elements by themselves. On an H200
    /// (`strided-raw.txt.xz`), 30 of 33 problems of argmax, extremes and logsumexp took at least 3 % less so, 17 % in
    /// the median, but not of elements of 1 byte, nor sums; so did 6 of 7 variances of 2 bytes in three steps.
    fn are_better_apart(&self, columns: Dim) -> bool {
        let size = self.problem.size;
        let is = |names: &[&str]| names.iter().any(|name| self.fold.name.starts_with(name));
        match size {
            1 => false,
            2 if columns.x >= 6 && is(&["var_"]) => true,
            _ => is(&["argmax_", "max_", "logsumexp_"]),
        }
    }

    /// Few columns side by side of few rows, in many units: lanes of a warp have those of several.
    pub(super) fn units_abreast(&mut self, kept: &[Dim], rows: Dim) -> Option<Launch<CallAt>> {
        let (&columns, outer) = kept.split_last()?;
        let (&along, outer) = outer.split_last()?;
        let (width, wide, len) = (columns.len as u64, self.fold.facts.wide, rows.len as u64);
        let lanes = width.div_ceil(wide);
        let beside =
            columns.x == self.problem.size as isize && rows.x.unsigned_abs() >= columns.len * columns.x as usize;
        let piece = lanes * wide * self.problem.size as u64;
        let whole = len.is_multiple_of(8) || len >= UNIT_ROWS[1];
        let few = lanes < 32 && len >= UNIT_ROWS[0] && len * piece <= UNIT_BYTES && whole;
        let many = self.problem.outputs as u64 / width * lanes >= self.processors * 32 * WARPS;
        // What is read at once is whole sectors, most of which are columns.
        let full = piece >= 32 && 10 * width >= 7 * lanes * wide;
        let reduced = self.pitch(&kept[..kept.len() - 1], width, rows);
        let is_read = self.fold.facts.ordered || reduced.aligned != 0;
        if !(self.fold.facts.columns && beside && few && many && full && is_read && outer.len() <= KEPT) {
            return None;
        }
        self.panels("columns", outer, columns, Lanes::Units(along, lanes), len, Pitch { each: 1, tail: 0, ..reduced })
    }

    /// Outputs at equal distances, whose rows are in several runs.
    pub(super) fn apart(&mut self, outer: &[Dim], columns: Dim, rows: &[Dim]) -> Option<Launch<CallAt>> {
        let (size, wide, width) = (self.problem.size as isize, self.fold.facts.wide, columns.len as u64);
        let (map, run) = (map(rows)?, rows.last()?);
        if !self.fold.facts.apart {
            return None;
        }
        let read = size * wide as isize;
        let beside = columns.x == size && width.is_multiple_of(wide);
        let aligned = beside && rows.iter().chain(outer).all(|d| d.x % read == 0);
        // Trees have only the kernel for fewer than 32 lanes.
        let most = if self.fold.facts.ordered { 16 } else { 32 };
        let mut lanes = width.div_ceil(wide).next_power_of_two().min(most);
        if run.x.abs() < columns.x.abs() {
            // What lies side by side is read by neighbouring lanes, but fewer rows than a tile has are slow.
            let near = 32 / (run.len as u64).min(32).next_power_of_two();
            lanes = lanes.min(near.max((256 / self.problem.count as u64).max(1).next_power_of_two()));
        }
        let reduced = Apart { map, aligned: aligned as u64 };
        self.panels("apart", outer, columns, Lanes::Abreast(lanes), self.problem.count as u64, reduced)
    }

    /// Columns in panels, which lanes share so.
    fn panels<R: Plain>(
        &mut self,
        class: &str,
        outer: &[Dim],
        columns: Dim,
        lanes: Lanes,
        rows: u64,
        reduced: R,
    ) -> Option<Launch<CallAt>> {
        let outputs = self.outputs::<KEPT>(outer);
        let (width, beside, wide) = (columns.len as u64, lanes.beside(), self.fold.facts.wide);
        let count = match lanes {
            Lanes::Units(along, each) => (along.len as u64 * each).div_ceil(beside),
            _ => width.div_ceil(beside * wide),
        };
        let sets = outputs.total * count;
        let (tile, warps) = match lanes {
            Lanes::Team(lanes) => (8, teams(lanes)),
            _ => (8 * (32 / beside), WARPS),
        };
        let most = COLUMN_TILES.min(self.fold.facts.most / tile);
        let entry = format!("{class}_{}", self.fold.name);
        let costs = if self.fold.facts.most <= EXACT { EXACT_COSTS } else { COLUMN_COSTS };
        let is_team = matches!(lanes, Lanes::Team(_));
        let resident = blocks(&entry).map(|blocks| lanes.blocks(blocks));
        let blocks = Blocks { warps, resident, shrinks: !is_team };
        let share = Share::of(sets, rows.div_ceil(tile), self.processors, [most; 2], costs, blocks);
        if !share.counts(sets, PANEL_GROUP) || (is_team && share.block < warps) {
            return None;
        }
        if share.blocks > 1 {
            self.words = (sets * beside * wide * room(share.blocks)) as usize * self.fold.facts.words;
        }
        let shape = self.shared(outputs, columns, (lanes, count), rows, &share, reduced);
        let block = if is_team { warps * beside / 32 } else { share.block };
        Some(self.launch(entry, share.grid(sets), block, shape))
    }

    /// The launch struct of `rows` rows of columns, in so many panels.
    pub(super) fn shared<R, const K: usize>(
        &self,
        outputs: Outputs<K>,
        columns: Dim,
        (lanes, panels): (Lanes, u64),
        rows: u64,
        share: &Share,
        reduced: R,
    ) -> Columns<K, R> {
        let (mut unit, mut of_unit, mut team) = (Kept::default(), Divisor::default(), Divisor::default());
        match lanes {
            Lanes::Abreast(_) => {}
            Lanes::Team(lanes) => team = Divisor::new(lanes),
            Lanes::Units(along, lanes) => (unit, of_unit) = (self.kept(&along), Divisor::new(lanes)),
        }
        // Lanes of several units have results side by side if all of them have a whole number of columns.
        let writes = match lanes {
            Lanes::Abreast(32) => 1,
            Lanes::Units(along, _) if along.out == columns.len as isize => {
                if (columns.len as u64).is_multiple_of(self.fold.facts.wide) { 1 } else { ALONE }
            }
            _ => 0,
        };
        let is_narrow = self.fold.narrow && self.out(&columns) == 1 && self.skip == 0;
        let has_all = share.warps == 1 && share.blocks == 1 && self.parts.is_none();
        let deals = match lanes {
            Lanes::Abreast(32) => 1,
            Lanes::Units(..) => ALONE,
            _ => 0,
        };
        let is_wide = self.problem.size >= 4 || self.fold.facts.describes();
        let is_dealt = is_wide && rows <= DEALT_ROWS;
        let (parts, under) =
            self.parts.map_or((Divisor::default(), 0), |(places, under)| (Divisor::new(places), under));
        Columns {
            outputs,
            of_unit,
            team,
            unit,
            parts,
            under,
            width: columns.len as u64,
            x: columns.x as i64,
            mask: columns.mask as i64,
            out: self.out(&columns),
            skip: if self.skip > 0 { Divisor::new(self.skip) } else { Divisor::default() },
            rows,
            panels,
            lanes: lanes.beside() as u32,
            warps: share.warps as u32,
            tiles: share.tiles as u32,
            blocks: share.blocks as u32,
            first: 0,
            all: share.blocks as u32,
            narrow: if is_narrow && has_all { writes } else { 0 },
            dealt: if is_dealt && has_all { deals } else { 0 },
            reduced,
        }
    }

    /// How the rows of `width` columns lie.
    fn pitch(&self, outer: &[Dim], width: u64, rows: Dim) -> Pitch {
        let (size, wide) = (self.problem.size as u64, self.fold.facts.wide);
        let read = (size * wide) as isize;
        let aligned = |pitch: isize| pitch % read == 0 && outer.iter().all(|d| d.x % read == 0);
        let (len, dense) = (rows.len as u64, rows.x == (size * width) as isize);
        let each = wide / width.min(wide);
        if self.fold.facts.packed && dense && each > 1 && width.is_power_of_two() && len >= 2 * each {
            let (aligned, tail) = (aligned(read) as u64, len % each * width);
            return Pitch { bytes: read as i64, aligned, each, tail, end: self.end() };
        }
        let aligned = width.is_multiple_of(wide) && aligned(rows.x);
        Pitch { bytes: rows.x as i64, aligned: aligned as u64, each: 1, tail: 0, end: self.end() }
    }
}
