//! Write functions and arithmetic of values, element by element.

use std::ops::{Add, Div, Mul, Neg, Sub};

use hmcvi_graph::Expr;

use super::{Arg, Var};

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(self) -> Self {
            Var::new(self.expr.$name(), self.dims)
        }
    )*};
}

impl<'g> Var<'g> {
    functions! {
        /// `|x|`
        abs;
        /// `√x`
        sqrt;
        /// `eˣ`
        exp;
        /// Natural logarithm.
        log;
        /// `log(1 + x)`
        log1p;
        /// `x²`
        square;
        /// `1 / x`
        reciprocal;
        /// `1 / (1 + e⁻ˣ)`
        sigmoid;
        /// `log(1 / (1 + e⁻ˣ))`
        log_sigmoid;
        /// `log(1 + eˣ)`
        softplus;
        /// Hyperbolic tangent.
        tanh;
        /// `eˣ - 1`
        expm1;
        /// Sine.
        sin;
        /// Cosine.
        cos;
        /// Arctangent.
        atan;
        /// The error function.
        erf;
        /// `1 - erf x`
        erfc;
        /// The standard normal distribution function, `Φ(x)`.
        normal_cdf;
        /// `log Φ(x)`
        log_normal_cdf;
        /// `log Γ(x)`
        lgamma;
        /// The derivative of `log Γ(x)`.
        digamma;
    }

    /// The larger of two values, element by element.
    #[must_use]
    pub fn max(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("max", other.into(), |a, b| a.max(b))
    }

    /// The smaller of two values, element by element.
    #[must_use]
    pub fn min(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("min", other.into(), |a, b| a.min(b))
    }

    /// 1 where this is less than the other, else 0.
    #[must_use]
    pub fn less(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("less", other.into(), |a, b| a.less(b))
    }

    /// This to the power of the other, element by element, for positive values.
    #[must_use]
    pub fn pow(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("pow", other.into(), |a, b| a.pow(b))
    }

    /// `self · log y`, and 0 where both are 0.
    #[must_use]
    pub(in crate::bayes) fn times_log(self, y: Var<'g>) -> Self {
        // Not wherever this is 0: the derivative by it is `log y` there too.
        self * (self.abs() + y.abs()).select(y, 1.0).log()
    }

    /// `self · log(1 + y)`, and 0 where this and `1 + y` are 0.
    #[must_use]
    pub(in crate::bayes) fn times_log1p(self, y: Var<'g>) -> Self {
        self * (self.abs() + (y + 1.0).abs()).select(y, 0.0).log1p()
    }

    /// `a` where this is not zero, else `b`.
    #[must_use]
    pub fn select(self, a: impl Into<Arg<'g>>, b: impl Into<Arg<'g>>) -> Self {
        let (a, b) = (a.into().var(self.graph()), b.into().var(self.graph()));
        match self.dims.meet(a.dims).and_then(|dims| dims.meet(b.dims)) {
            Some(dims) => Var::new(self.expr.select(a.expr, b.expr), dims),
            None => self.wrong(
                format!(
                    "`select` needs equal dimensions or scalars, not {}, {} and {}",
                    self.dims, a.dims, b.dims
                ),
                self.dims,
            ),
        }
    }

    /// Element by element with another value.
    fn meet(self, name: &str, other: Arg<'g>, f: impl FnOnce(Expr<'g>, Expr<'g>) -> Expr<'g>) -> Self {
        let other = other.var(self.graph());
        match self.dims.meet(other.dims) {
            Some(dims) => Var::new(f(self.expr, other.expr), dims),
            None => self.wrong(
                format!("`{name}` needs equal dimensions or a scalar, not {} and {}", self.dims, other.dims),
                self.dims,
            ),
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $sign:literal;)*) => {$(
        impl<'g, R: Into<Arg<'g>>> $trait<R> for Var<'g> {
            type Output = Var<'g>;
            fn $method(self, right: R) -> Var<'g> {
                self.meet($sign, right.into(), |a, b| a.$method(b))
            }
        }

        impl<'g> $trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            fn $method(self, right: Var<'g>) -> Var<'g> {
                Arg::Number(self).var(right.graph()).$method(right)
            }
        }
    )*};
}

operators! {
    Add add "+";
    Sub sub "-";
    Mul mul "*";
    Div div "/";
}

impl<'g> Neg for Var<'g> {
    type Output = Var<'g>;
    fn neg(self) -> Var<'g> {
        Var::new(-self.expr, self.dims)
    }
}
