//! Choose colours that colour-blind readers can tell apart, on white paper and on dark pages.

/// Red, green and blue.
pub(crate) type Rgb = (u8, u8, u8);

/// Paul Tol's muted scheme in nine colours, and grey: classes, in order.
pub const COLOURS: [(u8, u8, u8); 10] = [
    (204, 102, 119),
    (51, 34, 136),
    (221, 204, 119),
    (17, 119, 51),
    (136, 204, 238),
    (136, 34, 85),
    (68, 170, 153),
    (153, 153, 51),
    (170, 68, 153),
    (119, 119, 119),
];

/// The same on dark pages, the dark ones lighter.
pub(crate) const COLOURS_ON_DARK: [Rgb; 10] = [
    (221, 125, 140),
    (140, 125, 235),
    (221, 204, 119),
    (70, 175, 105),
    (136, 204, 238),
    (205, 95, 150),
    (68, 170, 153),
    (175, 175, 75),
    (200, 110, 185),
    (150, 150, 150),
];

/// Colours of lines: the first ones of Tol's bright scheme, dark enough on white paper.
pub(crate) const LINES: [Rgb; 6] =
    [(68, 119, 170), (238, 102, 119), (34, 136, 51), (170, 51, 119), (204, 187, 68), (102, 204, 238)];

/// The same on dark pages: lighter colours of Tol's schemes, in the same order of hues.
pub(crate) const LINES_ON_DARK: [Rgb; 6] =
    [(119, 170, 221), (255, 150, 165), (86, 190, 120), (221, 140, 195), (238, 221, 136), (153, 221, 255)];

/// A colour of a drawing. All but fixed ones follow the reader's choice of light or dark where they stand on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// The same everywhere.
    Fixed(Rgb),
    /// A variable of the page, and its value on white paper.
    Named(&'static str, Rgb),
    /// A line or what belongs to it, by its number.
    Line(usize),
    /// A class, by its number.
    Class(usize),
}

pub(crate) const INK: Colour = Colour::Named("ink", (34, 34, 34));
pub(crate) const SOFT: Colour = Colour::Named("soft", (110, 110, 110));
pub(crate) const GRID: Colour = Colour::Named("grid", (228, 228, 228));
pub(crate) const PAPER: Colour = Colour::Named("card", (255, 255, 255));

impl Colour {
    /// The colour on white paper.
    pub(crate) fn on_white(self) -> String {
        hexadecimal(match self {
            Colour::Fixed(rgb) | Colour::Named(_, rgb) => rgb,
            Colour::Line(i) => LINES[i % LINES.len()],
            Colour::Class(i) => COLOURS[i % COLOURS.len()],
        })
    }

    /// The colour on a page that has the variables.
    pub(crate) fn on_page(self) -> String {
        match self {
            Colour::Fixed(rgb) => hexadecimal(rgb),
            Colour::Named(name, _) => format!("var(--{name})"),
            Colour::Line(i) => format!("var(--line-{})", i % LINES.len()),
            Colour::Class(i) => format!("var(--class-{})", i % COLOURS.len()),
        }
    }
}

/// Variables of lines and classes for a style sheet.
pub(crate) fn variables(lines: &[Rgb], classes: &[Rgb]) -> String {
    let all = |name: &str, colours: &[Rgb]| -> String {
        let one = |(i, c): (usize, &Rgb)| format!("--{name}-{i}: {}; ", hexadecimal(*c));
        colours.iter().enumerate().map(one).collect()
    };
    all("line", lines) + &all("class", classes)
}

fn hexadecimal((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
