//! Write the sums over rows of a row stage: stacked products, and totals of all shares.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::rows::RowPlaces;
use super::{Grid, Launch, Writer, find_entry, head};
use crate::cuda::layout::Area;
use crate::plan::{Block, RowStage, Step, Target, Term};

/// Rows and columns of the block of results that a block of threads computes, rows of the batch that it
/// multiplies at a time, and bytes of shared memory that it takes; see `sums.cu`.
const TALL: usize = 128;
const BROAD: usize = 112;
const DEPTH: usize = 16;
const SHARED: usize = 4 * DEPTH * (TALL + BROAD + 16) * size_of::<f32>();
/// Most shares of a sum: beyond, adding them costs more than it saves.
const MOST_SHARES: usize = 16;
/// Blocks of threads that a processor runs at a time.
const BLOCKS: usize = 2;
/// Rows of the run, in the code.
const ROWS: &str = "reinterpret_cast<const Run*>(words)->rows";

/// Rows of a target, and the products that add up to them.
struct Region {
    target: usize,
    row: usize,
    rows: usize,
    cols: usize,
    /// Positive ones first.
    terms: Vec<Term>,
}

impl Region {
    /// Blocks of threads that compute it once.
    fn blocks(&self) -> usize {
        self.rows.div_ceil(TALL) * self.cols.div_ceil(BROAD)
    }
}

/// Regions of all targets, in their order.
fn regions(stage: &RowStage) -> Vec<Region> {
    let mut regions: BTreeMap<(usize, usize, usize), Region> = BTreeMap::new();
    for step in &stage.steps {
        if let Step::Accumulate { into: Block { target, row, rows, .. }, cols, terms } = step {
            let (target, row, rows, cols) = (*target, *row, *rows, *cols);
            let none = || Region { target, row, rows, cols, terms: Vec::new() };
            regions.entry((target, row, rows)).or_insert_with(none).terms.extend(terms);
        }
    }
    let sorted = |mut region: Region| {
        region.terms.sort_by_key(|term| term.negative);
        region
    };
    regions.into_values().map(sorted).collect()
}

/// Parts of every target, as they are written: row, rows, shares, values from share to share, place.
type Parts = BTreeMap<usize, Vec<String>>;

/// A table whose entries each take some blocks of threads and some entries of a list.
#[derive(Default)]
struct Table {
    text: String,
    len: usize,
    list: String,
    list_len: usize,
    blocks: usize,
}

impl Writer<'_> {
    pub(super) fn sums(&mut self, number: usize, stage: &RowStage, places: &RowPlaces) {
        let regions = regions(stage);
        let mut parts = self.parts_of_tiles(places);
        let products = self.products_of(&regions, places, &mut parts);
        if products.len > 0 {
            self.sums_kernel(number, &products);
        }
        let totals = self.totals(&parts);
        if totals.blocks > 0 {
            self.totals_kernel(number, &totals);
        }
    }

    /// Sums that the steps of the tiles leave behind: a share for each tile.
    fn parts_of_tiles(&mut self, places: &RowPlaces) -> Parts {
        let mut parts = Parts::new();
        let sums: BTreeMap<_, _> = places.sums.iter().collect();
        for (&(target, row), &at) in sums {
            let (at, stride) = (self.parts + at, places.sums_len);
            parts.entry(target).or_default().push(format!("{{{row}, 1, -1, {stride}, {at}LL}}"));
        }
        self.parts += places.sums_len * self.tiling.tiles();
        parts
    }

    /// The table of stacked products, with the list of their terms. Their results are added to the parts.
    fn products_of(&mut self, regions: &[Region], places: &RowPlaces, parts: &mut Parts) -> Table {
        let chunks = self.tiling.rows.div_ceil(DEPTH);
        let work: usize = regions.iter().map(|region| region.blocks() * region.terms.len() * chunks).sum();
        let each = work.div_ceil(BLOCKS * self.processors).max(8);
        let mut table = Table::default();
        for region in regions {
            let Region { target, row, rows, cols, ref terms } = *region;
            let Table { blocks: first, list_len: first_term, .. } = table;
            let across = cols.div_ceil(BROAD);
            let shares = (terms.len() * chunks).div_ceil(each).clamp(1, MOST_SHARES);
            let (to, stride) = (self.parts, rows * cols);
            let (count, positive) = (terms.len(), terms.iter().filter(|t| !t.negative).count());
            let _ = writeln!(
                table.text,
                "{{{first}, {first_term}, {count}, {positive}, {rows}, {cols}, {across}, {shares}, {to}LL}},"
            );
            table.list.extend(terms.iter().map(|term| self.term(term, places)));
            table.len += 1;
            table.list_len += count;
            table.blocks += region.blocks() * shares;
            self.parts += shares * stride;
            parts.entry(target).or_default().push(format!("{{{row}, {rows}, {shares}, {stride}, {to}LL}}"));
        }
        table
    }

    fn term(&self, term: &Term, places: &RowPlaces) -> String {
        let (a, b) = (places.whole(term.a), places.whole(term.b));
        let (a_base, b_base) = (places.base(self, term.a), places.base(self, term.b));
        format!(
            "{{{a_base}, {b_base}, {}LL, {}LL, {}LL, {}LL, {}, {}}},\n",
            a.0, b.0, a.1, b.1, term.a.stride, term.b.stride
        )
    }

    fn sums_kernel(&mut self, number: usize, products: &Table) {
        let Table { text, list, blocks, .. } = products;
        let parts = self.area(Area::Parts);
        let _ = write!(
            self.kernels,
            "static __device__ const Term terms_{number}[] = {{\n{list}}};\n\
             __constant__ Region regions_{number}[] = {{\n{text}}};\n"
        );
        self.kernels.push_str(&head(&format!("sums_{number}"), "__launch_bounds__(256, 2)"));
        self.kernels.push_str(&find_entry(&format!("regions_{number}"), products.len));
        let _ = write!(
            self.kernels,
            "accumulate(regions_{number}[i], terms_{number}, table, {parts}, {ROWS});\n}}\n"
        );
        let kernel = format!("sums_{number}");
        self.launches.push(Launch { kernel, grid: Grid::Blocks(*blocks), threads: 256, shared: SHARED });
    }

    /// The table of targets, with the list of their parts.
    fn totals(&self, parts: &Parts) -> Table {
        // Large ones first: most blocks then find theirs at once.
        let target = |t: usize| &self.plan.targets[t];
        let mut by_size: Vec<_> = parts.iter().collect();
        by_size.sort_by_key(|(t, _)| Reverse(target(**t).rows * target(**t).cols));
        let mut table = Table::default();
        for (&t, parts) in by_size {
            let Target { rows, cols, offset } = *target(t);
            let Table { blocks: first, list_len: first_part, .. } = table;
            let count = parts.len();
            let _ = writeln!(table.text, "{{{first}, {rows}, {cols}, {first_part}, {count}, {offset}LL}},");
            let _ = writeln!(table.list, "{},", parts.join(", "));
            table.len += 1;
            table.list_len += count;
            table.blocks += (rows * cols).div_ceil(256);
        }
        table
    }

    fn totals_kernel(&mut self, number: usize, totals: &Table) {
        let Table { text, list, blocks, .. } = totals;
        let (parts, sums) = (self.area(Area::Parts), self.area(Area::Sums));
        let _ = write!(
            self.kernels,
            "__constant__ Part parts_{number}[] = {{\n{list}}};\n\
             __constant__ Total targets_{number}[] = {{\n{text}}};\n"
        );
        self.kernels.push_str(&head(&format!("totals_{number}"), "__launch_bounds__(256)"));
        self.kernels.push_str(&find_entry(&format!("targets_{number}"), totals.len));
        let _ = write!(
            self.kernels,
            "total(targets_{number}[i], parts_{number}, {parts}, {sums}, ({ROWS} + ROWS - 1) / ROWS);\n}}\n"
        );
        let kernel = format!("totals_{number}");
        self.launches.push(Launch { kernel, grid: Grid::Blocks(*blocks), threads: 256, shared: 0 });
    }

    fn area(&self, area: Area) -> String {
        format!("reinterpret_cast<float*>(table[{}])", self.bases.area(area))
    }
}
