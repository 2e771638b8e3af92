//! Describe choices among classes, each written as a group of columns of which one is 1.

use hmcvi_graph::Expr;

/// Independent categorical variables side by side.
#[derive(Clone, Debug)]
pub struct Categorical<'g> {
    logits: Expr<'g>,
    groups: Vec<usize>,
}

impl<'g> Categorical<'g> {
    /// Variables with so many classes each. `logits` `[N, d]` or `[1, d]` are the logarithms of their probabilities, up
    /// to a constant for each variable.
    ///
    /// # Panics
    /// If the classes of all variables are not as many as the columns.
    #[track_caller]
    pub fn new(logits: Expr<'g>, groups: &[usize]) -> Self {
        assert_eq!(groups.iter().sum::<usize>(), logits.cols(), "each column is one class of one variable");
        Categorical { logits, groups: groups.to_vec() }
    }

    /// Logarithms of the probabilities of all classes.
    pub fn log_probabilities(&self) -> Expr<'g> {
        let starts = self.groups.iter().scan(0, |next, &size| {
            let start = *next;
            *next += size;
            Some((start, size))
        });
        let parts: Vec<Expr<'g>> = starts
            .map(|(start, size)| {
                let logits = self.logits.slice_cols(start, size);
                logits - logits.log_sum_exp()
            })
            .collect();
        Expr::concat_cols(&parts)
    }

    /// Probabilities of all classes.
    pub fn mean(&self) -> Expr<'g> {
        self.log_probabilities().exp()
    }

    /// Log probability of every row.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Log probability of every variable, in the column of the class that it has; 0 in the others.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        x * self.log_probabilities()
    }
}
