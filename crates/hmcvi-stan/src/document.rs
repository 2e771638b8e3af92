//! Write the document of the language from the tables of the code.

use std::fmt::Write;

use crate::functions::{self, complex, density, elementwise::MAPS, higher, random};
use crate::parser::type_names;

/// What of the language is supported, as text in Markdown.
pub fn language() -> String {
    let mut text = String::from(HEAD);
    let _ = writeln!(text, "\n## Types\n\n{}.\n", code(type_names().into_iter()));
    let _ = writeln!(text, "{TYPES}\n\n## Distributions\n\n{DISTRIBUTIONS}\n");
    let _ = writeln!(text, "| distribution | arguments | `_lcdf`, `_lccdf`, `T[,]` |\n|---|---|---|");
    for (name, arguments, cumulative) in density::listed() {
        let _ = writeln!(text, "| `{name}` | {arguments} | {cumulative} |");
    }
    let _ = writeln!(text, "\n## Draws\n\n{}.\n", code(random::names().iter().map(String::as_str)));
    let named = MAPS.iter().filter(|f| !f.name.contains("_of_"));
    let both = named.clone().filter(|f| f.expr.is_some());
    let known = named.filter(|f| f.expr.is_none());
    let _ =
        writeln!(text, "## Functions of numbers, element by element\n\n{}.\n", code(both.map(|f| f.name)));
    let _ = writeln!(
        text,
        "Only of what is known from the data, and in generated quantities: {}.\n",
        code(known.map(|f| f.name))
    );
    let _ = writeln!(
        text,
        "## Functions of functions\n\n{}. {ODES}\n",
        code(higher::HIGHER.iter().map(|(name, _)| *name))
    );
    let _ = writeln!(
        text,
        "## Functions of complex numbers\n\n{}. {COMPLEX}\n",
        code(complex::names().into_iter())
    );
    let _ = writeln!(text, "## Other functions\n\n{SIGNATURES}\n\n| function | signatures |\n|---|---|");
    for (name, signatures) in functions::listed() {
        let shown: Vec<String> =
            signatures.split(';').map(|s| format!("`{}`", s.trim().replace('|', " or "))).collect();
        let _ = writeln!(text, "| `{name}` | {} |", shown.join(", "));
    }
    text
}

fn code<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

const HEAD: &str = "# The Stan language in hmcvi

`hmcvi-stan` reads Stan programs and turns them into models of `hmcvi`, without C++. This page is written from the
tables of the code; a test keeps it so.

## How programs are run

Data are known when a model is made. Sizes, loops and conditions on data are followed then; what depends on parameters is
written down as operations, and operations that come from one place of the program and do not need each other are done
together, as one operation of vectors. So a loop over observations costs what the vectorised statement does, and a loop
in which each step needs the one before is unrolled.

- **Blocks**: `functions`, `data`, `transformed data`, `parameters`, `transformed parameters`, `model`, `generated
  quantities`.
- **Statements**: declarations with and without values, in the array syntax of all versions; assignments with `=`, `<-`,
  `+=`, `-=`, `*=`, `/=`, `.*=`, `./=`; `~` with truncation `T[,]`; `target +=`, `increment_log_prob`; `if`, `for` over
  ranges, arrays, vectors and matrices, `while`, `break`, `continue`, `return`, `reject`, `profile`. `print` does nothing.
- **Conditions on parameters** in `if` and `? :` compute both sides and choose. Positions, sizes, ends of loops and
  conditions of `while` have to be known from the data.
- **`~` and `_lupdf`** drop what does not depend on parameters, as Stan does; `_lpdf` and `_lpmf` keep it. A setting of
  the model keeps it everywhere, which the evidence needs.
- **Generated quantities** are computed for each draw, in double precision; there everything is known, also positions,
  sizes of loops and conditions. Draws of `_rng` functions depend on the seed and the number of the draw alone. A draw for
  which they fail keeps its parameters, has `NaN` for them, and is reported with its number and the line.
- **Uniform priors**: where a parameter is declared wider than `~ uniform` between known numbers from -10 to 10 leaves it,
  fits and chains take these numbers for its bounds, if all its numbers have them. Densities at unconstrained values are
  those of Stan unless that is asked for (`Settings::bounds_of_uniform`).
- **Bounds of transformed parameters** and other declared types that are not of parameters are checked where values are
  known: in data, and for each draw with the generated quantities. Other than in Stan, values beyond them keep their
  density; a condition with `reject` takes it from them.
- **Errors** name line and column, underline the text, and say what to write instead; `reject` says its own words.
- **`#include`** takes files from the folder of the program, also by names such as `/pre/license.stan`.

Not supported: tuples, `column_stochastic_matrix`, `row_stochastic_matrix`, `sum_to_zero_matrix`, `dae`, functions as
results of functions, and positions of what is sorted by parameters. Each is refused with its place and what to write
instead.
";

const TYPES: &str = "Bounds `lower` and `upper`, `offset` and `multiplier` may depend on data and on parameters that are declared before.
Unconstrained values are those of Stan up to 2.36, so that they can be exchanged: simplexes are broken from a stick.";

const DISTRIBUTIONS: &str = "Each has `~`, `_lpdf` or `_lpmf`, `_lupdf` or `_lupmf`, and the older ending `_log`. Arguments of distributions of
numbers are numbers, vectors, row vectors or arrays; those of vectors may be arrays of vectors.";

const ODES: &str = "Differential equations are solved in steps whose number is chosen from the times, of order five: by Dormand and
Prince's method, and by extrapolated implicit steps in the `bdf` variants. Equations are solved by 16 of Newton's steps,
integrals by sums over 209 points. Tolerances are not used.";

const COMPLEX: &str = "Operators `+`, `-`, `*`, `/`, `.*`, `./`, `^`, `==`, `!=` and `'`, and functions that pick, join or turn
values around take complex numbers, too; parameters are real. Eigenvalues and Schur forms of any square matrix are
computed in generated quantities and of data; Fourier transforms everywhere. Columns of draws are `z.1.real` and `z.1.imag`.";

const SIGNATURES: &str = "Results come first. `1` is the type of the first argument with real numbers for integers, `=1` that type itself, `=1[]` an array
of it.";
