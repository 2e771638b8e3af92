//! Stan programs as models: text, tokens, tree, checked types, and a log density of `hmcvi`.
//!
//! ```
//! use hmcvi::bayes::Data;
//! use hmcvi_stan::Program;
//!
//! let program = Program::parse(
//!     "data { int<lower=0> J; vector[J] y; vector<lower=0>[J] sigma; }
//!      parameters { real mu; real<lower=0> tau; vector[J] raw; }
//!      transformed parameters { vector[J] theta = mu + tau * raw; }
//!      model {
//!        mu ~ normal(0, 5); tau ~ cauchy(0, 5); raw ~ std_normal();
//!        y ~ normal(theta, sigma);
//!      }",
//! )?;
//! let data = Data::from_json(r#"{"J": 3, "y": [28, 8, -3], "sigma": [15, 10, 16]}"#)?;
//! let model = program.model(&data)?;
//! assert_eq!(model.bound().dimension(), 5);
//! assert_eq!(model.names()[5..], ["theta[1]", "theta[2]", "theta[3]"]);
//!
//! let wrong = Program::parse("parameters { real mu; } model { mu ~ nomal(0, 1); }").unwrap_err();
//! assert_eq!(wrong.line(), Some(1));
//! assert!(wrong.message().contains("did you mean `normal`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod check;
mod document;
mod error;
mod functions;
mod include;
mod lexer;
mod lower;
mod machine;
mod model;
mod parser;
mod tape;
mod types;
mod value;

pub use document::language;
pub use error::StanError;
pub use model::{Block, Failed, Model, Program, Quantities, Settings, Variable};
