//! Write groups of a row stage by tiles of 8 columns, as tensor cores leave their results.
//!
//! A warp takes a tile; each lane has two neighbouring columns of rows `g` and `g + 8` of every 16. Values that are the
//! left operand of a product next are handed on through shared memory, sums over the tile's rows are added up among the
//! lanes that share a column.

use std::fmt::Write;

use super::Writer;
use super::element::{Element, draw};
use super::group::{Argument, Call, Parameters};
use super::hazards::{Access, Place, Share};
use super::rows::RowPlaces;
use super::schedule::is_own_group;
use crate::cuda::layout::Area;
use crate::plan::{Base, Group, Sink, Source, Value, View};

/// What the text of a group by tiles is made of.
struct Tiles<'g> {
    element: Element<'g>,
    cols: usize,
    share: Share,
    /// The value that is the result of the product before.
    near: Option<View>,
    parameters: Parameters,
    accesses: Vec<Access>,
    /// Read once, for the columns of a tile, for the rows of a tile.
    once: String,
    columns: String,
    rows: String,
    /// What becomes of values, and what is done when all rows are.
    sinks: String,
    after: String,
}

impl Writer<'_> {
    pub(super) fn by_tiles(
        &mut self,
        number: usize,
        group: &Group,
        sinks: &[Sink],
        places: &mut RowPlaces,
    ) -> Call {
        let element = Element::new(group, sinks.iter().map(|s| s.value())).with_several();
        let own = is_own_group(group, &places.schedule.own);
        let cols = group.shape.cols;
        let mut tiles = Tiles {
            element,
            cols,
            share: if own { Share::All } else { Share::Columns(cols) },
            near: places.schedule.results.get(&number).copied(),
            parameters: Parameters::default(),
            accesses: Vec::new(),
            once: String::new(),
            columns: String::new(),
            rows: String::new(),
            sinks: String::new(),
            after: String::new(),
        };
        let sources: Vec<_> = tiles.element.sources().collect();
        for (v, source) in sources {
            self.read(v, source, &mut tiles, places);
        }
        let handed = places.schedule.handed.get(&number).cloned().unwrap_or_default();
        for (i, sink) in sinks.iter().enumerate() {
            match *sink {
                Sink::Accumulate { into, negative, value } => {
                    self.sum_rows(i, value, (into, negative), own, &mut tiles, places);
                }
                Sink::Store(value, view) => {
                    self.store(i, value, view, &mut tiles, places);
                    for (_, slot) in handed.iter().filter(|(of, _)| *of == view) {
                        hand_on(value, *slot, own, &mut tiles, places);
                    }
                }
                _ => unreachable!("sums over columns run by rows; fixed shapes have no tiles"),
            }
        }
        tiles.call(own, sinks.len())
    }

    /// Adds the text that reads a source into `s…`, four values of a lane.
    fn read(&self, v: Value, source: Source, tiles: &mut Tiles<'_>, places: &RowPlaces) {
        let Tiles { cols, share, near, parameters, accesses, .. } = tiles;
        let mut pointer = |view: View, width: usize, share: Share| {
            parameters.add("const float*", &format!("p{v}"), places.argument(self, view));
            accesses.extend(places.access(view, width, share, false));
        };
        // Rows beyond the batch exist only in tiles.
        let row_of = |view: View| if matches!(view.base, Base::Input(_)) { "GIVEN" } else { "ROW" };
        match source {
            Source::Full(view) if *near == Some(view) => {
                accesses.push(Access { place: Place::Result, share: Share::All, writes: false });
                let stride = places.schedule.result_stride;
                let _ = writeln!(
                    tiles.rows,
                    "float s{v}[4]; read_two(s{v}, x.result + (m * 16 + g) * {stride} + (tile - from) * 8 + 2 * t, 8 * {stride});"
                );
            }
            Source::Full(view) => {
                pointer(view, *cols, *share);
                let (row, stride) = (row_of(view), view.stride);
                let read = if pairs(view, *cols) { "read_two" } else { "read_each" };
                let edge = if pairs(view, *cols) { "" } else { ", c1 - c0" };
                let _ = writeln!(
                    tiles.rows,
                    "float s{v}[4]; {read}(s{v}, p{v} + {row}(0) * {stride} + c0, ({row}(1) - {row}(0)) * {stride}{edge});"
                );
            }
            Source::Column(view) => {
                pointer(view, 1, Share::All);
                let (row, stride) = (row_of(view), view.stride);
                let _ = writeln!(
                    tiles.rows,
                    "float s{v}[4]; s{v}[0] = s{v}[1] = p{v}[{row}(0) * {stride}]; s{v}[2] = s{v}[3] = p{v}[{row}(1) * {stride}];"
                );
            }
            Source::Row(view) => {
                pointer(view, *cols, *share);
                let _ = writeln!(
                    tiles.columns,
                    "float s{v}[4]; s{v}[0] = s{v}[2] = p{v}[c0]; s{v}[1] = s{v}[3] = p{v}[c1];"
                );
            }
            Source::One(view) => {
                pointer(view, 1, *share);
                let _ = writeln!(tiles.once, "float s{v} = *p{v};");
            }
            Source::Gather { data, index } => {
                let read = self.gather(v, (data, index), *cols, parameters);
                let _ = writeln!(tiles.rows, "float s{v}[4];\n{}s{v}[u] = {read}; }}", each("given"));
            }
            Source::Draw(kind, stream) => {
                let read = draw(kind, stream, "x.first + row", "col");
                let _ = writeln!(tiles.rows, "float s{v}[4];\n{}s{v}[u] = {read}; }}", each("row"));
            }
            Source::Literal(_) | Source::BatchSize => {}
            Source::StepDraw(..) => unreachable!("plans for GPUs have no loops"),
            Source::Target(_) => unreachable!("row stages do not read the sums of their own level"),
        }
    }

    fn store(&self, i: usize, value: Value, view: View, tiles: &mut Tiles<'_>, places: &RowPlaces) {
        let name = |u: usize| tiles.element.name(value, &format!("[{u}]"));
        tiles.parameters.add("float*", &format!("o{i}"), places.argument(self, view));
        tiles.accesses.extend(places.access(view, tiles.cols, tiles.share, true));
        let values = [0, 1, 2, 3].map(name).join(", ");
        let inside = if matches!(view.base, Base::Output(_)) { "x.rows - x.first" } else { "ROWS" };
        let write = if pairs(view, tiles.cols) { "write_two" } else { "write_each" };
        let _ = writeln!(
            tiles.sinks,
            "{write}(o{i}, {}, m * 16 + g, {inside}, tile * 8 + 2 * t, {}, {values});",
            view.stride, tiles.cols
        );
    }

    /// Adds up a value over the rows of the tile. Where every block has all of it, the first one keeps the sum.
    fn sum_rows(
        &self,
        i: usize,
        value: Value,
        (into, negative): (crate::plan::Block, bool),
        own: bool,
        tiles: &mut Tiles<'_>,
        places: &mut RowPlaces,
    ) {
        let (place, first) = places.sum(into, tiles.cols);
        let to = Argument::Address { base: self.bases.area(Area::Parts), offset: place };
        tiles.parameters.add("float*", &format!("o{i}"), to);
        tiles.accesses.push(Access { place: Place::Sum(place), share: tiles.share, writes: true });
        let name = |u: usize| tiles.element.name(value, &format!("[{u}]"));
        let _ = writeln!(tiles.columns, "float t{i}[2] = {{0.0f, 0.0f}};");
        for (u, row) in [(0, 0), (1, 0), (2, 8), (3, 8)] {
            let _ = writeln!(
                tiles.sinks,
                "if (x.first + m * 16 + g + {row} < x.rows) t{i}[{}] += {};",
                u % 2,
                name(u)
            );
        }
        let (sign, keeps) = (if negative { "-" } else { "" }, if own { " && x.rank == 0" } else { "" });
        let assign = if first { "=" } else { "+=" };
        let _ = writeln!(
            tiles.after,
            "t{i}[0] = column_sum(t{i}[0]), t{i}[1] = column_sum(t{i}[1]);\n\
             if (g == 0{keeps} && c0 == tile * 8 + 2 * t) o{i}[c0] {assign} {sign}t{i}[0];\n\
             if (g == 0{keeps} && c1 == tile * 8 + 2 * t + 1) o{i}[c1] {assign} {sign}t{i}[1];"
        );
    }
}

impl Tiles<'_> {
    fn call(self, own: bool, written: usize) -> Call {
        let Tiles { element, cols, parameters, accesses, once, columns, rows, sinks, after, .. } = self;
        let (from, to) = match own {
            true => ("0".to_owned(), cols.div_ceil(8).to_string()),
            false => {
                let tiles = cols.div_ceil(8);
                (format!("{tiles} * x.rank / CLUSTER"), format!("{tiles} * (x.rank + 1) / CLUSTER"))
            }
        };
        // Lanes beyond the last column compute what others do.
        let edge = match cols % 8 {
            0 => "int c0 = tile * 8 + 2 * t, c1 = c0 + 1;\n".to_owned(),
            n if n % 2 == 0 => format!("int c0 = min(tile * 8 + 2 * t, {}), c1 = c0 + 1;\n", cols - 2),
            _ => format!(
                "int c0 = min(tile * 8 + 2 * t, {0}), c1 = min(tile * 8 + 2 * t + 1, {0});\n",
                cols - 1
            ),
        };
        let computed = element.compute_in(["[0]", "[1]", "[2]", "[3]"]);
        let reads = element.each().count();
        let label = format!("by tiles [{cols}], {reads} read, {written} written");
        // Where nothing is summed over rows, warps share the rows of a tile.
        let body = if after.is_empty() {
            format!(
                "{once}for (int i = warp; i < (to - from) * ROW_TILES; i += WARPS) {{\nint tile = from + i / ROW_TILES, m = i % ROW_TILES;\n\
                 {edge}{columns}{rows}{computed}{sinks}}}\n"
            )
        } else {
            format!(
                "{once}for (int tile = from + warp; tile < to; tile += WARPS) {{\n{edge}{columns}\
                 #pragma unroll\nfor (int m = 0; m < ROW_TILES; ++m) {{\n{rows}{computed}{sinks}}}\n{after}}}\n"
            )
        };
        let head = format!("int from = {from}, to = {to};\n");
        let Parameters { text, arguments } = parameters;
        Call { label, text: text + &head + &body, arguments, accesses, scratch: 0, waits: false }
    }
}

/// Adds the text that puts a value where the next product reads it.
fn hand_on(value: Value, slot: usize, own: bool, tiles: &mut Tiles<'_>, places: &RowPlaces) {
    let share = if own { Share::All } else { Share::Columns(tiles.cols) };
    tiles.accesses.push(Access { place: Place::Slot(slot), share, writes: true });
    let number = tiles.parameters.arguments.len();
    let offset = places.slot_offset(slot);
    tiles.parameters.arguments.push(Argument::Numbers(offset, tiles.cols.div_ceil(16)));
    let name = |u: usize| tiles.element.name(value, &format!("[{u}]"));
    let [a, b, c, d] = [0, 1, 2, 3].map(name);
    let how = if own || places.cluster == 1 { "false" } else { "true" };
    let _ = writeln!(
        tiles.sinks,
        "hand_on<{how}>(x, FIRST({number}), SECOND({number}), {}, m, tile, {a}, {b}, {c}, {d});",
        tiles.cols
    );
}

/// Opens a block of text for each of a lane's four values.
fn each(row: &str) -> String {
    let row = match row {
        "given" => "given = u < 2 ? GIVEN(0) : GIVEN(1)",
        _ => "row = u < 2 ? ROW(0) : ROW(1)",
    };
    format!("#pragma unroll\nfor (int u = 0; u < 4; ++u) {{ int {row}, col = u % 2 == 0 ? c0 : c1; ")
}

/// Whether two neighbouring columns can be read at once.
fn pairs(view: View, cols: usize) -> bool {
    [view.offset, view.stride, cols].iter().all(|n| n.is_multiple_of(2))
}
