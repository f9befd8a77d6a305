//! Plans for outputs of few elements: units of memory, many of which fit the stretch that a warp stages.

use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::reduce::shape::parts::room;
use warpfold_kernels::reduce::shape::piece::{FEW, PACKS};
use warpfold_kernels::reduce::shape::stage::LINES;
use warpfold_kernels::reduce::shape::staged::{APART, FLAT, LINED, NESTED, ODD, Staged, TURNED, TWINS, WHOLE};
use warpfold_kernels::reduce::table::KEPT;

use super::Launch;
use super::near::{conflicts, inside, is_stepped};
use super::planner::Planner;
use super::policy::{ROW_BYTES, SHALLOW, SPREAD, STAGED_BANKS, STAGED_FLAT, STAGED_TURNS, STRETCH_PART, WARPS};
use super::rounds::{Shared, Sharing};
use super::units::{FIT, SUBTREES, Turns, Units};
use warpfold_array::problem::{Dim, Problem};

/// Outputs in two reduced axes: outer kept axes, along which units follow one another, columns of a unit, and both of
/// the reduced axes.
type Turned<'a> = (&'a [Dim], Dim, Dim, [Dim; 2]);

impl Planner<'_> {
    /// The launch for outputs of few elements each, all turns of which lie in one stretch of memory.
    fn nested(&self) -> Option<Launch<CallAt>> {
        let Problem { kept, reduced, size, count, .. } = self.problem;
        let [far, run] = reduced[..] else { return None };
        if !self.fold.facts.turns {
            return None;
        }
        let (outer, own) = kept.split_at(kept.len() - inside(self.problem)?);
        let columns = own.first().copied().unwrap_or(Dim { len: 1, x: 0, mask: 0, out: 0 });
        let (&along, outer) = outer.split_last()?;
        let last = [far, columns, run].iter().map(|axis| (axis.len - 1) * axis.x as usize).sum::<usize>();
        let (bytes, pitch) = (last + size, along.x.unsigned_abs());
        let units = Units::of(along, columns, bytes, FIT).filter(|units| units.lines.is_none() && pitch >= bytes)?;
        let turns = Turns { far: far.x as i64, most: 1, nested: true, run: run.len, alone: bytes };
        let units = Units { turns: Some(turns), ..units };
        (along.x > 0 && outer.len() <= KEPT).then(|| self.units(outer, units, Dim { len: *count, ..run }, [0, 0]))
    }

    /// The axes, if outputs lie side by side in both of two reduced axes. Elements that may come in any order are
    /// reduced along both in turn, or read where they lie: max f64 (12,1398101,2) of axes 0 and 2 took an H200 136 us
    /// staged, and 119 so.
    fn turning(&self) -> Option<Turned<'_>> {
        let Problem { kept, reduced, size, .. } = self.problem;
        let [far, run] = reduced[..] else { return None };
        if !self.fold.facts.turns || run.x <= 0 {
            return None;
        }
        let nothing = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let (&inner, outer) = kept.split_last()?;
        if run.x == *size as isize {
            return (outer.len() <= KEPT).then_some((outer, inner, nothing, [far, run]));
        }
        let (&along, outer) = outer.split_last().unwrap_or((&nothing, &[]));
        // What is between the rows of a unit is staged, too.
        let dense = inner.x == *size as isize && 2 * inner.len * size >= run.x as usize;
        (dense && outer.len() <= KEPT).then_some((outer, along, inner, [far, run]))
    }

    /// The launch for outputs of few elements each, in several runs, if outputs lie side by side in these.
    pub(super) fn turned(&self) -> Option<Launch<CallAt>> {
        let Problem { size, count, .. } = *self.problem;
        if count > PACKS as usize * 32 * self.per() as usize {
            return None;
        }
        if let Some(launch) = self.nested() {
            return Some(launch);
        }
        let (outer, along, columns, [far, run]) = self.turning()?;
        let units = Units::turned(along, columns, [far, run], count, size)?;
        Some(self.units(outer, units, Dim { len: count, ..run }, [0, 0]))
    }

    /// The launch that leaves a part of each stretch of outputs in several runs, and an output's parts. The problem's
    /// outputs are rows.
    pub(super) fn turned_stretches(&self) -> Option<(Launch<CallAt>, u64)> {
        let Problem { size, count, .. } = *self.problem;
        let (outer, along, columns, [far, run]) = self.turning()?;
        let ways = SUBTREES.map(|bits| 1usize << bits).filter(|len| *len < count);
        let ways = ways.filter_map(|len| Some((len, Units::turned(along, columns, [far, run], len, size)?)));
        let cost = |len: usize, units: &Units| self.stretch(len, units, run);
        let (len, mut units) = ways.min_by(|a, b| cost(a.0, &a.1).total_cmp(&cost(b.0, &b.1)))?;
        let parts = count.div_ceil(len) as u64;
        let of_row = |axis: &Dim| Dim { out: axis.out * room(parts) as isize, ..*axis };
        (units.along, units.columns) = (of_row(&along), of_row(&columns));
        let outer: Vec<Dim> = outer.iter().map(of_row).collect();
        Some((self.units(&outer, units, Dim { len, ..run }, [count, 0]), parts))
    }

    /// The launch for outputs of one run each, of few elements.
    pub(super) fn staged(&self, kept: &[Dim], run: Dim) -> Option<Launch<CallAt>> {
        let (size, per) = (self.problem.size, self.per() as usize);
        if !self.fold.facts.staged || run.len > PACKS as usize * 32 * per {
            return None;
        }
        let nothing = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let (&inner, outer) = kept.split_last().unwrap_or((&nothing, &[]));
        // Where tiles begin with lines, one more fits.
        let lined = self.aligned && kept.iter().all(|axis| axis.x % 16 == 0);
        let room = if lined { 16 * LINES as usize } else { FIT };
        if self.is_shallow(inner, run) {
            return None;
        }
        let (outer, units) = if run.len == 1 {
            (outer, Units::elements(inner, size))
        } else if run.x == size as isize {
            let long = run.len * size >= ROW_BYTES && self.problem.outputs < (self.processors * WARPS) as usize;
            let units = Units::of(inner, nothing, run.len * size, room)?;
            // A row that is alone in its tile: on an H200, sum f32 (120482,557) took 155 us staged, and 85 as a row.
            let alone = units.fit == 1 && kept.len() <= KEPT;
            if long && kept.len() <= KEPT || alone {
                return None;
            }
            (outer, units)
        } else if inner.x == size as isize && run.x > 0 {
            let (&along, outer) = outer.split_last()?;
            let row = inner.len.saturating_mul(size);
            let bytes = (run.len - 1).saturating_mul(run.x as usize).saturating_add(row);
            let units = Units::of(along, inner, bytes, FIT)?;
            // Few wide units are few warps, each of which would have its columns in turns.
            let few = self.problem.outputs / inner.len < (self.processors * WARPS) as usize && inner.len > 64;
            // What is between the rows of a unit is staged, too.
            if few || units.lines.is_some() && inner.len > 1 || run.len * row < bytes / 2 {
                return None;
            }
            (outer, units)
        } else if is_stepped(run.x, size) && inner.x.abs() >= run.x {
            (outer, Units::of(inner, nothing, (run.len - 1).saturating_mul(run.x as usize) + size, FIT)?)
        } else {
            return None;
        };
        (outer.len() <= KEPT).then(|| self.units(outer, units, run, [0, 0]))
    }

    /// Whether columns that are wide, of few rows, are faster where they lie. On an H200 (`plans-raw.txt.xz`), norm f16
    /// (262144,2,16,16) along axis 1 took 298 us staged and 164 so, describe bf16 (87609,2,766) along axis 1 1780 and
    /// 1247, norm f32 (1,67108864) along axis 0 218 and 180; but that of f64 147 and 165, describe bf16 of one row 1477
    /// and 2522. (That of two rows is of `plans-first-raw.txt.xz`.)
    fn is_shallow(&self, columns: Dim, rows: Dim) -> bool {
        let (facts, size) = (&self.fold.facts, self.problem.size);
        let is_sum = self.fold.name.starts_with("sum_") && facts.ordered;
        let is_faster = match rows.len {
            1 => is_sum && size == 4,
            2 => is_sum && size == 2 || facts.describes(),
            _ => is_sum && size == 2 && rows.len <= 8,
        };
        facts.shallow && is_faster && columns.x == size as isize && columns.len >= SHALLOW
    }

    /// The launch that leaves a part of each stretch of rows of `run` elements a few steps apart, and a row's parts.
    /// The problem's outputs are rows. `beside` lies side by side between the steps: its innermost kept axis, or a
    /// reduced one, each element of which has a row of the sequence.
    pub(super) fn stretches(&self, run: Dim, beside: Option<Dim>) -> Option<(Launch<CallAt>, u64)> {
        let Problem { kept, size, .. } = self.problem;
        let columns = beside.unwrap_or(Dim { len: 1, x: 0, mask: 0, out: 0 });
        let is_row = columns.len > 1 && columns.out == 0;
        let outside = &kept[..kept.len() - (columns.out != 0) as usize];
        let lined = self.aligned && outside.iter().all(|axis| axis.x % 16 == 0);
        // Stretches are whole subtrees.
        let least = if self.fold.facts.twins { 4 } else { SUBTREES.start };
        let ways = (least..SUBTREES.end).filter_map(|bits| {
            let len = 1usize << bits;
            let along = Dim { len: run.len.div_ceil(len), x: run.x << bits, mask: 0, out: 1 };
            let room = if lined && along.x % 16 == 0 { 16 * LINES as usize } else { FIT };
            let units = Units::of(along, columns, (len - 1) * run.x as usize + columns.len * size, room)?;
            let in_order = !(is_row && self.fold.facts.ordered) || run.len.is_multiple_of(len);
            (units.lines.is_none() && len < run.len && in_order).then_some((len, units))
        });
        let cost = |len: usize, units: &Units| self.stretch(len, units, run);
        let (len, mut units) = ways.min_by(|a, b| cost(a.0, &a.1).total_cmp(&cost(b.0, &b.1)))?;
        let each = units.along.len;
        let parts = (each * if is_row { columns.len } else { 1 }) as u64;
        let of_row = |axis: &Dim| Dim { out: axis.out * room(parts) as isize, ..*axis };
        units.columns = if is_row { Dim { out: each as isize, ..columns } } else { of_row(&columns) };
        let outer: Vec<Dim> = outside.iter().map(of_row).collect();
        let beyond = if is_row { run.len } else { 0 };
        Some((self.units(&outer, units, Dim { len, ..run }, [run.len, beyond]), parts))
    }

    /// What an element costs in stretches of so many of a row's elements: its parts are written and read.
    pub(super) fn stretch(&self, len: usize, units: &Units, run: Dim) -> f64 {
        let Sharing { width, per, twins } = self.sharing(units, Dim { len, ..run });
        let shared = Shared::of(len.div_ceil(per), &self.fold.facts, units.most(), width, usize::MAX);
        let part = (STRETCH_PART * self.fold.facts.words * if twins { 2 } else { 1 }) as f64;
        (shared.cost + part) / (len * if twins { 2 } else { 1 }) as f64
    }

    /// Whether pairs of outputs are staged without gaps: if hardly more lanes want different words of one bank so.
    fn is_flat(&self, shared: &Shared, units: &Units, run: Dim, width: usize) -> bool {
        let [flat, gaps] = [false, true].map(|gaps| {
            let words = (0..32).map(|lane| {
                let (number, own) = (lane / shared.abreast(), lane % shared.abreast());
                let first = own / width * units.along.x.unsigned_abs() + own % width * 4;
                let at = first + number * shared.packs * 4 * run.x.unsigned_abs();
                (at + if gaps { at >> 7 << 4 } else { 0 }) / 4
            });
            conflicts(words, 32)
        });
        flat <= gaps.max(STAGED_BANKS)
    }

    /// How outputs of so many elements are taken.
    fn sharing(&self, units: &Units, run: Dim) -> Sharing {
        let (columns, size) = (units.columns, self.problem.size as isize);
        let twins = self.fold.facts.twins && run.x != size && columns.len > 1;
        let twins = twins && columns.x == size && run.len > FEW as usize;
        let (width, per) = if twins { (columns.len.div_ceil(2), 4) } else { (columns.len, self.per() as usize) };
        Sharing { width, per, twins }
    }

    /// The launch for units outside which there are `outer` axes, and which are stretches of rows of `row` elements,
    /// `beyond` from column to column, or whole outputs.
    pub(super) fn units(&self, outer: &[Dim], units: Units, run: Dim, [row, beyond]: [usize; 2]) -> Launch<CallAt> {
        let outputs = self.outputs::<KEPT>(outer);
        let Units { along, columns, bytes, lines, .. } = units;
        let stretches = if units.turns.is_some() { row.div_ceil(run.len).max(1) as u64 } else { 1 };
        let wanted = (outputs.total * along.len as u64 * stretches / (self.processors * SPREAD)) as usize;
        let dense = run.x == self.problem.size as isize;
        let Sharing { width, per, twins } = self.sharing(&units, run);
        let shared = Shared::of(run.len.div_ceil(per), &self.fold.facts, units.most(), width, wanted);
        let turned = units.turns.is_some();
        let tiles = along.len.div_ceil(shared.per_tile) as u64;
        // Lanes that share an output are a power of two of words apart.
        let near = shared.lanes == 1 || shared.lanes * shared.packs <= STAGED_FLAT;
        let flat = dense && near && lines.is_none() && !along.x.unsigned_abs().is_multiple_of(16);
        let free = dense && row == 0 && !self.fold.facts.ordered && shared.lanes > 1;
        let lined = free && !flat && run.len * self.problem.size >= 32;
        let [flat, lined] = [flat, lined].map(|is| is && units.turns.is_none());
        let few = dense && row == 0 && shared.lanes == 1 && columns.len == 1 && (2..=FEW as usize).contains(&run.len);
        let beside = along.x == bytes as isize && self.out(&along) == 1;
        // Each tile has whole lines.
        let per_tile = shared.per_tile.min(along.len);
        let in_lines = is_whole(bytes, along.len) && is_whole(bytes, per_tile);
        let whole = self.fold.lines && few && units.turns.is_none() && beside && in_lines;
        let (mut bytes, mut room) = (bytes, lines.unwrap_or(1));
        if let Some(turns) = units.turns.filter(|turns| !turns.nested) {
            bytes = if shared.per_tile == 1 { turns.alone } else { bytes };
            room = ((shared.per_tile - 1) * along.x.unsigned_abs() + bytes + 15).div_ceil(16);
        }
        let (within, tiles) = (tiles, tiles * stretches);
        let total = outputs.total * tiles;
        let turns = (total / (self.processors * SPREAD * 4)).clamp(1, STAGED_TURNS);
        let warps = total.div_ceil(turns);
        let block = warps.div_ceil(self.processors).clamp(1, WARPS);
        let shape = Staged {
            outputs,
            units: along.len as u64,
            pitch: along.x as i64,
            out: self.out(&along),
            width: Divisor::new(width as u64),
            beside: self.out(&columns),
            across: columns.x as u64 * if twins { 2 } else { 1 },
            lines: Divisor::new(room as u64),
            run: Divisor::new(units.turns.map_or(run.len, |turns| turns.run) as u64),
            runs: units.turns.map_or(1, |turns| turns.most) as u64,
            far: units.turns.map_or(0, |turns| turns.far),
            len: run.len as u32,
            near: run.x as u32,
            bytes: bytes as u32,
            layout: [
                (lines.is_some(), APART),
                (flat || twins && !turned && self.is_flat(&shared, &units, run, width), FLAT),
                (lined, LINED),
                (turned, TURNED),
                (units.turns.is_some_and(|turns| turns.nested), NESTED),
                (whole, WHOLE),
                (twins, TWINS),
                (twins && columns.len % 2 == 1, ODD),
            ]
            .map(|(is, bit)| is as u32 * bit)
            .iter()
            .sum(),
            per_tile: shared.per_tile as u32,
            turns: turns as u32,
            lanes: shared.lanes as u32,
            packs: shared.packs as u32,
            abreast: Divisor::new(shared.abreast() as u64),
            tiles,
            within,
            end: self.end(),
            row: row as u64,
            beyond: beyond as u64,
        };
        self.launch(format!("staged_{}", self.fold.name), warps.div_ceil(block), block, shape)
    }
}

/// Whether lines of 16 bytes have whole outputs of `bytes` bytes each, of which there are so many side by side.
fn is_whole(bytes: usize, outputs: usize) -> bool {
    bytes.is_power_of_two() && bytes <= 16 && outputs.is_multiple_of(16 / bytes)
}
