//! Columns: outputs lie side by side, and a lane walks down some of them.
//!
//! Idea: a lane takes 16 bytes of adjacent columns and 8 rows at a time, tree-wise; a warp is 32 lanes wide, or, where
//! there are fewer columns, takes several rows abreast and folds them by exchanges. Warps of a block take stretches of
//! rows and meet in shared memory; blocks leave parts, and the last of a panel reduces these. Where few columns have
//! few rows, lanes side by side have those of several units, one after the other. Where columns need some of a warp's
//! lanes, threads that follow one another are teams of as many, in place of warps. Columns may also be parts of longer
//! rows, which another launch reduces, or no output's, where outputs are a few steps apart. Bottleneck: memory.

use crate::address::array;
use crate::node::{Node, fetch, get, publish, put};
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::narrow::{store, write};
use crate::reduce::shape::panel::{Panel, Strip};
use crate::reduce::shape::parts::{self, PANEL_GROUP, Turn};
use crate::reduce::shape::piece::{At, Kept, Outputs, divide, share};
use crate::reduce::shape::slots::{Slots, meet_slots};
use crate::reduce::shape::split::next;
use crate::reduce::shape::stack::{Few, Own};
use crate::reduce::shape::warp::eight_parts;
use warpfold_simt::Simt;

params! {
    /// Outputs, and how the work is shared out. A panel is `lanes * C` columns.
    pub struct Columns[R; const K] {
        /// The kept axes but for the columns.
        pub outputs: Outputs<K>,
        /// Columns.
        pub width: u64,
        /// Bytes from column to column in the input.
        pub x: i64,
        /// Bytes from column to column in the mask.
        pub mask: i64,
        /// Elements from output to output.
        pub out: i64,
        /// Columns from output to output; what is between them is read, and not written. None if each is one.
        pub skip: Divisor,
        /// Rows in this launch.
        pub rows: u64,
        /// Panels side by side.
        pub panels: u64,
        /// Lanes that have the columns of one unit, if few lie side by side and a panel has those of several units;
        /// otherwise none.
        pub of_unit: Divisor,
        /// Lanes of a team; none if warps are teams.
        pub team: Divisor,
        /// The axis of the units.
        pub unit: Kept,
        /// Places of a row's parts, if columns are parts of rows for another launch; none if they are outputs.
        pub parts: Divisor,
        /// Elements of each part.
        pub under: u64,
        /// Lanes side by side: a power of two, unless they are teams.
        pub lanes: u32,
        /// Teams to a panel, a power of two; others of the block take other panels. Of warps, the block may have fewer,
        /// if the others would have no rows.
        pub warps: u32,
        /// Tiles of 8 steps that a team takes, a power of two, at most 16: a lane has room for five levels of their
        /// nodes.
        pub tiles: u32,
        /// Blocks to a panel in this launch.
        pub blocks: u32,
        /// The number of the first of them, if earlier launches did some.
        pub first: u32,
        /// Blocks to a panel in all launches.
        pub all: u32,
        /// Whether a warp has all rows of its columns, and results are as narrow as elements, and side by side: then
        /// lanes write them, several at once, or with [`ALONE`] one by one.
        pub narrow: u32,
        /// Whether lanes write the results of all of their columns one by one: of neighbouring ones to neighbouring
        /// lanes, or with [`ALONE`] of those that they read at once.
        pub dealt: u32,
        /// How rows follow one another.
        pub reduced: R,
    }
}

/// Lanes write results one by one, each of the columns that it reads at once.
pub const ALONE: u32 = 2;

/// See the module. `SLOTS` words of shared memory hold a part for each column of each of 8 warps, and before
/// that each thread's own subtrees.
#[inline(always)]
pub fn kernel<S: Simt, P: Panel<C>, const K: usize, const C: usize, const SLOTS: usize>(
    s: &S,
    call: &Call<Columns<K, P::Reduced>>,
) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let last = s.shared::<u32, 1, 1>("last");
    let panel = P::new(&call.recipe);
    let (f, shape) = (panel.fold(), &call.shape);
    let tid = s.thread_x();
    let teams = P::TEAMS && shape.team.by > 0;
    // A team and a lane of it, and how many teams there are.
    let (warp, lane, warps) = if s.branch(teams) {
        let (team, lane) = shape.team.divide_small(tid);
        (team, lane, shape.team.divide_small(s.block_dim_x()).0)
    } else {
        // Warps of a panel that would have no rows may be absent.
        (s.warp(), s.lane() & (shape.lanes - 1), (s.block_dim_x() / 32).max(shape.warps))
    };
    let (group, mine) = (share(warp, shape.warps), warp & (shape.warps - 1));
    let wide = shape.lanes * C as u32;
    let all_slots = warps * wide;
    let rows_of = |slot: u32| {
        let row = if s.branch(teams) { shape.team.divide_small(slot / C as u32).0 } else { share(slot, wide) };
        (row, slot - row * wide)
    };

    let per_block = share(warps, shape.warps) as u64;
    // The block's number among those of a panel, and the number of its first panel. Panels vary fastest, so that blocks
    // that run together read what lies together.
    let place = |number: u32, sets: u64, per_block: u64| {
        let (block, across) = divide(number as u64, (sets + per_block - 1) >> per_block.trailing_zeros());
        (block, across * per_block)
    };
    let dealt = P::DEALS && shape.dealt == 1;
    let at_once = P::at_once(&shape.reduced, call.at.input) && !dealt;
    let in_units = P::UNITS && shape.of_unit.by > 0;
    let together = at_once || P::TOGETHER || in_units;
    // Where the lane's columns are, of a panel.
    let locate = |set: u64, panels: u64, lane: u32| {
        let live = set < shape.outputs.total * panels;
        let (outer, number) = divide(if live { set } else { 0 }, panels);
        let at = shape.outputs.at(outer);
        let leftmost = number * (shape.lanes * C as u32) as u64;
        let (mut unit, mut column) = (0, leftmost + if together { lane * C as u32 } else { lane } as u64);
        if s.branch(in_units) {
            (unit, column) = shape.of_unit.divide(number * shape.lanes as u64 + lane as u64);
            column *= C as u64;
        }
        let has_columns = column < shape.width && (!in_units || unit < shape.unit.len);
        Located { live, at, leftmost, unit, column, has_columns }
    };
    let sets = shape.outputs.total * shape.panels;
    let (block, set) = place(s.block_x(), sets, per_block);
    let Located { live, at, leftmost, unit, column, has_columns } = locate(set + group as u64, shape.panels, lane);
    let spread = if together { 1 } else { shape.lanes };
    // A lane without columns reads others.
    let (unit, base) = if has_columns { (unit, column) } else { (0, if in_units { 0 } else { leftmost }) };
    let x = |column: u64| call.at.input.wrapping_add((at.x + column as i64 * shape.x) as u64);
    let mask = at.mask + base as i64 * shape.mask + unit as i64 * shape.unit.mask;
    let strip = Strip {
        x: x(base).wrapping_add((unit as i64 * shape.unit.x) as u64),
        mask: call.at.mask.wrapping_add(mask as u64),
        columns: if !has_columns {
            0
        } else if s.branch(teams && spread > 1) {
            shape.team.divide_small((shape.width - column).min(wide as u64) as u32 + spread - 1).0 as u64
        } else {
            (shape.width - column + spread as u64 - 1) >> spread.trailing_zeros()
        },
        at_once,
        spread,
        across: shape.x,
        rows: if live { shape.rows } else { 0 },
        lanes: if teams { 32 } else { shape.lanes },
        panel: x(leftmost),
        beside: if in_units { 0 } else { (shape.width - leftmost).min(wide as u64) as u32 },
        input: call.at.input,
        reduced: shape.reduced,
    };
    let abreast = if teams { 1 } else { share(32, shape.lanes) };
    let stretch = shape.tiles as u64 * 8 * abreast as u64;
    let first = (block * shape.warps as u64 + mine as u64) * stretch;
    let own = Own { words: slots, thread: tid, threads: s.block_dim_x() };
    let found = panel.run(s, &strip, own, first, shape.tiles);
    if let Some(size) = const { P::WRITES }
        && s.branch(shape.narrow != 0)
    {
        let mut results = [0; C];
        if const { <P::Fold as Parts>::LINES } {
            results = found.map(
                #[inline(always)]
                |part| f.narrow(s, &call.recipe, part),
            );
        } else {
            // So much code is kept short: the columns take turns.
            let (mut found, mut j, all) = (found, 0, s.opaque(C as u32));
            while s.again(j < all) {
                results = next(results, f.narrow(s, &call.recipe, found[0]));
                found = next(found, found[0]);
                j += 1;
            }
        }
        // Found again: nothing of it is kept while elements pass. Each warp has a panel.
        let (panels, warps) = (s.anew(shape.panels as u32) as u64, s.anew(s.block_dim_x() / 32) as u64);
        let (_, set) = place(s.opaque(s.block_x()), shape.outputs.total * panels, warps);
        let here = locate(set + s.opaque(s.warp()) as u64, panels, s.opaque(s.lane()));
        let mut left = 0;
        let alone = shape.narrow == ALONE;
        if here.has_columns && here.live {
            let units = if in_units && !alone { (shape.unit.len - 1 - here.unit) * shape.width } else { 0 };
            left = units + shape.width - here.column;
        }
        let first = here.at.out + (here.unit * shape.width + here.column) as i64;
        let to = |i: i64| call.at.output.wrapping_add(((first + i) * size as i64) as u64);
        if s.branch(together && !alone) {
            return write(s, to(0), results, size, left.min(2 * C as u64) as u32);
        }
        let mut j = 0;
        while j < C {
            let i = j as i64 * spread as i64;
            if s.branch((i as u64) < left) {
                store(s, to(i), results[j], size);
            }
            j += 1;
        }
        return;
    }
    if P::DEALS && s.branch(shape.dealt != 0) {
        let panels = s.anew(shape.panels as u32) as u64;
        let (_, set) = place(s.opaque(s.block_x()), shape.outputs.total * panels, s.anew(s.block_dim_x() / 32) as u64);
        let here = locate(set + s.opaque(s.warp()) as u64, panels, s.opaque(s.lane()));
        let first = here.at.out + here.unit as i64 * shape.unit.out;
        let (mut found, mut column, mut j, all) = (found, here.column, 0, s.opaque(C as u32));
        while s.again(j < all) {
            let (out, is_output) = shape.output(s, column);
            if s.branch(here.live && here.has_columns && column < shape.width && is_output) {
                f.finish(s, &call.recipe, found[0], call.out(first + out));
            }
            found = next(found, found[0]);
            column += if dealt { shape.lanes as u64 } else { 1 };
            j += 1;
        }
        return;
    }
    // Found again: nothing of it is kept while elements pass.
    let tid = s.opaque(tid);
    let (block, set) = place(s.opaque(s.block_x()), sets, per_block);
    s.barrier();
    if s.branch(teams || s.lane() < shape.lanes) {
        let mut j = 0;
        while j < C {
            let place = if together { lane * C as u32 + j as u32 } else { lane + j as u32 * shape.lanes };
            put(s, slots, all_slots, warp * wide + place, found[j]);
            j += 1;
        }
    }
    let mut absent = if teams { all_slots } else { s.block_dim_x() / 32 * wide + tid };
    while s.again(absent < all_slots) {
        put(s, slots, all_slots, absent, f.nothing());
        absent += s.block_dim_x();
    }
    s.barrier();

    // Teams of a panel meet in pairs.
    let per_panel = shape.warps;
    meet_slots(s, f, Slots { words: slots, all: all_slots, wide }, warps, per_panel, rows_of);
    if s.branch(shape.all > 1) {
        // The block has one panel, and leaves its part of it.
        let (workspace, counters) = (call.partials(), array::<u32>(call.at.workspace));
        let mut turn = Turn::first(set, shape.first as u64 + block, shape.all as u64, PANEL_GROUP);
        while s.again(true) {
            // Addresses of so many words are not kept from one level to the next.
            let (tid, all_slots) = (s.opaque(tid), s.opaque(all_slots));
            if s.branch(tid < wide) {
                let part = get(s, slots, all_slots, tid, f.nothing());
                publish(s, workspace, turn.own() as usize * wide as usize + tid as usize, part);
            }
            s.barrier();
            if s.branch(tid == 0) {
                s.put(last, 0, turn.arrive(s, counters) as u32);
            }
            s.barrier();
            if s.branch(s.get(last, 0) == 0) {
                return;
            }
            let (from, count) = (turn.from(), turn.count());
            // In stretches of eight, from the workspace to shared memory.
            let left = count.div_ceil(8) as u32;
            let mut i = tid;
            while s.again(i < left * wide) {
                let (row, place) = rows_of(i);
                let first = row as u64 * 8;
                let part = |j: u64| {
                    if s.branch(first + j < count) {
                        fetch(s, workspace, (from + first + j) as usize * wide as usize + place as usize, f.nothing())
                    } else {
                        f.nothing()
                    }
                };
                if F::<P, C>::WORDS > parts::FEW {
                    let mut stack = Few::new(f.nothing());
                    let (mut j, all) = (0, s.opaque(8));
                    while s.again(j < all) {
                        stack.push(f, j, part(j as u64));
                        j += 1;
                    }
                    put(s, slots, all_slots, i, stack.close(f, 8));
                } else {
                    let eight: [F<P, C>; 8] = warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |j| part(j as u64),
                    );
                    put(s, slots, all_slots, i, eight_parts(f, eight));
                }
                i += s.block_dim_x();
            }
            let rows = left.next_power_of_two();
            let mut i = left * wide + tid;
            while s.again(i < rows * wide) {
                put(s, slots, all_slots, i, f.nothing());
                i += s.block_dim_x();
            }
            s.barrier();
            meet_slots(s, f, Slots { words: slots, all: all_slots, wide }, rows, rows, rows_of);
            if s.branch(tid == 0) {
                turn.reset(s, counters);
            }
            let Some(next) = turn.next() else { break };
            turn = next;
        }
    }
    // A team that has a panel to itself goes through its results.
    let alone = per_panel == 1;
    let (mut c, end) = if alone { (warp * wide, warp * wide + wide) } else { (0, per_block as u32 * wide) };
    c += if !alone {
        tid
    } else if teams {
        lane
    } else {
        s.lane()
    };
    let step = if !alone {
        s.block_dim_x()
    } else if teams {
        shape.lanes
    } else {
        32
    };
    let (mut found, mut number, mut results, mut is_set) = (u32::MAX, 0, 0, false);
    while s.again(c < end) {
        let (group, place) = rows_of(c);
        if s.branch(group != found) {
            let set = set + group as u64;
            let (outer, own) = divide(set, shape.panels);
            (found, number, is_set) = (group, own, set < sets);
            results = shape.outputs.at(outer).out;
        }
        let (mut unit, mut column) = (0, number * wide as u64 + place as u64);
        if s.branch(in_units) {
            let place = place as u64;
            (unit, column) = shape.of_unit.divide(number * shape.lanes as u64 + place / C as u64);
            column = column * C as u64 + place % C as u64;
        }
        let there = column < shape.width && (!in_units || unit < shape.unit.len);
        let (out, is_output) = shape.output(s, column);
        if s.branch(is_set && there && is_output) {
            let part = get(s, slots, all_slots, group * per_panel * wide + place, f.nothing());
            let out = results + out + unit as i64 * shape.unit.out;
            if s.branch(shape.parts.by > 0) {
                let (_, number) = shape.parts.divide(out as u64);
                publish(s, call.partials(), out as usize, f.moved(part, number * shape.under));
            } else {
                f.finish(s, &call.recipe, part, call.out(out));
            }
        }
        c += step;
    }
}

impl<R, const K: usize> Columns<K, R> {
    /// Where the result of a column is, from that of the first, and whether it has one.
    #[inline(always)]
    fn output<S: Simt>(&self, s: &S, column: u64) -> (i64, bool) {
        let (number, between) = if s.branch(self.skip.by > 0) { self.skip.divide(column) } else { (column, 0) };
        (number as i64 * self.out, between == 0)
    }
}

/// Where a lane's columns are.
struct Located {
    /// Whether there is such a panel.
    live: bool,
    /// The kept axes but for the columns, and units.
    at: At,
    /// The panel's first column.
    leftmost: u64,
    /// The number of the unit.
    unit: u64,
    /// The lane's first column.
    column: u64,
    /// Whether there is such a column.
    has_columns: bool,
}

/// The part type of a panel.
type F<P, const C: usize> = <<P as Panel<C>>::Fold as Parts>::Part;
