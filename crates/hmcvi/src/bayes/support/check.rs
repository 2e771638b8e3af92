//! Find known values that lie outside of a support.

use std::fmt;

use super::Support;
use crate::bayes::Arg;

/// How far sums that should be 1 may be from it: what is left of numbers printed with eight digits.
const ROUNDING: f64 = 1e-8;

/// Whether numbers on the bound are inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::bayes) enum Bound {
    Included,
    /// Only for [`Support::Above`] and [`Support::Below`]: scales of 0 are no scales, but probabilities of 0 are some.
    Excluded,
}

impl Support<'_> {
    /// Checks values if they are known.
    ///
    /// # Errors
    /// Names the first value that lies elsewhere.
    pub(in crate::bayes) fn check(&self, seen: Arg<'_>, bound: Bound) -> Result<(), String> {
        let Some(values) = seen.known() else { return Ok(()) };
        let (groups, _) = self.groups(seen.dims())?;
        let [low, high] = self.bounds().map(|bound| bound.and_then(Arg::known));
        let low = |i: usize| at(low.as_deref(), i).unwrap_or(f64::NEG_INFINITY);
        let high = |i: usize| at(high.as_deref(), i).unwrap_or(f64::INFINITY);
        let inside = |i: usize, part: &[f64]| {
            let x = part[0];
            part.iter().all(|value| value.is_finite())
                && match self {
                    Support::Above(_) if bound == Bound::Excluded => low(i) < x,
                    Support::Below(_) if bound == Bound::Excluded => x < high(i),
                    Support::Integers { .. } => x.fract() == 0.0 && low(i) <= x && x <= high(i),
                    Support::Ordered => ascends(part),
                    Support::PositiveOrdered => x >= 0.0 && ascends(part),
                    Support::Simplex => is_simplex(part),
                    Support::CorrelationCholesky => is_correlation_factor(part),
                    // Whether a matrix is positive definite shows where its factor is taken.
                    Support::UnitVector | Support::SumToZero | Support::Affine(..) => true,
                    Support::Correlation | Support::CovarianceCholesky | Support::Covariance => true,
                    _ => low(i) <= x && x <= high(i),
                }
        };
        let mut parts = values.chunks(values.len() / groups.max(1)).enumerate();
        match parts.find(|(i, part)| !inside(*i, part)) {
            None => Ok(()),
            Some((i, part)) => Err(format!("{} at position {i} (from 0); expected {self}", shown(part))),
        }
    }

    /// Checks that there is something between the bounds of a variable, as far as they are known.
    pub(super) fn check_bounds(&self) -> Result<(), String> {
        if let Support::Affine(_, multiplier) = self {
            let wrong = multiplier.known().and_then(|all| all.into_iter().find(|x| x.is_nan() || *x <= 0.0));
            return wrong.map_or(Ok(()), |x| Err(format!("the multiplier {x} is not above 0")));
        }
        let [low, high] = self.bounds().map(|bound| bound.and_then(Arg::known));
        if let Some(bound) = [&low, &high].into_iter().flatten().flatten().find(|bound| !bound.is_finite()) {
            return Err(format!("{bound} cannot be a bound; leave it out, as `Above` and `Below` do"));
        }
        let Some((low, high)) = low.zip(high) else { return Ok(()) };
        let pair = |i: usize| Some((at(Some(&low), i)?, at(Some(&high), i)?));
        match (0..low.len().max(high.len())).filter_map(pair).find(|(low, high)| low >= high) {
            Some((low, high)) => Err(format!("the lower bound {low} is not below the upper bound {high}")),
            None => Ok(()),
        }
    }
}

/// A bound of element `i`, or of all elements.
fn at(bounds: Option<&[f64]>, i: usize) -> Option<f64> {
    match bounds? {
        [one] => Some(*one),
        all => all.get(i).copied(),
    }
}

fn ascends(part: &[f64]) -> bool {
    part.windows(2).all(|pair| pair[0] < pair[1])
}

fn is_simplex(part: &[f64]) -> bool {
    part.iter().all(|x| *x >= 0.0) && (part.iter().sum::<f64>() - 1.0).abs() <= ROUNDING
}

fn is_correlation_factor(part: &[f64]) -> bool {
    let size = part.len().isqrt();
    part.chunks(size).enumerate().all(|(i, row)| {
        let length: f64 = row.iter().map(|x| x * x).sum();
        row[i] > 0.0 && row[i + 1..].iter().all(|x| *x == 0.0) && (length - 1.0).abs() <= ROUNDING
    })
}

fn shown(part: &[f64]) -> String {
    match part {
        [one] => one.to_string(),
        [first, .., last] if part.len() > 4 => format!("[{first}, …, {last}]"),
        all => format!("{all:?}"),
    }
}

impl fmt::Display for Support<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: &Arg<'_>| match bound {
            Arg::Number(number) => number.to_string(),
            Arg::Var(_) => "its bound".into(),
        };
        match self {
            Support::Real => f.write_str("real numbers"),
            Support::Above(low) => write!(f, "numbers above {}", bound(low)),
            Support::Below(high) => write!(f, "numbers below {}", bound(high)),
            Support::Between(low, Arg::Number(f64::INFINITY)) => {
                write!(f, "numbers of at least {}", bound(low))
            }
            Support::Between(low, high) => write!(f, "numbers between {} and {}", bound(low), bound(high)),
            Support::Affine(..) => f.write_str("real numbers"),
            Support::UnitVector => f.write_str("vectors of length 1"),
            Support::SumToZero => f.write_str("vectors with the sum 0"),
            Support::Correlation => f.write_str("correlation matrices"),
            Support::CovarianceCholesky => f.write_str("Cholesky factors of covariances"),
            Support::Covariance => f.write_str("positive definite matrices"),
            Support::Ordered => f.write_str("vectors that ascend"),
            Support::PositiveOrdered => f.write_str("vectors of positive numbers that ascend"),
            Support::Simplex => f.write_str("vectors of positive numbers with the sum 1"),
            Support::CorrelationCholesky => f.write_str("Cholesky factors of correlation matrices"),
            Support::Integers { from, to: None } => write!(f, "integers of at least {from}"),
            Support::Integers { from, to: Some(to) } => write!(f, "integers from {from} to {}", bound(to)),
        }
    }
}
