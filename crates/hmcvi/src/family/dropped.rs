//! Count the rows that a bound leaves out, and refuse to call what is left a bound where they are many.

/// Share of rows that may be left out of a bound.
const LIMIT: f64 = 0.01;

/// How many rows a bound leaves out: those whose simulation diverged without an acceptance step that could reject it,
/// and those whose bound is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// All rows.
    pub rows: u64,
    /// Rows that were left out.
    pub dropped: u64,
    /// Rows, of all, whose first draw has no density: the log density is not finite there.
    pub no_density: u64,
}

impl Dropped {
    /// Share of rows that were left out.
    pub fn share(&self) -> f64 {
        self.dropped as f64 / self.rows.max(1) as f64
    }

    /// An error where more than 1% of the rows were left out: what is known of the others is no bound for all.
    pub fn check(&self) -> Result<(), NotABound> {
        if self.share() > LIMIT { Err(NotABound(*self)) } else { Ok(()) }
    }
}

impl std::ops::AddAssign for Dropped {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.dropped += other.dropped;
        self.no_density += other.no_density;
    }
}

/// So many rows were left out that the mean of the others is not a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{dropped} of {rows} rows were left out, so that the mean of the others is not a bound; {advice}",
    dropped = .0.dropped, rows = .0.rows, advice = advice(.0)
)]
pub struct NotABound(pub Dropped);

fn advice(of: &Dropped) -> &'static str {
    if 2 * of.no_density >= of.dropped {
        "the log density is not finite at the draws that they begin with: transform variables so that it is defined for \
         all real numbers (for a positive x use z = log x, and add z to the log density)"
    } else {
        "their simulations diverged: use a smaller first step size, fewer leapfrog steps or a lower learning rate, or an \
         acceptance step"
    }
}
