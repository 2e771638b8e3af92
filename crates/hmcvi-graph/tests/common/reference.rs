//! Make random expressions, and evaluate them plainly: one operation after the other, on whole matrices.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses a part of this")]

use hmcvi_graph::{Expr, Graph, Rows, Shape};

use crate::common::{Draws, Point};

/// A matrix with its values row by row. The rows of a batch matrix are those of the batch.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub batch: bool,
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<f64>,
}

/// One operation on earlier values, by their places.
#[derive(Clone, Debug)]
enum Operation {
    Number(f64),
    Neg(usize),
    Abs(usize),
    Sqrt(usize),
    Exp(usize),
    Log(usize),
    Log1p(usize),
    Sigmoid(usize),
    Softplus(usize),
    LogSigmoid(usize),
    Tanh(usize),
    Relu(usize),
    Square(usize),
    Reciprocal(usize),
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Min(usize, usize),
    Max(usize, usize),
    Less(usize, usize),
    LessEqual(usize, usize),
    Equal(usize, usize),
    Greater(usize, usize),
    Select(usize, usize, usize),
    MatMul(usize, usize),
    MatMulTransposed(usize, usize),
    TransposedMatMul(usize, usize),
    SumCols(usize),
    SumRows(usize),
    MeanRows(usize),
    LogSumExp(usize),
    SliceCols(usize, usize, usize),
    SliceRows(usize, usize, usize),
    ConcatCols(usize, usize),
    ConcatRows(usize, usize),
    /// As large as another value that it fits.
    BroadcastTo(usize, usize),
}

/// Values beyond this are not used: rounding would hide behind them.
const LARGEST: f64 = 1e3;
/// Distance that arguments keep from kinks and poles, larger than any step of differences.
const MARGIN: f64 = 0.02;

/// A random graph: leaves, and operations whose values are all defined and of moderate size.
#[derive(Debug)]
pub struct Recipe {
    leaves: Vec<Matrix>,
    operations: Vec<Operation>,
}

impl Recipe {
    /// Operations by choices; those that do not fit the shapes or whose values would be too large
    /// or too near to a kink are left out.
    pub fn new(rows: usize, choices: &[[u16; 4]], seed: u64) -> Recipe {
        let mut draws = Draws(seed);
        let (a, b, c) = (1 + draws.below(4), 1 + draws.below(4), 1 + draws.below(3));
        let mut leaf = |batch: bool, rows: usize, cols: usize| Matrix {
            batch,
            rows,
            cols,
            values: draws.vector(rows * cols, -1.5, 1.5),
        };
        // Two batches, a matrix that multiplies them, one of its shape, and what repeats.
        let leaves = vec![
            leaf(true, rows, a),
            leaf(true, rows, b),
            leaf(false, a, b),
            leaf(false, b, a),
            leaf(false, 1, a),
            leaf(true, rows, 1),
            leaf(false, 1, 1),
            leaf(false, c, a),
        ];
        let mut recipe = Recipe { leaves, operations: Vec::new() };
        let mut values = recipe.leaves.clone();
        for choice in choices {
            let operation = recipe.operation(*choice, &values);
            let value = operation.fits(&values).then(|| operation.value(&values));
            if let Some(value) = value
                && value.values.iter().all(|x| x.abs() < LARGEST)
            {
                recipe.operations.push(operation);
                values.push(value);
            }
        }
        recipe
    }

    pub fn leaves(&self) -> &[Matrix] {
        &self.leaves
    }

    fn operation(&self, [kind, x, y, z]: [u16; 4], values: &[Matrix]) -> Operation {
        use Operation::*;
        // Later values are taken more often, so that graphs grow deep.
        let pick = |choice: u16| {
            let share = (f64::from(choice) / 65536.0).sqrt();
            (share * values.len() as f64) as usize
        };
        let (a, b, c) = (pick(x), pick(y), pick(z));
        let part = |length: usize| {
            let start = usize::from(y) % length;
            (start, 1 + usize::from(z) % (length - start))
        };
        match kind % 44 {
            0 => Number([0.0, 1.0, -1.0, 2.0, 0.5][usize::from(x) % 5]),
            1 => Neg(a),
            2 => Abs(a),
            3 => Sqrt(a),
            4 => Exp(a),
            5 => Log(a),
            6 => Log1p(a),
            7 => Sigmoid(a),
            8 => Softplus(a),
            9 => LogSigmoid(a),
            10 => Tanh(a),
            11 => Relu(a),
            12 => Square(a),
            13 => Reciprocal(a),
            14 | 15 => Add(a, b),
            16 | 17 => Sub(a, b),
            18 | 19 => Mul(a, b),
            20 => Div(a, b),
            21 => Min(a, b),
            22 => Max(a, b),
            23 => Less(a, b),
            24 => LessEqual(a, b),
            25 => Equal(a, b),
            26 => Greater(a, b),
            27 => Select(a, b, c),
            28..=30 => MatMul(a, b),
            31 => MatMulTransposed(a, b),
            32 | 33 => TransposedMatMul(a, b),
            34 => SumCols(a),
            35 => SumRows(a),
            36 => MeanRows(a),
            37 => LogSumExp(a),
            38 => {
                let (start, count) = part(values[a].cols);
                SliceCols(a, start, count)
            }
            39 => {
                let (start, count) = part(values[a].rows);
                SliceRows(a, start, count)
            }
            40 | 41 => ConcatCols(a, b),
            42 => ConcatRows(a, b),
            _ => BroadcastTo(a, b),
        }
    }

    /// Values of the leaves and all operations, for some values of the leaves.
    pub fn values(&self, leaves: &[Matrix]) -> Vec<Matrix> {
        let mut values = leaves.to_vec();
        for operation in &self.operations {
            values.push(operation.value(&values));
        }
        values
    }

    /// The same as expressions, with the point that they are to be evaluated at.
    pub fn build<'g>(&self, graph: &'g Graph, rows: usize) -> (Vec<Expr<'g>>, Point<f64>) {
        let mut point = Point::new(rows);
        let mut all = Vec::new();
        for (i, leaf) in self.leaves.iter().enumerate() {
            let (name, values) = (format!("leaf {i}"), leaf.values.clone());
            let rows = if leaf.batch { Rows::Batch } else { Rows::Fixed(leaf.rows) };
            let shape = Shape { rows, cols: leaf.cols };
            all.push(if leaf.batch || i % 2 == 0 {
                point.input(graph, &name, shape, values)
            } else {
                point.parameter(graph, &name, shape, values)
            });
        }
        for operation in &self.operations {
            all.push(operation.expression(graph, &all));
        }
        (all, point)
    }
}

impl Operation {
    /// Whether shapes fit and no argument is near a kink, a pole or outside the domain.
    fn fits(&self, values: &[Matrix]) -> bool {
        use Operation::*;
        let all = |x: usize, test: fn(f64) -> bool| values[x].values.iter().all(|v| test(*v));
        let apart = |x: usize, y: usize| {
            let (x, y) = (&values[x], &values[y]);
            repeat(&[x, y]).is_some_and(|(rows, cols, _)| {
                (0..rows).all(|i| (0..cols).all(|j| (x.at(i, j) - y.at(i, j)).abs() > MARGIN))
            })
        };
        let fit = |x: usize, y: usize| repeat(&[&values[x], &values[y]]).is_some();
        let (v, fixed) = (|x: usize| &values[x], |x: usize| !values[x].batch);
        match *self {
            Abs(x) | Relu(x) | Reciprocal(x) => all(x, |v| v.abs() > 5.0 * MARGIN),
            Sqrt(x) | Log(x) => all(x, |v| v > 5.0 * MARGIN),
            Log1p(x) => all(x, |v| v > -0.9),
            Exp(x) => all(x, |v| v < 5.0),
            Add(x, y) | Sub(x, y) | Mul(x, y) => fit(x, y),
            Div(x, y) => fit(x, y) && all(y, |v| v.abs() > 5.0 * MARGIN),
            Min(x, y) | Max(x, y) | Less(x, y) | LessEqual(x, y) | Equal(x, y) | Greater(x, y) => apart(x, y),
            // Zero or well away from it; zeros are exact, as results of comparisons are.
            Select(c, x, y) => {
                repeat(&[v(c), v(x), v(y)]).is_some() && all(c, |v| v == 0.0 || v == 1.0 || v == -1.0)
            }
            MatMul(x, y) => fixed(y) && v(x).cols == v(y).rows,
            MatMulTransposed(x, y) => fixed(y) && v(x).cols == v(y).cols,
            TransposedMatMul(x, y) => v(x).batch == v(y).batch && v(x).rows == v(y).rows,
            SliceRows(x, ..) => fixed(x),
            ConcatCols(x, y) => {
                (v(x).batch == v(y).batch && v(x).rows == v(y).rows)
                    || (fixed(x) && v(x).rows == 1)
                    || (fixed(y) && v(y).rows == 1)
            }
            ConcatRows(x, y) => fixed(x) && fixed(y) && v(x).cols == v(y).cols,
            BroadcastTo(x, y) => repeat(&[v(x), v(y)]) == Some((v(y).rows, v(y).cols, v(y).batch)),
            _ => true,
        }
    }

    fn value(&self, values: &[Matrix]) -> Matrix {
        use Operation::*;
        let v = |x: usize| &values[x];
        let one = |x: usize, f: fn(f64) -> f64| v(x).map(f);
        let two =
            |x: usize, y: usize, f: fn(f64, f64) -> f64| combine(&[v(x), v(y)], |args| f(args[0], args[1]));
        match *self {
            Number(x) => Matrix { batch: false, rows: 1, cols: 1, values: vec![x] },
            Neg(x) => one(x, |x| -x),
            Abs(x) => one(x, f64::abs),
            Sqrt(x) => one(x, f64::sqrt),
            Exp(x) => one(x, f64::exp),
            Log(x) => one(x, f64::ln),
            Log1p(x) => one(x, |x| (1.0 + x).ln()),
            Sigmoid(x) => one(x, |x| 1.0 / (1.0 + (-x).exp())),
            Softplus(x) => one(x, |x| if x > 30.0 { x } else { (1.0 + x.exp()).ln() }),
            LogSigmoid(x) => one(x, |x| if x < -30.0 { x } else { -(1.0 + (-x).exp()).ln() }),
            Tanh(x) => one(x, f64::tanh),
            Relu(x) => one(x, |x| x.max(0.0)),
            Square(x) => one(x, |x| x * x),
            Reciprocal(x) => one(x, |x| 1.0 / x),
            Add(x, y) => two(x, y, |x, y| x + y),
            Sub(x, y) => two(x, y, |x, y| x - y),
            Mul(x, y) => two(x, y, |x, y| x * y),
            Div(x, y) => two(x, y, |x, y| x / y),
            Min(x, y) => two(x, y, f64::min),
            Max(x, y) => two(x, y, f64::max),
            Less(x, y) => two(x, y, |x, y| f64::from(x < y)),
            LessEqual(x, y) => two(x, y, |x, y| f64::from(x <= y)),
            Equal(x, y) => two(x, y, |x, y| f64::from(x == y)),
            Greater(x, y) => two(x, y, |x, y| f64::from(x > y)),
            Select(c, x, y) => {
                combine(&[v(c), v(x), v(y)], |args| if args[0] != 0.0 { args[1] } else { args[2] })
            }
            MatMul(x, y) => {
                let (x, y) = (v(x), v(y));
                Matrix::from((x.batch, x.rows, y.cols), |i, j| {
                    (0..x.cols).map(|p| x.at(i, p) * y.at(p, j)).sum()
                })
            }
            MatMulTransposed(x, y) => {
                let (x, y) = (v(x), v(y));
                Matrix::from((x.batch, x.rows, y.rows), |i, j| {
                    (0..x.cols).map(|p| x.at(i, p) * y.at(j, p)).sum()
                })
            }
            TransposedMatMul(x, y) => {
                let (x, y) = (v(x), v(y));
                Matrix::from((false, x.cols, y.cols), |i, j| {
                    (0..x.rows).map(|p| x.at(p, i) * y.at(p, j)).sum()
                })
            }
            SumCols(x) => {
                let x = v(x);
                Matrix::from((x.batch, x.rows, 1), |i, _| (0..x.cols).map(|j| x.at(i, j)).sum())
            }
            SumRows(x) => {
                let x = v(x);
                Matrix::from((false, 1, x.cols), |_, j| (0..x.rows).map(|i| x.at(i, j)).sum())
            }
            MeanRows(x) => {
                let x = v(x);
                let n = x.rows as f64;
                Matrix::from((false, 1, x.cols), |_, j| (0..x.rows).map(|i| x.at(i, j)).sum::<f64>() / n)
            }
            LogSumExp(x) => {
                let x = v(x);
                let most = x.values.iter().copied().fold(f64::MIN, f64::max);
                Matrix::from((x.batch, x.rows, 1), |i, _| {
                    let total: f64 = (0..x.cols).map(|j| (x.at(i, j) - most).exp()).sum();
                    // Rows far below the largest value of all need their own scale.
                    let own = (0..x.cols).map(|j| x.at(i, j)).fold(f64::MIN, f64::max);
                    if total > 1e-200 {
                        most + total.ln()
                    } else {
                        own + (0..x.cols).map(|j| (x.at(i, j) - own).exp()).sum::<f64>().ln()
                    }
                })
            }
            SliceCols(x, start, count) => {
                let x = v(x);
                Matrix::from((x.batch, x.rows, count), |i, j| x.at(i, start + j))
            }
            SliceRows(x, start, count) => {
                let x = v(x);
                Matrix::from((false, count, x.cols), |i, j| x.at(start + i, j))
            }
            ConcatCols(x, y) => {
                let (x, y) = (v(x), v(y));
                let (batch, rows) = (x.batch || y.batch, x.rows.max(y.rows));
                Matrix::from((batch, rows, x.cols + y.cols), |i, j| {
                    if j < x.cols { x.at(i % x.rows, j) } else { y.at(i % y.rows, j - x.cols) }
                })
            }
            ConcatRows(x, y) => {
                let (x, y) = (v(x), v(y));
                Matrix::from((false, x.rows + y.rows, x.cols), |i, j| {
                    if i < x.rows { x.at(i, j) } else { y.at(i - x.rows, j) }
                })
            }
            BroadcastTo(x, y) => combine(&[v(x), v(y)], |args| args[0]),
        }
    }

    fn expression<'g>(&self, graph: &'g Graph, all: &[Expr<'g>]) -> Expr<'g> {
        use Operation::*;
        match *self {
            Number(x) => graph.constant(x),
            Neg(x) => -all[x],
            Abs(x) => all[x].abs(),
            Sqrt(x) => all[x].sqrt(),
            Exp(x) => all[x].exp(),
            Log(x) => all[x].log(),
            Log1p(x) => all[x].log1p(),
            Sigmoid(x) => all[x].sigmoid(),
            Softplus(x) => all[x].softplus(),
            LogSigmoid(x) => all[x].log_sigmoid(),
            Tanh(x) => all[x].tanh(),
            Relu(x) => all[x].relu(),
            Square(x) => all[x].square(),
            Reciprocal(x) => all[x].reciprocal(),
            Add(x, y) => all[x] + all[y],
            Sub(x, y) => all[x] - all[y],
            Mul(x, y) => all[x] * all[y],
            Div(x, y) => all[x] / all[y],
            Min(x, y) => all[x].min(all[y]),
            Max(x, y) => all[x].max(all[y]),
            Less(x, y) => all[x].less(all[y]),
            LessEqual(x, y) => all[x].less_equal(all[y]),
            Equal(x, y) => all[x].equal(all[y]),
            Greater(x, y) => all[x].greater(all[y]),
            Select(c, x, y) => all[c].select(all[x], all[y]),
            MatMul(x, y) => all[x].matmul(all[y]),
            MatMulTransposed(x, y) => all[x].matmul_transposed(all[y]),
            TransposedMatMul(x, y) => all[x].transposed_matmul(all[y]),
            SumCols(x) => all[x].sum_cols(),
            SumRows(x) => all[x].sum_rows(),
            MeanRows(x) => all[x].mean_rows(),
            LogSumExp(x) => all[x].log_sum_exp(),
            SliceCols(x, start, count) => all[x].slice_cols(start, count),
            SliceRows(x, start, count) => all[x].slice_rows(start, count),
            ConcatCols(x, y) => Expr::concat_cols(&[all[x], all[y]]),
            ConcatRows(x, y) => Expr::concat_rows(&[all[x], all[y]]),
            BroadcastTo(x, y) => all[x].broadcast_to(all[y].shape()),
        }
    }
}

impl Matrix {
    fn from((batch, rows, cols): (bool, usize, usize), f: impl Fn(usize, usize) -> f64) -> Matrix {
        let values = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Matrix { batch, rows, cols, values }
    }

    /// A value, with single rows and columns repeated.
    fn at(&self, i: usize, j: usize) -> f64 {
        let i = if self.rows == 1 { 0 } else { i };
        let j = if self.cols == 1 { 0 } else { j };
        self.values[i * self.cols + j]
    }

    fn map(&self, f: fn(f64) -> f64) -> Matrix {
        Matrix { values: self.values.iter().map(|x| f(*x)).collect(), ..self.clone() }
    }
}

/// Rows, columns and kind of an element-wise result, if the arguments fit each other.
fn repeat(args: &[&Matrix]) -> Option<(usize, usize, bool)> {
    let batch = args.iter().any(|m| m.batch);
    let rows = args.iter().map(|m| m.rows).max()?;
    let cols = args.iter().map(|m| m.cols).max()?;
    let fits = |m: &&Matrix| {
        let rows_fit = if m.batch == batch { m.rows == rows || m.rows == 1 } else { m.rows == 1 };
        rows_fit && (m.cols == cols || m.cols == 1)
    };
    args.iter().all(fits).then_some((rows, cols, batch))
}

fn combine(args: &[&Matrix], f: impl Fn(&[f64]) -> f64) -> Matrix {
    let (rows, cols, batch) = repeat(args).expect("shapes were checked");
    Matrix::from((batch, rows, cols), |i, j| f(&args.iter().map(|m| m.at(i, j)).collect::<Vec<_>>()))
}
