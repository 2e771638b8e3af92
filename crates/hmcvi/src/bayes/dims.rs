//! Count the elements of a value along its dimensions.

use std::fmt;

/// Dimensions that a value can have.
const MOST: usize = 8;

/// Sizes along each dimension; none for a scalar. Elements are kept row by row: the last dimension varies fastest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    rank: usize,
    sizes: [usize; MOST],
}

impl Dims {
    /// One number.
    pub const SCALAR: Dims = Dims { rank: 0, sizes: [1; MOST] };

    /// The most dimensions that there may be.
    pub const MOST: usize = MOST;

    /// These sizes; nothing if there are more than [`Dims::MOST`].
    pub fn new(sizes: &[usize]) -> Option<Self> {
        let mut all = [1; MOST];
        all.get_mut(..sizes.len())?.copy_from_slice(sizes);
        Some(Dims { rank: sizes.len(), sizes: all })
    }

    /// Sizes, first dimension first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.sizes().iter().product()
    }

    /// Whether this is one number.
    pub fn is_scalar(&self) -> bool {
        self.rank == 0
    }

    /// Rows and columns of a matrix.
    pub fn matrix(&self) -> Option<(usize, usize)> {
        (self.rank == 2).then_some((self.sizes[0], self.sizes[1]))
    }

    /// What both become where each element meets its counterpart and scalars meet all.
    pub(super) fn meet(self, other: Dims) -> Option<Dims> {
        match (self.is_scalar(), other.is_scalar()) {
            (true, _) => Some(other),
            (_, true) => Some(self),
            _ => (self == other).then_some(self),
        }
    }

    /// All dimensions but the last so many, and those.
    pub(super) fn split(self, last: usize) -> Option<(Dims, Dims)> {
        let (before, after) = self.sizes().split_at_checked(self.rank.checked_sub(last)?)?;
        Dims::new(before).zip(Dims::new(after))
    }

    /// Names of the elements of `name` as Stan writes them, `theta[1]` or `L[2,1]`, in the order of the elements.
    pub fn element_names(&self, name: &str) -> Vec<String> {
        if self.is_scalar() {
            return vec![name.into()];
        }
        (0..self.elements())
            .map(|element| {
                let mut rest = element;
                let mut places: Vec<String> = self
                    .sizes()
                    .iter()
                    .rev()
                    .map(|&size| {
                        let place = rest % size + 1;
                        rest /= size;
                        place.to_string()
                    })
                    .collect();
                places.reverse();
                format!("{name}[{}]", places.join(","))
            })
            .collect()
    }
}

impl From<()> for Dims {
    fn from((): ()) -> Self {
        Dims::SCALAR
    }
}

impl From<usize> for Dims {
    fn from(size: usize) -> Self {
        let mut sizes = [1; MOST];
        sizes[0] = size;
        Dims { rank: 1, sizes }
    }
}

impl From<(usize, usize)> for Dims {
    fn from((rows, columns): (usize, usize)) -> Self {
        let mut sizes = [1; MOST];
        [sizes[0], sizes[1]] = [rows, columns];
        Dims { rank: 2, sizes }
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_scalar() {
            return f.write_str("a scalar");
        }
        write!(f, "{:?}", self.sizes())
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.sizes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_as_stan_names_them() {
        assert_eq!(Dims::SCALAR.element_names("mu"), ["mu"]);
        assert_eq!(Dims::from(2).element_names("theta"), ["theta[1]", "theta[2]"]);
        assert_eq!(Dims::from((2, 2)).element_names("L"), ["L[1,1]", "L[1,2]", "L[2,1]", "L[2,2]"]);
        assert_eq!(
            Dims::new(&[1; 8]).map(|dims| dims.element_names("x")),
            Some(vec!["x[1,1,1,1,1,1,1,1]".into()])
        );
        assert_eq!(Dims::new(&[1; 9]), None);
    }
}
