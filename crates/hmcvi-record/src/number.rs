//! Read numbers from JSON, which has neither NaN nor infinity: values that are not finite are written as null.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

type Named = BTreeMap<String, f64>;
type MaybeNamed = BTreeMap<String, Option<f64>>;

/// A number; NaN for null.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Option::deserialize(from).map(|number: Option<f64>| number.unwrap_or(f64::NAN))
}

/// Numbers; NaN for null.
pub(crate) fn each_or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// Numbers by name without those that are null.
pub(crate) fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Named, D::Error> {
    MaybeNamed::deserialize(from).map(present)
}

/// The same, or nothing at all.
pub(crate) fn maybe_named<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Named>, D::Error> {
    Option::<MaybeNamed>::deserialize(from).map(|all| all.map(present))
}

fn present(all: MaybeNamed) -> Named {
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
