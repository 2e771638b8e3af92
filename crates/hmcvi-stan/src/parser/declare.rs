//! Read declared types: names, bounds and sizes, in the array syntax of all versions.

use super::Parser;
use crate::ast::{Constraint, Declared, Expr, Special, Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::lexer::Token;
use crate::types::{Base, Ty};

/// Names of types that can be declared, with what they are and whether they are constrained.
const TYPES: [(&str, Base, Option<Special>); 18] = [
    ("int", Base::Int, None),
    ("real", Base::Real, None),
    ("vector", Base::Vector, None),
    ("row_vector", Base::RowVector, None),
    ("matrix", Base::Matrix, None),
    ("complex", Base::Complex, None),
    ("complex_vector", Base::ComplexVector, None),
    ("complex_row_vector", Base::ComplexRow, None),
    ("complex_matrix", Base::ComplexMatrix, None),
    ("simplex", Base::Vector, Some(Special::Simplex)),
    ("unit_vector", Base::Vector, Some(Special::UnitVector)),
    ("ordered", Base::Vector, Some(Special::Ordered)),
    ("positive_ordered", Base::Vector, Some(Special::PositiveOrdered)),
    ("sum_to_zero_vector", Base::Vector, Some(Special::SumToZero)),
    ("cov_matrix", Base::Matrix, Some(Special::CovMatrix)),
    ("corr_matrix", Base::Matrix, Some(Special::CorrMatrix)),
    ("cholesky_factor_cov", Base::Matrix, Some(Special::CholeskyFactorCov)),
    ("cholesky_factor_corr", Base::Matrix, Some(Special::CholeskyFactorCorr)),
];

/// Types of Stan that cannot be used here, and what to write instead.
const REFUSED: [(&str, &str); 4] = [
    ("tuple", "use a variable for each value, and a function for each result"),
    ("column_stochastic_matrix", "write `array[columns] simplex[rows] columns_of_p`"),
    ("row_stochastic_matrix", "write `array[rows] simplex[columns] rows_of_p`"),
    ("sum_to_zero_matrix", "write `matrix` and subtract the means of its rows and columns"),
];

/// The types that can be declared, for the document of the language.
pub(crate) fn type_names() -> Vec<&'static str> {
    TYPES.iter().map(|(name, ..)| *name).collect()
}

impl Parser {
    /// Whether a declaration begins here.
    pub(super) fn is_declaration(&self) -> bool {
        let Token::Name(name) = self.peek() else { return false };
        let named =
            TYPES.iter().any(|(known, ..)| known == name) || REFUSED.iter().any(|(known, _)| known == name);
        let next = self.ahead(1);
        let begins = matches!(next, Token::Name(_) | Token::Sign("[" | "<"));
        named && (begins || *next == Token::Sign("(")) || (name == "array" && *next == Token::Sign("["))
    }

    /// `array[N] vector[K] x = …, y;` or `vector[K] x[N];`
    pub(super) fn declaration(&mut self, all: &mut Vec<Stmt>) -> Result<()> {
        let start = self.span();
        let mut arrays = if self.takes_name("array") { self.sizes()? } else { Vec::new() };
        let (base, special) = self.base()?;
        let constraint = match special {
            Some(special) => Constraint::Named(special),
            None => self.constraint()?,
        };
        let mut own = if base.dimensions() == 0 { Vec::new() } else { self.sizes()? };
        self.check_sizes(special, base, &mut own)?;
        loop {
            let span = self.span();
            let name = self.name("the name of a variable")?;
            let outer = if self.is("[") { self.sizes()? } else { Vec::new() };
            let mut sizes = outer;
            sizes.extend(arrays.iter().cloned());
            let number = u8::try_from(sizes.len()).unwrap_or(u8::MAX);
            if number > 5 {
                return Err(Problem::at(span, "arrays have at most 5 dimensions here"));
            }
            sizes.extend(own.iter().cloned());
            let ty = Ty { base, arrays: number };
            let value = if self.takes("=") || self.takes("<-") { Some(self.expression()?) } else { None };
            let declared = Declared { ty, sizes, constraint: constraint.clone() };
            let span = start.until(self.last_span());
            all.push(Stmt { kind: StmtKind::Declare { name, declared, value, slot: 0 }, span });
            if !self.takes(",") {
                break;
            }
            arrays.shrink_to_fit();
        }
        self.expect(";")
    }

    /// The sizes of square matrices and factors are given once; those of other types as often as they have dimensions.
    fn check_sizes(&mut self, special: Option<Special>, base: Base, own: &mut Vec<Expr>) -> Result<()> {
        let square = matches!(
            special,
            Some(
                Special::CovMatrix
                    | Special::CorrMatrix
                    | Special::CholeskyFactorCov
                    | Special::CholeskyFactorCorr
            )
        );
        if square && own.len() == 1 {
            own.push(own[0].clone());
        } else if square && special != Some(Special::CholeskyFactorCov) {
            return Err(Problem::at(self.last_span(), "this type has one size, `[K]`"));
        }
        if own.len() != base.dimensions() {
            let message =
                format!("expected {} in brackets", ["no sizes", "one size", "two sizes"][base.dimensions()]);
            return Err(Problem::at(self.last_span(), message));
        }
        Ok(())
    }

    fn base(&mut self) -> Result<(Base, Option<Special>)> {
        let span = self.span();
        let name = self.name("a type, such as `real`")?;
        if let Some((_, instead)) = REFUSED.iter().find(|(known, _)| *known == name) {
            return Err(Problem::at(span, format!("`{name}` is not supported; {instead}")));
        }
        match TYPES.iter().find(|(known, ..)| *known == name) {
            Some((_, base, special)) => Ok((*base, *special)),
            None => {
                Err(Problem::at(span, format!("`{name}` is no type; types are {}", type_names().join(", "))))
            }
        }
    }

    /// `[a, b]`
    fn sizes(&mut self) -> Result<Vec<Expr>> {
        self.expect("[")?;
        let mut all = vec![self.expression()?];
        while self.takes(",") {
            all.push(self.expression()?);
        }
        self.expect("]")?;
        Ok(all)
    }

    /// `<lower=a, upper=b>` or `<offset=a, multiplier=b>`
    fn constraint(&mut self) -> Result<Constraint> {
        if !self.takes("<") {
            return Ok(Constraint::None);
        }
        let (mut lower, mut upper, mut offset, mut multiplier) = (None, None, None, None);
        loop {
            let span = self.span();
            let name = self.name("`lower`, `upper`, `offset` or `multiplier`")?;
            self.expect("=")?;
            let value = Some(self.bound()?);
            match name.as_str() {
                "lower" => lower = value,
                "upper" => upper = value,
                "offset" => offset = value,
                "multiplier" => multiplier = value,
                _ => {
                    let message =
                        format!("expected `lower`, `upper`, `offset` or `multiplier`, not `{name}`");
                    return Err(Problem::at(span, message));
                }
            }
            if !self.takes(",") {
                break;
            }
        }
        let span = self.span();
        self.expect(">")?;
        let (bounds, affine) = (lower.is_some() || upper.is_some(), offset.is_some() || multiplier.is_some());
        match (bounds, affine) {
            (true, true) => Err(Problem::at(span, "bounds cannot stand beside an offset or a multiplier")),
            (false, _) => Ok(Constraint::Affine { offset, multiplier }),
            (true, false) => Ok(Constraint::Bounds { lower, upper }),
        }
    }

    /// A type of an argument or a result: `array[,] vector`, `vector[]`, `real`.
    pub(super) fn unsized_type(&mut self) -> Result<Ty> {
        if self.takes_name("void") {
            return Ok(Ty::VOID);
        }
        let mut arrays = if self.takes_name("array") { self.commas()? } else { 0 };
        let (base, special) = self.base()?;
        if special.is_some() {
            let message = "arguments and results have no constraints; write `vector` or `matrix`";
            return Err(Problem::at(self.last_span(), message));
        }
        if self.is("[") {
            arrays += self.commas()?;
        }
        Ok(Ty { base, arrays: u8::try_from(arrays).unwrap_or(u8::MAX).min(5) })
    }

    /// `[,,]` as the number of dimensions.
    fn commas(&mut self) -> Result<usize> {
        self.expect("[")?;
        let mut count = 1;
        while self.takes(",") {
            count += 1;
        }
        self.expect("]")?;
        Ok(count)
    }
}
