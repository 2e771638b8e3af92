//! Choose colours that colour-blind readers can tell apart.

/// Paul Tol's muted scheme in nine colours, and grey: classes and lines, in order.
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

/// Colours of lines: the first ones of Tol's bright scheme, dark enough on white paper.
pub(crate) const LINES: [(u8, u8, u8); 6] =
    [(68, 119, 170), (238, 102, 119), (34, 136, 51), (170, 51, 119), (204, 187, 68), (102, 204, 238)];

/// The same on dark pages: lighter colours of Tol's schemes, in the same order of hues.
pub(crate) const LINES_ON_DARK: [(u8, u8, u8); 6] =
    [(119, 170, 221), (255, 150, 165), (86, 190, 120), (221, 140, 195), (238, 221, 136), (153, 221, 255)];

/// Colour of what came before, for comparison.
pub const BEFORE: (u8, u8, u8) = (119, 119, 119);
