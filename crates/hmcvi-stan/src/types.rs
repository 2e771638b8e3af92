//! Name the types of values.

use std::fmt;

/// What an element of an array is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Base {
    Int,
    Real,
    Vector,
    RowVector,
    Matrix,
    /// Complex numbers have their two parts as one dimension more, the last.
    Complex,
    ComplexVector,
    ComplexRow,
    ComplexMatrix,
    /// What statements give.
    Void,
    /// A text or the name of a function: only some functions take it.
    Other,
}

impl Base {
    /// Dimensions of one element.
    pub(crate) fn rank(self) -> usize {
        match self {
            Base::Vector | Base::RowVector | Base::Complex => 1,
            Base::Matrix | Base::ComplexVector | Base::ComplexRow => 2,
            Base::ComplexMatrix => 3,
            _ => 0,
        }
    }

    /// Sizes that are declared: the parts of complex numbers are none.
    pub(crate) fn dimensions(self) -> usize {
        self.rank() - usize::from(self.is_complex())
    }

    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Base::Complex | Base::ComplexVector | Base::ComplexRow | Base::ComplexMatrix)
    }

    /// What the parts of complex numbers are.
    pub(crate) fn part(self) -> Base {
        match self {
            Base::Complex => Base::Real,
            Base::ComplexVector => Base::Vector,
            Base::ComplexRow => Base::RowVector,
            Base::ComplexMatrix => Base::Matrix,
            other => other,
        }
    }

    /// What has such parts.
    pub(crate) fn of_parts(self) -> Base {
        match self {
            Base::Int | Base::Real => Base::Complex,
            Base::Vector => Base::ComplexVector,
            Base::RowVector => Base::ComplexRow,
            Base::Matrix => Base::ComplexMatrix,
            other => other,
        }
    }
}

/// A type: so many dimensions of arrays of a base.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ty {
    pub(crate) base: Base,
    pub(crate) arrays: u8,
}

impl Ty {
    pub(crate) const INT: Ty = Ty::new(Base::Int);
    pub(crate) const REAL: Ty = Ty::new(Base::Real);
    pub(crate) const VECTOR: Ty = Ty::new(Base::Vector);
    pub(crate) const ROW: Ty = Ty::new(Base::RowVector);
    pub(crate) const MATRIX: Ty = Ty::new(Base::Matrix);
    pub(crate) const COMPLEX: Ty = Ty::new(Base::Complex);
    pub(crate) const VOID: Ty = Ty::new(Base::Void);
    pub(crate) const OTHER: Ty = Ty::new(Base::Other);

    pub(crate) const fn new(base: Base) -> Ty {
        Ty { base, arrays: 0 }
    }

    pub(crate) const fn array(self, more: u8) -> Ty {
        Ty { base: self.base, arrays: self.arrays + more }
    }

    /// Dimensions of a value.
    pub(crate) fn rank(self) -> usize {
        self.arrays as usize + self.base.rank()
    }

    /// Whether it is a number.
    pub(crate) fn is_scalar(self) -> bool {
        self.arrays == 0 && matches!(self.base, Base::Int | Base::Real)
    }

    /// The same with real numbers for integers.
    pub(crate) fn real(self) -> Ty {
        if self.base == Base::Int { Ty { base: Base::Real, ..self } } else { self }
    }

    pub(crate) fn is_complex(self) -> bool {
        self.base.is_complex()
    }

    /// The type of the parts of complex numbers.
    pub(crate) fn parts(self) -> Ty {
        Ty { base: self.base.part(), ..self }
    }

    /// The type whose parts have this one.
    pub(crate) fn of_parts(self) -> Ty {
        Ty { base: self.base.of_parts(), ..self }
    }

    /// Whether a value of another type can be taken for one of this.
    pub(crate) fn takes(self, other: Ty) -> bool {
        let real = self.base == Base::Real && other.base == Base::Int;
        let complex = self.is_complex() && other.base.of_parts() == self.base;
        self.arrays == other.arrays && (self.base == other.base || real || complex)
    }

    /// The type of both sides of a choice.
    pub(crate) fn common(self, other: Ty) -> Option<Ty> {
        if self.takes(other) {
            return Some(self);
        }
        other.takes(self).then_some(other)
    }

    /// The type of one part along the first dimension.
    pub(crate) fn part(self) -> Option<Ty> {
        match (self.arrays, self.base) {
            (1.., _) => Some(Ty { arrays: self.arrays - 1, ..self }),
            (0, Base::Vector | Base::RowVector) => Some(Ty::REAL),
            (0, Base::Matrix) => Some(Ty::ROW),
            (0, Base::ComplexVector | Base::ComplexRow) => Some(Ty::COMPLEX),
            (0, Base::ComplexMatrix) => Some(Ty::new(Base::ComplexRow)),
            _ => None,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.base {
            Base::Int => "int",
            Base::Real => "real",
            Base::Vector => "vector",
            Base::RowVector => "row_vector",
            Base::Matrix => "matrix",
            Base::Complex => "complex",
            Base::ComplexVector => "complex_vector",
            Base::ComplexRow => "complex_row_vector",
            Base::ComplexMatrix => "complex_matrix",
            Base::Void => "void",
            Base::Other => "text",
        };
        match self.arrays {
            0 => f.write_str(name),
            n => write!(f, "array[{}] {name}", ",".repeat(n as usize - 1)),
        }
    }
}
