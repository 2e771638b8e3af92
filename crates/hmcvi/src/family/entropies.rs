//! Let the densities of a family's own draws enter the bound, in the form that its use asks for.

use hmcvi_graph::Expr;

use crate::dist::Gaussian;

/// How the densities of a family's own draws enter the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entropies {
    /// As entropies, whose expectation is known: less noise.
    #[default]
    ClosedForm,
    /// As log densities of the draws: the bound of a row is then the logarithm of its importance weight.
    Sampled,
    /// The same with all draws held: derivatives take them, and the parameters of their densities, as constants. How draws
    /// move with parameters is left to [`Variable::free`].
    Held,
}

/// A variable that a family draws, where draws are held.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'g> {
    /// The constant that the bound is formed with.
    pub held: Expr<'g>,
    /// The same value as a function of parameters.
    pub free: Expr<'g>,
    /// Share of its draw that is made of it, where that is not the whole draw, `[N, 1]`.
    pub share: Option<Expr<'g>>,
}

impl Entropies {
    /// Takes a draw in the form that is asked for: held draws are noted in `variables`.
    pub(super) fn take<'g>(self, draw: Expr<'g>, variables: &mut Vec<Variable<'g>>) -> Expr<'g> {
        if self != Entropies::Held {
            return draw;
        }
        let held = draw.stop_gradient();
        variables.push(Variable { held, free: draw, share: None });
        held
    }

    /// `-log` density of a draw, or its expectation.
    pub(super) fn of<'g>(self, distribution: &Gaussian<'g>, draw: Expr<'g>) -> Expr<'g> {
        match self {
            Entropies::ClosedForm => distribution.entropy(),
            Entropies::Sampled => -distribution.log_prob(draw),
            Entropies::Held => -distribution.held().log_prob(draw),
        }
    }
}
