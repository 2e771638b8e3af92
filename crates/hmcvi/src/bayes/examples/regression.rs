//! Describe linear and logistic regressions.

use crate::bayes::{Builder, Dims, Var, bernoulli_logit, flat, half_cauchy, half_normal, normal, student_t};
use crate::bayes::{Distribution, Support};

/// A density of 1 for positive numbers.
fn flat_positive<'g>() -> Distribution<'g> {
    flat().on(Support::POSITIVE)
}

/// What stands before the columns of a regression.
enum Before {
    /// A column of ones.
    Ones,
    /// Nothing, and the first column of the data is left out, which is one of ones.
    Nothing,
}

/// A matrix of data with each column changed.
fn changed<'g>(m: &mut Builder<'g>, x: Var<'g>, before: Before, change: impl Fn(&mut [f64])) -> Var<'g> {
    let (Some((count, width)), Some(values)) = (x.dims().matrix(), x.known()) else {
        return x;
    };
    let first = usize::from(matches!(before, Before::Nothing));
    let column = |j: usize| (0..count).map(|i| values[i * width + j]).collect();
    let mut columns: Vec<Vec<f64>> = (first..width).map(column).collect();
    columns.iter_mut().for_each(|column| change(column));
    if matches!(before, Before::Ones) {
        columns.insert(0, vec![1.0; count]);
    }
    let rows: Vec<f64> = (0..count).flat_map(|i| columns.iter().map(move |column| column[i])).collect();
    m.known((count, columns.len()), &rows)
}

fn mean(column: &[f64]) -> f64 {
    column.iter().sum::<f64>() / column.len() as f64
}

/// With the number of rows as divisor.
fn sd(column: &[f64]) -> f64 {
    let mean = mean(column);
    (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / column.len() as f64).sqrt()
}

/// Columns of mean 0 and standard deviation 1, after one of ones.
pub(super) fn logistic(m: &mut Builder<'_>) {
    let (x, y) = (m.data("x"), m.data("y"));
    let x = changed(m, x, Before::Ones, |column| {
        let (mean, sd) = (mean(column), sd(column));
        // A column that never changes stays: its coefficient is the prior's.
        column.iter_mut().for_each(|x| *x = (*x - mean) / if sd > 0.0 { sd } else { 1.0 });
    });
    let w = m.sample("w", normal(0.0, 1.0).shape(columns(x)));
    m.observe("y", bernoulli_logit(x.times(w)), y);
}

/// Columns of standard deviation 1, after one of ones.
pub(super) fn credit(m: &mut Builder<'_>) {
    let (x, y) = (m.data("x"), m.data("y"));
    let x = changed(m, x, Before::Ones, |column| {
        let sd = sd(column);
        column.iter_mut().for_each(|x| *x /= sd);
    });
    let w = m.sample("w", flat().shape(columns(x)));
    m.observe("y", bernoulli_logit(x.times(w)), y);
}

fn columns(x: Var<'_>) -> usize {
    x.dims().matrix().map_or(1, |(_, columns)| columns)
}

pub(super) fn linear(m: &mut Builder<'_>) {
    let (x, y) = (m.data("X"), m.data("y"));
    let beta = m.sample("beta", normal(0.0, 10.0).shape(columns(x)));
    let sigma = m.sample("sigma", half_normal(10.0));
    m.observe("y", normal(x.times(beta), sigma), y);
}

/// The first column is the intercept's; the others are centred.
pub(super) fn diamonds(m: &mut Builder<'_>) {
    let (x, y) = (m.data("X"), m.data("Y"));
    let x = changed(m, x, Before::Nothing, |column| {
        let mean = mean(column);
        column.iter_mut().for_each(|x| *x -= mean);
    });
    let b = m.sample("b", normal(0.0, 1.0).shape(columns(x)));
    let intercept = m.sample("Intercept", student_t(3.0, 8.0, 10.0));
    let sigma = m.sample("sigma", student_t(3.0, 0.0, 10.0).on(Support::POSITIVE));
    m.observe("Y", normal(intercept + x.times(b), sigma), y);
}

/// A linear regression on an intercept and some values, with flat priors.
fn regress<'g>(m: &mut Builder<'g>, name: &str, y: Var<'g>, on: &[Var<'g>], sigma: Distribution<'g>) {
    let beta = m.sample("beta", flat().shape(on.len() + 1));
    let sigma = m.sample("sigma", sigma);
    let mean = on.iter().enumerate().fold(beta.at(0), |mean, (j, x)| mean + beta.at(j + 1) * *x);
    m.observe(name, normal(mean, sigma), y);
}

/// 1 where data have a value, else 0.
fn is<'g>(m: &mut Builder<'g>, x: Var<'g>, value: f64) -> Var<'g> {
    let all = x.known().unwrap_or_default();
    let each: Vec<f64> = all.iter().map(|x| f64::from(u8::from(*x == value))).collect();
    m.known(Dims::from(each.len()), &each)
}

pub(super) fn earnings(m: &mut Builder<'_>) {
    let (earn, height) = (m.data("earn"), m.data("height"));
    regress(m, "earn", earn, &[height], flat_positive());
}

pub(super) fn log_earnings(m: &mut Builder<'_>) {
    let (earn, height, male) = (m.data("earn"), m.data("height"), m.data("male"));
    let heights = height.known().unwrap_or_default();
    // Here with one less than the number of rows, as `sd` of Stan and R.
    let scale = sd(&heights) * (heights.len() as f64 / (heights.len() as f64 - 1.0)).sqrt();
    let z = (height - mean(&heights)) / scale;
    regress(m, "earn", earn.log(), &[z, male, z * male], flat_positive());
}

pub(super) fn kid_score_parents(m: &mut Builder<'_>) {
    let (score, school, iq) = (m.data("kid_score"), m.data("mom_hs"), m.data("mom_iq"));
    regress(m, "kid_score", score, &[school, iq], half_cauchy(2.5));
}

pub(super) fn kid_score_interaction(m: &mut Builder<'_>) {
    let (score, school, iq) = (m.data("kid_score"), m.data("mom_hs"), m.data("mom_iq"));
    regress(m, "kid_score", score, &[school, iq, school * iq], half_cauchy(2.5));
}

pub(super) fn kid_score_work(m: &mut Builder<'_>) {
    let (score, work) = (m.data("kid_score"), m.data("mom_work"));
    let kinds = [2.0, 3.0, 4.0].map(|kind| is(m, work, kind));
    regress(m, "kid_score", score, &kinds, flat_positive());
}

pub(super) fn mesquite(m: &mut Builder<'_>) {
    let weight = m.data("weight");
    let on = ["diam1", "diam2", "canopy_height", "total_height", "density", "group"].map(|name| m.data(name));
    regress(m, "weight", weight, &on, flat_positive());
}

pub(super) fn log_mesquite(m: &mut Builder<'_>) {
    let [weight, long, short, canopy, total, density] =
        ["weight", "diam1", "diam2", "canopy_height", "total_height", "density"]
            .map(|name| m.data(name).log());
    let group = m.data("group");
    let on = [long + short + canopy, long + short, long - short, total, density, group];
    regress(m, "weight", weight, &on, flat_positive());
}

pub(super) fn elections(m: &mut Builder<'_>) {
    let party = m.data("partyid7");
    let [ideology, race, age, education, gender, income] =
        ["real_ideo", "race_adj", "age_discrete", "educ1", "gender", "income"].map(|name| m.data(name));
    let [age2, age3, age4] = [2.0, 3.0, 4.0].map(|group| is(m, age, group));
    let on = [ideology, race, age2, age3, age4, education, gender, income];
    regress(m, "partyid7", party, &on, flat_positive());
}
