//! Errors name the place and what to write instead.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::bayes::Data;
use hmcvi_stan::{Program, StanError};

fn error(text: &str, data: &str) -> StanError {
    let data = Data::from_json(data).expect("data");
    let found = Program::parse(text).and_then(|program| program.model(&data));
    found.expect_err(text)
}

#[test]
fn errors_underline_the_text_and_say_what_to_write() {
    let cases = [
        ("parameters { real x } model { }", "{}", "expected `;`", "x"),
        ("parameters { real x; } model { y ~ normal(0, 1); }", "{}", "`y` is not declared here", "y"),
        (
            "parameters { real x; } model { x ~ normal(0); }",
            "{}",
            "has 2 arguments besides its value, not 1",
            "x ~ normal(0);",
        ),
        (
            "parameters { real x; } model { x ~ norml(0, 1); }",
            "{}",
            "did you mean `normal`",
            "x ~ norml(0, 1);",
        ),
        ("parameters { real x; } model { target += exq(x); }", "{}", "did you mean `exp`", "exq(x)"),
        ("parameters { int k; } model { }", "{}", "sum discrete ones out", "int k"),
        ("parameters { complex z; } model { }", "{}", "cannot be complex", "complex z"),
        (
            "parameters { vector[2] v; } model { target += abs(eigenvalues(v * v')[1]); }",
            "{}",
            "in generated quantities",
            "eigenvalues(v * v')",
        ),
        (
            "parameters { complex_vector[2] v; real x; } model { complex z = x; target += z < 1; }",
            "{}",
            "cannot be complex",
            "complex_vector[2] v",
        ),
        (
            "parameters { real x; } model { complex z = x; target += z < 1; }",
            "{}",
            "`<` has no meaning for complex and int",
            "z < 1",
        ),
        (
            "parameters { row_stochastic_matrix[2, 2] p; } model { }",
            "{}",
            "array[rows] simplex[columns]",
            "row_stochastic_matrix",
        ),
        (
            "parameters { real x; } model { target += sum(dae(x, x)); }",
            "{}",
            "`dae` is not supported; solve",
            "dae(x, x)",
        ),
        ("parameters { tuple(real, int) z; } model { }", "{}", "not supported", "tuple"),
        (
            "parameters { vector[2] v; } model { v[3] ~ normal(0, 1); }",
            "{}",
            "position 3 is outside of 1 to 2",
            "3",
        ),
        ("parameters { vector[2] v; } model { v = v; }", "{}", "cannot be assigned to here", "v"),
        ("parameters { real x; } model { vector[2] v = x; }", "{}", "`v` is vector, not real", "x"),
        (
            "parameters { vector[2] v; vector[3] w; } model { target += sum(v + w); }",
            "{}",
            "equal sizes, not [2] and [3]",
            "v + w",
        ),
        ("parameters { real x; } model { while (x > 0) { } }", "{}", "known from the data", "x > 0"),
        (
            "parameters { vector[2] v; real x; } model { int i = x > 0; target += v[i]; }",
            "{}",
            "depends on a parameter",
            "i",
        ),
        ("parameters { real x; } model { x ~ normal(0, 1) T[0; }", "{}", "expected `,`", ";"),
        ("data { int N; } parameters { real x; } model { }", "{}", "needs data `N`; given are none", "int N"),
        (
            "data { int N; } parameters { real x; } model { }",
            r#"{"N": 1.5}"#,
            "declared as integers",
            "int N",
        ),
        (
            "data { vector[2] y; } parameters { real x; } model { }",
            r#"{"y": [1]}"#,
            "declared as [2], and the data are [1]",
            "vector[2] y",
        ),
        (
            "data { int<lower=1> N; } parameters { real x; } model { }",
            r#"{"N": 0}"#,
            "must be at least 1",
            "1",
        ),
        (
            "data { array[2] int y; } parameters { real<lower=0> x; } model { y ~ poisson(x); }",
            r#"{"y": [1, -2]}"#,
            "poisson cannot give -2",
            "y ~ poisson(x);",
        ),
        (
            "parameters { real x; } model { x ~ normal(0, -1); }",
            "{}",
            "the argument `sd` of normal is -1",
            "x ~ normal(0, -1);",
        ),
        ("model { } parameters { real x; }", "{}", "blocks in this order", "parameters"),
        ("parameters { real x; } model { real x; }", "{}", "declared already", "real x"),
        (
            "parameters { real x; } model { x ~ bernoulli(0.5); }",
            "{}",
            "describes integers, not real",
            "x ~ bernoulli(0.5);",
        ),
        (
            "parameters { real x; } model { real z = normal_rng(0, 1); }",
            "{}",
            "can be called in",
            "normal_rng(0, 1)",
        ),
        (
            "functions { real f(real x) { real y = x; } } parameters { real x; } model { }",
            "{}",
            "nothing is returned",
            "real f(real x)",
        ),
        (
            "data { int N; vector[2] v; } parameters { real x; } model { if (N < 5) reject(\"N is \", N, \" beside \", v); }",
            "{\"N\": 3, \"v\": [1, 2.5]}",
            "the program rejects its values here: N is 3 beside [1, 2.5]\n",
            "reject(\"N is \", N, \" beside \", v);",
        ),
        (
            "parameters { real x; } model { reject(\"x is \", x); }",
            "{}",
            "rejects its values here: x is (depends on parameters)\n",
            "reject(\"x is \", x);",
        ),
        ("parameters { real x; } model { reject(\"y is \", y); }", "{}", "`y` is not declared here", "y"),
        ("data { } model { }", "{}", "no parameters", ""),
    ];
    for (text, data, said, underlined) in cases {
        let error = error(text, data);
        let shown = error.to_string();
        assert!(shown.contains(said), "{text}\n{shown}");
        let marks = shown.chars().filter(|c| *c == '^').count();
        let start = error.column().unwrap_or(1) - 1;
        let part: String = text.chars().skip(start).take(marks).collect();
        assert_eq!(part, underlined, "{shown}");
    }
}

#[test]
fn a_density_that_is_finite_nowhere_names_the_data_that_are_no_numbers() {
    let text = "data { array[3] real x; vector[2] y; vector[2] z; } parameters { real a; }
        model { y ~ normal(a * x[1] + z, 1); a ~ normal(0, 1); }";
    let data = r#"{"x": [1, "NaN", 2], "y": [1, 2], "z": [0, "Inf"]}"#;
    let data = Data::from_json(data).expect("data");
    let model = Program::parse(text).and_then(|program| program.model(&data)).expect(text);
    let said = model.bound().without_density().expect("a program");
    let expected = "`target` is not finite there; `x` of the data is NaN at position 1 (from 0); `z` of the data is inf at \
                    position 1 (from 0)";
    assert_eq!(said, expected);
}
