//! Describe potential energies `U(z) = -log p(x, z)` (`eq:VIwithHMCPotEnergy`).

mod linear_gaussian;
mod toy;

use std::rc::Rc;

use hmcvi_graph::Expr;

pub use linear_gaussian::LinearGaussian;
pub use toy::Landscape;

use crate::dist::Gaussian;

/// A potential energy: any expression of `z` with one value for every row.
#[derive(Clone)]
pub struct Potential<'g> {
    dimension: usize,
    log_density: Function<'g>,
    force: Function<'g>,
    terms: Function<'g>,
    named: Named<'g>,
}

/// An expression of `z`.
type Function<'g> = Rc<dyn Fn(Expr<'g>) -> Expr<'g> + 'g>;
/// Expressions of `z` by name.
type Named<'g> = Rc<dyn Fn(Expr<'g>) -> Vec<(&'static str, Expr<'g>)> + 'g>;

impl<'g> Potential<'g> {
    /// The potential of a log density `log p(x, z)`, written as an expression of `z` `[N, dimension]`
    /// with a result `[N, 1]`. Additive constants matter for bounds, not for motion.
    pub fn from_expression(dimension: usize, log_density: impl Fn(Expr<'g>) -> Expr<'g> + 'g) -> Self {
        let log_density: Function<'g> = Rc::new(log_density);
        let (density, terms) = (log_density.clone(), log_density.clone());
        let force = Rc::new(move |z: Expr<'g>| z.graph().row_grad(density(z), z));
        Potential { dimension, log_density, force, terms, named: Rc::new(|_| Vec::new()) }
    }

    /// The potential of a log density that is the sum of all columns of some named terms `[N, any]`. Differences of
    /// energies are formed column by column: subtracting large sums would lose what is small.
    pub fn from_terms(
        dimension: usize,
        terms: impl Fn(Expr<'g>) -> Vec<(&'static str, Expr<'g>)> + 'g,
    ) -> Self {
        let of_row = |x: Expr<'g>| if x.cols() == 1 { x } else { x.sum_cols() };
        let terms = Rc::new(terms);
        let (density, columns) = (terms.clone(), terms.clone());
        let sum = move |z| density(z).into_iter().map(|(_, x)| of_row(x)).reduce(|a, b| a + b);
        let named = move |z| terms(z).into_iter().map(|(name, x)| (name, of_row(x))).collect();
        let columns = move |z| Expr::concat_cols(&columns(z).into_iter().map(|(_, x)| x).collect::<Vec<_>>());
        let potential = Potential::from_expression(dimension, move |z| sum(z).expect("there are terms"));
        Potential { terms: Rc::new(columns), named: Rc::new(named), ..potential }
    }

    /// The same potential with the terms `[N, any]` that its log density is the sum of. Differences of energies are then
    /// formed term by term: subtracting large sums would lose what is small.
    #[must_use]
    pub fn with_terms(self, terms: impl Fn(Expr<'g>) -> Expr<'g> + 'g) -> Self {
        Potential { terms: Rc::new(terms), ..self }
    }

    /// The potential of a Gaussian.
    pub fn gaussian(gaussian: Gaussian<'g>) -> Self {
        Potential::from_expression(gaussian.dimension(), move |z| gaussian.log_prob(z))
    }

    /// A potential between two others: that of the density `f^(1-β) g^β`. Its forces are made of theirs,
    /// so that what is known of them is not computed again.
    pub fn between(f: &Self, g: &Self, beta: Expr<'g>) -> Self {
        let mixed = |f: &Function<'g>, g: &Function<'g>| -> Function<'g> {
            let (f, g) = (f.clone(), g.clone());
            Rc::new(move |z| (1.0 - beta) * f(z) + beta * g(z))
        };
        Potential {
            dimension: f.dimension,
            log_density: mixed(&f.log_density, &g.log_density),
            force: mixed(&f.force, &g.force),
            // Terms of the two are not of one kind; the sums have to do.
            terms: mixed(&f.log_density, &g.log_density),
            named: Rc::new(|_| Vec::new()),
        }
    }

    /// The same potential, of which log density and force at one place are known already. Differences of its energies are
    /// those of the sums of its terms.
    #[must_use]
    pub fn knowing(&self, z: Expr<'g>, log_density: Expr<'g>, force: Expr<'g>) -> Self {
        let known = |f: &Function<'g>, value: Expr<'g>| -> Function<'g> {
            let f = f.clone();
            Rc::new(move |at| if at == z { value } else { f(at) })
        };
        Potential {
            log_density: known(&self.log_density, log_density),
            force: known(&self.force, force),
            terms: known(&self.log_density, log_density),
            ..self.clone()
        }
    }

    /// Number of dimensions of `z`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// `log p(x, z)` of every row.
    pub fn log_density(&self, z: Expr<'g>) -> Expr<'g> {
        (self.log_density)(z)
    }

    /// Terms of `log p(x, z)`, `[N, any]`.
    pub fn terms(&self, z: Expr<'g>) -> Expr<'g> {
        (self.terms)(z)
    }

    /// The named terms of `log p(x, z)`, `[N, 1]` each; none where it has no names.
    pub fn named_terms(&self, z: Expr<'g>) -> Vec<(&'static str, Expr<'g>)> {
        (self.named)(z)
    }

    /// `U(z) = -log p(x, z)` of every row.
    pub fn energy(&self, z: Expr<'g>) -> Expr<'g> {
        -self.log_density(z)
    }

    /// `F(z) = -∇U(z)`. Asking again for the same `z` gives the same expression, computed once.
    pub fn force(&self, z: Expr<'g>) -> Expr<'g> {
        (self.force)(z)
    }
}
