//! Draw rows of a table as lines of coloured cells, with the names of their columns and the scale of the colours.

use super::panel::{range, ticks};
use super::{LABEL, NUMBER, ramp};
use crate::ReportError;
use crate::palette::SOFT;
use crate::scene::{
    Anchor, Look, Pixels, Place, Rect, Scene, Shape, Stroke, Text, bold_width, name_width, text_width,
};

/// Width that cells share, and the limits of each.
const WIDTH: f64 = 880.0;
const WIDE: (f64, f64) = (16.0, 48.0);
/// Height that cells share, and the limits of each.
const HEIGHT: f64 = 520.0;
const HIGH: (f64, f64) = (2.0, 18.0);
/// Letters of a name that are shown, and room above each part for its own.
const LETTERS: usize = 20;
const ABOVE: f64 = 30.0;
const MARGIN: f64 = 14.0;
/// Width of the scale, least height, and steps of colour.
const BAR: f64 = 16.0;
const LEAST: f64 = 150.0;
const STEPS: usize = 128;

/// Rows of numbers, in parts below each other.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Each part's name and its values, row after row. What is not finite is left empty.
    pub parts: Vec<(String, Vec<f32>)>,
    /// What the numbers on the scale are.
    pub scale: String,
}

/// The rows in their parts, names below them, and the scale on the right.
///
/// # Errors
/// [`ReportError::Rows`] if values do not make whole rows; [`ReportError::Empty`] if none is finite.
pub fn heat_map(data: &HeatMap) -> Result<Scene, ReportError> {
    let columns = data.columns.len();
    for (_, values) in &data.parts {
        if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
            return Err(ReportError::Rows { found: values.len(), columns });
        }
    }
    let all = data.parts.iter().flat_map(|(_, values)| values.iter().map(|v| f64::from(*v)));
    let limits = range(all, 0.0).ok_or_else(|| ReportError::Empty(data.title.clone()))?;
    let rows: usize = data.parts.iter().map(|(_, values)| values.len() / columns).sum();
    let cell = ((WIDTH / columns as f64).clamp(WIDE.0, WIDE.1), (HEIGHT / rows as f64).clamp(HIGH.0, HIGH.1));
    let names: Vec<String> = data.columns.iter().map(|name| shortened(name)).collect();
    let below = names.iter().map(|name| name_width(name, NUMBER)).fold(0.0, f64::max) + 8.0;
    let parts = rows as f64 * cell.1 + ABOVE * data.parts.len() as f64;
    // Where there are few columns, the names of parts are wider than they are.
    let titles = data.parts.iter().map(|(name, _)| bold_width(name, LABEL));
    let wide = titles.fold(columns as f64 * cell.0, f64::max);
    let bar = Rect {
        x: MARGIN + wide + 26.0,
        y: MARGIN + ABOVE,
        width: BAR,
        height: (parts - ABOVE).max(text_width(&data.scale, LABEL)).max(LEAST),
    };
    let height = (MARGIN + parts + below).max(bar.bottom()) + MARGIN;
    let mut scene = Scene::new(data.title.clone(), bar.right() + 92.0, height);
    let mut y = MARGIN;
    for (name, values) in &data.parts {
        y = part(&mut scene, (MARGIN, y), (name, values), columns, cell, limits);
    }
    for (i, name) in names.iter().enumerate() {
        let x = MARGIN + (i as f64 + 0.5) * cell.0 + 0.36 * NUMBER;
        scene.text(Text::new((x, y + 6.0), name, NUMBER).literal().anchor(Anchor::End).upwards());
    }
    scale(&mut scene, bar, limits, &data.scale);
    Ok(scene)
}

/// Draws a part with its name; returns where it ends.
fn part(
    scene: &mut Scene,
    (x, y): Place,
    (name, values): (&str, &[f32]),
    columns: usize,
    cell: (f64, f64),
    limits: (f64, f64),
) -> f64 {
    let rows = values.len() / columns;
    scene.text(Text::new((x, y + ABOVE - 9.0), name, LABEL).bold().anchor(Anchor::Start));
    let area = Rect { x, y: y + ABOVE, width: columns as f64 * cell.0, height: rows as f64 * cell.1 };
    let rgba = values.iter().flat_map(|v| colour(f64::from(*v), limits)).collect();
    let pixels = Pixels { width: columns, height: rows, rgba };
    scene.add(Shape::Picture { area, pixels, look: Look::Squares });
    scene.rect(area, None, Some(Stroke::new(SOFT, 1.0)));
    area.bottom()
}

fn colour(value: f64, (low, high): (f64, f64)) -> [u8; 4] {
    if value.is_finite() { ramp::density((value - low) / (high - low)) } else { [0; 4] }
}

/// Draws which colour is which number.
fn scale(scene: &mut Scene, area: Rect, (low, high): (f64, f64), label: &str) {
    let at = |i: usize| high + (low - high) * i as f64 / (STEPS - 1) as f64;
    let rgba = (0..STEPS).flat_map(|i| colour(at(i), (low, high))).collect();
    scene.add(Shape::Picture { area, pixels: Pixels { width: 1, height: STEPS, rgba }, look: Look::Squares });
    let line = Stroke::new(SOFT, 1.0);
    scene.rect(area, None, Some(line));
    for (value, number) in ticks(low, high, area.height / 50.0, false) {
        let y = area.bottom() - (value - low) / (high - low) * area.height;
        scene.line(&[(area.right(), y), (area.right() + 5.0, y)], line);
        let place = (area.right() + 8.0, y + 0.36 * NUMBER);
        scene.text(Text::new(place, number, NUMBER).anchor(Anchor::Start));
    }
    scene.text(Text::new((area.right() + 80.0, area.centre().1), label, LABEL).upwards());
}

/// The beginning of a long name.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(LETTERS) {
        Some(_) => name.chars().take(LETTERS - 1).chain(['…']).collect(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(columns: &[&str], values: &[f32]) -> HeatMap {
        HeatMap {
            title: "Rows".into(),
            columns: columns.iter().map(ToString::to_string).collect(),
            parts: vec![("first".into(), values.to_vec()), ("second".into(), values.to_vec())],
            scale: "log(1 + x)".into(),
        }
    }

    #[test]
    fn cells_have_the_colours_of_the_scale_and_names_are_not_taken_for_formulas() {
        let scene = heat_map(&map(&["gene_1", "b"], &[0.0, 4.0, f32::NAN, 2.0])).expect("two rows");
        let pictures: Vec<&Pixels> = scene
            .shapes()
            .iter()
            .filter_map(|shape| if let Shape::Picture { pixels, .. } = shape { Some(pixels) } else { None })
            .collect();
        let [first, second, bar] = pictures[..] else { panic!("two parts and a scale") };
        assert_eq!((first, first.width, first.height), (second, 2, 2));
        let [low, high, empty, middle] = first.rgba.as_chunks::<4>().0 else { panic!("four cells") };
        // The scale goes from the largest number down to the smallest.
        assert_eq!((&bar.rgba[..4], &bar.rgba[bar.rgba.len() - 4..]), (&high[..], &low[..]));
        assert_eq!((empty[3], *middle), (0, ramp::density(0.5)));
        let svg = scene.to_svg();
        assert!(svg.contains(">gene_1<") && svg.contains("log(1 + x)") && svg.contains(">second<"), "{svg}");
        assert_eq!(scene.crossed(), Vec::<String>::new());
    }

    #[test]
    fn what_makes_no_rows_is_refused() {
        let wrong = heat_map(&map(&["a", "b"], &[1.0, 2.0, 3.0])).map(|_| ());
        assert_eq!(wrong.expect_err("three").to_string(), "3 values do not make rows of 2 columns");
        assert!(heat_map(&map(&["a"], &[f32::NAN])).is_err());
        assert!(heat_map(&map(&["a"], &[5.0])).is_ok(), "all values may be the same");
    }

    #[test]
    fn long_names_of_parts_and_of_the_scale_have_room_beside_few_cells() {
        let mut data = map(&["a"], &[1.0, 2.0]);
        data.parts[1].0 = "Decoded from the draws after the HMC steps".into();
        data.scale = "standard deviations from the mean, of which there are some".into();
        let scene = heat_map(&data).expect("two rows");
        let mut pictures = scene.shapes().iter().filter_map(|shape| match shape {
            Shape::Picture { area, .. } => Some(*area),
            _ => None,
        });
        let bar = pictures.next_back().expect("the scale comes last");
        assert!(bar.x > MARGIN + bold_width(&data.parts[1].0, LABEL), "{bar:?}");
        assert!(bar.height >= text_width(&data.scale, LABEL), "{bar:?}");
    }

    #[test]
    fn many_rows_and_columns_and_long_names_fit() {
        let names: Vec<String> = (0..40).map(|i| format!("a column with the number {i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let values: Vec<f32> = (0..40 * 200).map(|i| (i % 17) as f32 - 9.0).collect();
        let scene = heat_map(&map(&names, &values)).expect("200 rows");
        assert_eq!(scene.crossed(), Vec::<String>::new());
        assert!(scene.to_svg().contains("a column with the n…"));
    }
}
