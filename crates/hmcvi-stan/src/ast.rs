//! Hold a program as a tree.

use crate::error::Span;
use crate::types::Ty;

/// A program, block by block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) functions: Vec<Function>,
    pub(crate) data: Vec<Stmt>,
    pub(crate) transformed_data: Vec<Stmt>,
    pub(crate) parameters: Vec<Stmt>,
    pub(crate) transformed_parameters: Vec<Stmt>,
    pub(crate) model: Vec<Stmt>,
    pub(crate) generated: Vec<Stmt>,
    /// Variables of the main frame, filled by the checks.
    pub(crate) slots: usize,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) result: Ty,
    pub(crate) arguments: Vec<(String, Ty)>,
    pub(crate) body: Vec<Stmt>,
    /// Variables of its frame, filled by the checks.
    pub(crate) slots: usize,
}

/// A declared type with its sizes and bounds.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) ty: Ty,
    /// Sizes, those of arrays first.
    pub(crate) sizes: Vec<Expr>,
    pub(crate) constraint: Constraint,
}

/// What a declared variable is restricted to.
#[derive(Clone, Debug)]
pub(crate) enum Constraint {
    None,
    Bounds { lower: Option<Expr>, upper: Option<Expr> },
    Affine { offset: Option<Expr>, multiplier: Option<Expr> },
    Named(Special),
}

/// Constrained types with names of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Simplex,
    UnitVector,
    Ordered,
    PositiveOrdered,
    SumToZero,
    CovMatrix,
    CorrMatrix,
    CholeskyFactorCov,
    CholeskyFactorCorr,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Declare {
        name: String,
        declared: Declared,
        value: Option<Expr>,
        slot: usize,
    },
    Assign {
        target: LValue,
        op: Option<BinaryOp>,
        value: Expr,
    },
    Target(Expr),
    Sample {
        value: Expr,
        name: String,
        arguments: Vec<Expr>,
        truncation: Option<(Option<Expr>, Option<Expr>)>,
    },
    If {
        condition: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    For {
        slot: usize,
        name: String,
        from: Expr,
        to: Expr,
        body: Box<Stmt>,
    },
    ForEach {
        slot: usize,
        name: String,
        over: Expr,
        body: Box<Stmt>,
    },
    While {
        condition: Expr,
        body: Box<Stmt>,
    },
    Block(Vec<Stmt>),
    Call(Expr),
    Return(Option<Expr>),
    Break,
    Continue,
    /// What it says: texts and values.
    Reject(Vec<Expr>),
    Print,
    Empty,
}

/// What is assigned to.
#[derive(Clone, Debug)]
pub(crate) struct LValue {
    pub(crate) name: String,
    pub(crate) slot: usize,
    /// One list for each pair of brackets.
    pub(crate) indices: Vec<Vec<Index>>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// Its number in the program.
    pub(crate) id: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Int(i64),
    Real(f64),
    Imaginary(f64),
    Text(String),
    Var {
        name: String,
        slot: usize,
    },
    Index(Box<Expr>, Vec<Index>),
    /// A call; `|` after the first argument of densities is taken for a comma.
    Call {
        name: String,
        arguments: Vec<Expr>,
    },
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Array(Vec<Expr>),
    Row(Vec<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) enum Index {
    All,
    One(Expr),
    Range(Option<Expr>, Option<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum UnaryOp {
    Minus,
    Plus,
    Not,
    Transpose,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Mod,
    LeftDiv,
    TimesEach,
    DivEach,
    Pow,
    PowEach,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl BinaryOp {
    pub(crate) fn sign(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            IntDiv => "%/%",
            Mod => "%",
            LeftDiv => "\\",
            TimesEach => ".*",
            DivEach => "./",
            Pow => "^",
            PowEach => ".^",
            Or => "||",
            And => "&&",
            Equal => "==",
            NotEqual => "!=",
            Less => "<",
            LessEqual => "<=",
            Greater => ">",
            GreaterEqual => ">=",
        }
    }
}
